"""The shell script that makes the changes the workbench made or will make: to read, scroll, and write to a file."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from netbench_tui.export.script import ScriptHost, shell_script
from netbench_tui.model.change import Change, Held
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.changes import CSS, overlay_keys
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.bands import FooterBand
from netbench_tui.tui.widgets.line import Line
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.rows import RowList


def script_changes(bench: Workbench) -> list[Change]:
    """What was changed and is not put back, also what was kept for good; and what is staged on top of it."""
    standing = [entry for entry in bench.journal if entry.state is not Held.RESTORED]
    wishes = {entry.place: Change(*entry.place, entry.ours) for entry in standing if entry.ours is not None}
    for change in bench.staged:
        wishes.pop(change.place, None)
        wishes[change.place] = change
    return list(wishes.values())


def script_of(bench: Workbench) -> str:
    hosts = {
        role: ScriptHost(view.name, {queues.nic: queues} if (queues := bench.queues.get(role)) else {})
        for role, view in bench.views.items()
    }
    return shell_script(script_changes(bench), hosts)


class ScriptList(RowList[str]):
    """The script's lines; comments are dim."""

    help_text = "The same changes as commands of ethtool, ip, tc and the shell. Nothing here is run."

    def paint_item(self, item: str, line: Line, row: int, paper: str) -> None:
        line.put(2, item, self.look.style("dim" if item.startswith("#") else "text", paper))


class Said(Panel):
    """Where the script was written to, or why it could not be."""

    DEFAULT_CSS = "Said { height: 1; }"

    def __init__(self) -> None:
        super().__init__(id="said")
        self.words, self.bad = "", False

    def say(self, words: str, bad: bool = False) -> None:
        self.words, self.bad = words, bad
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        line = self.line()
        if self.bad:
            line.put(0, self.look.glyph("lint"), self.look.style("bad", bold=True))
        line.put(2 if self.bad else 0, self.words, self.look.style("text"))
        return [line]


class ScriptScreen(ModalScreen[None]):
    """The script as of the moment it was opened."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("script")]
    DEFAULT_CSS = CSS.format(name="ScriptScreen")

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield ScriptList("Script", id="script")
            yield Said()
        yield FooterBand()

    def on_mount(self) -> None:
        bench = face(self).bench
        self.text = script_of(bench)
        listed = self.query_one(ScriptList)
        number = len(script_changes(bench))
        listed.remark = "what is changed and what is staged, as commands"
        lines = self.text.splitlines() if number else []
        right = ((f"{number} change{'s' if number != 1 else ''}", "text"),)
        listed.show(lines, right, "nothing is changed and nothing is staged")
        listed.focus()
        self.query_one(FooterBand).show(("Script", "accent"), overlay_keys(self))

    def action_write(self) -> None:
        """Writes a new file into the present folder; one that is there is never overwritten."""
        path = Path.cwd() / time.strftime("netbench-changes-%Y%m%d-%H%M%S.sh")
        said = self.query_one(Said)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(self.text if self.text.endswith("\n") else self.text + "\n")
            path.chmod(0o755)
        except OSError as error:
            said.say(f"{path}: {error.strerror or error}", bad=True)
        else:
            said.say(f"written to {path}")

    def action_close(self) -> None:
        self.dismiss(None)

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        event.stop()
