"""What stands where on one host: load, IRQs and traffic processes by CPU, distances between nodes. No drawing here.

Made by the Topology screen, shown by its panels.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netbench_tui.model.host import Cpu, HostFacts, NumaNode
from netbench_tui.model.session import HostView
from netbench_tui.model.setting import Irq
from netbench_tui.tui.loads import HostLoad
from netbench_tui.tui.widgets.socket_groups import NodeGroup


@dataclass(frozen=True, slots=True)
class Placed:
    """One host as it is now. `note` says why it is not quite now, e.g. `4 s old`."""

    view: HostView
    load: HostLoad | None = None
    irqs: tuple[Irq, ...] = ()
    """All of the data NIC's."""
    irq_cpus: frozenset[int] = frozenset()
    process_cpus: frozenset[int] = frozenset()
    note: str = ""

    @property
    def facts(self) -> HostFacts:
        return self.view.facts

    @property
    def nic_node(self) -> int | None:
        return self.view.carrier.node if self.view.carrier is not None else None

    def holds_nic(self, node: NodeGroup) -> bool:
        return node.index is not None and node.index == self.nic_node

    def busy(self, cpus: Iterable[int]) -> float | None:
        """Mean of these CPUs, per cent; None where none was seen."""
        mean = self.load.mean(cpus) if self.load else None
        return mean.busy if mean else None

    def worst(self, cpus: Sequence[int]) -> float | None:
        """The busiest of these CPUs, per cent; None where none was seen."""
        seen = self.load.cpus if self.load else {}
        if len(cpus) == 1:
            only = seen.get(cpus[0])
            return only.busy if only is not None else None
        return max((seen[cpu].busy for cpu in cpus if cpu in seen), default=None)


def landing(irq: Irq) -> tuple[int, ...]:
    """The CPUs that an IRQ is sent to; where the kernel does not say, those that it was asked to."""
    return irq.effective or irq.wanted


def landing_cpus(irqs: Iterable[Irq]) -> frozenset[int]:
    return frozenset(cpu for irq in irqs for cpu in landing(irq))


def numa_node(facts: HostFacts, index: int | None) -> NumaNode | None:
    return next((node for node in facts.nodes if node.index == index), None)


def distance(facts: HostFacts, one: int | None, other: int | None) -> int | None:
    """As the firmware tells it, 10 is local. The kernel lists distances by place among the nodes, not by number."""
    node = numa_node(facts, one)
    order = [known.index for known in facts.nodes]
    if node is None or other not in order or order.index(other) >= len(node.distances):
        return None
    return node.distances[order.index(other)]


def nodes_of(facts: HostFacts, cpus: Iterable[int]) -> tuple[int, ...]:
    """The nodes that these CPUs are on."""
    wanted = set(cpus)
    return tuple(sorted({cpu.node for cpu in facts.cpus if cpu.index in wanted and cpu.node is not None}))


def cpus_by_index(facts: HostFacts) -> dict[int, Cpu]:
    return {cpu.index: cpu for cpu in facts.cpus}


def gib(kib: int | None, decimals: int = 1) -> str:
    """KiB as GiB, `–` where unknown."""
    return "–" if kib is None else f"{kib / (1 << 20):.{decimals}f}"


def memory_words(node: NumaNode | None) -> tuple[str, str]:
    """Used, and `of 94 GiB`; used is empty where the kernel tells the total alone; both are where it tells nothing."""
    if node is None or node.memory_kib is None:
        return "", ""
    total = gib(node.memory_kib, 0 if node.memory_kib >= 10 << 20 else 1)
    if node.memory_free_kib is None:
        return "", f"{total} GiB"
    return gib(max(0, node.memory_kib - node.memory_free_kib)), f"of {total} GiB"
