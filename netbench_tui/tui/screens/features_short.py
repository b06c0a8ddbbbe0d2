"""Which of ethtool's short names is meant: asked on a group's head, since a short name is several features."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from netbench_tui.model.host import Role
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.choosers import sheet_css
from netbench_tui.tui.screens.features_rows import FEATURE, Short
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.rows import RowList


class Offer(NamedTuple):
    """A short name, the value that its features would get, and which they are on each host."""

    short: str
    value: str
    names: Mapping[Role, tuple[str, ...]]


def offers(choices: Mapping[Role, Sequence[Short]]) -> list[Offer]:
    found: dict[tuple[str, str], dict[Role, tuple[str, ...]]] = {}
    for role, of_role in choices.items():
        for short, value, keys in of_role:
            found.setdefault((short, value), {})[role] = tuple(key.removeprefix(FEATURE) for key in keys)
    return [Offer(short, value, names) for (short, value), names in found.items()]


class OfferList(RowList[Offer]):
    """`tso  off   ▲ tx-tcp-segmentation tx-tcp6-segmentation`."""

    help_text = "A short name of ethtool's stands for several features: each of them is staged by itself."

    def paint_item(self, item: Offer, line: Line, row: int, paper: str) -> None:
        look = self.look
        line.put(2, item.short, look.style("strong", paper))
        line.put(10, f"all {item.value}", look.style("accent", paper, bold=True))
        column, same = 20, len(set(item.names.values())) == 1
        marks = [look.mark(role) for role in item.names]
        for role, names in item.names.items():
            mark = " ".join(marks) if same else look.mark(role)
            column = line.put(column, f"{mark} ", look.style("dim" if same else look.hue(role), paper))
            column = line.put(column, cut(" ".join(names), line.width - column), look.style("text", paper)) + 2
            if same:
                break


class ShortNames(ModalScreen[tuple[str, str] | None]):
    """Answers with (short name, value), or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss_chooser", "back")]
    DEFAULT_CSS = sheet_css("ShortNames")

    def __init__(self, group: str, choices: Mapping[Role, Sequence[Short]]) -> None:
        super().__init__()
        self.group, self.offers = group, offers(choices)
        self.roles = tuple(choices)

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield OfferList(f"{self.group}: ethtool's short names", id="offers")

    def on_mount(self) -> None:
        rows = self.query_one(OfferList)
        rows.styles.height = len(self.offers) + 1
        views = face(self).bench.views
        rows.remark = "on " + " and ".join(f"{rows.look.mark(role)} {views[role].name}" for role in self.roles)
        rows.show(self.offers, right=(("enter", "strong"), (" stage   ", "dim"), ("esc", "strong"), (" back", "dim")))
        rows.focus()

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        self.dismiss((event.item.short, event.item.value))

    def action_dismiss_chooser(self) -> None:
        self.dismiss(None)
