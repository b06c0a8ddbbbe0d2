"""Where each CPU's heat cell stands: by NUMA node, last-level cache and hardware thread; folded where CPUs are many.

Pure geometry, computed once per host and size. Used by the heat panels.
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from netbench_tui.model.host import Cpu, HostFacts

# Above this a cell is the busiest thread of a core, then of a last-level cache: more cells than this are noise.
UNFOLDED_CPUS = 128
# Hosts with few CPUs get wide cells, so that their heat is not a speck.
WIDEST_CELL = 8
# Cell width, blank rows between nodes, whether lines may wrap: the first that fits is taken. Wide cells first; wrapping
# before one-column cells; the blank row is the first thing to give up.
_SHAPES = (
    *((cell, gap, False) for cell in range(WIDEST_CELL, 1, -1) for gap in (1, 0)),
    *((cell, gap, wrap) for cell, wrap in ((2, True), (1, False), (1, True)) for gap in (1, 0)),
)
_COMPACT_SHAPES = ((1, 0, False),)


class Fold(enum.StrEnum):
    """What one cell stands for; it shows the busiest of its CPUs."""

    CPU = "cpu"
    CORE = "core"
    CACHE = "last-level cache"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Cell:
    """`width` columns at `column` of row `row`; several CPUs where folded."""

    row: int
    column: int
    width: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeBlock:
    """The rows of one node: its label stands at `row`. `index` is None where the kernel names no node."""

    index: int | None
    row: int
    rows: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HeatPlan:
    """All cells of a host in `rows` rows; `columns` is the width they use."""

    fold: Fold
    cells: tuple[Cell, ...]
    blocks: tuple[NodeBlock, ...]
    rows: int
    columns: int


Group = tuple[tuple[int, ...], ...]
"""The cells of one cache in order, each a tuple of CPUs."""


def plan_heat(facts: HostFacts, width: int, rows: int, compact: bool = False) -> HeatPlan:
    """Fits the host's CPUs into `width` x `rows`: finest fold first, widest cell first. `compact` puts each node on one
    row with a column a cell. The coarsest fold is returned even where it does not fit: degraded, never refused."""
    cpus = [cpu for cpu in facts.cpus if cpu.online]
    plan = HeatPlan(Fold.CPU, (), (), 0, 0)
    for fold in _folds(len(cpus)):
        nodes = _grouped(cpus, fold, compact)
        for cell, gap, wrap in _COMPACT_SHAPES if compact else _SHAPES:
            plan = _place(nodes, fold, cell, gap, width if wrap else None)
            if plan.columns <= width and plan.rows <= rows:
                return plan
    return plan


def _folds(cpus: int) -> tuple[Fold, ...]:
    every = tuple(Fold)
    return every if cpus <= UNFOLDED_CPUS else every[1:]


def _node_key(node: int | None) -> int:
    return -1 if node is None else node


def _grouped(cpus: Sequence[Cpu], fold: Fold, compact: bool) -> list[tuple[int | None, list[list[Group]]]]:
    """Per node its lines, each a list of cache groups: a line per hardware thread, or one line of all when compact."""
    result: list[tuple[int | None, list[list[Group]]]] = []
    for node in sorted({cpu.node for cpu in cpus}, key=_node_key):
        members = [cpu for cpu in cpus if cpu.node == node]
        if fold is Fold.NODE:
            lines: list[list[Group]] = [[(tuple(cpu.index for cpu in members),)]]
        elif fold is Fold.CACHE:
            lines = [[tuple(tuple(c.index for c in group) for group in _caches(members))]]
        elif fold is Fold.CORE:
            lines = [[_cores(group) for group in _caches(members)]]
        else:
            lines = _thread_lines(members)
        result.append((node, [[g for line in lines for g in line]] if compact else lines))
    return result


def _caches(cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    found: dict[int | None, list[Cpu]] = {}
    for cpu in sorted(cpus, key=lambda c: c.index):
        found.setdefault(cpu.cache, []).append(cpu)
    return list(found.values())


def _cores(cpus: Sequence[Cpu]) -> Group:
    found: dict[tuple[int | None, int], list[int]] = {}
    for cpu in cpus:
        found.setdefault((cpu.socket, cpu.index if cpu.core is None else cpu.core), []).append(cpu.index)
    return tuple(tuple(threads) for threads in found.values())


def _thread_lines(cpus: Sequence[Cpu]) -> list[list[Group]]:
    """A core's threads stand below each other: line k holds the k-th thread of every core."""
    lines: list[list[Group]] = []
    for sibling in sorted({cpu.sibling for cpu in cpus}):
        members = [cpu for cpu in cpus if cpu.sibling == sibling]
        lines.append([tuple((cpu.index,) for cpu in group) for group in _caches(members)])
    return lines


def _place(
    nodes: Sequence[tuple[int | None, list[list[Group]]]], fold: Fold, cell: int, gap: int, wrap: int | None
) -> HeatPlan:
    cells: list[Cell] = []
    blocks: list[NodeBlock] = []
    row = 0
    for index, lines in nodes:
        first = row
        for line in lines:
            placed, row = _place_line(line, row, cell, wrap)
            cells += placed
            row += 1
        members = tuple(cpu for line in lines for group in line for one in group for cpu in one)
        blocks.append(NodeBlock(index, first, row - first, members))
        row += gap
    columns = max((c.column + c.width for c in cells), default=0)
    return HeatPlan(fold, tuple(cells), tuple(blocks), max(0, row - gap), columns)


def _place_line(line: Sequence[Group], row: int, cell: int, wrap: int | None) -> tuple[list[Cell], int]:
    """Cells of one line from `row` on, a blank column between caches. Where it must wrap at `wrap` columns it does so
    between caches, into parts of equal numbers of caches."""
    if wrap is None or not line:
        return _place_groups(line, row, cell), row
    widest = max(len(group) for group in line) * cell
    if widest > wrap:
        # One cache alone is too wide: its cells run on from row to row.
        flat, each = [cpus for group in line for cpus in group], max(1, wrap // cell)
        parts: list[Sequence[Group]] = [(tuple(flat[at : at + each]),) for at in range(0, len(flat), each)]
    else:
        most = max(1, (wrap + 1) // (widest + 1))
        even = math.ceil(len(line) / math.ceil(len(line) / most))
        parts = [line[at : at + even] for at in range(0, len(line), even)]
    cells: list[Cell] = []
    for offset, part in enumerate(parts):
        cells += _place_groups(part, row + offset, cell)
    return cells, row + len(parts) - 1


def _place_groups(groups: Sequence[Group], row: int, cell: int) -> list[Cell]:
    cells: list[Cell] = []
    column = 0
    for group in groups:
        for cpus in group:
            cells.append(Cell(row, column, cell, cpus))
            column += cell
        column += 1
    return cells
