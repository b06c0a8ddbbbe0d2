"""The row above the footer while a trial runs: when the hosts put it back, and the keys that keep it or take it back.

Part of the main frame. It takes the focus when a trial begins, and gives it back to what had it: any key but its own
goes there.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.widget import Widget

from netbench_tui.model.change import Applied
from netbench_tui.model.host import Role
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.line import Line, width_of
from netbench_tui.tui.widgets.panel import Panel, Piece

# Columns between the parts of the bar.
_GAP = 3
# Keys that mean the list from which the trial was begun: they go back there.
_OF_LISTS = frozenset(
    [
        "up",
        "down",
        "left",
        "right",
        "j",
        "k",
        "h",
        "l",
        "g",
        "G",
        "space",
        "home",
        "end",
        "pageup",
        "pagedown",
        "slash",
        "b",
        "d",
        "c",
    ]
)


class ChangeBar(Panel, can_focus=False):
    """Shown, and able to have the focus, only while something is on trial."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("change-bar")]
    title = "On trial"
    help_text = (
        "What was just written is put back by the hosts themselves when the time is over, also if this program or the "
        "connection is gone by then. enter keeps it until you leave the workbench; u takes it back now."
    )

    def __init__(self) -> None:
        super().__init__(id="change-bar")
        self.trial: Applied | None = None
        self.seconds = 0.0
        self._before: Widget | None = None

    def follow(self, bench: Workbench) -> None:
        """Shows the trial of the state, or nothing."""
        trial = bench.trial
        if trial is not None and trial.deadline is None:
            trial = None
        begins = trial is not None and (self.trial is None or self.trial.step != trial.step)
        self.trial = trial
        if trial is None:
            self._leave()
            return
        self.seconds = max(0.0, (trial.deadline or 0.0) - bench.clock())
        self.display = self.can_focus = True
        if begins and self.screen.focused is not self:
            self._before = self.screen.focused
            self.focus()
        self.update_rows()

    def _leave(self) -> None:
        if self.display:
            self.give_back()
            self.display = self.can_focus = False

    def give_back(self) -> None:
        """The focus returns to what had it when the trial began."""
        before, self._before = self._before, None
        if self.has_focus and before is not None and before.is_attached:
            before.focus()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        line = self.line("cursor")
        line.put(0, self.look.glyph("bar"), self.look.style("accent", "cursor"))
        column = 1
        for part in self._parts(width - 1):
            column = self.put_pieces(line, column, part, "cursor") + _GAP
        return [line]

    def _parts(self, room: int) -> list[list[Piece]]:
        """What stands on the bar, in fewer words where there is no room for all. What moved along is not counted: the
        head of the screen and the journal count what was asked for."""
        took = [row for row in self.trial.outcomes if not row.code and not row.moved_along] if self.trial else []
        number = f"{len(took)} change" + ("s" if len(took) != 1 else "")
        hosts = " ".join(self.look.mark(role) for role in Role if any(row.role is role for row in took))
        left = f"put back in {self.seconds:.0f} s" if self.seconds >= 0.5 else "putting it back"
        standing = f"{number} on trial {hosts}"
        for words, for_good in ((standing, "keep for good"), (standing, "for good"), (f"{number} {hosts}", "for good")):
            parts: list[list[Piece]] = [
                [(words, "text")],
                [(left, "strong")],
                [("enter", "strong"), (" keep", "dim")] if self.has_focus else [("tab", "strong"), (" to keep", "dim")],
                [("u", "strong"), (" undo", "dim")],
                [("P", "strong"), (f" {for_good}", "dim")],
            ]
            if sum(width_of(text) for part in parts for text, _ in part) + _GAP * (len(parts) - 1) <= room:
                break
        return parts

    def action_keep(self) -> None:
        face(self).changing.keep()

    def action_back(self) -> None:
        self.give_back()

    async def on_key(self, event: events.Key) -> None:
        if event.key in _OF_LISTS and self._before is not None:
            event.stop()
            self.give_back()
            self.app.simulate_key(event.key)
