"""One row of the queue matrix, painted onto a line: shares of a queue's interrupts, or load, by column. Used by the
queue rows, which put the same columns behind every queue and below all of them.
"""

from collections.abc import Iterable, Mapping

from rich.style import Style

from netbench_tui.model.host import Role
from netbench_tui.model.units import percent
from netbench_tui.tui.look import HEAT_STEPS, NUMBERED_FROM_PERCENT, Look, heat_digit
from netbench_tui.tui.widgets.heat_plan import Fold
from netbench_tui.tui.widgets.line import Line
from netbench_tui.tui.widgets.matrix_plan import MatrixPlan

# `0`, the ten steps, `100 %`, with blanks between.
_LEGEND = 18
# Columns so wide have each its own head.
_NAMED_FROM = 4
# A share of less than this is a stray interrupt and not worth a cell of its own.
_LEAST_SHARE = 0.005


class MatrixPainter:
    """A plan bound to a host's hue and to the column where it begins."""

    def __init__(self, look: Look, role: Role, plan: MatrixPlan, left: int) -> None:
        self._look, self._role, self.plan, self._left = look, role, plan, left

    def ground(self, line: Line) -> None:
        """The matrix without a value: every cell at 0. The cursor's paper ends before it."""
        line.fill(self._left - 1, line.width, " ", self._look.style())
        style = self._look.heat(self._role, 0.0)
        sign = heat_digit(0.0) if self._look.no_color else " "
        for start, end in self.plan.spans:
            line.fill(self._left + start, self._left + end, sign, style)

    def shares(
        self, line: Line, shares: Mapping[int, float], lands: Iterable[int] = (), staged: Iterable[int] = ()
    ) -> None:
        """A queue's row: `shares` (0..1) by CPU; a sign stands where its IRQ lands and nothing came, another where it
        is staged to go."""
        self.ground(line)
        by_place = self.plan.spread(shares)
        for place, share in by_place.items():
            if share >= _LEAST_SHARE:
                self._cell(line, place, 100 * share)
        signs = {self.plan.by_cpu[cpu]: "lands" for cpu in lands if cpu in self.plan.by_cpu}
        signs |= {self.plan.by_cpu[cpu]: "staged" for cpu in staged if cpu in self.plan.by_cpu}
        for place, sign in signs.items():
            if by_place.get(place, 0.0) < _LEAST_SHARE:
                self._mark(line, place, sign)

    def loads(self, line: Line, loads: Mapping[int, float]) -> None:
        """Per cent by CPU; a folded column shows its busiest."""
        for place, column in enumerate(self.plan.columns):
            seen = [loads[cpu] for cpu in column.cpus if cpu in loads]
            if seen:
                self._cell(line, place, max(seen))
            else:
                sign = self._look.glyph("no_data")
                line.put(self._left + column.x, sign + " " * (column.width - 1), self._look.style("rule"))

    def legend(self, line: Line) -> None:
        """The ramp itself at the right end, where there is room and colour."""
        if self.plan.width < _LEGEND + 2 or self._look.no_color:
            return
        x = self._left + self.plan.width - _LEGEND
        line.put(x, "0", self._look.style("faint"))
        for step in range(HEAT_STEPS):
            line.put(x + 2 + step, " ", self._look.heat(self._role, step * 100 / HEAT_STEPS))
        line.put(line.put(x + 3 + HEAT_STEPS, "100", self._look.style("dim")), " %", self._look.style("faint"))

    def heads(self, line: Line) -> None:
        """Each CPU where columns are wide, else the first of each cache, or the node's name, where there is room."""
        style, free = self._look.style("faint"), 0
        for column in self.plan.columns:
            folded = self._fold_of(column.node) is Fold.NODE
            named = column.first or column.width >= _NAMED_FROM or self._fold_of(column.node) is Fold.CACHE
            if not named or column.x < free:
                continue
            text = f"n{column.node}" if folded and column.node is not None else str(column.cpus[0])
            if self._left + column.x + len(text) > line.width:
                continue
            line.put(self._left + column.x, text, style)
            free = column.x + len(text) + 1

    def _fold_of(self, node: int | None) -> Fold:
        return self.plan.far if self.plan.far is not self.plan.fold and node != self.plan.near_node else self.plan.fold

    def _cell(self, line: Line, place: int, value: float) -> None:
        column, look = self.plan.columns[place], self._look
        text = " " * column.width
        if look.no_color:
            text = heat_digit(value) * column.width if column.width < 2 else heat_digit(value).center(column.width)
        elif column.width > 1 and value >= NUMBERED_FROM_PERCENT:
            number = percent(min(value, 100.0))
            # Two columns cannot hold 100: the sign for full stands there.
            text = number.center(column.width) if len(number) <= column.width else "#" * column.width
        line.put(self._left + column.x, text, look.heat(self._role, value))

    def _mark(self, line: Line, place: int, sign: str) -> None:
        column, ground = self.plan.columns[place], self._look.heat(self._role, 0.0)
        accent = Style(color=self._look.palette.accent, bgcolor=ground.bgcolor, bold=True)
        text = self._look.glyph(sign).center(column.width)
        line.put(self._left + column.x, text, accent if sign == "staged" else ground)
