"""Where each socket's rule, each NUMA node and each CPU's heat cell stand on the Topology screen.

Pure geometry by facts and size alone, so that no position moves because a value changed. Used by sockets.py.

    socket 0  48 cores, 96 threads, 4 nodes ─────────────
    node 0                 2 %    node 1           ▪ 33 %
    0        4        8           12       16       20
    ████████ ████████ ████████    ████████ ████████ ██████   first threads, a gap ends an L3
    ████████ ████████ ████████    ████████ ████████ ██████   their siblings
    memory   6.1 of 94 GiB        memory   2.8 of 94 GiB
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netbench_tui.model.host import HostFacts
from netbench_tui.tui.widgets.heat_plan import Cell, Fold
from netbench_tui.tui.widgets.socket_groups import NodeGroup, SectionGroup, merged, sections_of

# Columns between two nodes; the cursor bar stands in the last of them.
NODE_GAP = 3
# `node 12 ▪ 100 %` and a blank.
NARROWEST_NODE = 16
# Hosts with few CPUs get wide cells, so that their heat is not a speck.
_WIDE_CELLS = (8, 6, 4, 3, 2)

NodeKey = tuple[int | None, tuple[int, ...]]

Column = tuple[tuple[int, ...], ...]
"""Cells that stand below each other, each with its CPUs: a core's threads, or one folded cell."""


@dataclass(frozen=True, slots=True)
class Form:
    """How much stands around the cells; the first form that fits is taken. `wrap` lets one node run over rows."""

    cell: int
    blanks: bool
    heads: bool
    memory: bool
    wrap: bool = False
    narrowest: int = NARROWEST_NODE
    gap: int = NODE_GAP


# Blank rows go first, then the caches' first CPUs, then the memory row; two columns a cell (room for a number) hold
# out longer than these, and one node wider than the panel wraps before cells become one column.
_DRESS = ((True, True, True), (False, True, True), (False, False, True), (False, False, False))
FORMS = (
    *(Form(cell, *dress) for cell in _WIDE_CELLS[:-1] for dress in _DRESS[:2]),
    *(Form(2, *dress, wrap) for wrap in (False, True) for dress in _DRESS),
    *(Form(1, *dress, wrap) for wrap in (False, True) for dress in _DRESS),
)


# Many nodes of few CPUs: room for a name and the NIC's sign, and still two columns between nodes, as one parts caches.
TIGHT_FORMS = tuple(Form(1, *_DRESS[-1], wrap, 8, 2) for wrap in (False, True))


@dataclass(frozen=True, slots=True)
class Rule:
    """A section's title row. A section that is not `open` is only this row."""

    section: SectionGroup
    row: int
    open: bool


@dataclass(frozen=True, slots=True)
class NodeBox:
    """One node: its label at `row`, `memory_row` None where there is no room for it."""

    node: NodeGroup
    row: int
    column: int
    width: int
    rows: int
    memory_row: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """The first CPU of a last-level cache, above its cells."""

    row: int
    column: int
    cpu: int


@dataclass(frozen=True, slots=True)
class SocketPlan:
    """All of a host in `rows` x `columns`."""

    fold: Fold
    rules: tuple[Rule, ...]
    boxes: tuple[NodeBox, ...]
    heads: tuple[Head, ...]
    cells: tuple[Cell, ...]
    rows: int
    columns: int
    nodes: tuple[NodeGroup, ...]
    """All nodes in the order of the sections, also those that have no box."""


@dataclass(frozen=True, slots=True)
class _Body:
    """One node's cells, wrapped: bands of caches of columns."""

    bands: tuple[tuple[tuple[Column, ...], ...], ...]
    width: int
    depth: int


def plan_sockets(facts: HostFacts, width: int, rows: int, chosen: NodeKey | None = None) -> SocketPlan:
    """Fits the host into `width` x `rows`. First every thread has a cell, in all sections, then only in the section of
    node `chosen`, then in one section for all sockets; then cells become cores, caches, nodes in the same way. What
    fits nowhere is returned in its smallest form: degraded, never refused."""
    whole = sections_of(facts)
    best: SocketPlan | None = None
    arrangements = list(_arrangements(whole, chosen))
    for fold, forms in itertools.product(Fold, (FORMS, TIGHT_FORMS)):
        for sections, only in arrangements:
            bodies = _Bodies(sections, fold)
            for form in forms:
                size = _Layout(sections, bodies, form, width, only)
                if size.columns <= width and size.rows <= rows:
                    return size.plan()
            best = size.plan()
    assert best is not None
    return best


def _arrangements(
    sections: tuple[SectionGroup, ...], chosen: NodeKey | None
) -> Iterator[tuple[tuple[SectionGroup, ...], int | None]]:
    yield sections, None
    if len(sections) > 1:
        holders = (i for i, section in enumerate(sections) if any(node.key == chosen for node in section.nodes))
        yield sections, next(holders, 0)
        yield merged(sections), None


def columns_of(node: NodeGroup, fold: Fold) -> tuple[tuple[Column, ...], ...]:
    """The node's columns of cells by cache; where a cell is a cache or more, all in one group."""
    if fold is Fold.CPU:
        return tuple(tuple(tuple((cpu,) for cpu in core) for core in cores) for cores in node.caches)
    if fold is Fold.CORE:
        return tuple(tuple((core,) for core in cores) for cores in node.caches)
    if fold is Fold.CACHE:
        return (tuple((tuple(sorted(cpu for core in cores for cpu in core)),) for cores in node.caches),)
    return (((node.cpus,),),) if node.caches else ((),)


class _Bodies:
    """The nodes' cells of one fold, wrapped at need; each wrapping is worked out once."""

    def __init__(self, sections: Sequence[SectionGroup], fold: Fold) -> None:
        self.fold = fold
        self._groups = {id(node): columns_of(node, fold) for section in sections for node in section.nodes}
        self._known: dict[tuple[int, int, int | None], _Body] = {}

    def of(self, node: NodeGroup, cell: int, wrap: int | None) -> _Body:
        key = (id(node), cell, wrap)
        if key not in self._known:
            groups = self._groups[id(node)]
            bands = _bands(groups, cell, wrap) if wrap is not None else (tuple(groups),)
            width = max(_width(band, cell) for band in bands)
            depth = max((len(column) for group in groups for column in group), default=0)
            self._known[key] = _Body(bands, width, depth)
        return self._known[key]


def _width(band: Sequence[tuple[Column, ...]], cell: int) -> int:
    return sum(len(group) for group in band) * cell + max(0, len(band) - 1)


def _bands(groups: Sequence[tuple[Column, ...]], cell: int, wrap: int) -> tuple[tuple[tuple[Column, ...], ...], ...]:
    """Caches one after the other in rows of at most `wrap` columns, each of as many caches; a cache that is wider runs
    on from row to row."""
    most = max(1, wrap // cell)
    parts = [group[at : at + most] for group in groups for at in range(0, max(1, len(group)), most)]
    widest = max((len(part) for part in parts), default=0) * cell
    each = max(1, (wrap + 1) // (widest + 1))
    even = math.ceil(len(parts) / math.ceil(len(parts) / each)) if parts else 1
    return tuple(tuple(parts[at : at + even]) for at in range(0, max(1, len(parts)), even))


class _Layout:
    """One attempt. The size is known at once, the cells are placed when it is asked for its `plan`."""

    def __init__(
        self, sections: Sequence[SectionGroup], bodies: _Bodies, form: Form, width: int, only: int | None
    ) -> None:
        self._bodies, self._form = bodies, form
        nodes = [node for section in sections for node in section.nodes]
        self._nodes = tuple(nodes)
        self._wrap = width if form.wrap else None
        box = max((self._body(node).width for node in nodes), default=0)
        self._box = max(form.narrowest, box)
        self._each = max(1, (width + form.gap) // (self._box + form.gap))
        self._rules: list[Rule] = []
        self._boxes: list[NodeBox] = []
        self.rows = self._stack(sections, only)
        self.columns = max((placed.column + placed.width for placed in self._boxes), default=0)

    def _body(self, node: NodeGroup) -> _Body:
        return self._bodies.of(node, self._form.cell, self._wrap)

    def _stack(self, sections: Sequence[SectionGroup], only: int | None) -> int:
        row = 0
        for index, section in enumerate(sections):
            is_open = only is None or index == only
            self._rules.append(Rule(section, row, is_open))
            row += 1
            if is_open:
                row = self._section(section.nodes, row + self._form.blanks)
            row += self._form.blanks
        return row - (self._form.blanks and bool(sections))

    def _section(self, nodes: Sequence[NodeGroup], row: int) -> int:
        """Its nodes side by side in rows of equal numbers, at most `_each`; gives the row below the last."""
        even = math.ceil(len(nodes) / math.ceil(len(nodes) / self._each))
        for at in range(0, len(nodes), even):
            line = nodes[at : at + even]
            tallest = max(self._height(node) for node in line)
            for place, node in enumerate(line):
                column = place * (self._box + self._form.gap)
                memory = row + self._height(node) - 1 if self._form.memory and node.index is not None else None
                self._boxes.append(NodeBox(node, row, column, self._box, self._height(node), memory))
            row += tallest + (self._form.blanks and at + even < len(nodes))
        return row

    def _height(self, node: NodeGroup) -> int:
        body = self._body(node)
        bands = len(body.bands) * (body.depth + self._heads) if node.caches else 0
        return 1 + bands + (self._form.memory and node.index is not None)

    @property
    def _heads(self) -> bool:
        return self._form.heads and self._bodies.fold in (Fold.CPU, Fold.CORE)

    def plan(self) -> SocketPlan:
        heads: list[Head] = []
        cells: list[Cell] = []
        for box in self._boxes:
            self._fill(box, heads, cells)
        return SocketPlan(
            self._bodies.fold,
            tuple(self._rules),
            tuple(self._boxes),
            tuple(heads),
            tuple(cells),
            self.rows,
            self.columns,
            self._nodes,
        )

    def _fill(self, box: NodeBox, heads: list[Head], cells: list[Cell]) -> None:
        body, size = self._body(box.node), self._form.cell
        row = box.row + 1
        for band in body.bands if box.node.caches else ():
            column = box.column
            for group in band:
                if self._heads and group:
                    heads.append(Head(row, column, min(group[0][0])))
                for stack in group:
                    cells += (Cell(row + self._heads + i, column, size, cpus) for i, cpus in enumerate(stack))
                    column += size
                column += 1
            row += body.depth + self._heads
