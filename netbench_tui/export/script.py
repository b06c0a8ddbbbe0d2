"""Changes as the shell script that a person would have written for them. Used by `set --dry-run` and the preview's key.

Lines stand in the order in which the agent writes. Every text of a host is one quoted word; what a terminal would act
on is spelled out in octal, so that the script can be shown and pasted safely and is still right. What no common tool
can write stands as a comment that says so.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from netbench_tui.model.change import Change
from netbench_tui.model.cpulist import parse_cpu_list
from netbench_tui.model.host import Role
from netbench_tui.model.rss import parse_runs
from netbench_tui.model.setting import MACHINE, HostSettings, QueueMap
from netbench_tui.model.units import plain

# What makes or resets other settings goes before them; the agent's modules of settings have the same order.
_ORDER = (
    ("channels", "ring"),
    ("mtu", "txqueuelen"),
    ("qdisc",),
    ("feature",),
    ("coalesce", "pause"),
    ("rss",),
    ("irqbalance", "service"),
    ("irq_affinity",),
    ("queue",),
    ("napi",),
)
# Groups of which one call of ethtool sets several, by the option that sets them.
_ETHTOOL = {"feature": "-K", "ring": "-G", "channels": "-L", "coalesce": "-C", "pause": "-A"}
# Files below a NIC's folder, or below a queue's, by the key's last word.
_NIC_FILES = {
    "threaded": "threaded",
    "defer_hard_irqs": "napi_defer_hard_irqs",
    "gro_flush_timeout": "gro_flush_timeout",
}
_QUEUE_FOLDER = {"bql_limit_max": "byte_queue_limits/limit_max", "bql_limit_min": "byte_queue_limits/limit_min"}
_MASKS = ("rps_cpus", "xps_cpus", "xps_rxqs")
# As /sys/class/net/NIC/threaded has them.
_THREADED = {"off": "0", "on": "1", "busy-poll": "2"}
_MASK_BITS = 32
# Roots that a kernel attaches by itself, besides the one that net.core.default_qdisc names.
_KERNEL_ROOTS = ("mq", "noqueue", "pfifo_fast")
_DEFAULT = "default"
_GOVERNED = re.compile(r"coalesce\.(rx|tx)-(?:usecs|frames)")
_GOVERNORS = re.compile(r"([0-9][0-9,-]*):([^,:]+)(?:,|$)")


@dataclass(frozen=True, slots=True)
class ScriptHost:
    """What a script needs to know of a host: its name, the queue maps of its NICs for the numbers of IRQs, and its
    settings for what has to be switched along."""

    name: str
    queues: Mapping[str, QueueMap] = field(default_factory=dict)
    settings: HostSettings = field(default_factory=HostSettings)


def shell_script(changes: Iterable[Change], hosts: Mapping[Role, ScriptHost]) -> str:
    """A script for sh(1) with one headed part per host; to be run by root on that host."""
    lines = ["#!/bin/sh"]
    wishes = list(changes)
    for role, host in hosts.items():
        mine = [change for change in wishes if change.role is role]
        mine = [_by_itself(change, mine, host.settings) for change in mine]
        mine = sorted([*mine, *_along(mine, host.settings)], key=_place)
        if mine:
            lines += ["", f"# on {plain(host.name)}, as root:", *_commands(mine, host)]
    return "\n".join(lines) + "\n"


def needs_irqs(change: Change) -> bool:
    """Whether the script needs the queue map of the change's NIC."""
    return change.scope != MACHINE and (change.key.endswith(".irq_affinity") or change.key.startswith("irqbalance."))


def word(text: str) -> str:
    """Any text as one word of sh(1), safe to print on a terminal."""
    if text.isprintable():
        return shlex.quote(text)
    codes = text.encode("utf-8", "surrogateescape")
    spelled = "".join(chr(code) if code < 128 and chr(code).isalnum() else f"\\{code:03o}" for code in codes)
    return f"\"$(printf '{spelled}')\""


def cpu_mask(cpus: Iterable[int]) -> str:
    """A CPU set as sysfs takes it: groups of 32 bits in hexadecimal, the highest first."""
    bits = 0
    for cpu in cpus:
        bits |= 1 << cpu
    groups: list[int] = []
    while bits or not groups:
        groups.append(bits & ((1 << _MASK_BITS) - 1))
        bits >>= _MASK_BITS
    return ",".join([f"{groups[-1]:x}", *(f"{group:08x}" for group in reversed(groups[:-1]))])


def _along(changes: Sequence[Change], settings: HostSettings) -> Iterator[Change]:
    """Adaptive coalescing overrules times and frames: it is switched off with them, as the agent does."""
    asked = {(change.scope, change.key) for change in changes}
    for change in changes:
        if found := _GOVERNED.fullmatch(change.key):
            adaptive = f"coalesce.adaptive-{found[1]}"
            known = settings.get(change.scope, adaptive)
            if known and known.value == "on" and (change.scope, adaptive) not in asked:
                asked.add((change.scope, adaptive))
                yield Change(change.role, change.scope, adaptive, "off")


def _by_itself(change: Change, changes: Sequence[Change], settings: HostSettings) -> Change:
    """What the driver or the kernel would choose by itself is left to them, as the agent does: a table of one's own
    keeps the number of channels from being lowered, and a root of one's own is another than the kernel's."""
    if change.key == "rss.indirection" and change.value == f"equal {_rings(change.scope, changes, settings)}":
        return replace(change, value=_DEFAULT)
    if change.key == "qdisc.root":
        kernels = settings.get(MACHINE, "sysctl.net.core.default_qdisc")
        kinds = (*_KERNEL_ROOTS, kernels.value if kernels else "")
        known = settings.get(change.scope, change.key)
        if change.value in kinds and known and known.value not in kinds:
            return replace(change, value=f"{_DEFAULT} {change.value}")
    return change


def _rings(scope: str, changes: Sequence[Change], settings: HostSettings) -> int:
    """Receive rings once these changes are made; 0 where nobody says."""
    found = 0
    for key in ("channels.combined", "channels.rx"):
        known = settings.get(scope, key)
        values = [change.value for change in changes if (change.scope, change.key) == (scope, key)]
        text = values[0] if values else known.value if known else ""
        found += int(text) if text.isdecimal() else 0
    return found


def _place(change: Change) -> tuple[int, str, int, int]:
    """Order of writing. Adaptive coalescing is switched before the times that it would overrule."""
    group, last = change.key.partition(".")[0], change.key.rpartition(".")[2]
    found = last if last == "irq_affinity" else group
    rank = next((number for number, groups in enumerate(_ORDER) if found in groups), len(_ORDER))
    return rank, change.scope, list(_ETHTOOL).index(group) if group in _ETHTOOL else 0, not last.startswith("adaptive")


def _commands(changes: Sequence[Change], host: ScriptHost) -> Iterator[str]:
    for (scope, group), some in groupby(changes, key=lambda change: (change.scope, change.key.partition(".")[0])):
        if group in _ETHTOOL and scope != MACHINE:
            words = [text for change in some for text in (change.key.partition(".")[2], change.value)]
            yield _line("ethtool", _ETHTOOL[group], scope, *words)
        else:
            for change in some:
                yield from _KINDS.get(group, _unknown)(change, host)


def _line(*words: str) -> str:
    return " ".join(word(text) for text in words)


def _echo(value: str, path: str, remark: str = "") -> str:
    return f"echo {word(value)} > {word(path)}" + (f"  # {plain(remark)}" if remark else "")


def _unknown(change: Change, host: ScriptHost) -> Iterator[str]:
    yield f"# {plain(change.scope)} {plain(change.key)} = {plain(change.value)}: no command is known for this"


def _mtu(change: Change, host: ScriptHost) -> Iterator[str]:
    yield _line("ip", "link", "set", "dev", change.scope, change.key, change.value)


def _qdisc(change: Change, host: ScriptHost) -> Iterator[str]:
    default, _, kind = change.value.partition(" ")
    if change.key != "qdisc.root":
        yield from _unknown(change, host)
    elif default == _DEFAULT:
        yield _line("tc", "qdisc", "delete", "dev", change.scope, "root") + f"  # the kernel's own is {plain(kind)}"
    else:
        yield _line("tc", "qdisc", "replace", "dev", change.scope, "root", *change.value.split())


def _rss(change: Change, host: ScriptHost) -> Iterator[str]:
    known = {"key": "hkey", "hash_function": "hfunc"}
    what = change.key.partition(".")[2]
    if what in known:
        yield _line("ethtool", "-X", change.scope, known[what], change.value)
    elif what == "indirection" and (words := _table_words(change.value)):
        yield _line("ethtool", "-X", change.scope, *words)
    else:
        yield f"# {plain(change.scope)}: ethtool has no words for this table: {plain(change.value)}"


def _table_words(text: str) -> list[str]:
    """ethtool -X's words for an indirection table: `equal N` or `weight ...`; empty if it cannot say it."""
    if text == _DEFAULT or text.startswith("equal "):
        return text.split()
    try:
        table = parse_runs(text)
    except ValueError:
        return []
    first, rings = min(table), max(table) - min(table) + 1
    start = ["start", str(first)] if first else []
    if table == [first + entry % rings for entry in range(len(table))]:
        return [*start, "equal", str(rings)]
    if table == sorted(table):
        return [*start, "weight", *(str(table.count(queue)) for queue in range(first, first + rings))]
    return []


def _queue(change: Change, host: ScriptHost) -> Iterator[str]:
    _, queue, what = change.key.split(".", 2)
    if what == "irq_affinity":
        known = host.queues.get(change.scope)
        yield _irq(change, next((one.irq for one in known.queues if one.name == queue), None) if known else None, queue)
        return
    value = cpu_mask(parse_cpu_list(change.value)) if what in _MASKS else change.value
    yield _echo(value, f"/sys/class/net/{change.scope}/queues/{queue}/{_QUEUE_FOLDER.get(what, what)}")


def _irq(change: Change, number: int | None, name: str) -> str:
    if number is None:
        return f"# {plain(change.scope)} {plain(name)}: its IRQ is not known; asked for CPU {plain(change.value)}"
    return _echo(change.value, f"/proc/irq/{number}/smp_affinity_list", f"{name} of {change.scope}")


def _other_irq(change: Change, host: ScriptHost) -> Iterator[str]:
    """An interrupt that serves no queue: the NIC's only one, or the only one whose action has the key's words."""
    label = change.key.removeprefix("irq.").removesuffix(".irq_affinity")
    known = host.queues.get(change.scope)
    serving = {queue.irq for queue in known.queues} if known else set()
    others = [irq for irq in (known.irqs if known else ()) if irq.number not in serving]
    named = [irq for irq in others if any(label in action for action in irq.actions)] or others
    yield _irq(change, named[0].number if len(named) == 1 else None, label)


def _napi(change: Change, host: ScriptHost) -> Iterator[str]:
    what = change.key.partition(".")[2]
    if what in _NIC_FILES:
        yield _echo(_THREADED.get(change.value, change.value), f"/sys/class/net/{change.scope}/{_NIC_FILES[what]}")
    else:
        yield from _unknown(change, host)


def _irqbalance(change: Change, host: ScriptHost) -> Iterator[str]:
    known = host.queues.get(change.scope)
    irqs = " ".join(f"--banirq={irq.number}" for irq in known.irqs) if known else ""
    yield (
        f"# irqbalance is asked over its socket to ban {plain(change.value)} of {plain(change.scope)}'s IRQs"
        + (f"; at its start that is: irqbalance {irqs}" if irqs and change.value == "all" else "")
    )


def _sysctl(change: Change, host: ScriptHost) -> Iterator[str]:
    yield _line("sysctl", "-w", f"{change.key.partition('.')[2]}={change.value}")


def _service(change: Change, host: ScriptHost) -> Iterator[str]:
    yield _line("systemctl", "start" if change.value in ("running", "on") else "stop", change.key.partition(".")[2])


def _cpu(change: Change, host: ScriptHost) -> Iterator[str]:
    """The governor of all CPUs, or one per CPU list: `0-3:powersave,4-7:performance`."""
    if change.key != "cpu.governor":
        yield from _unknown(change, host)
    elif ":" not in change.value:
        yield _line("cpupower", "frequency-set", "-g", change.value)
    else:
        for cpus, governor in _GOVERNORS.findall(change.value):
            yield _line("cpupower", "-c", cpus, "frequency-set", "-g", governor)


_KINDS: Mapping[str, Callable[[Change, ScriptHost], Iterator[str]]] = {
    "mtu": _mtu,
    "txqueuelen": _mtu,
    "qdisc": _qdisc,
    "rss": _rss,
    "queue": _queue,
    "irq": _other_irq,
    "napi": _napi,
    "irqbalance": _irqbalance,
    "sysctl": _sysctl,
    "service": _service,
    "cpu": _cpu,
}
