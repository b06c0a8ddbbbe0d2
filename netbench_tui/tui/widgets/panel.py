"""The base of all panels: rows built once per update, served by index, refreshed only where they changed.

A panel is a titled rule and the rows under it; there are no boxes. Subclasses write `paint`; screens call `update_rows`
when data came. Used by every widget of the workbench but Textual's own inputs.
"""

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from netbench_tui.tui.face import face
from netbench_tui.tui.look import Look
from netbench_tui.tui.widgets.line import Line, cut, width_of

# One piece of a title's right end: text and the palette name of its ink.
Piece = tuple[str, str]


class Panel(Widget):
    """A widget that paints whole rows. `title` names it in its rule, in the footer and in help."""

    title: ClassVar[str] = ""
    help_text: ClassVar[str] = ""

    DEFAULT_CSS = """
    Panel { width: 1fr; height: 1fr; background: $background; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._strips: list[Strip] = []
        self._painted: tuple[int, int, str] = (-1, -1, "")

    @property
    def look(self) -> Look:
        return face(self).look

    @property
    def name_in_footer(self) -> str:
        return self.title

    @property
    def ink_in_footer(self) -> str:
        """The palette name for the panel's name; a host's panel keeps the host's."""
        return "accent"

    @property
    def help_now(self) -> str:
        """What help says; a panel whose rows have each their own words gives those of the chosen one first."""
        return self.help_text

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """The panel's rows, top to bottom; missing rows are blank, further rows are cut off."""
        raise NotImplementedError

    def line(self, paper: str = "background", width: int | None = None) -> Line:
        return Line(self.size.width if width is None else width, self.look.style("text", paper))

    def update_rows(self) -> None:
        """Paints again and refreshes the rows that changed, each run of neighbours as one region."""
        width, height = self.size
        if width <= 0 or height <= 0 or not self.is_mounted:
            return
        fresh = [line.strip() for line in list(self.paint(width, height))[:height]]
        blank = Line(width, self.look.style()).strip()
        fresh += [blank] * (height - len(fresh))
        known = self._painted == (width, height, self.look.palette.name)
        changed = [y for y in range(height) if not known or self._strips[y] != fresh[y]]
        self._strips, self._painted = fresh, (width, height, self.look.palette.name)
        for first, last in runs_of(changed):
            self.refresh(Region(0, first, width, last - first + 1))

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self._painted != (width, height, self.look.palette.name):
            self.update_rows()
        return self._strips[y] if y < len(self._strips) else Strip.blank(width, self.look.style())

    def on_resize(self) -> None:
        self.update_rows()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.update_rows()

    def titled_rule(
        self, title: str, remark: str = "", right: Sequence[Piece] = (), ink: str = "strong", width: int | None = None
    ) -> Line:
        """`Title  remark ──────── values`; heavy and in the accent while the panel has the focus."""
        line = self.line(width=width)
        end = line.width - sum(width_of(text) for text, _ in right)
        column = line.put(0, cut(self.look.words(title), line.width), self._title_style(ink)) + 1
        if remark:
            column = line.put(column + 1, cut(self.look.words(remark), end - column - 3), self.look.style("dim")) + 1
        if end - 1 > column:
            glyph = self.look.glyph("heavy" if self.has_focus else "light")
            line.fill(
                column, end - 1 if right else end, glyph, self.look.style("accent2" if self.has_focus else "rule")
            )
        self.put_pieces(line, max(end, column), right)
        return line

    def _title_style(self, ink: str) -> Style:
        if self.has_focus and ink == "strong":
            return self.look.style("accent", bold=True)
        return self.look.style(ink, bold=True)

    def put_pieces(self, line: Line, column: int, pieces: Sequence[Piece], paper: str = "background") -> int:
        """Writes pieces one after the other; returns the column after the last."""
        for text, ink in pieces:
            column = line.put(column, self.look.words(text), self.look.style(ink, paper))
        return column


def runs_of(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Sorted numbers as (first, last) of their unbroken runs."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
