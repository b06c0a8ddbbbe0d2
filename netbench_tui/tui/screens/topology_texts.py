"""What the Topology screen says, from the state alone: what is placed where, remarks, a node's threads. No widgets."""

from collections.abc import Iterable, Iterator, Sequence

from netbench_tui.analysis.cpu_order import in_order, usable_cpus
from netbench_tui.analysis.steering import NicState, spread_irqs
from netbench_tui.errors import UsageError
from netbench_tui.model.change import Change
from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.session import HostView
from netbench_tui.model.setting import HostSettings, Irq, Pcie, QueueMap
from netbench_tui.model.units import ABSENT, link_speed, percent
from netbench_tui.tui.loads import HostLoad
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.notes import Note
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.placed import Placed, cpus_by_index, distance, landing, landing_cpus, nodes_of
from netbench_tui.tui.widgets.placement import PlacedRow
from netbench_tui.tui.widgets.socket_groups import NodeGroup

# A CPU from here on is hot, below the other it is idle: between them a remark would come and go with the noise.
HOT_PERCENT, IDLE_PERCENT = 90.0, 10.0
# PCI Express by its transfer rate in GT/s.
_PCIE = {2.5: "1.0", 5.0: "2.0", 8.0: "3.0", 16.0: "4.0", 32.0: "5.0", 64.0: "6.0"}


def placed_of(bench: Workbench, role: Role) -> Placed | None:
    """The host as it is now; None before it is connected."""
    view = bench.views.get(role)
    if view is None:
        return None
    queues = bench.queues.get(role)
    irqs = queues.irqs if queues is not None and queues.nic == view.queue_nic else ()
    age = bench.age(role)
    note = f"{age:.0f} s old" if age is not None else "CPUs shared by both hosts" if view.shares_cpus else ""
    processes = frozenset(pinned_cpus(bench, role) or ())
    return Placed(view, bench.load(role), irqs, landing_cpus(irqs), processes, note)


def pinned_cpus(bench: Workbench, role: Role) -> tuple[int, ...] | None:
    """The CPUs of the traffic processes of the run in progress; empty where they are not pinned, None without a run."""
    if not bench.running or bench.trace is None:
        return None
    test = bench.trace.test
    return test.sender_cpus if role is Role.SENDER else test.receiver_cpus


# --- what is placed where ------------------------------------------------------------------------------------------


def placement_rows(placed: Placed, queues: QueueMap | None, pinned: tuple[int, ...] | None) -> list[PlacedRow]:
    """NIC, receive and transmit IRQs, traffic, management NIC: always these five, so that none moves."""
    view = placed.view
    return [
        _nic_row(placed, queues.pcie if queues else None),
        _irq_row(placed, queues, "rx", "receive"),
        _irq_row(placed, queues, "tx", "transmit"),
        _traffic_row(placed, pinned),
        _management_row(placed, view),
    ]


def _nic_row(placed: Placed, pcie: Pcie | None) -> PlacedRow:
    nic = placed.view.carrier
    if nic is None:
        return PlacedRow("nic", placed.view.data_nic or "NIC")
    address = (pcie.address if pcie else "") or nic.bus
    parts = [address] if address else []
    parts += [words] if (words := pcie_words(pcie)) else []
    speed = link_speed(nic.speed_mbit)
    if speed and nic.kind == "virtual":
        speed += " in name only"
    where: Piece = ("  ".join([*parts, *([speed] if speed else [])]) or "its place is not known", "text")
    return PlacedRow(
        "nic", nic.name, (where,), *_nodes(placed, () if nic.node is None else (nic.node,)), warns=is_slow(pcie)
    )


def pcie_words(pcie: Pcie | None) -> str:
    """`PCIe 4.0 x8 of x16`; empty where nothing is known."""
    if pcie is None or (pcie.speed is None and pcie.width is None):
        return ""
    best_speed = pcie.max_speed if pcie.max_speed is not None and pcie.max_speed != pcie.speed else None
    best_width = pcie.max_width if pcie.max_width is not None and pcie.max_width != pcie.width else None
    now = f"PCIe {_link(pcie.speed, pcie.width)}"
    return f"{now} of {_link(best_speed, best_width)}" if best_speed or best_width else now


def _link(speed: float | None, width: int | None) -> str:
    generation = "" if speed is None else _PCIE.get(speed, f"{speed:g} GT/s")
    return " ".join(part for part in (generation, f"x{width}" if width else "") if part)


def is_slow(pcie: Pcie | None) -> bool:
    """The link is slower or narrower than it could be."""
    if pcie is None:
        return False
    pairs = ((pcie.speed, pcie.max_speed), (pcie.width, pcie.max_width))
    return any(now is not None and best is not None and now < best for now, best in pairs)


def _irq_row(placed: Placed, queues: QueueMap | None, kind: str, word: str) -> PlacedRow:
    if queues is None:
        return PlacedRow("lands", f"{word} IRQs", (("not read yet", "dim"),))
    numbers = {queue.irq for queue in queues.of_kind(kind) if queue.irq is not None}
    irqs = [irq for irq in queues.irqs if irq.number in numbers]
    if not irqs:
        return PlacedRow("lands", f"{word} IRQs", ((_no_irqs(placed), "dim"),))
    cpus = landing_cpus(irqs)
    shared = numbers & {queue.irq for queue in queues.queues if queue.kind != kind}
    where: list[Piece] = [(f"cpu {format_cpu_list(cpus)}" if cpus else "no CPU is known", "text")]
    where += [("  shared with receive", "dim")] if kind == "tx" and shared == numbers else []
    what = f"{len(irqs)} {word} IRQ{'s' * (len(irqs) != 1)}"
    return PlacedRow("lands", what, tuple(where), *_nodes(placed, nodes_of(placed.facts, cpus)))


def _no_irqs(placed: Placed) -> str:
    """Why there is none to show: NICs that sit on others, and those without hardware, have none."""
    below = placed.facts.below(placed.view.data_nic)
    if below:
        return f"none of its own: its packets come through {', '.join(below)}"
    nic = placed.view.nic
    return "a virtual NIC has none" if nic is not None and nic.kind == "virtual" else "none is known"


def _traffic_row(placed: Placed, pinned: tuple[int, ...] | None) -> PlacedRow:
    if pinned is None:
        return PlacedRow("process", "traffic", (("no run in progress", "dim"),))
    if not pinned:
        return PlacedRow("process", "traffic", (("not pinned", "text"),))
    where: Piece = (f"cpu {format_cpu_list(pinned)}", "text")
    return PlacedRow("process", "traffic", (where,), *_nodes(placed, nodes_of(placed.facts, pinned)))


def _management_row(placed: Placed, view: HostView) -> PlacedRow:
    if not view.management_nic:
        return PlacedRow("remark", "management", ())
    nic = placed.facts.nic(view.management_nic)
    words = "  ".join(part for part in (view.management_nic, nic.bus if nic else "") if part)
    node = nic.node if nic else None
    return PlacedRow("remark", "management", ((words, "text"),), *_nodes(placed, () if node is None else (node,)))


def _nodes(placed: Placed, nodes: Sequence[int]) -> tuple[str, str, bool]:
    """The nodes, how far they are from the NIC's, and whether that is its own."""
    if not nodes:
        return ABSENT, ABSENT, False
    far = {distance(placed.facts, node, placed.nic_node) for node in nodes}
    known = sorted(value for value in far if value is not None)
    text = ABSENT if not known else str(known[0]) if len(known) == 1 else f"{known[0]}..{known[-1]}"
    return format_cpu_list(nodes), text, tuple(nodes) == (placed.nic_node,)


# --- remarks -------------------------------------------------------------------------------------------------------


def topology_notes(bench: Workbench, hosts: Sequence[tuple[Placed, QueueMap | None, NodeGroup | None]]) -> list[Note]:
    """What went wrong, then what placement costs, in the order of `hosts`."""
    notes = []
    if bench.trouble is not None:
        notes.append(Note(bench.trouble.message, bench.trouble.hint, bench.trouble.role, wants_action=True))
    for placed, queues, chosen in hosts:
        notes += _hot(placed, chosen)
        notes += _far_irqs(placed, queues)
    return notes


def _note(placed: Placed, text: str, remedy: str = "") -> Note:
    return Note(text, remedy, placed.view.role, placed.view.name, wants_action=True)


def _hot(placed: Placed, chosen: NodeGroup | None) -> Iterator[Note]:
    """The busiest CPU, where others of its node have nothing to do."""
    load = placed.load
    if load is None or load.peak is None or load.cpus[load.peak].busy < HOT_PERCENT:
        return
    cpus = cpus_by_index(placed.facts)
    peak, at = load.cpus[load.peak], cpus.get(load.peak)
    node = at.node if at else None
    idle = len(_idle(placed.facts, load, node))
    if not idle:
        return
    where = "the host" if node is None else f"node {node}"
    words = f"cpu {load.peak} is {percent(peak.busy)} % busy, {percent(peak.softirq)} of it softirq; "
    words += f"{where} has {idle} idle thread{'s' * (idle != 1)}"
    in_softirq = peak.softirq > peak.busy / 2 and placed.irq_cpus
    yield _note(placed, words, f"i  spread IRQs on {chosen.name}" if in_softirq and chosen else "")


def _idle(facts: HostFacts, load: HostLoad, node: int | None) -> list[int]:
    here = {cpu.index for cpu in facts.cpus if cpu.node == node}
    usable = here.intersection(usable_cpus(facts)).intersection(load.cpus)
    return [cpu for cpu in usable if load.cpus[cpu].busy < IDLE_PERCENT]


def _far_irqs(placed: Placed, queues: QueueMap | None) -> Iterator[Note]:
    """IRQs of queues that land on other nodes than the NIC's."""
    if queues is None or placed.nic_node is None or len(placed.facts.nodes) < 2:
        return
    numbers = {queue.irq for queue in queues.queues if queue.irq is not None}
    homes = {cpu.index: cpu.node for cpu in placed.facts.cpus}
    served = [irq for irq in queues.irqs if irq.number in numbers and landing(irq)]
    away = [irq for irq in served if all(homes.get(cpu) != placed.nic_node for cpu in landing(irq))]
    if away:
        nodes = format_cpu_list(nodes_of(placed.facts, landing_cpus(away)))
        words = f"{len(away)} of {len(served)} IRQs land on node {nodes}, the NIC sits on node {placed.nic_node}"
        yield _note(placed, words, f"choose node {placed.nic_node}, then i")


# --- spreading IRQs ------------------------------------------------------------------------------------------------


def spread_on(
    role: Role, facts: HostFacts, queues: QueueMap, settings: HostSettings | None, node: NodeGroup
) -> list[Change]:
    """Each IRQ of the NIC on one CPU of this node in turn, one thread of every core first. UsageError where it cannot
    be."""
    usable = set(usable_cpus(facts)) & set(node.cpus)
    online = {cpu.index for cpu in facts.cpus if cpu.online} & set(node.cpus)
    cpus = in_order(facts, usable or online)
    if not cpus:
        raise UsageError(f"{node.name} has no CPU that is online")
    return spread_irqs(NicState(role, facts, queues, settings or HostSettings()), cpus, ban=True)


# --- threads -------------------------------------------------------------------------------------------------------


def irq_names(queues: QueueMap | None, irqs: Iterable[Irq]) -> dict[int, str]:
    """IRQ number -> `rx-3 tx-3`, or what its driver calls it."""
    served: dict[int, list[str]] = {}
    for queue in queues.queues if queues else ():
        if queue.irq is not None:
            served.setdefault(queue.irq, []).append(queue.name)
    return {irq.number: " ".join(served.get(irq.number, irq.actions)) or "no name" for irq in irqs}
