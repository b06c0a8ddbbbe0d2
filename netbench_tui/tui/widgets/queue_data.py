"""What the queue rows show, as data: a NIC's queues with their IRQs, CPUs, marks and rates. Pure; no Textual here.

Made from the state once per update by `queue_table`; used by the queue rows, the path panel and the remarks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netbench_tui.analysis.live import NicLoad
from netbench_tui.analysis.queue_rates import IrqRate, QueueRate
from netbench_tui.model.change import Held, JournalEntry
from netbench_tui.model.cpulist import parse_cpu_list
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostView
from netbench_tui.model.setting import Irq, Queue, QueueMap
from netbench_tui.tui.state import Workbench

RECEIVE, TRANSMIT = "rx", "tx"
# The setting of a queue that says which CPUs its packets are steered to, by kind of queue.
STEERING = {RECEIVE: "rps_cpus", TRANSMIT: "xps_cpus"}


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue. `is_on` are the CPUs that its IRQ is really sent to; `steered` those of its RPS or XPS mask, None
    where there is no such setting. `staged` holds values that are not written yet, by the setting's last word."""

    queue: Queue
    irq: Irq | None = None
    wanted: tuple[int, ...] = ()
    is_on: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()
    astray: bool = False
    """The IRQ is sent to a CPU that is not among the wanted."""
    far: bool = False
    """One of the CPUs it is sent to is on another node than the NIC."""
    steered: tuple[int, ...] | None = None
    staged: Mapping[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    rate: QueueRate | None = None
    interrupts: IrqRate | None = None
    share: float | None = None
    """Of all queues of its kind, 0..1: of their bytes, or of their packets where no bytes are counted."""


@dataclass(frozen=True, slots=True)
class QueueTable:
    """All queues of one kind of one host's data NIC. `total` is their sum, or what the device counts where no queue
    does; `measured` says that there is a full second of samples."""

    role: Role
    kind: str = RECEIVE
    rows: tuple[QueueRow, ...] = ()
    packets: float | None = None
    bits: float | None = None
    interrupts: float | None = None
    has_irqs: bool = False
    has_napi: bool = False
    measured: bool = False
    counted: bool = False
    """The driver counts by queue."""

    @property
    def fair_share(self) -> float:
        return 1 / len(self.rows) if self.rows else 1.0


def queue_table(bench: Workbench, role: Role, kind: str) -> QueueTable:
    """The table as of now; without rows before the queues were read."""
    view, queues = bench.views.get(role), bench.queues.get(role)
    if view is None or queues is None:
        return QueueTable(role, kind)
    maker = _Maker(bench, view, queues, kind)
    rows = _with_shares([maker.row(queue) for queue in queues.of_kind(kind)])
    rates = bench.queue_rates.get(role)
    counted = any(row.rate is not None for row in rows)
    packets, bits = _totals(bench, view, rows, kind)
    interrupts = _interrupts(rows)
    return QueueTable(
        role,
        kind,
        rows,
        packets,
        bits,
        interrupts,
        has_irqs=any(row.irq is not None for row in rows),
        has_napi=any(row.queue.napi is not None for row in rows),
        measured=rates is not None and rates.seconds > 0,
        counted=counted,
    )


class _Maker:
    """The tables that every row of one host is looked up in."""

    def __init__(self, bench: Workbench, view: HostView, queues: QueueMap, kind: str) -> None:
        self._bench, self._role, self._nic, self._kind = bench, view.role, queues.nic, kind
        self._rates = bench.queue_rates.get(view.role)
        self._settings = bench.settings.get(view.role)
        self._irqs = {irq.number: irq for irq in queues.irqs}
        self._node_of = {cpu.index: cpu.node for cpu in view.facts.cpus}
        self._home = nic_node(view)
        self._sharing: dict[int, list[Queue]] = {}
        for queue in queues.queues:
            if queue.irq is not None:
                self._sharing.setdefault(queue.irq, []).append(queue)
        self._ours = {entry.key for entry in ours_of(bench, view.role, queues.nic)}

    def row(self, queue: Queue) -> QueueRow:
        irq = self._irqs.get(queue.irq) if queue.irq is not None else None
        interrupts = self._rates.irq(irq.number) if self._rates is not None and irq is not None else None
        is_on = self._is_on(irq, interrupts)
        nodes = tuple(sorted({node for cpu in is_on if (node := self._node_of.get(cpu)) is not None}))
        staged, changed = self._marks(queue)
        return QueueRow(
            queue,
            irq,
            irq.wanted if irq else (),
            is_on,
            nodes,
            astray=bool(irq and irq.wanted and is_on and not set(is_on) <= set(irq.wanted)),
            far=self._home is not None and bool(nodes) and any(node != self._home for node in nodes),
            steered=self._steered(queue),
            staged=staged,
            changed=changed,
            rate=self._rates.queue(queue.name) if self._rates is not None else None,
            interrupts=interrupts,
        )

    @staticmethod
    def _is_on(irq: Irq | None, interrupts: IrqRate | None) -> tuple[int, ...]:
        """Where the kernel says; on kernels that do not, the CPU that took the most of the last second's."""
        if irq is None:
            return ()
        if irq.effective or interrupts is None or interrupts.cpu is None:
            return irq.effective
        return (interrupts.cpu,)

    def _steered(self, queue: Queue) -> tuple[int, ...] | None:
        found = self._settings.get(self._nic, f"queue.{queue.name}.{STEERING[queue.kind]}") if self._settings else None
        return cpus_of(found.value) if found else None

    def _marks(self, queue: Queue) -> tuple[dict[str, str], frozenset[str]]:
        """Staged and changed settings of the queue by their last word. An IRQ's affinity is that of all its queues."""
        sharing = self._sharing.get(queue.irq, [queue]) if queue.irq is not None else [queue]
        staged: dict[str, str] = {}
        changed: set[str] = set()
        words = (STEERING[queue.kind], "rps_flow_cnt", "xps_rxqs")
        keys = {f"queue.{queue.name}.{word}": word for word in words}
        keys |= {f"queue.{other.name}.irq_affinity": "irq_affinity" for other in sharing}
        for key, word in keys.items():
            value = self._bench.staged.value(self._role, self._nic, key)
            if value is not None:
                staged[word] = value
            if key in self._ours:
                changed.add(word)
        return staged, frozenset(changed)


def ours_of(bench: Workbench, role: Role, nic: str) -> list[JournalEntry]:
    """The NIC's settings that we changed and that still stand."""
    standing = (Held.HELD, Held.PERMANENT)
    return [e for e in bench.journal if e.role is role and e.scope == nic and e.state in standing]


def nic_node(view: HostView) -> int | None:
    """The NUMA node of the NIC with the queues; None where unknown, and where the host has but one."""
    nic = view.carrier
    return nic.node if nic is not None and len(view.facts.nodes) > 1 else None


def cpus_of(text: str) -> tuple[int, ...]:
    """A CPU list's CPUs; none where a host says something else."""
    try:
        return parse_cpu_list(text)
    except ValueError:
        return ()


def _with_shares(rows: Sequence[QueueRow]) -> tuple[QueueRow, ...]:
    for measure in ("bits", "packets"):
        values = [getattr(row.rate, measure) if row.rate is not None else 0.0 for row in rows]
        total = sum(values)
        if total > 0:
            return tuple(replace(row, share=value / total) for row, value in zip(rows, values, strict=True))
    return tuple(rows)


def _totals(bench: Workbench, view: HostView, rows: Iterable[QueueRow], kind: str) -> tuple[float | None, float | None]:
    """Packets and bits per second of all queues, or of the device where its queues are not counted."""
    rates = [row.rate for row in rows if row.rate is not None]
    if rates:
        return sum(rate.packets for rate in rates), sum(rate.bits for rate in rates)
    rolling = bench.rolling.get(view.role)
    load: NicLoad | None = rolling.nic(view.queue_nic) if rolling is not None and view.queue_nic else None
    if load is None:
        return None, None
    return (load.rx_packets, load.rx_bits) if kind == RECEIVE else (load.tx_packets, load.tx_bits)


def _interrupts(rows: Iterable[QueueRow]) -> float | None:
    """Of all IRQs of these queues, each once."""
    rates = {row.irq.number: row.interrupts for row in rows if row.irq is not None and row.interrupts is not None}
    return sum(rate.total for rate in rates.values()) if rates else None
