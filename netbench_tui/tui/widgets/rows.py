"""A list of rows with the accent's cursor bar. Used for history, choices and presets (lists under 1,000 rows)."""

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from netbench_tui.tui.actions import bindings
from netbench_tui.tui.widgets.line import Line
from netbench_tui.tui.widgets.panel import Panel, Piece

T = TypeVar("T")
_WHEEL_ROWS = 3


class RowList(Panel, Generic[T], can_focus=True):
    """Items of one kind, `rows_each` rows an item. Subclasses write `paint_item`; `selectable` may leave some out."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list")]
    rows_each = 1
    title_rows = 1

    class Opened(Message):
        """The item under the cursor was chosen with enter or a second click."""

        def __init__(self, rows: "RowList[Any]", item: Any) -> None:
            super().__init__()
            self.rows = rows
            self.item = item

        @property
        def control(self) -> "RowList[Any]":
            return self.rows

    def __init__(self, title: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.heading, self.remark, self.heading_ink = title, "", "strong"
        self.items: Sequence[T] = ()
        self.cursor = 0
        self.offset_row = 0
        self.empty = ""
        self.right: tuple[Piece, ...] = ()

    @property
    def name_in_footer(self) -> str:
        return self.heading

    @property
    def current(self) -> T | None:
        return self.items[self.cursor] if self.items else None

    def show(self, items: Sequence[T], right: Sequence[Piece] = (), empty: str = "") -> None:
        """Takes the items; the cursor keeps its number as far as it can."""
        self.items, self.right, self.empty = items, tuple(right), empty
        self.cursor = self._nearest(min(self.cursor, max(0, len(items) - 1)), 1)
        self.update_rows()

    def selectable(self, item: T) -> bool:
        return True

    def paint_item(self, item: T, line: Line, row: int, paper: str) -> None:
        """Writes row `row` (0..rows_each-1) of an item; columns 0 and 1 belong to the cursor bar."""
        raise NotImplementedError

    def paint_heads(self) -> Sequence[Line]:
        """Rows between the title and the first item; `title_rows` counts them and the title."""
        return ()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = [self.titled_rule(self.heading, self.remark, self.right, self.heading_ink), *self.paint_heads()]
        shown = max(1, (height - len(lines)) // self.rows_each)
        self.offset_row = max(0, min(self.offset_row, self.cursor, len(self.items) - shown))
        self.offset_row = max(self.offset_row, self.cursor - shown + 1)
        for index in range(self.offset_row, min(len(self.items), self.offset_row + shown)):
            lines += [self._item_line(index, row) for row in range(self.rows_each)]
        if not self.items:
            line = self.line()
            line.put(2, self.empty, self.look.style("dim"))
            lines.append(line)
        return lines

    def _item_line(self, index: int, row: int) -> Line:
        here = index == self.cursor and self.selectable(self.items[index])
        paper = ("cursor" if self.has_focus else "band") if here else "background"
        line = self.line(paper)
        self.paint_item(self.items[index], line, row, paper)
        if here and self.has_focus:
            line.put(0, self.look.glyph("bar"), self.look.style("accent", paper))
        return line

    def _nearest(self, index: int, step: int) -> int:
        """The first selectable item from `index` on in the direction of `step`, else the other way, else `index`."""
        for way in (step, -step):
            at = index
            while 0 <= at < len(self.items):
                if self.selectable(self.items[at]):
                    return at
                at += way
        return index

    def move_to(self, index: int, step: int = 1) -> None:
        if self.items:
            self.cursor = self._nearest(max(0, min(index, len(self.items) - 1)), step)
            self.update_rows()

    def _page(self) -> int:
        return max(1, (self.size.height - self.title_rows) // self.rows_each - 1)

    def action_cursor_down(self) -> None:
        self.move_to(self.cursor + 1, 1)

    def action_cursor_up(self) -> None:
        self.move_to(self.cursor - 1, -1)

    def action_page_down(self) -> None:
        self.move_to(self.cursor + self._page(), 1)

    def action_page_up(self) -> None:
        self.move_to(self.cursor - self._page(), -1)

    def action_first(self) -> None:
        self.move_to(0, 1)

    def action_last(self) -> None:
        self.move_to(len(self.items) - 1, -1)

    def action_open(self) -> None:
        if self.current is not None and self.selectable(self.current):
            self.post_message(self.Opened(self, self.current))

    def on_click(self, event: events.Click) -> None:
        row = event.y - self.title_rows
        index = self.offset_row + row // self.rows_each
        if row < 0 or not 0 <= index < len(self.items) or not self.selectable(self.items[index]):
            return
        again = index == self.cursor and event.chain > 1
        self.move_to(index)
        if again:
            self.action_open()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move_to(self.cursor + _WHEEL_ROWS, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move_to(self.cursor - _WHEEL_ROWS, -1)
