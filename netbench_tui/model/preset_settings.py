"""What a preset asks of the hosts' settings for the time of a run: `[settings.both]`, `[settings.sender]` and
`[settings.receiver]` of its file. Pure; read by model/preset.py, carried out by engine/preset_settings.py.

Keys are those of model/setting.py, quoted or as nested tables. Besides them: ethtool's short names, features' own
names, sysctls without their first word, and patterns of keys. What a host has of these is known only when it is
connected.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netbench_tui.errors import UsageError
from netbench_tui.model.cpulist import format_cpu_list, parse_cpu_list
from netbench_tui.model.features import FEATURES, LONG_NAMES, SHORT_NAMES
from netbench_tui.model.host import Role
from netbench_tui.model.setting import LIST_KEYS, MACHINE_GROUPS, NIC_GROUPS, NIC_WORDS

TABLE = "settings"
BOTH = "both"
FEATURE = "feature."
# How names of sysctls begin.
_SYSCTLS = ("net.", "kernel.", "vm.")
ON_OFF = ("on", "off")

Path = tuple[str, ...]
Complain = Callable[[Path, str], UsageError]


@dataclass(frozen=True, slots=True)
class PresetSetting:
    """One wish: this key shall have this value on one host, or on both (`role` None) while the run lasts. A key that
    begins with no known group is one of ethtool's short names and stands for several features."""

    role: Role | None
    key: str
    value: str

    def is_for(self, role: Role) -> bool:
        return self.role in (None, role)

    @property
    def of_machine(self) -> bool:
        """It belongs to the machine, not to the NIC that carries the traffic."""
        return self.key.partition(".")[0] in MACHINE_GROUPS


def parse_settings(data: Mapping[str, Any], complain: Complain) -> tuple[PresetSetting, ...]:
    """Reads the tables below `settings`, those of both hosts first. Raises what `complain(path, what)` makes."""
    tables = {BOTH: None, **{role.value: role for role in Role}}
    for name, table in data.items():
        if name not in tables:
            raise complain((TABLE, name), f"is not a table of [{TABLE}] ({', '.join(tables)})")
        if not isinstance(table, Mapping):
            raise complain((TABLE, name), "must be a table")
    found: list[PresetSetting] = []
    for name, role in tables.items():
        found += _table(data.get(name, {}), role, (TABLE, name), complain)
    return tuple(found)


def _table(table: Mapping[str, Any], role: Role | None, path: Path, complain: Complain) -> Iterator[PresetSetting]:
    seen: set[str] = set()
    for place, given in _flat(table, path):
        name = ".".join(place[len(path) :])
        try:
            key = _key(name)
            setting = PresetSetting(role, key, _value(key, given))
        except ValueError as error:
            raise complain(place, str(error)) from None
        if key in seen:
            raise complain(place, "is set twice")
        seen.add(key)
        yield setting


def _flat(table: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*path, key))
        else:
            yield (*path, key), value


def _key(name: str) -> str:
    """The key in its one form. ValueError says what is wrong with it."""
    if name in SHORT_NAMES or name in LONG_NAMES:
        return name
    if name in FEATURES:
        return FEATURE + name
    if name.startswith(_SYSCTLS):
        name = f"sysctl.{name}"
    group, _, rest = name.partition(".")
    if group in NIC_WORDS and not rest:
        return name
    if group not in (*MACHINE_GROUPS, *NIC_GROUPS):
        groups = ", ".join((*NIC_GROUPS, *NIC_WORDS, *MACHINE_GROUPS))
        raise ValueError(f"is no setting: its group is none of {groups}, nor is it a short name such as tso")
    if not rest:
        raise ValueError(f"names a whole group: name one setting of it, {group}.…")
    return rest if group == "feature" and (rest in SHORT_NAMES or rest in LONG_NAMES) else name


def _value(key: str, given: Any) -> str:
    """The value in its canonical form."""
    if isinstance(given, bool):
        given = int(given) if key.startswith("sysctl.") else ON_OFF[not given]
    if not isinstance(given, (str, int)):
        raise ValueError("must be text, a whole number, true or false")
    value = " ".join(str(given).split())
    if not value:
        raise ValueError("needs a value")
    if key.startswith(FEATURE) or ("." not in key and key not in NIC_WORDS):
        if value not in ON_OFF:
            raise ValueError(f"is on or off, not {value}")
    elif key.endswith(LIST_KEYS):
        return format_cpu_list(parse_cpu_list(value))
    return value
