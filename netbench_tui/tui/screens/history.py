"""Area 6: all runs that were kept; enter opens one in the Run view, fed from its stored samples and intervals."""

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region
from textual.widgets import Input

from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState
from netbench_tui.model.session import RunSummary, StoredRun
from netbench_tui.model.units import fixed, gbits
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.run import RunView
from netbench_tui.tui.screens.run_texts import state_sign
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.trace import RunTrace, stored_trace
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.rows import RowList

# name, head, width (0: a share of the rest), least screen width at which the column stands, right-aligned
_COLUMNS = (
    ("id", "run", 6, 0, True),
    ("begun", "begun", 12, 0, False),
    ("state", "state", 13, 0, False),
    ("preset", "preset", 0, 0, False),
    ("sender", "sender", 0, 100, False),
    ("receiver", "receiver", 0, 100, False),
    ("generator", "generator", 9, 100, False),
    ("throughput", "Gbit/s", 8, 0, True),
    ("efficiency-sender", "eff", 7, 76, True),
    ("efficiency-receiver", "eff", 7, 76, True),
    ("demand", "µs/KiB", 8, 130, True),
)
_GAP = 2
# A preset's or host's name that needs more is cut.
_WIDEST = 26


def columns_at(width: int) -> list[tuple[str, str, int, int, bool]]:
    """name, head, first column, width, right-aligned; the flexible columns share what is left."""
    shown = [column for column in _COLUMNS if width >= column[3]]
    flexible = [column for column in shown if not column[2]]
    rest = width - 3 - sum(column[2] for column in shown) - _GAP * (len(shown) - 1)
    share = min(_WIDEST, max(8, rest // max(1, len(flexible))))
    placed, at = [], 2
    for name, head, size, _, right in shown:
        placed.append((name, head, at, size or share, right))
        at += (size or share) + _GAP
    return placed


def begun(started: float, now: float) -> str:
    """`14:03:07` today, `12 Jan 14:03` before."""
    then = time.localtime(started)
    today = time.localtime(now)[:3] == then[:3]
    return time.strftime("%H:%M:%S" if today else "%d %b %H:%M", then)


class HistoryList(RowList[RunSummary]):
    """Newest first."""

    help_text = (
        "Every run that was kept, newest first. eff is throughput per busy core in Gbit/s, of the sender and of the "
        "receiver. enter opens a run; / shows only runs whose preset, hosts or generator hold a text."
    )
    title_rows = 2

    def paint_heads(self) -> Sequence[Line]:
        line = self.line()
        for name, head, at, size, right in columns_at(line.width):
            mark = {"sender": Role.SENDER, "receiver": Role.RECEIVER}.get(name.removeprefix("efficiency-"))
            text = f"{self.look.mark(mark)} {head}" if mark else self.look.words(head)
            style = self.look.style(self.look.hue(mark) if mark else "faint")
            line.put(at + (size - len(text) if right else 0), text, style)
        return [line]

    def paint_item(self, item: RunSummary, line: Line, row: int, paper: str) -> None:
        for name, _, at, size, right in columns_at(line.width):
            words, ink = self._text(item, name)
            start, room = at, size
            if name == "state":
                sign, sign_ink = state_sign(item.state)
                line.put(at, self.look.glyph(sign), self.look.style(sign_ink, paper, bold=True))
                start, room = at + 2, size - 2
            text = cut(words, room)
            line.put(start + (room - len(text) if right else 0), text, self.look.style(ink, paper))

    def _text(self, item: RunSummary, name: str) -> tuple[str, str]:
        result = item.result
        match name:
            case "id":
                return str(item.id), "text"
            case "begun":
                return begun(item.started, time.time()), "dim"
            case "state":
                return item.state.value, "text" if item.state is RunState.FINISHED else "strong"
            case "preset" | "sender" | "receiver" | "generator":
                return getattr(item, name), "dim" if name == "generator" else "text"
            case "throughput":
                return gbits(result.metric("throughput")), "strong"
            case "demand":
                return fixed(result.metric("service_demand", Role.RECEIVER), 3), "text"
        role = Role.SENDER if name.endswith("sender") else Role.RECEIVER
        return gbits(result.metric("efficiency", role)), "text"


class StoredView(RunView):
    """A stored run."""


class HistoryArea(Area):
    """The list, or one stored run in its place."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("history")]
    FIRST_FOCUS = "runs"
    DEFAULT_CSS = """
    HistoryArea Input { border: none; height: 1; padding: 0 1; background: $surface; }
    HistoryArea Input:focus { border: none; background: $cursor; background-tint: $foreground 0%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.opened: RunTrace | None = None
        self.filtering = False
        self.trouble = ""

    def compose(self) -> ComposeResult:
        rows = HistoryList("History", id="runs")
        rows.can_focus = True
        yield rows
        yield Input(placeholder="preset, host, generator or state", id="filter")
        yield StoredView(id="stored")

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        if self.opened is not None:
            return {"stored": Region(0, 0, width, height)}
        top = 1 if height >= 30 else 0
        left, inner = 1, width - 2
        regions: dict[str | None, Region] = {}
        if self.filtering:
            regions["filter"] = Region(left, top, inner, 1)
            top += 2
        regions["runs"] = Region(left, top, inner, max(1, height - top))
        return regions

    def update_area(self) -> None:
        if self.opened is not None:
            self.query_one(StoredView).update_from(Workbench(), self.opened)

    def seen(self) -> None:
        self.load_runs()

    def load_runs(self) -> None:
        """The runs that hold what the filter says."""
        text = self.query_one(Input).value.strip()
        face(self).ask(face(self).engine.runs(text=text), self.show_runs)

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        number = f"{len(runs)} runs" if len(runs) != 1 else "1 run"
        text = self.query_one(Input).value.strip()
        empty = f"no run holds {text}" if text else "no runs yet: r runs a preset once two hosts are connected"
        self.query_one(HistoryList).show(runs, right=((number, "dim"),), empty=self.trouble or empty)

    def open_trace(self, trace: RunTrace) -> None:
        self.opened = trace
        self.arrange_again()
        self.update_area()
        self.call_after_refresh(self.query_one("#chart").focus)

    def _open_stored(self, stored: StoredRun) -> None:
        self.open_trace(stored_trace(stored))

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        event.stop()
        face(self).ask(face(self).engine.stored_run(event.item.id), self._open_stored)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.load_runs()

    def on_input_submitted(self) -> None:
        self.query_one(HistoryList).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter":
            return self.opened is None
        if action == "back":
            return self.opened is not None or self.filtering
        return True

    def action_filter(self) -> None:
        self.filtering = True
        self.arrange_again()
        self.screen.set_focus(self.query_one(Input))  # at once: the next letter is the filter's

    def action_back(self) -> None:
        if self.opened is not None:
            self.opened = None
        else:
            self.filtering = False
            self.query_one(Input).value = ""
        self.arrange_again()
        self.query_one(HistoryList).focus()
        face(self).refresh_footer()
