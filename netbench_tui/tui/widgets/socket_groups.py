"""A host's CPUs as sections of sockets, NUMA nodes in them, caches in those, cores and threads. No geometry here.

Used by socket_plan (where they stand) and by the Topology screen (what it says of them). A section is a socket; where
a node spans several sockets (virtual machines with a core a socket) it is all of those. Nodes without CPUs come last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netbench_tui.model.host import Cpu, HostFacts

# Where the kernel names no nodes, more sockets than this are those of a virtual machine with a core a socket.
_SOCKETS_APART = 8

Core = tuple[int, ...]
"""The threads of one core, first thread first."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """One NUMA node. `index` is None where the kernel names none; then `sockets` tells these CPUs from others."""

    index: int | None
    sockets: tuple[int, ...] = ()
    caches: tuple[tuple[Core, ...], ...] = ()
    """Per last-level cache its cores, both in the order of their lowest CPU."""

    @property
    def key(self) -> tuple[int | None, tuple[int, ...]]:
        """What it is known by, however its host is arranged."""
        return self.index, () if self.index is not None else self.sockets

    @property
    def cpus(self) -> tuple[int, ...]:
        return tuple(sorted(cpu for cores in self.caches for core in cores for cpu in core))

    @property
    def cores(self) -> int:
        return sum(len(cores) for cores in self.caches)

    @property
    def name(self) -> str:
        if self.index is not None:
            return f"node {self.index}"
        return f"socket {self.sockets[0]}" if len(self.sockets) == 1 else "cpus"


@dataclass(frozen=True, slots=True)
class SectionGroup:
    """What stands under one ruled title. No `sockets`: the kernel names none, or these nodes have no CPUs."""

    sockets: tuple[int, ...]
    nodes: tuple[NodeGroup, ...]

    @property
    def cores(self) -> int:
        return sum(node.cores for node in self.nodes)

    @property
    def cpus(self) -> tuple[int, ...]:
        return tuple(cpu for node in self.nodes for cpu in node.cpus)


def sections_of(facts: HostFacts) -> tuple[SectionGroup, ...]:
    """All sections in the order of their sockets, memory-only nodes last. CPUs that say no place are in none of them:
    `unplaced`."""
    sections: list[SectionGroup] = []
    for group in _node_groups(facts):
        touching = [section for section in sections if _touch(section, group)]
        sections = [section for section in sections if section not in touching]
        nodes = [node for section in touching for node in section.nodes]
        sections.append(_section([*nodes, group]))
    sections.sort(key=lambda section: section.sockets[0] if section.sockets else 0)
    held = {node.index for section in sections for node in section.nodes}
    bare = tuple(NodeGroup(node.index) for node in facts.nodes if node.index not in held and not node.cpus)
    return (*sections, SectionGroup((), bare)) if bare else tuple(sections)


def merged(sections: Sequence[SectionGroup]) -> tuple[SectionGroup, ...]:
    """All in one section: for hosts of more sockets than there are rows."""
    return (_section([node for section in sections for node in section.nodes]),)


def unplaced(facts: HostFacts) -> tuple[int, ...]:
    """Offline CPUs of which the kernel does not say where they are."""
    return tuple(cpu.index for cpu in facts.cpus if not _placed(cpu))


def _placed(cpu: Cpu) -> bool:
    return cpu.online or cpu.node is not None or cpu.socket is not None


def _touch(section: SectionGroup, group: NodeGroup) -> bool:
    if not section.sockets and not group.sockets:
        return True
    return bool(set(section.sockets) & set(group.sockets))


def _section(nodes: Iterable[NodeGroup]) -> SectionGroup:
    ordered = sorted(nodes, key=lambda node: (-1 if node.index is None else node.index, node.sockets))
    return SectionGroup(tuple(sorted({socket for node in ordered for socket in node.sockets})), tuple(ordered))


def _node_groups(facts: HostFacts) -> list[NodeGroup]:
    members: dict[tuple[int | None, int | None], list[Cpu]] = {}
    homeless = {cpu.socket for cpu in facts.cpus if cpu.node is None}
    apart = len(homeless) <= _SOCKETS_APART
    for cpu in sorted(facts.cpus, key=lambda cpu: cpu.index):
        if _placed(cpu):
            members.setdefault((cpu.node, cpu.socket if cpu.node is None and apart else None), []).append(cpu)
    return [
        NodeGroup(node, tuple(sorted({cpu.socket for cpu in cpus if cpu.socket is not None})), _caches(cpus))
        for (node, _), cpus in members.items()
    ]


def _caches(cpus: Sequence[Cpu]) -> tuple[tuple[Core, ...], ...]:
    caches: dict[int | None, dict[tuple[int | None, int], list[Cpu]]] = {}
    for cpu in cpus:
        cores = caches.setdefault(cpu.cache, {})
        # A CPU that names no core is one of its own: numbers below zero cannot be a core's.
        cores.setdefault((cpu.socket, -1 - cpu.index if cpu.core is None else cpu.core), []).append(cpu)
    return tuple(tuple(_threads(core) for core in cores.values()) for cores in caches.values())


def _threads(core: Sequence[Cpu]) -> Core:
    return tuple(cpu.index for cpu in sorted(core, key=lambda cpu: (cpu.sibling, cpu.index)))
