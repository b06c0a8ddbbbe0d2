"""A host as `inspect` prints it: what it is, its CPUs and NICs, and per NIC features, limits, queues, RSS, steering.

Plain text without colour; everything that came from a host is made safe for the terminal. Used by cli/inspecting.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from netbench_tui.export.settings_tables import aligned, cell, indented, remark, setting_rows
from netbench_tui.model import units
from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.features import GROUPS, group_of
from netbench_tui.model.host import HostFacts, Nic, Privilege
from netbench_tui.model.setting import MACHINE, HostSettings, Irq, Pcie, Queue, QueueMap
from netbench_tui.model.units import plain

# Shown elsewhere in the report, so left out of the list of other settings.
_OWN_TABLES = ("feature", "queue", "rss")
_STEERING = ("rps_cpus", "rps_flow_cnt", "xps_cpus", "xps_rxqs", "bql_limit_min", "bql_limit_max")
_COUNTED = {
    "cpus_online": ("CPU online", "CPUs online"),
    "cpus_offline": ("offline", "offline"),
    "nodes": ("node", "nodes"),
    "sockets": ("socket", "sockets"),
    "cores": ("core", "cores"),
    "irqs": ("IRQ", "IRQs"),
    "nics": ("NIC", "NICs"),
    "queues": ("queue", "queues"),
}
_UNLIMITED = str((1 << 32) - 1)


@dataclass(frozen=True)
class Inspected:
    """Everything that one look at a host gave. `queues` has the NICs that were asked for, in their order."""

    name: str
    privilege: Privilege
    facts: HostFacts
    settings: HostSettings = field(default_factory=HostSettings)
    queues: Mapping[str, QueueMap] = field(default_factory=dict)
    interrupts: tuple[Irq, ...] = ()
    privilege_note: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """How many of what there are. A core is counted by its first thread that is online."""
        online = [cpu for cpu in self.facts.cpus if cpu.online]
        return {
            "cpus_online": len(online),
            "cpus_offline": len(self.facts.cpus) - len(online),
            "nodes": len(self.facts.nodes),
            "sockets": len({cpu.socket for cpu in online if cpu.socket is not None}),
            "cores": sum(cpu.sibling == 0 for cpu in online),
            "irqs": len(self.interrupts),
            "nics": len(self.facts.nics),
            "queues": sum(nic.rx_queues + nic.tx_queues for nic in self.facts.nics),
        }


def host_report(host: Inspected, paths: bool = False) -> str:
    """The whole report; with `paths` it ends in which kernel interface gave what."""
    parts = [_head(host), _cpus(host), _nics(host.facts.nics)]
    for nic, queues in host.queues.items():
        parts += [_features(host, nic), _others(host, nic), _queues(nic, queues), _rss(queues), _steering(host, nic)]
    parts += [_machine(host), _environment(host.facts), _notes(host)]
    if paths:
        parts.append(_paths(host))
    return "\n".join("\n".join([*part, ""]) for part in parts if part).rstrip() + "\n"


def _head(host: Inspected) -> list[str]:
    facts, counts = host.facts, host.counts
    what = [facts.distribution, f"kernel {facts.kernel}" if facts.kernel else "", facts.machine, facts.product]
    right = host.privilege.value + (f" ({host.privilege_note})" if host.privilege_note else "")
    named = "" if facts.name in ("", host.name) else f"  {cell(facts.name)}"
    return [
        plain(host.name) + named,
        *indented([", ".join(cell(text) for text in what if text)] if any(what) else []),
        *indented(["a captured tree" if host.name.startswith("/") else f"read as {cell(right)}"]),
        *indented([", ".join(f"{count} {_COUNTED[name][count != 1]}" for name, count in counts.items())]),
    ]


def _cpus(host: Inspected) -> list[str]:
    facts = host.facts
    marks = {
        "offline": format_cpu_list(cpu.index for cpu in facts.cpus if not cpu.online),
        "isolated": facts.environment.get("isolated", ""),
        "nohz_full": facts.environment.get("nohz_full", ""),
    }
    marked = [f"{name} {cell(text)}" for name, text in marks.items() if text and text != "none" and text != "(null)"]
    lines = [f"CPUs  {cell(facts.cpu_model)}".rstrip(), *indented(marked)]
    rows = [["node", "CPUs", "memory", "distances"]]
    for node in facts.nodes:
        memory = units.ABSENT if node.memory_kib is None else f"{node.memory_kib / (1 << 20):.1f} GiB"
        rows.append([str(node.index), format_cpu_list(node.cpus), memory, " ".join(map(str, node.distances))])
    return [*lines, *indented(aligned(rows, (0, 2)) if len(rows) > 1 else [])]


def _nics(nics: Sequence[Nic]) -> list[str]:
    rows = [["name", "kind", "driver", "state", "speed", "MTU", "node", "queues", "addresses"]]
    for nic in nics:
        rows.append(
            [
                cell(nic.name),
                cell(nic.kind),
                cell(nic.driver),
                cell(nic.state),
                units.link_speed(nic.speed_mbit) or units.ABSENT,
                str(nic.mtu),
                units.ABSENT if nic.node is None else str(nic.node),
                f"{nic.rx_queues} rx {nic.tx_queues} tx",
                " ".join(f"{cell(address.text)}/{address.prefix}" for address in nic.addresses),
            ]
        )
    return ["NICs", *indented(aligned(rows, (5, 6)))] if len(rows) > 1 else ["NICs  none"]


def _features(host: Inspected, nic: str) -> list[str]:
    found = [setting for setting in host.settings.of(nic) if setting.group == "feature"]
    lines: list[str] = []
    for group in GROUPS:
        some = [setting for setting in found if group_of(setting.key.partition(".")[2]) == group.key]
        if some:
            rows = [[cell(one.key.partition(".")[2]), cell(one.in_force), remark(one)] for one in some]
            lines += [f"  {group.title}  {' '.join(group.short)}".rstrip(), *indented(aligned(rows), 4)]
    return [f"{cell(nic)}  features", *lines] if lines else []


def _others(host: Inspected, nic: str) -> list[str]:
    found = [setting for setting in host.settings.of(nic) if setting.group not in _OWN_TABLES]
    return [f"{cell(nic)}  settings", *indented(setting_rows(found))] if found else []


def _queues(nic: str, queues: QueueMap) -> list[str]:
    if not queues.queues:
        return []
    rows = [["queue", "NAPI", "IRQ", "wanted", "effective", "node", "found by"]]
    rows += [_queue_row(queue, queues.irq(queue.irq)) for queue in queues.queues]
    serving = {queue.irq for queue in queues.queues}
    for irq in queues.irqs:
        if irq.number not in serving:
            rows.append([units.ABSENT, units.ABSENT, *_irq_cells(irq), cell(", ".join(irq.actions))])
    return [f"{cell(nic)}  queues{_pcie(queues.pcie)}", *indented(aligned(rows, (1, 2, 5)))]


def _queue_row(queue: Queue, irq: Irq | None) -> list[str]:
    napi = units.ABSENT if queue.napi is None else str(queue.napi)
    cells = _irq_cells(irq) if irq else [units.ABSENT if queue.irq is None else str(queue.irq), *[units.ABSENT] * 3]
    return [cell(queue.name), napi, *cells, cell(queue.irq_by) + (", managed" if irq and irq.managed else "")]


def _irq_cells(irq: Irq) -> list[str]:
    texts = [format_cpu_list(cpus) if cpus else units.ABSENT for cpus in (irq.wanted, irq.effective)]
    return [str(irq.number), *texts, units.ABSENT if irq.node is None else str(irq.node)]


def _pcie(pcie: Pcie | None) -> str:
    if pcie is None or not pcie.address:
        return ""
    now, most = ((speed, width) for speed, width in ((pcie.speed, pcie.width), (pcie.max_speed, pcie.max_width)))
    text = f"  PCIe {cell(pcie.address)}"
    if now[0] and now[1]:
        text += f" {now[0]:g} GT/s x{now[1]}"
        text += f", at most {most[0]:g} GT/s x{most[1]}" if most[0] and most[1] and most != now else ""
    return text


def _rss(queues: QueueMap) -> list[str]:
    if queues.rss is None or not queues.rss.indirection:
        return []
    rss = queues.rss
    shares = ", ".join(f"queue {queue}: {count}" for queue, count in sorted(rss.weights.items()))
    head = f"{cell(queues.nic)}  RSS  {cell(rss.hash_function)}  {len(rss.indirection)} entries"
    return [head, *indented([shares, f"key {cell(rss.key)}"] if rss.key else [shares])]


def _steering(host: Inspected, nic: str) -> list[str]:
    table: dict[str, dict[str, str]] = {}
    for setting in host.settings.of(nic):
        if setting.group == "queue" and setting.key.count(".") == 2:
            _, queue, what = setting.key.split(".")
            if what in _STEERING:
                table.setdefault(queue, {})[what] = "unlimited" if setting.value == _UNLIMITED else cell(setting.value)
    lines = []
    for kind in ("rx", "tx"):
        mine = {queue: found for queue, found in table.items() if queue.startswith(kind)}
        names = [name for name in _STEERING if any(name in found for found in mine.values())]
        rows = [
            ["queue", *names],
            *([cell(q), *(found.get(n, units.ABSENT) for n in names)] for q, found in mine.items()),
        ]
        lines += indented(aligned(rows)) if names else []
    return [f"{cell(nic)}  steering", *lines] if lines else []


def _machine(host: Inspected) -> list[str]:
    found = list(host.settings.of(MACHINE))
    return ["machine  settings", *indented(setting_rows(found))] if found else []


def _environment(facts: HostFacts) -> list[str]:
    """What the settings do not say already."""
    rows = [[cell(name), plain(text)] for name, text in facts.environment.items() if not name.startswith("net.")]
    return ["environment", *indented(aligned(rows))] if rows else []


def _notes(host: Inspected) -> list[str]:
    every: Iterable[str] = (
        *host.facts.notes,
        *host.settings.notes,
        *(note for queues in host.queues.values() for note in queues.notes),
    )
    notes = [f"! {cell(note)}" for note in dict.fromkeys(every)]
    return ["not read", *indented(notes)] if notes else []


def _paths(host: Inspected) -> list[str]:
    rows = [[cell(part), cell(path)] for part, path in _all_paths(host)]
    return ["read through", *indented(aligned(rows))] if rows else []


def _all_paths(host: Inspected) -> Iterator[tuple[str, str]]:
    yield from host.settings.paths.items()
    for nic, queues in host.queues.items():
        for part, path in queues.paths.items():
            if part not in host.settings.paths:
                yield part if part.startswith(f"{nic}: ") else f"{nic}: {part}", path
