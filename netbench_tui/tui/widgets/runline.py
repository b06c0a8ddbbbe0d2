"""The row that says what runs, how far it is, or what would run. Used by the Run view."""

from collections.abc import Sequence
from dataclasses import dataclass

from netbench_tui.tui.widgets.line import Line
from netbench_tui.tui.widgets.panel import Panel, Piece

_BAR = 40


@dataclass(frozen=True, slots=True)
class RunLineData:
    """`pieces` follow the bar, `right` stands at the end. `share` in 0..1 draws the bar, None draws none."""

    sign: str = "unchosen"
    sign_ink: str = "dim"
    name: str = ""
    share: float | None = None
    pieces: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()


class RunLine(Panel):
    """One row, never focused."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.data = RunLineData()

    def show(self, data: RunLineData) -> None:
        self.data = data
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        look, data, line = self.look, self.data, self.line()
        line.put(0, look.glyph(data.sign), look.style(data.sign_ink, bold=True))
        column = line.put(2, data.name, look.style("strong")) + 2
        if data.share is not None:
            bar = min(_BAR, max(10, width // 4))
            done = round(bar * min(1.0, max(0.0, data.share)))
            line.fill(column, column + done, look.glyph("heavy"), look.style("accent"))
            line.fill(column + done, column + bar, look.glyph("light"), look.style("rule"))
            column += bar + 3
        end = width - sum(len(text) for text, _ in data.right)
        for text, ink in data.pieces:
            if column + len(text) < end - 1:
                column = self.put_pieces(line, column, [(text, ink)])
        self.put_pieces(line, end, data.right)
        return [line]
