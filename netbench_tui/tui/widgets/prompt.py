"""One row that says something in place: what a field is for, or why something cannot be. Used by Features."""

from collections.abc import Sequence

from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel, Piece


class Prompt(Panel):
    """`words` is empty while there is nothing to say."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.words, self.bad = "", False
        self.pieces: tuple[Piece, ...] = ()

    def say(self, words: str, pieces: Sequence[Piece] = (), bad: bool = False) -> None:
        """Shows `pieces`, or else `words`; `bad` gives it the red sign."""
        self.words, self.pieces, self.bad = words, tuple(pieces), bad
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        line, column = self.line(), 0
        if self.bad:
            column = line.put(0, self.look.glyph("lint"), self.look.style("bad", bold=True)) + 1
        for text, ink in self.pieces or ((self.words, "text"),):
            column = line.put(column, cut(self.look.words(text), width - column), self.look.style(ink))
        return [line]
