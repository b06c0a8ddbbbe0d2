"""What a person writes for hosts, NICs and settings, as targets and changes. Used by the verbs of settings.

A setting may be said by its key (`ring.rx`), by a pattern of keys (`queue.rx-*.rps_cpus`), by a group's word (`ring`),
by a feature's name, by one of ethtool's short names (`tso`), which then means every such feature, or by a sysctl's
name. Pure: what exists is told by the settings that were read.
"""

import difflib
import ipaddress
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from netbench_tui.errors import UsageError
from netbench_tui.model.change import Change
from netbench_tui.model.cpulist import format_cpu_list, parse_cpu_list
from netbench_tui.model.features import LONG_NAMES, SHORT_NAMES, expand
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, LabTarget, Reach
from netbench_tui.model.setting import MACHINE, HostSettings, Setting

THIS_MACHINE, LAB = "local", "lab"
OF_THE_MACHINE = ("sysctl.", "cpu.", "service.")
# How names of sysctls begin.
SYSCTLS = ("net.", "kernel.", "vm.")
# Groups of a NIC's settings, and settings that are none of a group. Whether a NIC has one of them is the host's word.
OF_NICS = ("feature", "ring", "channels", "coalesce", "pause", "rss", "queue", "irq", "napi", "irqbalance", "qdisc")
CPU_LISTS = (".irq_affinity", ".rps_cpus", ".xps_cpus", ".xps_rxqs")
_PATTERN = frozenset("*?[")


class Place(NamedTuple):
    """`HOST:NIC` of a command line; the NIC may be left out."""

    host: str
    nic: str = ""


class Wish(NamedTuple):
    """`KEY=VALUE` of a command line."""

    name: str
    value: str


def target_of(host: str) -> HostTarget | LabTarget:
    """`lab` is a lab made for the command, `local` this machine, anything else an SSH host."""
    if host == LAB:
        return LabTarget()
    return HostTarget(host, Reach.LOCAL if host == THIS_MACHINE else Reach.SSH)


def place_of(text: str) -> Place:
    """`HOST:NIC`, where HOST may end in a port or be an IPv6 address. A last part of digits is a port."""
    head, colon, nic = text.rpartition(":")
    if not colon or nic.isdecimal() or head.count("[") != head.count("]") or _is_address(text):
        return Place(text)
    if not head or not nic:
        raise UsageError(f"{text!r}: write HOST or HOST:NIC")
    return Place(head, nic)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.rpartition("@")[2].partition("%")[0])
    except ValueError:
        return False
    return True


def wish_of(text: str) -> Wish:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{text!r}: write KEY=VALUE, e.g. tso=off or ring.rx=4096")
    return Wish(name.strip(), value.strip())


def scope_of(name: str, nic: str) -> str:
    """Whom a setting belongs to: the machine, or the NIC that was named."""
    return MACHINE if key_of(name).startswith(OF_THE_MACHINE) else nic


def key_of(name: str) -> str:
    """A sysctl may be said without the word."""
    return f"sysctl.{name}" if name.startswith(SYSCTLS) else name


def unlisted(names: Iterable[str], nic: str, known: HostSettings) -> list[tuple[str, str]]:
    """Sysctls that are named outright and are not among those that a host lists by itself."""
    places = [(scope_of(name, nic), key_of(name)) for name in names if not _PATTERN & set(name)]
    return [place for place in places if place[1].startswith("sysctl.") and known.get(*place) is None]


def chosen(known: HostSettings, nic: str, names: Sequence[str]) -> list[Setting]:
    """The settings that these names stand for, each once; all of the NIC's where no name is given. Raises UsageError
    for a name that stands for none."""
    if not names:
        return list(known.of(nic))
    found: dict[tuple[str, str], Setting] = {}
    for name in names:
        some = _named(known, nic, name)
        if not some:
            raise _unknown(known, nic, name)
        found.update({(setting.scope, setting.key): setting for setting in some})
    return list(found.values())


def changes_of(role: Role, known: HostSettings, nic: str, wishes: Sequence[Wish]) -> list[Change]:
    """What to write on one host. Raises UsageError for what cannot be: an unknown name, a value beyond its bounds. What
    this NIC has not and another may have is left to the host, which refuses it in its own words beside the rest."""
    found: dict[tuple[str, str], Change] = {}
    for wish in wishes:
        for setting in _writable(known, nic, wish):
            value = _checked(setting, wish.value)
            found[setting.scope, setting.key] = Change(role, setting.scope, setting.key, value)
    return list(found.values())


def _named(known: HostSettings, nic: str, name: str) -> list[Setting]:
    scope, key = scope_of(name, nic), key_of(name)
    exact = known.get(scope, key) or known.get(scope, f"feature.{key}")
    if exact:
        return [exact]
    features = {setting.key.partition(".")[2]: setting for setting in known.of(scope) if setting.group == "feature"}
    if some := expand(key.removeprefix("feature."), features):
        return [features[feature] for feature in some]
    if _PATTERN & set(key):
        return [setting for setting in known.of(scope) if fnmatchcase(setting.key, key)]
    return [setting for setting in known.of(scope) if setting.key.startswith(key + ".")]


def _writable(known: HostSettings, nic: str, wish: Wish) -> list[Setting]:
    """A name that stands for several leaves out those that the driver fixed. A whole group is never meant."""
    some = _named(known, nic, wish.name)
    key = key_of(wish.name)
    if not some and not _PATTERN & set(key) and "." in key and key.startswith((*OF_THE_MACHINE, *_of_nics())):
        return [Setting(scope_of(key, nic), key, "")]
    if not some or all(setting.key.startswith(key + ".") for setting in some):
        raise _unknown(known, nic, wish.name)
    free = [setting for setting in some if not setting.fixed]
    if len(some) == 1:
        return some
    if not free:
        raise UsageError(f"{wish.name}: the driver of {nic} has fixed all {len(some)} settings of it")
    return free


def _of_nics() -> tuple[str, ...]:
    return tuple(f"{group}." for group in OF_NICS)


def _unknown(known: HostSettings, nic: str, name: str) -> UsageError:
    scope = scope_of(name, nic)
    keys = [setting.key for setting in known.of(scope)]
    if not keys:
        return UsageError(f"{scope} has no settings" if scope == MACHINE else f"there is no NIC {scope}")
    candidates = [*keys, *(key.partition(".")[2] for key in keys if key.startswith("feature."))]
    near = difflib.get_close_matches(key_of(name), [*candidates, *SHORT_NAMES, *LONG_NAMES], 3)
    inside = [key for key in keys if key.startswith(key_of(name) + ".")][:3]
    hint = f"there is {', '.join(inside or near)}" if inside or near else "`get` lists all that there are"
    return UsageError(f"{scope} has no setting {name}", hint)


def _checked(setting: Setting, value: str) -> str:
    """The value in its canonical form."""
    if not value:
        raise UsageError(f"{setting.key} needs a value")
    if setting.group == "feature" and value not in ("on", "off"):
        raise UsageError(f"{setting.key} is on or off, not {value}")
    if setting.key.endswith(CPU_LISTS):
        try:
            return format_cpu_list(parse_cpu_list(value))
        except ValueError as error:
            raise UsageError(f"{setting.key}: {error}") from None
    if setting.minimum is not None or setting.maximum is not None:
        return _within(setting, value)
    return value


def _within(setting: Setting, value: str) -> str:
    least, most = setting.minimum, setting.maximum
    bounds = f"{'' if least is None else least}..{'' if most is None else most}"
    if not (value.isascii() and value.isdecimal()):
        raise UsageError(f"{setting.key} is a number in {bounds}, not {value}")
    number = int(value)
    if (least is not None and number < least) or (most is not None and number > most):
        raise UsageError(f"{setting.key}={value}: the driver allows {bounds}")
    return str(number)
