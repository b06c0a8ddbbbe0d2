"""What the Run view says, from the state alone: chart data, titles, notes, the run line, the side. No widgets."""

import time
from collections.abc import Iterable, Mapping, Sequence

from netbench_tui.analysis.lints import line_goodput, lints
from netbench_tui.engine.marks import short
from netbench_tui.model.host import Role
from netbench_tui.model.outcome import Outcome
from netbench_tui.model.preset import Preset
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.run import RunState, TrafficTest
from netbench_tui.model.session import HostView
from netbench_tui.model.units import fixed, gbits, minutes, size
from netbench_tui.tui.figures import rate
from netbench_tui.tui.loads import HostLoad
from netbench_tui.tui.look import Look
from netbench_tui.tui.series import ChartData, Mark, Series, Span
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.trace import RunTrace
from netbench_tui.tui.widgets.facts import Fact, fact
from netbench_tui.tui.widgets.notes import Note
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.runline import RunLineData

# Remarks that say what the figures are, not that something is to be done.
_ONLY_REMARKS = ("shared_cpus", "line_limited")
_STATE_SIGNS: Mapping[RunState, Piece] = {
    RunState.RUNNING: ("chosen", "accent"),
    RunState.FINISHED: ("passed", "good"),
    RunState.FAILED: ("failed", "bad"),
    RunState.STOPPED: ("absent", "dim"),
    RunState.INTERRUPTED: ("failed", "bad"),
}


def state_sign(state: RunState) -> Piece:
    """Glyph name and ink; the state's word always stands beside it."""
    return _STATE_SIGNS[state]


def describe(test: TrafficTest) -> str:
    """`TCP/IPv4, 1 stream, 128 KiB, 5 s`."""
    streams = "1 stream" if test.streams == 1 else f"{test.streams} streams"
    return f"{test.protocol.upper()}/IPv{test.ip_version}, {streams}, {size(test.message_bytes)}, {test.seconds:g} s"


def describe_preset(preset: Preset) -> str:
    """What it sends, and how many settings it asks for: `TCP/IPv4, 1 stream, 128 KiB, 5 s, 2 settings`."""
    return ", ".join(filter(None, (describe(preset.test), count_settings(len(preset.settings)))))


def count_settings(number: int) -> str:
    return f"{number} setting{'' if number == 1 else 's'}" if number else ""


def limit_gbits(views: Mapping[Role, HostView], test: TrafficTest) -> float | None:
    """Theoretical goodput of the pair's line; None where a speed is unknown or not real."""
    nics = [view.nic for view in views.values() if view.nic is not None]
    stamps = all(view.facts.environment.get("net.ipv4.tcp_timestamps") != "0" for view in views.values())
    limit = line_goodput(test, nics, stamps) if len(nics) == len(Role) else None
    return None if limit is None else limit / 1e9


def throughput_chart(trace: RunTrace | None) -> ChartData:
    if trace is None:
        return ChartData(end=5.0)
    start, end, rolling = trace.axis()
    marks = [Mark(trace.on_axis(event.time), event.text) for event in trace.events]
    return ChartData((Series(tuple(trace.spans)),), start, end, rolling, marks)


def small_charts(trace: RunTrace | None) -> tuple[ChartData, ChartData]:
    """Softirq of both hosts, and the sender's retransmits, on the throughput's time axis."""
    if trace is None:
        return ChartData(end=5.0), ChartData(end=5.0)
    start, end, rolling = trace.axis()

    def moved(spans: Sequence[Span]) -> tuple[Span, ...]:
        return tuple(Span(trace.on_axis(s.start), trace.on_axis(s.end), s.value) for s in spans)

    hues = {Role.SENDER: "sender", Role.RECEIVER: "receiver"}
    soft = tuple(Series(moved(trace.seconds_of[role].softirq), hues[role], thick=False) for role in Role)
    segments = (Series(moved(trace.seconds_of[Role.SENDER].retransmits), "text", thick=False),)
    return ChartData(soft, start, end, rolling), ChartData(segments, start, end, rolling)


def small_values(look: Look, trace: RunTrace | None) -> tuple[list[Piece], list[Piece]]:
    """The right ends of the small charts' titles: the newest value of each line."""
    if trace is None:
        return [], []
    soft: list[Piece] = []
    for role in Role:
        spans = trace.seconds_of[role].softirq
        text = f"{spans[-1].value:.1f}" if spans else "–"
        soft += [(f"  {look.mark(role)}", look.hue(role)), (f"{text:>6}", "strong")]
    segments = trace.seconds_of[Role.SENDER].retransmits
    text = rate(segments[-1].value) if segments else "–"
    return soft, [("now ", "dim"), (f"{text:>6}", "strong")]


def chart_remark(trace: RunTrace | None) -> str:
    """Behind the chart's title: the unit, and which run it is where it is not the live one."""
    return f"Gbit/s, {trace.name}, stored" if trace is not None and trace.stored else "Gbit/s"


def chart_values(trace: RunTrace | None, limit: float | None, narrow: bool) -> list[Piece]:
    """The right end of the chart's title; every value keeps its width."""
    pieces: list[Piece] = []
    if trace is not None and trace.running:
        pieces += [("now ", "dim"), (f"{fixed(trace.last_second(), 2):>6}", "strong")]
    if trace is not None and not (narrow and trace.running and limit is not None):
        pieces += [("   mean " if pieces else "mean ", "dim"), (f"{fixed(trace.mean(), 2):>6}", "strong")]
    if limit is not None:
        pieces += [("   limit " if pieces else "limit ", "dim"), (f"{limit:.2f}", "text")]
    return pieces


def figures_remark(trace: RunTrace | None) -> str:
    """Over what the table's figures are."""
    if trace is None or trace.running:
        return "last second"
    window = trace.result.window if trace.result else None
    if window is None:
        return f"{trace.name}, nothing was measured"
    return f"{trace.name}{', stored' if trace.stored else ''}, measured over {window.seconds:.1f} s"


def notes_of(bench: Workbench, trace: RunTrace | None, loads: Mapping[Role, HostLoad | None]) -> list[Note]:
    """What wants action first, remarks after."""
    live = trace is None or not trace.stored
    notes = _trouble(bench) if live else []
    if trace is not None and trace.result is not None:
        notes += _of_result(trace)
    elif any(view.shares_cpus for view in bench.views.values()):
        notes.append(Note("both hosts share this machine's CPUs: each CPU figure holds the work of both ends"))
    if live and bench.warning:
        notes.append(Note(bench.warning, wants_action=True))
    if live:
        notes += returned_notes(bench)
    return sorted(notes, key=lambda note: not note.wants_action)


def _trouble(bench: Workbench) -> list[Note]:
    notes = []
    if bench.trouble is not None:
        notes.append(Note(bench.trouble.message, bench.trouble.hint, wants_action=True))
    for role, failure in bench.failures.items():
        notes.append(Note(failure.message, failure.hint, role, failure.name, wants_action=True))
    if bench.history_trouble is not None:
        notes.append(Note(bench.history_trouble.message, bench.history_trouble.hint, wants_action=True))
    return notes


def returned_notes(bench: Workbench) -> list[Note]:
    """What is new about a host that was lost and is back, behind the host's name."""
    notes = []
    for role, text in bench.returned.items():
        name = bench.views[role].name
        notes.append(Note(text.removeprefix("▲ ").removeprefix("▼ ").removeprefix(f"{name} "), "", role, name))
    return notes


def _of_result(trace: RunTrace) -> list[Note]:
    result = trace.result
    assert result is not None
    notes = []
    if result.state in (RunState.FAILED, RunState.INTERRUPTED):
        notes.append(Note(result.reason or f"the run was {result.state.value}", result.hint, wants_action=True))
    elif result.reason:
        notes.append(Note(result.reason, result.hint))
    for lint in lints(result.test, result.metrics, trace.hosts):
        view = trace.hosts.get(lint.role) if lint.role else None
        host = view.name if view else ""
        sentence = lint.sentence.removeprefix(f"▲ {host} ").removeprefix(f"▼ {host} ") if host else lint.sentence
        notes.append(Note(sentence, lint.remedy, lint.role, host, lint.name not in _ONLY_REMARKS))
    if result.lost_samples:
        notes.append(Note(f"{result.lost_samples} samples of the hosts were lost", wants_action=True))
    return notes


def run_line(bench: Workbench, trace: RunTrace | None) -> RunLineData:
    if trace is not None and trace.running:
        return _progress(trace)
    if trace is not None and (trace.stored or bench.trouble is None):
        sign, ink = state_sign(trace.state)
        words = f"{trace.state.value}   " if trace.state is not RunState.FINISHED else "finished   "
        pieces: list[Piece] = [(words, "text"), (f"{trace.preset}   ", "text"), (describe(trace.test), "dim")]
        pieces.append((f"   {trace.generator}", "dim"))
        return RunLineData(sign, ink, trace.name, None, tuple(pieces), () if trace.stored else _next(bench))
    if not bench.connected:
        return RunLineData(name="not connected", pieces=(("1 ", "strong"), ("Hosts, to choose two", "dim")))
    preset = bench.preset
    if preset is None:
        return RunLineData(name="no presets found")
    return RunLineData(name=preset.name, pieces=((describe_preset(preset), "dim"),), right=_next(bench))


def _next(bench: Workbench) -> tuple[Piece, ...]:
    preset = bench.preset
    if preset is None or not bench.connected:
        return ()
    return (("r", "strong"), (f" run {preset.name}   ", "dim"), ("p", "strong"), (" preset", "dim"))


def _progress(trace: RunTrace) -> RunLineData:
    done, whole = trace.seconds, trace.test.seconds
    left = minutes(max(0.0, whole - done))
    if not trace.spans:
        where: tuple[Piece, ...] = (("starting", "text"), (f"   {trace.preset}", "text"))
    else:
        where = (("second ", "dim"), (f"{min(int(done) + 1, round(whole))}", "text"), (f" of {whole:g}   ", "dim"))
        where = (*where, (f"{trace.preset}   ", "text"))
    pieces = (*where, (f"   {trace.generator}   " if not trace.spans else f"{trace.generator}   ", "dim"))
    pieces = (*pieces, (describe(trace.test), "dim"))
    return RunLineData("chosen", "accent", trace.name, done / whole, pieces, ((f"{left:>5} left", "strong"),))


def details(look: Look, bench: Workbench, trace: RunTrace | None) -> list[Fact]:
    """The side panel: what this run is, or what would run."""
    if trace is None:
        preset = bench.preset
        rows = [fact("preset", preset.name if preset else ""), fact("", preset.title if preset else "", ink="dim")]
        rows.append(fact("traffic", describe(preset.test) if preset else ""))
        return [*rows, *(_wish(look, setting) for setting in (preset.settings if preset else ()))]
    report = trace.result.report if trace.result else None
    rows = [fact("preset", trace.preset), fact("traffic", describe(trace.test))]
    rows.append(fact("generator", f"{trace.generator} {report.version if report else ''}".strip()))
    for role in Role:
        view = trace.hosts.get(role)
        if view is not None:
            address = view.addresses.get(trace.test.ip_version, "")
            host: Piece = (f"{look.mark(role)} {view.name}", look.hue(role))
            rows.append(Fact(role.value, (host, (f"  {view.data_nic}  ", "dim"), (address, "text"))))
    rows += _set(look, trace.result.settings if trace.result else ())
    if report is not None and report.mss:
        rows.append(fact("MSS", str(report.mss), "B"))
    if trace.wall_time is not None:
        rows.append(fact("begun", time.strftime("%d %b %Y %H:%M:%S", time.localtime(trace.wall_time))))
    clocks = [(role, trace.hosts[role].clock) for role in Role if role in trace.hosts]
    if clocks:
        rows.append(fact("clocks", "  ".join(f"{look.mark(r)} ±{1000 * c.error:.2f} ms" for r, c in clocks)))
    return rows


def _wish(look: Look, setting: PresetSetting) -> Fact:
    return _setting(look, [role for role in Role if setting.is_for(role)], f"{setting.key} {setting.value}")


def _set(look: Look, outcomes: Iterable[Outcome]) -> list[Fact]:
    """What was set for a run; several features of one short name, and the same on both hosts, are one row."""
    found: dict[str, dict[Role, None]] = {}
    for outcome in outcomes:
        if not outcome.moved_along:
            came = " refused" if outcome.code else "" if outcome.took else f", it is {outcome.active or outcome.now}"
            found.setdefault(f"{short(outcome.key)} {outcome.asked}{came}", {})[outcome.role] = None
    return [_setting(look, roles, words) for words, roles in found.items()]


def _setting(look: Look, roles: Iterable[Role], words: str) -> Fact:
    """The marks of the hosts, then what is set there while the run lasts."""
    marks: list[Piece] = [(f"{look.mark(role)} ", look.hue(role)) for role in roles]
    return Fact("set", (*marks, (words, "text")))


def events_of(look: Look, trace: RunTrace | None) -> list[Fact]:
    """What happened in the run, newest last."""
    if trace is None:
        return [Fact("", (("no run yet", "dim"),))]
    rows = [Fact("0.0 s", (("streams began", "text"),))] if trace.spans else []
    for event in trace.events:
        host: tuple[Piece, ...] = ()
        if event.role is not None and event.role in trace.hosts:
            host = ((f"{look.mark(event.role)} {trace.hosts[event.role].name}  ", look.hue(event.role)),)
        rows.append(Fact(f"{trace.on_axis(event.time):.1f} s", (*host, (event.text, "text"))))
    if trace.result is not None:
        words: Piece = (f"{trace.state.value}, {gbits(trace.result.metric('throughput'))} Gbit/s", "text")
        rows.append(Fact(f"{trace.seconds:.1f} s", (words,)))
    return rows
