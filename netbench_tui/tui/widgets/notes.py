"""Short sentences under the metrics: what failed and why, what to know about the figures, and the remedy at the right.

Used by Run, Overview and Connect.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from netbench_tui.model.host import Role
from netbench_tui.tui.widgets.line import ELLIPSIS, Line, cut, width_of
from netbench_tui.tui.widgets.panel import Panel


@dataclass(frozen=True, slots=True)
class Note:
    """`wants_action` gives it the red sign. `remedy` stands at the right end, or below where it does not fit."""

    text: str
    remedy: str = ""
    role: Role | None = None
    host: str = ""
    wants_action: bool = False


class NotesPanel(Panel):
    """A titled list of notes; with a height of one row only its first note, without a title."""

    title = "Remarks"
    help_text = (
        "What failed and why, and what to know about the figures above. A red ! wants action; a dot is a remark."
    )

    def __init__(self, title: str = "Remarks", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.heading = title
        self.notes: Sequence[Note] = ()

    def show(self, notes: Sequence[Note]) -> None:
        self.notes = tuple(notes)
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = [self.titled_rule(self.heading)] if height > 1 else []
        room = height - len(lines)
        for index, note in enumerate(self.notes):
            wanted = self._note(note, width)
            left = len(self.notes) - index
            if len(wanted) > room - (left > 1) and index:
                lines.append(self._more(left))
                break
            lines += wanted[:room]
            room -= len(wanted)
            if room <= 0:
                if left > 1 and lines:
                    self._more(left - 1, lines[-1])
                break
        if not self.notes and height > 1:
            line = self.line()
            line.put(0, "nothing to remark", self.look.style("faint"))
            lines.append(line)
        return lines

    def _more(self, number: int, line: Line | None = None) -> Line:
        line = line or self.line()
        words = f"  {number} more"
        cut_at = line.width - len(words)
        broken = cut_at > 0 and line.cells[cut_at - 1] != " " and line.cells[cut_at] != " "
        line.put(cut_at, words, self.look.style("dim"))
        if broken:
            line.put(cut_at, self.look.words(ELLIPSIS), self.look.style("dim"))
        return line

    def _note(self, note: Note, width: int) -> list[Line]:
        look, line = self.look, self.line()
        sign, ink = ("lint", "bad") if note.wants_action else ("remark", "dim")
        column = line.put(0, look.glyph(sign), look.style(ink, bold=note.wants_action)) + 1
        if note.role is not None:
            name = f"{look.mark(note.role)} {cut(note.host, 20)}".rstrip()
            column = line.put(column, name, look.style(look.hue(note.role), bold=True)) + 2
        room = width - column
        if width_of(note.text) + width_of(note.remedy) + 4 <= room:
            line.put(column, look.words(note.text), look.style("text"))
            line.put_right(width, look.words(note.remedy), look.style("dim"))
            return [line]
        return self._wrapped(note, line, column, room)

    def _wrapped(self, note: Note, first: Line, column: int, room: int) -> list[Line]:
        lines = [first]
        texts = [(text, "text") for text in textwrap.wrap(note.text, max(room, 10))]
        texts += [(text, "dim") for text in textwrap.wrap(note.remedy, max(room, 10))]
        for index, (text, ink) in enumerate(texts):
            line = lines[0] if index == 0 else self.line()
            line.put(column, self.look.words(text), self.look.style(ink))
            if index:
                lines.append(line)
        return lines

    def rows_wanted(self, width: int) -> int:
        return 1 + max(1, sum(len(self._note(note, width)) for note in self.notes))
