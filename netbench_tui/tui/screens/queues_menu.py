"""The overlay that offers plans to choose from: each with what it does, and what it would stage or why it cannot be.

Used by the Queues area. It answers with the choice, or None.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from netbench_tui.tui.actions import bindings
from netbench_tui.tui.screens.choosers import sheet_css
from netbench_tui.tui.screens.queues_plans import Choice, Menu
from netbench_tui.tui.widgets.line import Line, cut, width_of
from netbench_tui.tui.widgets.rows import RowList

_WORDS_AT, _PREVIEW_ROOM = 26, 44


class Offer(NamedTuple):
    """A choice and what came of trying it out."""

    choice: Choice
    words: str
    possible: bool


class PlanList(RowList[Offer]):
    """Plans that cannot be made stand there with their reason."""

    help_text = "enter stages what the plan comes to; nothing is written before it is applied."

    def paint_item(self, item: Offer, line: Line, row: int, paper: str) -> None:
        look = self.look
        line.put(2, cut(item.choice.name, _WORDS_AT - 4), look.style("text" if item.possible else "dim", paper))
        most = max(18, min(_PREVIEW_ROOM, line.width - 60)) if item.possible else line.width - _WORDS_AT - 2
        room = min(most, width_of(item.words)) if item.possible else most
        start = line.width - 1 - room
        if item.possible:
            line.put(_WORDS_AT, cut(item.choice.words, start - _WORDS_AT - 1), look.style("dim", paper))
            line.put_right(line.width - 1, cut(item.words, room), look.style("text", paper))
        else:
            line.put(_WORDS_AT, cut(look.words(f"– {item.words}"), room), look.style("dim", paper))


class PlanMenu(ModalScreen[Choice | None]):
    """`menu` is tried out once, when it is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("plans")]
    DEFAULT_CSS = sheet_css("PlanMenu")

    def __init__(self, menu: Menu) -> None:
        super().__init__()
        self.menu = menu

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield PlanList(self.menu.title, id="plans")

    def on_mount(self) -> None:
        rows = self.query_one(PlanList)
        offers: Sequence[Offer] = [Offer(choice, *choice.preview()) for choice in self.menu.choices]
        rows.styles.height = len(offers) + 1
        rows.remark = self.menu.remark
        rows.show(offers, right=(("enter", "strong"), (" stage   ", "dim"), ("esc", "strong"), (" back", "dim")))
        rows.focus()

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        if event.item.possible:
            self.dismiss(event.item.choice)

    def action_dismiss_chooser(self) -> None:
        self.dismiss(None)
