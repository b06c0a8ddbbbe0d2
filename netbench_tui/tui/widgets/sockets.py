"""A host's sockets, nodes, caches, cores and threads with their heat, and what runs where. Used by Topology."""

from collections.abc import Mapping, Sequence

from rich.style import Style
from textual import events
from textual.message import Message

from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.host import Role
from netbench_tui.model.units import percent
from netbench_tui.tui.look import HEAT_STEPS, NUMBERED_FROM_PERCENT, heat_digit, heat_step
from netbench_tui.tui.widgets.heat_plan import Cell
from netbench_tui.tui.widgets.line import Line, cut, width_of
from netbench_tui.tui.widgets.panel import Panel, Piece
from netbench_tui.tui.widgets.placed import Placed, memory_words, numa_node
from netbench_tui.tui.widgets.socket_groups import NodeGroup, sections_of, unplaced
from netbench_tui.tui.widgets.socket_plan import NARROWEST_NODE, Head, NodeBox, NodeKey, Rule, SocketPlan, plan_sockets
from netbench_tui.tui.widgets.socket_words import cell_words, section_name, section_words

# The cursor bar of the leftmost node stands in the first column.
_LEFT = 1
# From this height on a blank row parts the legend from the CPUs.
_ROOMY = 14
# `memory` stands before the figures where a node is at least so wide.
_MEMORY_WORD = 24
# The NIC's sign alone stands where its name would be cut to less than this.
_NIC_NAME = 8
# The legend's ramp with its figures.
_RAMP = HEAT_STEPS + 8


class SocketsPanel(Panel):
    """One host. `show` takes what there is; a host without data keeps its cells empty."""

    title = "Topology"
    help_text = (
        "Each cell is a CPU, ten steps of 10 %, always from 0 to 100; from 90 % on the number stands in it. A core's "
        "second thread stands below its first, a gap parts caches of the last level. Marks say where the NIC's IRQs "
        "land, where the traffic runs, and which CPUs are kept apart. With many CPUs a cell is the busiest thread of "
        "a core, then of a cache, and where sockets are many only that of the chosen node is open: the title says so."
    )

    class NodeChosen(Message):
        """Another node of this host was chosen."""

        def __init__(self, panel: "SocketsPanel") -> None:
            super().__init__()
            self.panel = panel

    def __init__(self, role: Role, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.role = role
        self.can_focus = True
        self.placed: Placed | None = None
        self.other: tuple[Piece, ...] = ()
        self._chosen: NodeKey | None = None
        self._all_nodes: tuple[NodeGroup, ...] = ()
        self._grouped: object = None
        self._marked: tuple[SocketPlan, object, Mapping[tuple[int, ...], str]] | None = None
        self._off: frozenset[int] = frozenset()
        self._plan: tuple[object, SocketPlan] | None = None

    @property
    def name_in_footer(self) -> str:
        return f"{self.look.mark(self.role)} {self.placed.view.name if self.placed else self.role.value}"

    @property
    def ink_in_footer(self) -> str:
        return self.look.hue(self.role)

    def show(self, placed: Placed | None, other: Sequence[Piece] = ()) -> None:
        """`other` stands at the right end of the first title: how to see the other host."""
        self.placed, self.other = placed, tuple(other)
        shape = (placed.facts.cpus, placed.facts.nodes) if placed is not None else None
        if shape != self._grouped:
            sections = sections_of(placed.facts) if placed is not None else ()
            self._grouped, self._all_nodes = shape, tuple(node for section in sections for node in section.nodes)
        self.update_rows()

    # --- the chosen node -----------------------------------------------------------------------------------------

    @property
    def plan(self) -> SocketPlan | None:
        """Where things stand at the present size."""
        width, height = self.size
        return self.planned(width, height) if self.placed is not None and width and height else None

    @property
    def chosen(self) -> NodeGroup | None:
        """The chosen node; at first that of the NIC, or the first of all."""
        if self.placed is None:
            return None
        found = [node for node in self._all_nodes if node.key == self._chosen]
        found += [node for node in self._all_nodes if self.placed.holds_nic(node)]
        return next(iter(found or self._all_nodes), None)

    def choose(self, node: NodeGroup) -> None:
        self._chosen = node.key
        self.update_rows()
        self.post_message(self.NodeChosen(self))

    def move(self, columns: int, rows: int) -> None:
        """Chooses the neighbour of the chosen node: `columns` in their order, or the nearest `rows` away."""
        plan, chosen, nodes = self.plan, self.chosen, self._all_nodes
        if chosen is not None and columns:
            at = [node.key for node in nodes].index(chosen.key)
            self.choose(nodes[max(0, min(len(nodes) - 1, at + columns))])
        if plan is None or chosen is None or not rows:
            return
        here = next((box for box in plan.boxes if box.node.key == chosen.key), None)
        beyond = [box for box in plan.boxes if here and (box.row - here.row) * rows > 0]
        if here is not None and beyond:
            self.choose(min(beyond, key=lambda b: (abs(b.row - here.row), abs(b.column - here.column))).node)
        else:
            self._leave_section(plan, chosen, rows)

    def _leave_section(self, plan: SocketPlan, chosen: NodeGroup, step: int) -> None:
        """To the next section where only one is open at a time."""
        places = [i for i, rule in enumerate(plan.rules) if chosen.key in [node.key for node in rule.section.nodes]]
        for place in places:
            if 0 <= place + step < len(plan.rules) and plan.rules[place + step].section.nodes:
                self.choose(plan.rules[place + step].section.nodes[0 if step > 0 else -1])

    def on_click(self, event: events.Click) -> None:
        plan = self.plan
        for box in plan.boxes if plan else ():
            inside = 0 <= event.x - _LEFT - box.column < box.width and 0 <= event.y - box.row < box.rows
            if inside:
                self.choose(box.node)
        for rule in plan.rules if plan else ():
            if rule.row == event.y and not rule.open and rule.section.nodes:
                self.choose(rule.section.nodes[0])

    # --- where things stand --------------------------------------------------------------------------------------

    def rows_wanted(self, width: int, limit: int) -> int:
        """How many rows the panel needs at `width`, at most `limit`."""
        if self.placed is None:
            return min(limit, 3)
        return min(limit, self.planned(width, limit).rows + self._below(limit))

    def _below(self, rows: int) -> int:
        """Rows under the CPUs: the legend, a blank before it, CPUs of no known place."""
        assert self.placed is not None
        return 1 + (rows >= _ROOMY) + bool(unplaced(self.placed.facts))

    def planned(self, width: int, height: int) -> SocketPlan:
        assert self.placed is not None
        facts = self.placed.facts
        key = (facts.cpus, facts.nodes, width, height, self._chosen)
        if self._plan is None or self._plan[0] != key:
            rows = height - self._below(height)
            chosen = self._chosen or (self.placed.nic_node, ())
            self._plan = (key, plan_sockets(facts, width - 2 * _LEFT, rows, chosen))
        return self._plan[1]

    # --- painting ------------------------------------------------------------------------------------------------

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if self.placed is None:
            return [self.titled_rule(self.role.value)]
        plan, chosen = self.planned(width, height), self.chosen
        lines = [self.line() for _ in range(min(plan.rows, max(1, height - 1)))]
        for rule in plan.rules:
            if rule.row < len(lines):
                self._rule(lines[rule.row], plan, rule, chosen)
        for box in plan.boxes:
            self._box(lines, box, chosen is not None and box.node.key == chosen.key)
        for place, head in enumerate(plan.heads):
            after = plan.heads[place + 1] if place + 1 < len(plan.heads) else None
            self._head(lines, head, after)
        marks, styles = self._all_marks(plan), [self.look.heat(self.role, step * 10) for step in range(HEAT_STEPS)]
        for cell in plan.cells:
            if cell.row < len(lines):
                self._cell(lines[cell.row], cell, marks[cell.cpus], styles)
        lines += self._offline()
        lines += [self.line() for _ in range(self._below(height) - 1 - bool(unplaced(self.placed.facts)))]
        return [*lines[: height - 1], self._legend(plan)]

    def _rule(self, line: Line, plan: SocketPlan, rule: Rule, chosen: NodeGroup | None) -> None:
        """`socket 0  48 cores, 96 threads, 4 nodes ──── ▼ beta   o ▲ alpha`."""
        assert self.placed is not None
        look, first = self.look, rule is plan.rules[0]
        here = self.has_focus and chosen is not None and chosen.key in [node.key for node in rule.section.nodes]
        right = self._rule_end(rule) if not first else self._host_end()
        end = line.width - _LEFT - sum(width_of(text) for text, _ in right)
        title = section_name(rule.section)
        ink = look.style("accent" if here else "strong", bold=True)
        column = line.put(_LEFT, self.look.words(cut(title, line.width - 2)), ink) + 2
        remark = ", ".join(section_words(rule.section, self.placed, plan.fold, first))
        column = line.put(column, look.words(cut(remark, end - column - 2)), look.style("dim")) + 1
        line.fill(column, end - 1, look.glyph("heavy" if here else "light"), look.style("accent2" if here else "rule"))
        self.put_pieces(line, max(end, column), right)

    def _rule_end(self, rule: Rule) -> list[Piece]:
        assert self.placed is not None
        if not rule.section.cpus:
            return []
        return [(f"{percent(self.placed.busy(rule.section.cpus)):>3}", "text"), (" %", "faint")]

    def _host_end(self) -> list[Piece]:
        assert self.placed is not None
        note: list[Piece] = [(f"{self.placed.note}  ", "strong")] if self.placed.note else []
        name = self.look.words(f"{self.look.mark(self.role)} {cut(self.placed.view.name, 24)}")
        return [*note, (name, self.look.hue(self.role)), *self.other]

    def _box(self, lines: list[Line], box: NodeBox, chosen: bool) -> None:
        """The node's name, the NIC if it sits here, its load, its memory; the cursor bar along all of it."""
        assert self.placed is not None
        left = _LEFT + box.column
        if chosen:
            ink = self.look.style("accent" if self.has_focus else "dim")
            for row in range(box.row, min(len(lines), box.row + box.rows)):
                lines[row].put(left - 1, self.look.glyph("bar"), ink)
        if box.row >= len(lines):
            return
        line, cpus = lines[box.row], frozenset(box.node.cpus)
        end = left + box.width
        if cpus and box.width >= NARROWEST_NODE:
            words = self.look.words(f"{percent(self.placed.busy(cpus)):>3}")
            end = line.put_right(end - 2, words, self.look.style("text"))
            line.put(left + box.width - 1, "%", self.look.style("faint"))
        in_use = self.placed.holds_nic(box.node) or not cpus.isdisjoint(self.placed.irq_cpus | self.placed.process_cpus)
        name = self.look.words(cut(box.node.name, box.width))
        column = line.put(left, name, self.look.style("strong" if in_use else "dim"))
        if self.placed.holds_nic(box.node):
            self._nic(line, column, end)
        if box.memory_row is not None and box.memory_row < len(lines):
            self._memory(lines[box.memory_row], left, box)

    def _nic(self, line: Line, column: int, end: int) -> None:
        """The NIC's sign after the node's name, and its own name where that is not cut to nothing."""
        assert self.placed is not None
        sign, room = self.look.glyph("nic"), end - column - 3
        style = self.look.style(self.look.hue(self.role), bold=True)
        if room < _NIC_NAME:
            line.put(column + 1, sign, style)
        else:
            line.put(column + 2, self.look.words(cut(f"{sign} {self.placed.view.data_nic}", room)), style)

    def _memory(self, line: Line, left: int, box: NodeBox) -> None:
        assert self.placed is not None
        used, total = memory_words(numa_node(self.placed.facts, box.node.index))
        if not total:
            return
        column = left
        if box.width >= _MEMORY_WORD:
            line.put(column, "memory", self.look.style("faint"))
            column += 9
        self.put_pieces(line, column, [(f"{used:>5} " if used else "", "text"), (total, "dim")])

    def _head(self, lines: list[Line], head: Head, after: Head | None) -> None:
        """A cache's first CPU, unless the next one's number would touch it."""
        text = str(head.cpu)
        crowded = after is not None and after.row == head.row and head.column + len(text) >= after.column
        if head.row < len(lines) and not crowded:
            lines[head.row].put(_LEFT + head.column, text, self.look.style("faint"))

    def _cell(self, line: Line, cell: Cell, marks: str, styles: Sequence[Style]) -> None:
        """Hosts have hundreds of these: the row is written without a look at what each sign is."""
        assert self.placed is not None
        value = self.placed.worst(cell.cpus)
        if value is None:
            text, style = marks[: cell.width].ljust(cell.width), self.look.style("dim")
            if not marks:
                off = all(cpu in self._off for cpu in cell.cpus)
                text = self.look.glyph("absent" if off else "no_data").ljust(cell.width)
                style = self.look.style("rule")
        else:
            text, style = self._cell_text(value, marks[: cell.width], cell.width), styles[heat_step(value)]
        start = _LEFT + cell.column
        end = min(line.width, start + cell.width)
        if end > start:
            line.cells[start:end] = text[: end - start]
            line.styles[start:end] = [style] * (end - start)

    def _cell_text(self, value: float, marks: str, width: int) -> str:
        """The number where it is hot and there is room, else the marks; without colour the tens digit goes first."""
        if self.look.no_color:
            return (heat_digit(value) + marks)[:width].ljust(width)
        if width < 2 or value < NUMBERED_FROM_PERCENT:
            return marks.center(width)
        number = percent(value)
        return number.center(width) if len(number) <= width else "#" * width

    def _all_marks(self, plan: SocketPlan) -> Mapping[tuple[int, ...], str]:
        """The marks of every cell, by its CPUs; worked out again only when something came to stand elsewhere."""
        assert self.placed is not None
        cpus = self.placed.facts.cpus
        known = (self.placed.irq_cpus, self.placed.process_cpus)
        if self._marked is None or self._marked[0] is not plan or self._marked[1] != known:
            isolated = frozenset(cpu.index for cpu in cpus if cpu.isolated)
            tickless = frozenset(cpu.index for cpu in cpus if cpu.nohz_full)
            self._off = frozenset(cpu.index for cpu in cpus if not cpu.online)
            sets = (self.placed.irq_cpus, self.placed.process_cpus, isolated, tickless)
            self._marked = (plan, known, {cell.cpus: self._marks(cell.cpus, sets) for cell in plan.cells})
        return self._marked[2]

    def _marks(self, cpus: Sequence[int], sets: Sequence[frozenset[int]]) -> str:
        """A CPU that is both isolated and without a tick shows the first: the node's panel says both."""
        irq, process, isolated, tickless = (not members.isdisjoint(cpus) for members in sets)
        names = ("lands", irq), ("process", process), ("isolated", isolated), ("tickless", tickless and not isolated)
        return "".join(self.look.glyph(name) for name, there in names if there)

    def _offline(self) -> list[Line]:
        """CPUs that are off and of which the kernel says no more."""
        assert self.placed is not None
        gone = unplaced(self.placed.facts)
        if not gone:
            return []
        line = self.line()
        column = line.put(_LEFT, f"{self.look.glyph('absent')} offline", self.look.style("text")) + 2
        count = f"{len(gone)} CPUs" if len(gone) > 1 else "1 CPU"
        words = f"{count}, on no known node: {format_cpu_list(gone)}"
        line.put(column, self.look.words(cut(words, line.width - column - 1)), self.look.style("dim"))
        return [line]

    # --- the legend ----------------------------------------------------------------------------------------------

    def _legend(self, plan: SocketPlan) -> Line:
        """What a cell is at the left; marks and the ramp at the right, the ramp only where there is room."""
        assert self.placed is not None
        line, look = self.line(), self.look
        pieces: list[Piece] = []
        for name, word in self._signs():
            pieces += [("   ", "dim"), (look.glyph(name), "text"), (f" {word}", "dim")]
        column = line.width - _LEFT
        ramp = line.width >= 100 and not look.no_color
        column -= (_RAMP + 2) * ramp + sum(width_of(text) for text, _ in pieces)
        words = cell_words(plan, self.placed)
        line.put(_LEFT, look.words(cut(words, column - _LEFT - 1)), look.style("faint"))
        column = self.put_pieces(line, max(_LEFT, column), pieces)
        if ramp:
            column = self.put_pieces(line, column + 2, [("0 ", "faint")])
            for step in range(HEAT_STEPS):
                line.put(column + step, " ", look.heat(self.role, step * 10))
            self.put_pieces(line, column + HEAT_STEPS, [(" 100", "dim"), (" %", "faint")])
        return line

    def _signs(self) -> list[tuple[str, str]]:
        assert self.placed is not None
        cpus = self.placed.facts.cpus
        found = [("lands", "IRQ"), ("process", "traffic")]
        found += [("isolated", "isolated")] if any(cpu.isolated for cpu in cpus) else []
        found += [("tickless", "nohz_full")] if any(cpu.nohz_full and not cpu.isolated for cpu in cpus) else []
        gone = set(unplaced(self.placed.facts))
        placed_off = any(not cpu.online and cpu.index not in gone for cpu in cpus)
        return found + ([("absent", "offline")] if placed_off else [])
