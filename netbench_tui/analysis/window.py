"""The measured window: which of a generator's intervals count, and what a host's counters moved by inside it.

Used by metrics.py. DESIGN 6: from the streams' start + 0.3 s to the end of the last full interval; both hosts are cut
to it.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from netbench_tui.model.host import Role
from netbench_tui.model.run import WARM_UP_SECONDS, Interval, TrafficReport, Window
from netbench_tui.model.sample import HostSample

# Generators print times to 10 ms: an interval that starts at 0.2951 s is printed as 0.30.
TIME_ROUNDING = 0.005
# A last interval shorter than this share of the usual length is the rest after the streams' end.
FULL_INTERVAL = 0.5
# A figure over samples that cover less of the window than this is not given at all.
LEAST_COVERAGE = 0.98

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Measured:
    """The window of a run, and the intervals inside it. `counted_by` is the end that counted the bytes."""

    window: Window
    intervals: tuple[Interval, ...]
    counted_by: Role
    whole_run: bool = False
    """The generator gave no interval to cut at: the window holds the start-up too."""

    @property
    def bits_per_second(self) -> float:
        return goodput(self.intervals)


def goodput(intervals: Sequence[Interval]) -> float:
    """Bit/s over the intervals' own lengths; 0 for none."""
    seconds = sum(item.end - item.start for item in intervals)
    return 8 * sum(item.bytes for item in intervals) / seconds if seconds > 0 else 0.0


def measured(report: TrafficReport, origin: float) -> Measured | None:
    """The measured window of a report whose streams began at `origin`, None where nothing measurable was reported.
    The receiver's count is goodput; the sender's stands in where the receiver gave no intervals."""
    counted_by = Role.RECEIVER if report.received else Role.SENDER
    intervals = full_intervals(report.received or report.sent)
    inside = inside_window(intervals)
    whole_run = not inside and len(intervals) == 1
    chosen = intervals if whole_run else inside
    if not chosen:
        return None
    window = Window(origin + chosen[0].start, origin + chosen[-1].end)
    return Measured(window, chosen, counted_by, whole_run)


def full_intervals(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """Without the short rest that generators print after the last full interval."""
    if len(intervals) < 2:
        return tuple(intervals)
    usual = statistics.median(item.end - item.start for item in intervals)
    last = intervals[-1]
    return tuple(intervals if last.end - last.start >= FULL_INTERVAL * usual else intervals[:-1])


def inside_window(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """The intervals that begin after the warm-up."""
    return tuple(item for item in intervals if item.start >= WARM_UP_SECONDS - TIME_ROUNDING)


class CpuTime(NamedTuple):
    """Ticks of one CPU by state inside a window; fractions, since samples at its ends are cut."""

    user: float = 0.0
    nice: float = 0.0
    system: float = 0.0
    idle: float = 0.0
    iowait: float = 0.0
    irq: float = 0.0
    softirq: float = 0.0
    steal: float = 0.0
    guest: float = 0.0

    @property
    def total(self) -> float:
        """Ticks that really passed; guest time is inside user and nice."""
        return sum(self[:8])

    @property
    def busy(self) -> float:
        return self.total - self.idle - self.iowait

    def percent(self, ticks: float) -> float:
        """`ticks` of this CPU as per cent of its time."""
        return 100 * ticks / self.total if self.total > 0 else 0.0


class NicTotals(NamedTuple):
    """What one NIC's counters moved by inside a window."""

    rx_bytes: float = 0.0
    rx_packets: float = 0.0
    rx_errors: float = 0.0
    rx_dropped: float = 0.0
    tx_bytes: float = 0.0
    tx_packets: float = 0.0
    tx_errors: float = 0.0
    tx_dropped: float = 0.0


class SoftnetTotals(NamedTuple):
    """What one CPU's softnet_stat row moved by inside a window."""

    processed: float = 0.0
    dropped: float = 0.0
    squeezed: float = 0.0
    steered: float = 0.0
    limited: float = 0.0


@dataclass(frozen=True, slots=True)
class HostTotals:
    """A host's counters over a window of `seconds`, of which samples cover `covered`."""

    seconds: float
    covered: float
    cpus: dict[int, CpuTime]
    nics: dict[str, NicTotals]
    softnet: dict[int, SoftnetTotals]
    protocols: dict[str, float]

    @property
    def coverage(self) -> float:
        """Share of the window that samples cover, 0 to 1."""
        return self.covered / self.seconds if self.seconds > 0 else 0.0

    @property
    def is_covered(self) -> bool:
        return self.coverage >= LEAST_COVERAGE

    @property
    def machine(self) -> CpuTime:
        """All CPUs together."""
        return CpuTime(*map(sum, zip(*self.cpus.values(), strict=True))) if self.cpus else CpuTime()

    @property
    def busy_cores(self) -> float:
        """Sum over the CPUs of their busy share (DESIGN 6: C)."""
        return sum(cpu.percent(cpu.busy) for cpu in self.cpus.values()) / 100


def cut_samples(samples: Iterable[HostSample], window: Window) -> HostTotals:
    """Sums what moved inside the window. A sample covers (time - span, time] and counts by its overlap."""
    covered = 0.0
    cpus: dict[int, list[float]] = {}
    nics: dict[str, list[float]] = {}
    softnet: dict[int, list[float]] = {}
    protocols: dict[str, float] = {}
    for sample in samples:
        share = _overlap(sample, window)
        if share <= 0:
            continue
        covered += share * sample.span
        _add(cpus, sample.cpus.items(), share)
        _add(nics, sample.nics.items(), share)
        _add(softnet, sample.softnet.items(), share)
        for name, moved in sample.protocols.items():
            protocols[name] = protocols.get(name, 0.0) + share * moved
    return HostTotals(
        window.seconds,
        covered,
        {key: CpuTime(*values) for key, values in sorted(cpus.items())},
        {key: NicTotals(*values) for key, values in nics.items()},
        {key: SoftnetTotals(*values) for key, values in sorted(softnet.items())},
        protocols,
    )


def _overlap(sample: HostSample, window: Window) -> float:
    """Share of the sample's span that lies in the window."""
    if sample.span <= 0:
        return 0.0
    seconds = min(sample.time, window.end) - max(sample.time - sample.span, window.start)
    return max(0.0, seconds / sample.span)


def _add(sums: dict[Key, list[float]], items: Iterable[tuple[Key, tuple[int, ...]]], share: float) -> None:
    for key, counts in items:
        row = sums.setdefault(key, [0.0] * len(counts))
        for index, moved in enumerate(counts):
            row[index] += share * moved
