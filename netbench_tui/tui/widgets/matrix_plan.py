"""Where each CPU's column of the queue matrix stands: all of a host in one row, grouped by node and last-level cache.

Pure geometry, computed once per host and width. Used by the queue rows. The NIC's node keeps its detail longest: what
other nodes take is a mistake that one column shows as well as thirty.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from netbench_tui.model.host import Cpu, HostFacts
from netbench_tui.tui.widgets.heat_plan import Fold

# Blank columns between caches and between nodes.
_CACHE_GAP, _NODE_GAP = 1, 2
_WIDEST_COLUMN = 3
# A CPU's column of less than this is a speck on hosts with few CPUs, and there is room.
_FEW_CPUS = 8
_WIDEST_OF_FEW = 5


@dataclass(frozen=True, slots=True)
class Column:
    """`width` cells at `x`; several CPUs where folded. `first` begins a cache, or a node that is one column."""

    x: int
    width: int
    cpus: tuple[int, ...]
    node: int | None
    first: bool


@dataclass(frozen=True)
class MatrixPlan:
    """All columns of a host in `width` cells. `fold` is that of the NIC's node, `far` of the others."""

    columns: tuple[Column, ...] = ()
    width: int = 0
    fold: Fold = Fold.CPU
    far: Fold = Fold.CPU
    near_node: int | None = None
    by_cpu: Mapping[int, int] = field(default_factory=dict)
    """CPU -> its column's place in `columns`."""

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """(first, end) of the cells of neighbouring columns without a gap: what is painted in one go."""
        spans: list[tuple[int, int]] = []
        for column in self.columns:
            if spans and spans[-1][1] == column.x:
                spans[-1] = (spans[-1][0], column.x + column.width)
            else:
                spans.append((column.x, column.x + column.width))
        return tuple(spans)

    def spread(self, shares: Mapping[int, float]) -> dict[int, float]:
        """Shares by CPU as shares by column: a folded column takes the sum of its CPUs."""
        found: dict[int, float] = {}
        for cpu, share in shares.items():
            place = self.by_cpu.get(cpu)
            if place is not None:
                found[place] = found.get(place, 0.0) + share
        return found


def plan_matrix(facts: HostFacts, nic_node: int | None, width: int, compact: bool = False) -> MatrixPlan:
    """Fits the online CPUs into `width`: finest fold first, widest column first. `compact` starts at one column a
    cache. The coarsest is returned even where it does not fit: degraded, never refused."""
    cpus = [cpu for cpu in facts.cpus if cpu.online]
    nodes = _by_node(cpus)
    widest = _WIDEST_OF_FEW if len(cpus) <= _FEW_CPUS else _WIDEST_COLUMN
    plan = MatrixPlan()
    for near, far in _folds(compact and len(cpus) > width // 2, nic_node in nodes and len(nodes) > 1):
        for each in range(widest, 0, -1):
            for gap in (_NODE_GAP, _CACHE_GAP):
                plan = _place(nodes, nic_node, near, far, each, gap)
                if plan.width <= width:
                    return plan
    return plan


def _folds(compact: bool, has_near: bool) -> Iterator[tuple[Fold, Fold]]:
    """(the NIC's node, the others), finest first."""
    order = (Fold.CACHE, Fold.NODE) if compact else tuple(Fold)
    for place, fold in enumerate(order):
        yield fold, fold
        if has_near:
            for coarser in order[place + 1 :]:
                yield fold, coarser


def _by_node(cpus: Sequence[Cpu]) -> dict[int | None, list[Cpu]]:
    found: dict[int | None, list[Cpu]] = {}
    for cpu in sorted(cpus, key=lambda cpu: (-1 if cpu.node is None else cpu.node, cpu.index)):
        found.setdefault(cpu.node, []).append(cpu)
    return found


def _groups(cpus: Sequence[Cpu], fold: Fold) -> list[list[tuple[int, ...]]]:
    """Caches of one node, each a list of columns, each the CPUs that the column stands for."""
    if fold is Fold.NODE:
        return [[tuple(cpu.index for cpu in cpus)]]
    caches: dict[int | None, list[Cpu]] = {}
    for cpu in cpus:
        caches.setdefault(cpu.cache, []).append(cpu)
    if fold is Fold.CACHE:
        return [[tuple(cpu.index for cpu in members) for members in caches.values()]]
    if fold is Fold.CPU:
        return [[(cpu.index,) for cpu in members] for members in caches.values()]
    return [_cores(members) for members in caches.values()]


def _cores(cpus: Sequence[Cpu]) -> list[tuple[int, ...]]:
    cores: dict[tuple[int | None, int], list[int]] = {}
    for cpu in cpus:
        cores.setdefault((cpu.socket, cpu.index if cpu.core is None else cpu.core), []).append(cpu.index)
    return [tuple(threads) for threads in cores.values()]


def _place(
    nodes: Mapping[int | None, Sequence[Cpu]], nic_node: int | None, near: Fold, far: Fold, each: int, gap: int
) -> MatrixPlan:
    columns: list[Column] = []
    x = 0
    for node, cpus in nodes.items():
        fold = near if node == nic_node or near is far else far
        for group in _groups(cpus, fold):
            for place, members in enumerate(group):
                # A node that is one column has room for its name: two cells, e.g. n1.
                size = max(each, 2) if fold is Fold.NODE else each
                columns.append(Column(x, size, members, node, place == 0))
                x += size
            x += _CACHE_GAP
        x += gap - _CACHE_GAP
    width = columns[-1].x + columns[-1].width if columns else 0
    by_cpu = {cpu: place for place, column in enumerate(columns) for cpu in column.cpus}
    return MatrixPlan(tuple(columns), width, near, far, nic_node, by_cpu)
