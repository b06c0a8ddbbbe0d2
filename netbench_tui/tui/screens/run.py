"""Area 5: throughput, both hosts' CPUs, the metrics and what to know about them, live or of a stored run.

`RunView` is that picture; `RunArea` is the live one with its keys. History shows a `RunView` of its own.
"""

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region

from netbench_tui.model.host import Role
from netbench_tui.model.session import RunSummary
from netbench_tui.model.units import gbits
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.figures import of_last_second, of_result
from netbench_tui.tui.loads import HostLoad
from netbench_tui.tui.screens import run_texts as texts
from netbench_tui.tui.screens.run_layout import is_compact, is_wide, run_regions
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.trace import RunTrace, run_load
from netbench_tui.tui.widgets.arranged import Area, Arranged
from netbench_tui.tui.widgets.chart import TimeChart
from netbench_tui.tui.widgets.facts import Fact, FactsPanel
from netbench_tui.tui.widgets.heat import HeatPanel
from netbench_tui.tui.widgets.metrics import MetricsPanel
from netbench_tui.tui.widgets.notes import NotesPanel
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.runline import RunLine


class SoftirqChart(TimeChart):
    title = "softirq"
    unit = "% of each host"
    help_text = "Time in softirq and hard interrupts, per cent of each host, in parts of a second."


class RetransmitsChart(TimeChart):
    title = "retransmits"
    unit = "segments/s of the sender"
    help_text = "TCP segments that the sender's kernel sent again, all its connections, in parts of a second."


class RunView(Arranged):
    """One run in full. `update_from` takes the state; the heat of an ended run is that of its measured window."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.trace: RunTrace | None = None
        self._shown: RunTrace | None = None
        self._window_loads: dict[Role, HostLoad | None] = {}
        self._scaled_for: RunTrace | None = None
        self._laid_out_for: object = None

    def compose(self) -> ComposeResult:
        yield _focusable(TimeChart(id="chart"))
        yield _focusable(SoftirqChart(id="softirq", compact=True))
        yield _focusable(RetransmitsChart(id="retransmits", compact=True))
        yield _focusable(HeatPanel(Role.SENDER, id="heat-sender"))
        yield _focusable(HeatPanel(Role.RECEIVER, id="heat-receiver"))
        yield _focusable(MetricsPanel(id="metrics"))
        yield _focusable(NotesPanel(id="notes"))
        yield RunLine(id="runline")
        yield _focusable(FactsPanel("This run", id="details"))
        yield _focusable(FactsPanel("Events", 9, id="events"))
        yield _focusable(FactsPanel("Runs before", 9, id="before"))

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        compact = is_compact(width, height)
        heats = list(self.query(HeatPanel))
        for heat in heats:
            heat.compact = compact

        def rows(at_width: int, limit: int, in_compact: bool) -> int:
            return max((heat.rows_wanted(at_width, limit, in_compact) for heat in heats), default=1)

        return run_regions(width, height, rows)

    def update_from(self, bench: Workbench, trace: RunTrace | None) -> None:
        """Shows `trace` (None: the idle hosts of `bench`)."""
        self.trace = trace
        loads = self._loads(bench, trace)
        self._show_hosts(bench, trace, loads)
        self._show_charts(bench, trace)
        live = trace is None or trace.running
        if live:
            segments = trace.seconds_of[Role.SENDER].retransmits if trace else ()
            last = trace.last_second() if trace else None
            figures = of_last_second(last and last * 1e9, segments[-1].value if segments else None, loads)
        else:
            assert trace is not None and trace.result is not None
            figures = of_result(trace.result)
        self.query_one(MetricsPanel).show(figures, texts.figures_remark(trace))
        self.query_one(NotesPanel).show(texts.notes_of(bench, trace, loads))
        self.query_one(RunLine).show(texts.run_line(bench, trace))
        self._show_side(bench, trace)

    def _loads(self, bench: Workbench, trace: RunTrace | None) -> dict[Role, HostLoad | None]:
        if trace is None or trace.running:
            self._shown = None
            return {role: bench.load(role) for role in Role}
        if self._shown is not trace:
            self._shown = trace
            self._window_loads = {role: run_load(trace, role) for role in Role}
        return self._window_loads

    def _show_hosts(self, bench: Workbench, trace: RunTrace | None, loads: Mapping[Role, HostLoad | None]) -> None:
        views = bench.views if trace is None else trace.hosts
        topology = tuple((role, views[role].facts.cpus) for role in Role if role in views)
        for role, name in ((Role.SENDER, "#heat-sender"), (Role.RECEIVER, "#heat-receiver")):
            view = views.get(role)
            age = None if trace is not None and trace.stored else bench.age(role)
            note = f"{age:.0f} s old" if age is not None else ""
            if view is not None and view.shares_cpus and not note:
                note = "CPUs shared by both hosts"
            self.query_one(name, HeatPanel).show(view, loads.get(role), note)
        if topology != self._laid_out_for:
            self._laid_out_for = topology
            self.arrange_again()

    def _show_charts(self, bench: Workbench, trace: RunTrace | None) -> None:
        preset = bench.preset
        hosts = trace.hosts if trace else bench.views
        test = trace.test if trace else preset.test if preset else None
        limit = texts.limit_gbits(hosts, test) if test and hosts else None
        chart = self.query_one("#chart", TimeChart)
        if trace is not self._scaled_for:
            self._scaled_for = trace
            chart.reset_scale()
        narrow = self.size.width < 100
        values, remark = texts.chart_values(trace, limit, narrow), texts.chart_remark(trace)
        chart.show(texts.throughput_chart(trace), values, remark, floor=limit or 0.0)
        if not is_wide(*self.size):
            return
        softirq, segments = texts.small_charts(trace)
        now = texts.small_values(face(self).look, trace)
        self.query_one(SoftirqChart).show(softirq, now[0], floor=100.0)
        self.query_one(RetransmitsChart).show(segments, now[1], floor=10.0)

    def _show_side(self, bench: Workbench, trace: RunTrace | None) -> None:
        look = face(self).look
        title = "This run" if trace is not None else "Next run"
        self.query_one("#details", FactsPanel).show(texts.details(look, bench, trace), title)
        self.query_one("#events", FactsPanel).show(texts.events_of(look, trace))
        rows = [_before(summary) for summary in face(self).before if trace is None or summary.id != trace.run_id]
        panel = self.query_one("#before", FactsPanel)
        panel.show(rows or [Fact("", (("none", "dim"),))], right=(("Gbit/s", "dim"),))


def _before(summary: RunSummary) -> Fact:
    sign, ink = texts.state_sign(summary.state)
    value = gbits(summary.result.metric("throughput"))
    pieces = ((f"{summary.preset:<18.18} ", "text"), (f"{summary.state.value:<12}", ink if sign == "failed" else "dim"))
    return Fact(f"run {summary.id}", pieces, ((value, "strong"),))


def _focusable(panel: Panel) -> Panel:
    panel.can_focus = True
    return panel


class RunArea(RunView, Area):
    """Area 5."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("run")]
    FIRST_FOCUS = "chart"

    def update_area(self) -> None:
        self.update_from(face(self).bench, face(self).bench.trace)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        bench = face(self).bench
        if action == "stop":
            return bench.running
        if action in ("choose_preset", "next_preset", "previous_preset"):
            return bool(bench.presets) and not bench.running
        return True

    def action_stop(self) -> None:
        face(self).stop_run()

    def action_next_preset(self) -> None:
        face(self).choose_preset(face(self).bench.chosen + 1)

    def action_previous_preset(self) -> None:
        face(self).choose_preset(face(self).bench.chosen - 1)

    def action_choose_preset(self) -> None:
        from netbench_tui.tui.screens.choosers import PresetChooser

        bench = face(self).bench

        def chosen(index: int | None) -> None:
            if index is not None:
                face(self).choose_preset(index)

        self.app.push_screen(PresetChooser(bench.presets, bench.chosen), chosen)
