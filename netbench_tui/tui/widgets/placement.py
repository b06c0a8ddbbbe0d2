"""The Topology screen's table of what sits on which node, and how far that is from the NIC. Used by Topology."""

from collections.abc import Sequence
from dataclasses import dataclass

from netbench_tui.model.units import ABSENT
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel, Piece

_WHAT, _NARROW_WHAT = 21, 17
_NODE, _DISTANCE = 8, 10
# From this width on the table has its wider first column.
_WIDE = 90


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """One thing: `sign` is a glyph's name, `where` pieces of text; `warns` puts the red sign before where it is."""

    sign: str
    what: str
    where: tuple[Piece, ...] = ()
    nodes: str = ABSENT
    distance: str = ABSENT
    local: bool = False
    warns: bool = False


class PlacementPanel(Panel):
    """Rows keep their places whatever is known of them: a dash stands where nothing is."""

    title = "Placement"
    help_text = (
        "Where the NIC sits, where its IRQs land, where the traffic runs, and how far each is from the NIC's node as "
        "the firmware tells it: 10 is the node itself. A red ! stands before a PCI link that is slower or narrower "
        "than the NIC or its slot allows."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = True
        self.placements: Sequence[PlacedRow] = ()
        self.remark = ""

    def show(self, rows: Sequence[PlacedRow], remark: str = "") -> None:
        self.placements, self.remark = tuple(rows), remark
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = [self.titled_rule(self.title, self.remark, (("node", "dim"), ("  distance", "dim")))]
        return [*lines, *(self._row(row, width) for row in self.placements)]

    def _row(self, row: PlacedRow, width: int) -> Line:
        line, look = self.line(), self.look
        line.put(0, look.glyph(row.sign), look.style("text"))
        start = 2 + (_WHAT if width >= _WIDE else _NARROW_WHAT)
        end = width - _NODE - _DISTANCE
        line.put(2, look.words(cut(row.what, start - 3)), look.style("text"))
        column = start
        if row.warns:
            column = line.put(column, f"{look.glyph('lint')} ", look.style("bad", bold=True))
        for text, ink in row.where or ((ABSENT, "faint"),):
            if column < end - 1:
                column = line.put(column, look.words(cut(text, end - 1 - column)), look.style(ink))
        line.put_right(width - _DISTANCE, look.words(cut(row.nodes, _NODE)), look.style("text"))
        line.put_right(width, look.words(row.distance), look.style("strong" if row.local else "text"))
        return line
