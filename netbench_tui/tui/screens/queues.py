"""Area 3: from the wire to the CPUs. Queues, NAPI, IRQs, where they land and how fast they go; steering below.

▼ beta  receive queues  16 ━━━━━━━━━━━━━━━━━━━━━━━━━━━ o ▲ alpha   t transmit
queue  NAPI  IRQ  wanted  is on  node  Mpkt/s  Gbit/s  irq/s   | queue x CPU
rx-5  from the wire to the application: NIC → RSS → rx-5 → NAPI → IRQ → cpu
RSS | steering | softnet | ethtool -S: one at a time, v goes on
Staged  nothing written yet

What its keys stage stands in queues_staging.py.
"""

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region
from textual.widgets import Input

from netbench_tui.model.host import Role
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.queues_layout import Wants, is_compact, is_wide, queue_regions
from netbench_tui.tui.screens.queues_notes import queue_notes
from netbench_tui.tui.screens.queues_staging import QueuesStaging
from netbench_tui.tui.screens.queues_views import View, make_views, rows_wanted, show_view
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.notes import NotesPanel
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.prompt import Prompt
from netbench_tui.tui.widgets.queue_data import RECEIVE, TRANSMIT, QueueRow, QueueTable, queue_table
from netbench_tui.tui.widgets.queue_path import PathPanel, path_steps
from netbench_tui.tui.widgets.queue_rows import QueueRows
from netbench_tui.tui.widgets.staged import StagedPanel

# Interrupts on a CPU that the last look did not name mean that an IRQ was moved: time to look again, but not at once
# each time.
_STRAY_SHARE, _LOOK_AGAIN_SECONDS = 0.5, 2.0
_MOST_STAGED = 8
_WIDE_NOTES, _MOST_NOTES = 4, 12
# Areas that show a NIC's rates bear this class: the last of them to go out of sight ends the watching.
WATCHES = "watches-queues"


class QueuesArea(QueuesStaging):
    """One host's queues, or both hosts' where there is room; the lower panels are those of `role`."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("queues")]
    FIRST_FOCUS = f"queues-{Role.RECEIVER.value}"
    DEFAULT_CSS = """
    QueuesArea Input { border: none; height: 1; padding: 0 1; background: $surface; }
    QueuesArea Input:focus { border: none; background: $cursor; background-tint: $foreground 0%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.add_class(WATCHES)
        self._view_chosen = False
        self._arranged_for: object = None
        self._looked_at: dict[Role, float] = {}

    def compose(self) -> ComposeResult:
        for role in Role:
            yield QueueRows(role, self.kinds[role], id=f"queues-{role.value}")
        path, notes = PathPanel(id="path"), NotesPanel(id="notes")
        for panel in (path, notes):
            panel.can_focus = True
            yield panel
        yield from make_views()
        yield Prompt(id="prompt")
        yield Input(id="entry")
        yield StagedPanel(id="staged")

    # --- layout --------------------------------------------------------------------------------------------------

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        panels = list(self.query(QueueRows))
        for panel in panels:
            panel.set_compact(is_compact(width, height))
        wide = is_wide(width, height)
        shown = panels if wide else [panel for panel in panels if panel.role is self.role]
        staged = self.query_one(StagedPanel).rows_wanted(_MOST_STAGED)
        wants = Wants(
            max(panel.rows_wanted() for panel in shown),
            max(panel.title_rows + panel.foot_rows for panel in shown),
            self._notes_rows(width, wide),
            rows_wanted(self, View.RSS, compact=False)[0] if wide else 0,
            *rows_wanted(self, self.shown_view, is_compact(width, height)),
            self.shown_view.fills,
            staged,
            bool(self.query_one(Prompt).words),
            self.typing,
        )
        return queue_regions(width, height, self.role, self.shown_view.value, wants)

    def _notes_rows(self, width: int, wide: bool) -> int:
        """The worst of them, and all while they have the focus: so that nothing moves because a figure did."""
        notes = self.query_one(NotesPanel)
        least = _WIDE_NOTES if wide else 1
        return max(least, min(_MOST_NOTES, notes.rows_wanted(width - 2))) if notes.has_focus else least

    @property
    def both(self) -> bool:
        return is_wide(*self.size)

    @property
    def shown_view(self) -> View:
        """With room for RSS above it the view is one of the lists."""
        return View.STEERING if self.both and self.view is View.RSS else self.view

    def on_resize(self) -> None:
        super().on_resize()
        self.update_area()

    # --- showing -------------------------------------------------------------------------------------------------

    def seen(self) -> None:
        app = face(self)
        app.changing.need_settings()
        app.changing.need_queues()
        self._watch()

    def on_hide(self, event: events.Hide) -> None:
        """Out of sight, perhaps for an area that needs the rates as well; a run goes on watching by itself."""
        bench = face(self).bench
        if bench.whole and not any(area.display for area in self.screen.query(f".{WATCHES}")):
            face(self).ask(face(self).engine.watch(False))

    def _watch(self) -> None:
        app = face(self)
        if app.bench.whole:
            app.ask(app.engine.watch(True, statistics=self.view is View.COUNTERS))

    def update_area(self) -> None:
        app = face(self)
        bench = app.bench
        tables = []
        for role in Role if self.both else (self.role,):
            tables.append(queue_table(bench, role, self.kinds[role]))
            self._show_queues(bench, tables[-1])
        self._show_path(bench)
        self.query_one(NotesPanel).show(queue_notes(bench, tables))
        self._show_views(bench, tables)
        self.query_one(StagedPanel).update_from(bench)
        self._look_again(tables)
        self.arrange_if_needed()

    def _show_queues(self, bench: Workbench, table: QueueTable) -> None:
        panel = self.query_one(f"#queues-{table.role.value}", QueueRows)
        panel.kind = table.kind
        age = bench.age(table.role)
        panel.set_keys(bench.views.get(table.role.other), self.both)
        panel.show_table(
            table,
            bench.views.get(table.role),
            bench.load(table.role),
            _processed(bench, table.role) if not table.has_irqs else {},
            f", {age:.0f} s old" if age is not None else "",
        )

    def _show_path(self, bench: Workbench) -> None:
        row, view, queues = self.rows.current, bench.views.get(self.role), bench.queues.get(self.role)
        panel = self.query_one(PathPanel)
        if row is None or view is None or queues is None:
            panel.show("", (), receives=True)
            return
        steps = path_steps(row, view, queues, bench.settings.get(self.role))
        panel.show(row.queue.name, steps, receives=row.queue.kind == RECEIVE)

    def _show_views(self, bench: Workbench, tables: list[QueueTable]) -> None:
        """The chosen one, and RSS above it where both hosts stand there. A NIC without RSS begins with steering."""
        queues = bench.queues.get(self.role)
        if queues is not None and not self._view_chosen:
            self.view = View.RSS if queues.rss is not None else View.STEERING
        found = next((table for table in tables if (table.role, table.kind) == (self.role, RECEIVE)), None)
        received = found or queue_table(bench, self.role, RECEIVE)
        for view in {self.shown_view, View.RSS} if self.both else (self.shown_view,):
            after = self.shown_view.after(1, self.both) if view is self.shown_view else None
            show_view(self, bench, view, received, self.filter_text, after)

    def _look_again(self, tables: list[QueueTable]) -> None:
        """Reads the queues anew where interrupts come in where the last look did not say."""
        app = face(self)
        now = app.bench.clock()
        for table in tables:
            due = now - self._looked_at.get(table.role, 0.0) >= _LOOK_AGAIN_SECONDS
            if due and app.bench.whole and any(map(_strays, table.rows)):
                self._looked_at[table.role] = now
                app.ask(app.engine.read_queues(table.role))

    def arrange_if_needed(self) -> None:
        staged = self.query_one(StagedPanel).rows_wanted(_MOST_STAGED)
        counts = tuple(len(panel.table.rows) for panel in self.query(QueueRows))
        blocks = rows_wanted(self, View.RSS, compact=False)
        notes = self.query_one(NotesPanel)
        more = len(notes.notes) if notes.has_focus else 0
        says = bool(self.query_one(Prompt).words)
        state = (staged, counts, more, self.shown_view, blocks, self.role, self.typing, says)
        if state != self._arranged_for:
            self._arranged_for = state
            self.arrange_again()

    def on_queue_rows_moved(self, event: QueueRows.Moved) -> None:
        event.stop()
        self._show_path(face(self).bench)
        if not self.typing:
            self._say("")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """With both hosts in sight the keys are for the one that has the focus."""
        if self.both and isinstance(event.widget, QueueRows) and event.widget.role is not self.role:
            self.role = event.widget.role
            self.update_area()
        else:
            self.arrange_if_needed()

    # --- keys that show ------------------------------------------------------------------------------------------

    def action_other_host(self) -> None:
        had_focus = any(panel.has_focus for panel in self.query(QueueRows))
        self.role = self.role.other
        self._say("")
        self.update_area()
        if had_focus:
            self.rows.focus()

    def action_other_kind(self) -> None:
        self.kinds[self.role] = TRANSMIT if self.kinds[self.role] == RECEIVE else RECEIVE
        self.update_area()

    def action_next_view(self) -> None:
        self._take_view(self.shown_view.after(1, self.both))

    def action_view_before(self) -> None:
        self._take_view(self.shown_view.after(-1, self.both))

    def _take_view(self, view: View) -> None:
        had_focus = self.query_one(f"#{self.shown_view.value}", Panel).has_focus
        counters = View.COUNTERS in (self.view, view)
        self.view, self._view_chosen = view, True
        if view is View.COUNTERS:
            for rates in face(self).bench.queue_rates.values():
                rates.forget_statistics()
        if counters:
            self._watch()
        self.update_area()
        if had_focus:
            self.query_one(f"#{view.value}", Panel).focus()
        face(self).refresh_footer()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "back":
                return self.typing or bool(self.filter_text) or bool(self.query_one(Prompt).words)
            case "filter":
                return self.view is View.COUNTERS
            case "other_host" | "other_kind" | "next_view" | "view_before":
                return not self.typing
        return face(self).bench.connected and not self.typing


def _processed(bench: Workbench, role: Role) -> dict[int, float]:
    """Each CPU's share of the packets that the host's softirqs processed in the last second, per cent."""
    rates = bench.queue_rates.get(role)
    rows = rates.softnet() if rates is not None else {}
    whole = sum(rate.processed for rate in rows.values())
    return {cpu: 100 * rate.processed / whole for cpu, rate in rows.items()} if whole > 0 else {}


def _strays(row: QueueRow) -> bool:
    """Most of the queue's interrupts came in on a CPU that the last look did not name."""
    if row.irq is None or not row.irq.effective or row.interrupts is None:
        return False
    shares = row.interrupts.shares
    return sum(share for cpu, share in shares.items() if cpu not in row.irq.effective) > _STRAY_SHARE
