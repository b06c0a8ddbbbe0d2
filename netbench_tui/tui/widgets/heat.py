"""A host's CPUs as heat, grouped by NUMA node, last-level cache and hardware thread. Used by Run and Overview."""

from collections.abc import Sequence

from netbench_tui.model.host import Role
from netbench_tui.model.session import HostView
from netbench_tui.model.units import fixed, percent
from netbench_tui.tui.loads import HostLoad
from netbench_tui.tui.look import NUMBERED_FROM_PERCENT, heat_digit
from netbench_tui.tui.widgets.heat_plan import Cell, Fold, HeatPlan, NodeBlock, plan_heat
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel, Piece

# `node 0` and a blank; with one row a block, its load stands behind it.
_LABEL, _LONG_LABEL = 8, 14
# At 80 columns: host, node, and at the right end whether the NIC sits here and the node's load.
_COMPACT_LEFT, _COMPACT_RIGHT = 15, 10
# From this width on softirq and system stand beside each node.
_WIDE = 88


class HeatPanel(Panel):
    """One host's heat. `show` takes what there is; a host without data keeps its cells empty."""

    help_text = (
        "Each cell is a CPU, ten steps of 10 %, always from 0 to 100. A row is a hardware thread, a gap parts caches "
        "of the last level, the NIC's node is bold. From 90 % on the number stands in the cell. With many CPUs a cell "
        "is the busiest thread of a core, then of a cache: the title says so."
    )

    def __init__(self, role: Role, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.role = role
        self.compact = False
        self.view: HostView | None = None
        self.load: HostLoad | None = None
        self.note = ""
        self._plan: tuple[object, HeatPlan] | None = None

    @property
    def name_in_footer(self) -> str:
        return f"{self.look.mark(self.role)} {self.view.name if self.view else self.role.value}"

    @property
    def ink_in_footer(self) -> str:
        return self.look.hue(self.role)

    def show(self, view: HostView | None, load: HostLoad | None, note: str = "") -> None:
        self.view, self.load, self.note = view, load, note
        self.update_rows()

    def set_compact(self, compact: bool) -> None:
        if compact != self.compact:
            self.compact = compact
            self.update_rows()

    def rows_wanted(self, width: int, limit: int, compact: bool) -> int:
        """How many rows the panel needs at `width`, at most `limit`."""
        if self.view is None:
            return 1 if compact else min(4, limit)
        frame = 0 if compact else 2
        left, right = self._margins(width, compact)
        return min(limit, plan_heat(self.view.facts, width - left - right, limit - frame, compact).rows + frame)

    def _margins(self, width: int, compact: bool) -> tuple[int, int]:
        if compact:
            return _COMPACT_LEFT, _COMPACT_RIGHT
        return _LONG_LABEL if self._one_row_blocks() else _LABEL, 16 if width >= _WIDE else 0

    def _one_row_blocks(self) -> bool:
        return self.view is not None and not any(cpu.sibling for cpu in self.view.facts.cpus)

    def _planned(self, width: int, rows: int) -> HeatPlan:
        assert self.view is not None
        key = (self.view.facts.cpus, width, rows, self.compact)
        if self._plan is None or self._plan[0] != key:
            self._plan = (key, plan_heat(self.view.facts, width, rows, self.compact))
        return self._plan[1]

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if self.view is None:
            return [] if self.compact else [self.titled_rule(self.role.value)]
        left, right = self._margins(width, self.compact)
        plan = self._planned(width - left - right, height if self.compact else height - 2)
        lines = [self.line() for _ in range(min(plan.rows, height if self.compact else height - 1))]
        for cell in plan.cells:
            if cell.row < len(lines):
                self._cell(lines[cell.row], left + cell.column, cell)
        for position, block in enumerate(plan.blocks):
            if block.row < len(lines):
                self._label(lines, block, position, left)
        if self.compact:
            if plan.fold is not Fold.CPU and lines:
                words, column = f"busiest of each {plan.fold.value}", left + plan.columns + 2
                lines[0].put(column, cut(words, width - right - 1 - column), self.look.style("dim"))
            return lines
        return [self._title(plan), *lines, self._peak()]

    def _title(self, plan: HeatPlan) -> Line:
        assert self.view is not None
        nic = self.view.carrier
        place = "NIC's node unknown" if nic is None or nic.node is None else f"NIC on node {nic.node}"
        remark = self.note or f"{self.role.value}, {place}"
        if plan.fold is not Fold.CPU:
            remark = f"busiest of each {plan.fold.value}"
        busy = fixed(self.load.busy_cores, 1) if self.load else "–"
        total = sum(cpu.online for cpu in self.view.facts.cpus)
        right: list[Piece] = [(busy, "strong"), (f" of {total} busy", "dim")]
        title = f"{self.look.mark(self.role)} {cut(self.view.name, 24)}"
        return self.titled_rule(title, remark, right, ink=self.look.hue(self.role))

    def _cell(self, line: Line, column: int, cell: Cell) -> None:
        seen = [self.load.cpus[cpu].busy for cpu in cell.cpus if cpu in self.load.cpus] if self.load else []
        if not seen:
            line.put(column, self.look.glyph("no_data") + " " * (cell.width - 1), self.look.style("rule"))
            return
        value = max(seen)
        line.put(column, self._cell_text(value, cell.width), self.look.heat(self.role, value))

    def _cell_text(self, value: float, width: int) -> str:
        if self.look.no_color:
            return heat_digit(value).center(width)
        if width < 2 or value < NUMBERED_FROM_PERCENT:
            return " " * width
        number = percent(value)
        # Two columns cannot hold 100: the sign for full stands there, as without colour.
        return number.center(width) if len(number) <= width else "#" * width

    def _label(self, lines: list[Line], block: NodeBlock, position: int, left: int) -> None:
        assert self.view is not None
        nic = self.view.carrier
        here = nic is not None and nic.node is not None and nic.node == block.index
        name = "cpus" if block.index is None else f"node {block.index}"
        line, ink = lines[block.row], self.look.style("strong" if here else "dim")
        load = self._node_load(block)
        text, style = percent(load), self.look.style("text")
        if self.compact:
            if position == 0:
                host = f"{self.look.mark(self.role)} {cut(self.view.name, 5)}"
                line.put(0, host, self.look.style(self.look.hue(self.role), bold=True))
            line.put_right(left - 1, name, ink)
            if line.width < _COMPACT_LEFT + 2 * _COMPACT_RIGHT:
                return
            line.put(line.width - 9, "NIC" if here else "", self.look.style("dim"))
            line.put_right(line.width - 2, text, style)
            line.put(line.width - 1, "%", self.look.style("faint"))
            return
        line.put(0, name, ink)
        below = lines[block.row + 1] if block.rows > 1 and block.row + 1 < len(lines) else None
        spot, end = (below, 6) if below is not None else (line, left - 2)
        if end > 6 or below is not None:
            self.put_pieces(spot, spot.put_right(end - 2, text, style) + len(text), [(" %", "faint")])
        self._parts(line, below, block)

    def _parts(self, line: Line, below: Line | None, block: NodeBlock) -> None:
        """At the right of a wide panel: softirq and system of the node."""
        if line.width < _WIDE or self.load is None:
            return
        mean = self.load.mean(block.cpus)
        if mean is None:
            return
        for spot, name, share in ((line, "soft", mean.softirq), (below, "sys", mean.system)):
            if spot is not None:
                spot.put(spot.width - 13, name, self.look.style("dim"))
                spot.put_right(spot.width - 4, percent(share), self.look.style("text"))
                spot.put(spot.width - 3, "%", self.look.style("faint"))

    def _node_load(self, block: NodeBlock) -> float | None:
        mean = self.load.mean(block.cpus) if self.load else None
        return mean.busy if mean else None

    def _peak(self) -> Line:
        line = self.line()
        line.put(0, "peak", self.look.style("dim"))
        if self.load is None or self.load.peak is None:
            line.put(_LABEL, "no samples yet", self.look.style("dim"))
            return line
        number = self.load.peak
        cpu = self.load.cpus[number]
        pieces: list[Piece] = [(f"cpu {number}", "text")]
        pieces += [(f"{percent(cpu.busy):>5}", "strong"), (" %", "faint")]
        shares = {"user": cpu.user, "system": cpu.system, "softirq": cpu.softirq}
        shares |= {"steal": cpu.steal} if cpu.steal >= 0.5 else {}
        room = line.width - _LABEL - sum(len(text) for text, _ in pieces)
        while sum(len(name) + 5 for name in shares) > room > 0:
            del shares[min(shares, key=lambda name: shares[name])]  # what matters least makes room
        for name, share in shares.items():
            pieces += [(f"  {name}", "dim"), (f"{percent(share):>3}", "text")]
        self.put_pieces(line, _LABEL, pieces)
        self._legend(line)
        return line

    def _legend(self, line: Line) -> None:
        """The ramp itself, where there is room."""
        if line.width < _WIDE or self.look.no_color:
            return
        column = line.width - 27
        self.put_pieces(line, column - 2, [("0 ", "faint")])
        for step in range(10):
            line.put(column + step, " ", self.look.heat(self.role, step * 10))
        self.put_pieces(line, column + 11, [("100", "dim"), (" %", "faint")])
