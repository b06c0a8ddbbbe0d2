"""Small overlays: choosing a preset, asking before quitting in mid-run, and help. Used by the app and the Run area."""

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from netbench_tui.model.preset import Preset
from netbench_tui.tui.actions import Action, bindings
from netbench_tui.tui.screens.run_texts import describe_preset
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.rows import RowList

_SHEET_CSS = """
    {name} {{ align: center bottom; background: $background 40%; }}
    {name} #sheet {{
        width: 100%; max-width: 120; height: auto; max-height: 80%; padding: 1 2 1 2; margin: 0 0 1 0;
        background: $background; border-top: heavy $secondary;
    }}
"""


def sheet_css(name: str) -> str:
    """The style of an overlay whose content stands in a `#sheet` at the bottom of the screen."""
    return _SHEET_CSS.format(name=name)


class PresetList(RowList[Preset]):
    """Name, what it sends, and where the method was published."""

    help_text = "Presets are experiments that replay: enter takes one, r runs it."

    def paint_item(self, item: Preset, line: Line, row: int, paper: str) -> None:
        look = self.look
        line.put(2, cut(item.name, 22), look.style("strong" if paper != "background" else "text", paper))
        column = line.put(26, cut(describe_preset(item), line.width - 28), look.style("text", paper)) + 3
        about = item.title if item.title != item.name else ""
        line.put(column, cut(about, line.width - column - 1), look.style("dim", paper))


class PresetChooser(ModalScreen[int | None]):
    """Answers with the preset's number, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("presets")]
    DEFAULT_CSS = sheet_css("PresetChooser")

    def __init__(self, presets: Sequence[Preset], chosen: int) -> None:
        super().__init__()
        self.presets, self.chosen = presets, chosen

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield PresetList("Presets", id="presets")

    def on_mount(self) -> None:
        rows = self.query_one(PresetList)
        rows.styles.height = len(self.presets) + 1
        rows.cursor = self.chosen
        rows.show(self.presets, right=(("enter", "strong"), (" take   ", "dim"), ("esc", "strong"), (" back", "dim")))
        rows.focus()

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        self.dismiss(list(self.presets).index(event.item))

    def action_dismiss_chooser(self) -> None:
        self.dismiss(None)


class ConfirmQuit(ModalScreen[bool]):
    """Asked only while a run is in progress."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,y,enter", "answer(True)", "stop and quit"),
        Binding("escape,n", "answer(False)", "stay"),
    ]
    DEFAULT_CSS = sheet_css("ConfirmQuit")

    def __init__(self, run: str) -> None:
        super().__init__()
        self.run_name = run

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield QuitPanel(self.run_name)

    def action_answer(self, leave: bool) -> None:
        self.dismiss(leave)


class QuitPanel(Panel):
    """Two rows: what would happen, and the keys."""

    DEFAULT_CSS = "QuitPanel { height: 3; }"

    def __init__(self, run: str) -> None:
        super().__init__()
        self.run_name = run

    def paint(self, width: int, height: int) -> Sequence[Line]:
        title = self.titled_rule(f"Quit during {self.run_name}?")
        says, keys = self.line(), self.line()
        says.put(0, "The run is stopped and kept as stopped; the hosts are left clean.", self.look.style("text"))
        pieces = [("q", "strong"), (" stop and quit   ", "dim"), ("esc", "strong"), (" stay", "dim")]
        self.put_pieces(keys, 0, pieces)
        return [title, says, keys]


class HelpScreen(ModalScreen[None]):
    """What has the focus, and every key that works there."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "close", "close")]
    DEFAULT_CSS = sheet_css("HelpScreen")

    def __init__(self, subject: str, text: str, actions: Sequence[Action]) -> None:
        super().__init__()
        self.subject, self.text, self.actions = subject, text, actions

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield HelpPanel(self.subject, self.text, self.actions)

    def action_close(self) -> None:
        self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        self.dismiss(None)


class HelpPanel(Panel):
    """As high as its text."""

    def __init__(self, subject: str, text: str, actions: Sequence[Action]) -> None:
        super().__init__()
        self.subject, self.text, self.actions = subject, text, actions

    def on_mount(self) -> None:
        self.styles.height = 1 + len(self._texts(min(116, self.app.size.width - 4))) + 1 + len(self.actions)

    def _texts(self, width: int) -> list[str]:
        return textwrap.wrap(self.text, max(20, width))

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = [self.titled_rule(self.subject, "help", right=(("esc", "strong"), (" close", "dim")))]
        for text in self._texts(width):
            lines.append(self.line())
            lines[-1].put(0, self.look.words(text), self.look.style("text"))
        lines.append(self.line())
        for action in self.actions:
            line = self.line()
            line.put_right(8, self.look.words(action.key_text), self.look.style("strong"))
            line.put(10, action.help, self.look.style("dim"))
            lines.append(line)
        return lines
