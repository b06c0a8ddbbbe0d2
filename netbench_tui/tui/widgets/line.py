"""One row of the screen, built cell by cell and turned into a Strip once. Used by every panel.

Text is data: nothing here reads markup, control characters become `?`, and wide characters take their two cells.
"""

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from netbench_tui.model.units import plain

ELLIPSIS = "…"


def width_of(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, ending in `…` where something was left out."""
    if width_of(text) <= width:
        return text
    if width <= 0:
        return ""
    kept, used = [], 0
    for character in text:
        used += width_of(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + ELLIPSIS


class Line:
    """A row of `width` cells, blank in `style` until something is put on it. What falls outside is cut off."""

    __slots__ = ("base", "cells", "styles", "width")

    def __init__(self, width: int, style: Style) -> None:
        self.width = width
        self.base = style
        self.cells = [" "] * width
        self.styles = [style] * width

    def put(self, column: int, text: str, style: Style) -> int:
        """Writes `text` from `column` on; returns the column after its last cell."""
        for character in plain(text):
            size = 1 if character.isascii() else cell_len(character)
            if size == 0:
                continue
            if column >= 0 and column + size <= self.width:
                self.cells[column] = character
                self.styles[column] = style
                if size == 2:
                    self.cells[column + 1] = ""
                    self.styles[column + 1] = style
            column += size
        return column

    def put_right(self, column: int, text: str, style: Style) -> int:
        """Writes `text` so that its last cell stands before `column`; returns the column of its first cell."""
        start = column - width_of(text)
        self.put(start, text, style)
        return start

    def fill(self, start: int, end: int, character: str, style: Style) -> None:
        for column in range(max(0, start), min(end, self.width)):
            self.cells[column] = character
            self.styles[column] = style

    def strip(self) -> Strip:
        """The row as a Strip of few segments: a blank takes the style before it where only the ink differs."""
        if not self.width:
            return Strip([], 0)
        segments: list[Segment] = []
        start, current = 0, self.styles[0]
        for column in range(1, self.width):
            style = self.styles[column]
            if style is current or (self.cells[column] == " " and style.bgcolor == current.bgcolor):
                continue
            if style == current:
                continue
            segments.append(Segment("".join(self.cells[start:column]), current))
            start, current = column, style
        segments.append(Segment("".join(self.cells[start:]), current))
        return Strip(segments, self.width)

    @property
    def text(self) -> str:
        return "".join(self.cells)
