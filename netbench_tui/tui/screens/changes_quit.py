"""Asked before quitting while hosts hold changes of ours: put them back, keep them for good, or stay."""

from collections.abc import Sequence, Set
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from netbench_tui.model.change import JournalEntry
from netbench_tui.model.host import Role
from netbench_tui.tui.screens.changes import journal_row
from netbench_tui.tui.screens.choosers import sheet_css
from netbench_tui.tui.widgets.line import Line
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.staged import paint_change

RESTORE, KEEP = "restore", "keep"
# More entries than this are counted, not listed.
_LISTED = 8


class ConfirmChanges(ModalScreen[str | None]):
    """Answers RESTORE, KEEP, or None to stay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", f"answer('{RESTORE}')", "put back and quit"),
        Binding("k", f"answer('{KEEP}')", "keep for good and quit"),
        Binding("escape,n,q", "answer('')", "stay"),
    ]
    DEFAULT_CSS = sheet_css("ConfirmChanges")

    def __init__(self, held: Sequence[JournalEntry], lost: Set[Role] = frozenset()) -> None:
        super().__init__()
        self.held, self.lost = held, lost

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield HeldPanel(self.held, self.lost)

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer or None)


class HeldPanel(Panel):
    """What is held, which hosts are lost and put back what is theirs by themselves, and the keys."""

    def __init__(self, held: Sequence[JournalEntry], lost: Set[Role]) -> None:
        super().__init__()
        self.held = held
        self.lost = sorted({(entry.role, entry.host) for entry in held if entry.role in lost})

    def on_mount(self) -> None:
        listed = min(len(self.held), _LISTED)
        self.styles.height = 1 + listed + (len(self.held) > listed) + len(self.lost) + 2

    def paint(self, width: int, height: int) -> Sequence[Line]:
        words = "1 setting differs" if len(self.held) == 1 else f"{len(self.held)} settings differ"
        lines = [self.titled_rule("Quit with changes on the hosts?", f"{words} from how the session found it")]
        for entry in self.held[:_LISTED]:
            lines.append(self.line())
            paint_change(self, lines[-1], journal_row(entry), 0, width, "background")
        if len(self.held) > _LISTED:
            lines.append(self.line())
            lines[-1].put(2, f"{len(self.held) - _LISTED} more", self.look.style("dim"))
        for role, host in self.lost:
            line = self.line()
            column = line.put(0, self.look.glyph("lint"), self.look.style("bad", bold=True)) + 1
            column = line.put(column, f"{self.look.mark(role)} {host}", self.look.style(self.look.hue(role), bold=True))
            line.put(column, " is lost: it puts back what is its own by itself", self.look.style("text"))
            lines.append(line)
        keys = self.line()
        pieces = [("enter", "strong"), (" put them back and quit   ", "dim"), ("k", "strong")]
        pieces += [(" keep them for good and quit   ", "dim"), ("esc", "strong"), (" stay", "dim")]
        self.put_pieces(keys, 0, pieces)
        return [*lines, self.line(), keys]
