"""The list of the Features screen: one row a setting, one column a host, with the signs of what was done to it."""

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message

from netbench_tui.model.host import Role
from netbench_tui.model.setting import Setting
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.features_help import help_words
from netbench_tui.tui.screens.features_rows import FEATURE, SHORT_OF, Cell, Row, count_on
from netbench_tui.tui.widgets.line import Line, cut, width_of
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.rows import RowList

# A setting's name has at least and at most so many columns.
_NAME = (30, 44)
_LEAST_CELL = 19
# What is left for the old value beside a long new one: `  was…`.
_LEAST_WAS = 6
# Further apart the eye loses the line.
_MOST_CELL = 36


def columns_at(width: int) -> tuple[int, int]:
    """Where the sender's cell begins, and how wide a cell is."""
    name = max(_NAME[0], min(_NAME[1], width - 2 * (_LEAST_CELL + 2)))
    return name, min(_MOST_CELL, (width - name) // 2)


class FeatureList(RowList[Row]):
    """`host` is the column in which the cursor stands."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("features")]
    help_text = (
        "Everything that can be changed on both hosts' data NICs and on the machines. space stages a change on the "
        "host whose column is marked, b on both; nothing is written before a applies it. On a group's head space "
        "chooses one of ethtool's short names."
    )

    class Moved(Message):
        """The cursor stands on another row or host."""

    class Toggled(Message):
        """The setting shall change: on one host, or on both."""

        def __init__(self, row: Row, roles: tuple[Role, ...]) -> None:
            super().__init__()
            self.row = row
            self.roles = roles

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Features", id=id)
        self.host = Role.SENDER

    @property
    def help_now(self) -> str:
        row = self.current
        return help_words(row) if row is not None and row.group else self.help_text

    def selectable(self, item: Row) -> bool:
        return bool(item.group)

    def take(self, rows: Sequence[Row], right: Sequence[Piece] = (), empty: str = "") -> None:
        """Shows rows; the cursor stays on its setting wherever that stands now."""
        at = self.current
        if at is not None and at.group:
            same = [n for n, row in enumerate(rows) if (row.group, row.key) == (at.group, at.key)]
            near = [n for n, row in enumerate(rows) if row.key and row.group == at.group]
            self.cursor = (same or near or [n for n, row in enumerate(rows) if row.key] or [0])[0]
        elif rows and not self.items:
            self.cursor = next((n for n, row in enumerate(rows) if row.key), 0)
        self.show(rows, right, empty)

    def move_to(self, index: int, step: int = 1) -> None:
        super().move_to(index, step)
        self.post_message(self.Moved())

    # --- painting ------------------------------------------------------------------------------------------------

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = list(super().paint(width, height))
        start, cell = columns_at(width)
        for number, (role, view) in enumerate(face(self).bench.views.items()):
            age = face(self).bench.age(role)
            name = f"{self.look.mark(role)} {cut(view.name, cell - 6 if age is None else cell - 14)}"
            name += "" if age is None else f" {age:.0f} s old"
            column = start + number * cell + 2
            paper = "cursor" if role is self.host and self.has_focus else "background"
            lines[0].fill(column - 1, column + width_of(name) + 1, " ", self.look.style("text", paper))
            lines[0].put(column, name, self.look.style(self.look.hue(role), paper, bold=True))
        return lines

    def paint_item(self, item: Row, line: Line, row: int, paper: str) -> None:
        if not item.group:
            return
        start, cell = columns_at(line.width)
        if item.key:
            name_ink = "strong" if paper == "cursor" else "text"
            line.put(2, cut(item.name, start - 4), self.look.style(name_ink, paper))
        else:
            self._head(item, line, paper)
        for number, role in enumerate(Role):
            column = start + number * cell
            here = paper == "cursor" and role is self.host and (item.key or not item.is_open)
            if here:
                line.put(column - 1, self.look.glyph("bar"), self.look.style("accent", paper))
            if item.key:
                self._cell(item.cells.get(role), line, column, cell - 3, paper)
            elif not item.is_open:
                self._closed_group(item, role, line, column, paper)
        if item.key and item.differs:
            line.put(start + cell - 3, self.look.glyph("differs"), self.look.style("dim", paper))

    def _head(self, item: Row, line: Line, paper: str) -> None:
        glyph = self.look.glyph("open" if item.is_open else "closed")
        line.put(0 if paper != "cursor" else 1, glyph, self.look.style("dim", paper))
        column = line.put(2, item.name, self.look.style("strong" if item.is_open else "dim", paper)) + 2
        shorts = " ".join(SHORT_OF.get(item.group, ())) if item.is_open else ""
        line.put(column, cut(shorts, line.width - column - 1), self._faint(paper))

    def _faint(self, paper: str) -> Style:
        return self.look.style("dim" if paper == "cursor" else "faint", paper)

    def _closed_group(self, item: Row, role: Role, line: Line, column: int, paper: str) -> None:
        cells = [member.cells[role] for member in item.members if role in member.cells]
        if any(cell.staged is not None for cell in cells):
            line.put(column, self.look.glyph("staged"), self.look.style("accent", paper))
        elif any(cell.found is not None for cell in cells):
            line.put(column, self.look.glyph("changed"), self.look.style("strong", paper))
        line.put(column + 2, count_on(item, role), self._faint(paper))

    def _cell(self, cell: Cell | None, line: Line, column: int, room: int, paper: str) -> None:
        look = self.look
        if cell is None or cell.setting is None:
            line.put(column + 2, look.glyph("absent"), self._faint(paper))
            return
        glyph, glyph_ink, pieces = cell_pieces(cell)
        if glyph:
            ink = "dim" if glyph_ink == "faint" and paper == "cursor" else glyph_ink
            line.put(column, look.glyph(glyph), look.style(ink, paper))
        column, end = column + 2, column + room
        for number, (text, wished) in enumerate(pieces):
            ink = "dim" if wished == "faint" and paper == "cursor" else wished
            rest = sum(width_of(words) for words, _ in pieces[number + 1 :])
            kept = end - column
            if number == 0:
                # What it is now is worth more than what it was.
                whole = min(width_of(text), kept - _LEAST_WAS) if glyph == "changed" else 4
                kept = max(kept - rest, whole)
            column = line.put(column, cut(look.words(text), kept), look.style(ink, paper, bold=ink == "accent"))

    # --- keys ----------------------------------------------------------------------------------------------------

    def _set_host(self, role: Role) -> None:
        self.host = role
        self.update_rows()
        self.post_message(self.Moved())

    def action_host_sender(self) -> None:
        self._set_host(Role.SENDER)

    def action_host_receiver(self) -> None:
        self._set_host(Role.RECEIVER)

    def action_other_host(self) -> None:
        self._set_host(self.host.other)

    def action_toggle_setting(self) -> None:
        if self.current is not None:
            self.post_message(self.Toggled(self.current, (self.host,)))

    def action_toggle_both(self) -> None:
        if self.current is not None:
            self.post_message(self.Toggled(self.current, tuple(Role)))

    def on_click(self, event: events.Click) -> None:
        start, cell = columns_at(self.size.width)
        if event.x >= start:
            self.host = Role.SENDER if event.x < start + cell else Role.RECEIVER
        super().on_click(event)


def cell_pieces(cell: Cell) -> tuple[str, str, list[Piece]]:
    """The sign, its ink, and what stands after it, of a setting that the host has."""
    setting = cell.setting
    assert setting is not None
    now = f"{setting.value:<3}" if setting.key.startswith(FEATURE) else setting.value
    wished = cell.staged if cell.staged is not None else cell.follows
    if wished is not None:
        sign = "staged" if cell.staged is not None else "follows"
        return sign, "accent", [(now, "dim"), (" → ", "faint"), (wished, "accent")]
    if cell.refused:
        return "failed", "bad", [(now, "text"), (" refused", "bad")]
    if not cell.taken:
        return "failed", "bad", [(setting.in_force, "text"), (f" wanted {setting.value}", "bad")]
    if cell.found is not None:
        return "changed", "strong", [(now, "strong"), (f"  was {cell.found}", "dim")]
    if not setting.writable:
        return "barred", "faint", [(now, "faint"), (" fixed" if setting.fixed else "", "faint")]
    return "", "text", [(setting.value, _value_ink(setting))]


def _value_ink(setting: Setting) -> str:
    """What is on or hot is what the eye should find."""
    if setting.value == "off" or setting.value == "none":
        return "faint"
    return "strong" if setting.value == "on" and setting.key.startswith(FEATURE) else "text"
