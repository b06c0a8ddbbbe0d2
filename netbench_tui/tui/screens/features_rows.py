"""The rows of the Features screen, worked out from the state: groups, settings, and what each host says of each.

Pure; no Textual. Used by screens/features.py and its help panel.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from netbench_tui.model.change import Held, Outcome
from netbench_tui.model.features import GROUPS, SHORT_NAMES, expand, group_of, moved_along
from netbench_tui.model.host import Role
from netbench_tui.model.setting import MACHINE, Setting
from netbench_tui.tui.state import Workbench

FEATURE = "feature."
# Group key, title, first words of the keys in it. What is of one queue or of the RSS table is on the Queues screen.
_OTHERS = (
    ("ring", "Rings", ("ring",)),
    ("channels", "Channels", ("channels",)),
    ("coalesce", "Interrupt coalescing", ("coalesce",)),
    ("pause", "Pause frames", ("pause",)),
    ("link", "Link", ("mtu", "txqueuelen", "qdisc", "link")),
    ("napi", "NAPI", ("napi",)),
    ("machine", "Machine", ("irqbalance", "service", "cpu", "sysctl")),
)
_ELSEWHERE = ("queue", "rss")
_REST = ("rest", "Other settings")
TITLES: Mapping[str, str] = (
    {group.key: group.title for group in GROUPS} | {key: title for key, title, _ in _OTHERS} | dict([_REST])
)
SHORT_OF: Mapping[str, tuple[str, ...]] = {group.key: group.short for group in GROUPS}
_GROUP_OF_WORD = {word: key for key, _, words in _OTHERS for word in words}
# At 24 rows these start open: what most sittings are about.
OPEN_WHEN_SHORT = frozenset({"checksum", "segmentation", "receive"})


@dataclass(frozen=True)
class Cell:
    """What one host says of a key. `staged` is asked for and not written, `follows` what will probably come of another
    staged change, `found` the value at the session's begin where that is another one."""

    setting: Setting | None = None
    staged: str | None = None
    follows: str | None = None
    found: str | None = None
    refused: str = ""
    """The host's own words where the last transaction asked it for another value in vain."""

    @property
    def touched(self) -> bool:
        return self.staged is not None or self.follows is not None or self.found is not None

    @property
    def wished(self) -> str | None:
        """What is staged, else set."""
        return self.staged if self.staged is not None or self.setting is None else self.setting.value

    @property
    def taken(self) -> bool:
        """What is set is in force as well."""
        return self.setting is None or self.setting.active in ("", self.setting.value)


@dataclass(frozen=True)
class Row:
    """A group's head (`key` empty), a setting of both hosts, or a blank row (`group` empty)."""

    group: str = ""
    key: str = ""
    cells: Mapping[Role, Cell] = field(default_factory=dict)
    members: tuple["Row", ...] = ()
    """Of a head: all settings of its group that pass the filter."""
    is_open: bool = True

    @property
    def name(self) -> str:
        return self.key.removeprefix(FEATURE).removeprefix("sysctl.") if self.key else TITLES.get(self.group, "")

    @property
    def differs(self) -> bool:
        """The two hosts have other values of it, in force or set."""
        found = [cell.setting for cell in self.cells.values()]
        if len(found) < 2 or any(setting is None for setting in found):
            return len(found) == 2 and any(setting is not None for setting in found)
        return len({(setting.value, setting.in_force) for setting in found if setting is not None}) > 1

    @property
    def touched(self) -> bool:
        return any(cell.touched for cell in self.cells.values())


@dataclass(frozen=True)
class Wish:
    """What the list shows: rows that hold `text`, only what differs, only what was changed; closed groups."""

    text: str = ""
    differing: bool = False
    changed: bool = False
    closed: frozenset[str] = frozenset()

    @property
    def narrow(self) -> bool:
        return bool(self.text or self.differing or self.changed)


@functools.cache
def group_of_key(key: str) -> str:
    """The group in which a key is shown; empty where another screen shows it."""
    word = key.partition(".")[0]
    if word == "feature":
        return group_of(key.removeprefix(FEATURE))
    return "" if word in _ELSEWHERE else _GROUP_OF_WORD.get(word, _REST[0])


def rows_signature(bench: Workbench) -> tuple[object, ...]:
    """What `all_rows` is worked out from: while it is the same, so are they."""
    settings = tuple(bench.settings.get(role) for role in Role)
    nics = tuple(bench.views[role].data_nic for role in Role if role in bench.views)
    return (*settings, tuple(bench.staged), bench.journal, nics, bench.applied)


def scope_of(bench: Workbench, role: Role, key: str) -> str:
    """Where a host has a key of this screen: on its data NIC, on the NIC below that carries its packets where the data
    NIC has no such setting (a VLAN's rings), or for the whole machine."""
    if key.startswith(("sysctl.", "cpu.", "service.")):
        return MACHINE
    view, known = bench.views.get(role), bench.settings.get(role)
    if view is None:
        return ""
    below = known is not None and not known.get(view.data_nic, key) and known.get(view.queue_nic, key)
    return view.queue_nic if below else view.data_nic


def settings_of(bench: Workbench, role: Role) -> dict[str, Setting]:
    """The host's settings of this screen by key, each where `scope_of` has it."""
    known, view = bench.settings.get(role), bench.views.get(role)
    if known is None or view is None:
        return {}
    scopes = (view.queue_nic, view.data_nic, MACHINE)
    rows = [row for row in known.settings if row.scope in scopes and group_of_key(row.key)]
    return {row.key: row for row in sorted(rows, key=lambda row: scopes.index(row.scope))}


def all_rows(bench: Workbench) -> list[Row]:
    """Every setting of both hosts, in groups, in the hosts' own order; those that only one host has as well."""
    known = {role: settings_of(bench, role) for role in Role}
    keys = dict.fromkeys([*known[Role.SENDER], *known[Role.RECEIVER]])
    follows = {role: followers(bench, role, known[role]) for role in Role}
    found = {entry.place: entry.found for entry in bench.journal if entry.state is not Held.RESTORED}
    vain = bench.applied.refused if bench.applied is not None else ()
    refused = {(row.role, row.scope, row.key): refusal_words(row) for row in vain}
    rows: list[Row] = []
    for key in keys:
        cells = {}
        for role in Role:
            place = (role, scope_of(bench, role, key), key)
            setting, staged = known[role].get(key), bench.staged.value(*place)
            was = found.get(place)
            changed = was if setting is not None and was != setting.value else None
            follower = None if staged else follows[role].get(key)
            cells[role] = Cell(setting, staged, follower, changed, refused.get(place, ""))
        rows.append(Row(group_of_key(key), key, {r: c for r, c in cells.items() if r in bench.settings}))
    return rows


def refusal_words(outcome: Outcome) -> str:
    """`refused: Operation not supported (EOPNOTSUPP)`: the host's words, and its code where they do not hold it."""
    words = f"refused: {outcome.error or outcome.code}"
    return words + (f" ({outcome.code})" if outcome.error and outcome.code not in outcome.error else "")


def followers(bench: Workbench, role: Role, known: Mapping[str, Setting]) -> dict[str, str]:
    """What will probably move with the features that are staged on a host: key -> value."""
    names = {key.removeprefix(FEATURE): row for key, row in known.items() if key.startswith(FEATURE)}
    switched = {
        change.key.removeprefix(FEATURE): change.value == "on"
        for change in bench.staged
        if change.role is role and change.key in known and change.key.startswith(FEATURE)
    }
    if not switched:
        return {}
    wanted = [name for name, row in names.items() if row.value == "on"]
    active = [name for name, row in names.items() if row.in_force == "on"]
    moved = moved_along(switched, wanted, active)
    return {
        FEATURE + name: "on" if on else "off" for name, on in moved.items() if name in names and not names[name].fixed
    }


def shown_rows(rows: Sequence[Row], wish: Wish, spaced: bool) -> list[Row]:
    """The rows as listed: heads, their settings where open, and blank rows between groups where there is room. A filter
    opens every group."""
    shown: list[Row] = []
    for group in TITLES:
        members = tuple(row for row in rows if row.group == group and _passes(row, wish))
        if not members:
            continue
        is_open = wish.narrow or group not in wish.closed
        if shown and spaced:
            shown.append(Row())
        shown.append(Row(group, members=members, is_open=is_open))
        shown += members if is_open else ()
    return shown


def _passes(row: Row, wish: Wish) -> bool:
    if wish.differing and not row.differs:
        return False
    if wish.changed and not row.touched:
        return False
    heads = [*TITLES.get(row.group, "").lower().split(), *short_names(row.key)]
    parts = wish.text.lower().split()
    return all(part in row.key.lower() or any(head.startswith(part) for head in heads) for part in parts)


@functools.cache
def short_names(key: str) -> tuple[str, ...]:
    """ethtool's short names that stand for a feature among others."""
    name = key.removeprefix(FEATURE)
    if not key.startswith(FEATURE):
        return ()
    return tuple(short for short in SHORT_NAMES if expand(short, (name,)))


def count_on(row: Row, role: Role) -> str:
    """What a closed group says of a host: `3 on`, or how many settings there are."""
    settings = [member.cells[role].setting for member in row.members if role in member.cells]
    held = [setting for setting in settings if setting is not None]
    if any(setting.key.startswith(FEATURE) for setting in held):
        return f"{sum(setting.in_force == 'on' for setting in held)} on"
    return f"{len(held)}"


Short = tuple[str, str, tuple[str, ...]]


def short_choices(row: Row, role: Role) -> list[Short]:
    """What the short names of a group's head can do on a host: (name, value, keys that it would change)."""
    held: dict[str, Setting] = {}
    for member in row.members:
        setting = member.cells[role].setting if role in member.cells else None
        if setting is not None and setting.writable:
            held[member.key.removeprefix(FEATURE)] = setting
    choices: list[Short] = []
    for short in SHORT_OF.get(row.group, ()):
        for value in ("off", "on"):
            names = expand(short, held)
            keys = tuple(FEATURE + name for name in names if held[name].value != value)
            if keys:
                choices.append((short, value, keys))
    return choices


def toggled(setting: Setting, staged: str | None) -> str | None:
    """The other of two values, against what is staged or else set; None where it is not one of two."""
    two = ("on", "off") if setting.key.startswith(FEATURE) else setting.choices
    if len(two) != 2:
        return None
    now = staged if staged is not None else setting.value
    return two[0] if now == two[1] else two[1]
