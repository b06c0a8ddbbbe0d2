"""One run as the screen knows it, live or out of the history, in one form for the Run view. No Textual here."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunEvent, RunResult, RunState, TrafficTest, Window
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, StoredRun
from netbench_tui.tui.loads import HostLoad, window_load
from netbench_tui.tui.series import Span

# Samples and intervals the screen keeps of one run: an hour at 10 Hz. The history keeps all; this only bounds memory.
KEPT = 36_000
# Runs up to this long have a fixed time axis, so that nothing moves; longer ones show their last minute while live.
FIXED_AXIS_SECONDS = 120.0
ROLLING_SECONDS = 60.0
_JITTER_SECONDS = 0.2


class Seconds:
    """Sums a host's samples into parts of at least a second, for charts: a tick is 10 ms, shorter parts show the tick.
    `softirq` is per cent of the host, `retransmits` segments per second; spans are on the time line."""

    def __init__(self) -> None:
        self.softirq: deque[Span] = deque(maxlen=KEPT)
        self.retransmits: deque[Span] = deque(maxlen=KEPT)
        self._span = 0.0
        self._end: float | None = None
        self._softirq = self._total = self._segments = 0

    def add(self, sample: HostSample) -> None:
        self._span += sample.span
        self._segments += sample.protocols.get("Tcp.RetransSegs", 0)
        for ticks in sample.cpus.values():
            self._softirq += ticks.softirq + ticks.irq
            self._total += ticks.total
        # Sums of decimal fractions: ten spans of 0.1 s must count as 1 s.
        if self._span >= 1.0 - 1e-6:
            start = sample.time - self._span
            # Parts follow each other on the chart: what rounding and jitter leave between them is no gap in the data.
            if self._end is not None and abs(start - self._end) < _JITTER_SECONDS:
                start = self._end
            self._end = sample.time
            if self._total:
                self.softirq.append(Span(start, sample.time, 100 * self._softirq / self._total))
            self.retransmits.append(Span(start, sample.time, self._segments / self._span))
            self._span = 0.0
            self._softirq = self._total = self._segments = 0


@dataclass
class RunTrace:
    """`started` and all sample times are on one time line; spans are seconds since the streams' start (`origin`)."""

    run_id: int
    preset: str
    test: TrafficTest
    generator: str
    started: float
    hosts: Mapping[Role, HostView]
    stored: bool = False
    origin: float | None = None
    spans: deque[Span] = field(default_factory=lambda: deque(maxlen=KEPT))
    samples: dict[Role, deque[HostSample]] = field(default_factory=lambda: {role: deque(maxlen=KEPT) for role in Role})
    seconds_of: dict[Role, "Seconds"] = field(default_factory=lambda: {role: Seconds() for role in Role})
    events: list[RunEvent] = field(default_factory=list)
    result: RunResult | None = None
    wall_time: float | None = None
    """When a stored run began, Unix seconds."""

    @property
    def running(self) -> bool:
        return self.result is None

    @property
    def name(self) -> str:
        return f"run {self.run_id}" if self.run_id else "run, not kept"

    @property
    def state(self) -> RunState:
        return self.result.state if self.result else RunState.RUNNING

    def add_interval(self, interval: Interval, time: float | None = None) -> None:
        """`time` is the interval's end on the time line; the first one tells when the streams began."""
        if time is not None and self.origin is None:
            self.origin = time - interval.end
        self.spans.append(Span(interval.start, interval.end, interval.bits_per_second / 1e9))

    def add_sample(self, role: Role, sample: HostSample) -> None:
        self.samples[role].append(sample)
        self.seconds_of[role].add(sample)

    def finish(self, result: RunResult) -> None:
        """Takes the run's own report where it has one: it is what was measured, the live lines were its echo."""
        self.result = result
        self.origin = self.origin if result.origin is None else result.origin
        self.events = list(result.events)
        if result.report.received:
            self.spans.clear()
            for interval in result.report.received:
                self.add_interval(interval)

    @property
    def seconds(self) -> float:
        """How long the streams have been sending, as far as intervals tell."""
        return self.spans[-1].end if self.spans else 0.0

    def axis(self) -> tuple[float, float, bool]:
        """Start and end of the time axis in seconds since the streams' start, and whether it rolls."""
        if self.running and self.test.seconds > FIXED_AXIS_SECONDS:
            end = max(self.seconds, ROLLING_SECONDS)
            return end - ROLLING_SECONDS, end, True
        return 0.0, max(self.test.seconds, self.seconds if not self.running else 0.0), False

    def mean(self) -> float | None:
        """Gbit/s over the measured window once the run ended, over all intervals so far while it runs."""
        if self.result is not None:
            value = self.result.metric("throughput")
            return None if value is None else value / 1e9
        total = sum(s.end - s.start for s in self.spans)
        return sum(s.value * (s.end - s.start) for s in self.spans) / total if total else None

    def last_second(self) -> float | None:
        """Gbit/s over the newest second of intervals."""
        total = amount = 0.0
        for span in reversed(self.spans):
            total += span.end - span.start
            amount += span.value * (span.end - span.start)
            if total >= 1.0 - 1e-6:
                break
        return amount / total if total else None

    def on_axis(self, time: float) -> float:
        """A time of the time line as seconds since the streams' start."""
        return time - (self.started if self.origin is None else self.origin)


def stored_trace(stored: StoredRun) -> RunTrace:
    """The same view of a run that the history kept."""
    summary = stored.summary
    trace = RunTrace(
        run_id=summary.id,
        preset=summary.preset,
        test=summary.test,
        generator=summary.generator,
        started=_first_time(stored.samples.values()),
        hosts=stored.hosts,
        stored=True,
        wall_time=summary.started,
    )
    for role, samples in stored.samples.items():
        for sample in samples:
            trace.add_sample(role, sample)
    trace.finish(stored.result)
    return trace


def _first_time(samples: Iterable[tuple[HostSample, ...]]) -> float:
    return min((held[0].time for held in samples if held), default=0.0)


def run_load(trace: RunTrace, role: Role) -> HostLoad | None:
    """An ended run's load over its measured window, or over all its samples where it has none."""
    view = trace.hosts.get(role)
    if view is None:
        return None
    samples = trace.samples[role]
    window = trace.result.window if trace.result else None
    if window is None and samples:
        window = Window(samples[0].time - samples[0].span, samples[-1].time)
    return window_load(samples, window, view) if window is not None else None
