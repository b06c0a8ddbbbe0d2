"""A rolling view of one NIC's queues and interrupts: their rates over the last second or a little more, never less.

Used by the screens' state, one per host, beside live.RollingHost. Pure: it reads no clock; times are those of the
samples. A queue or an IRQ that did not move rates 0 only where it is known to be counted; otherwise it has no rate.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from netbench_tui.analysis.live import LONGEST_SILENCE, SHORTEST_WINDOW
from netbench_tui.model.sample import HostSample, QueueCounts, SoftnetCounts

Name = TypeVar("Name", int, str)
# Sums of decimal fractions: ten spans of 0.1 s must count as 1 s.
_ROUNDING = 1e-9
_NOTHING = SoftnetCounts()


@dataclass(frozen=True, slots=True)
class QueueRate:
    """One queue's packets and bits per second."""

    packets: float
    bits: float


@dataclass(frozen=True, slots=True)
class IrqRate:
    """One IRQ's interrupts per second, and which CPUs took them: shares of 1, none where there was no interrupt."""

    total: float = 0.0
    shares: Mapping[int, float] = field(default_factory=dict)

    @property
    def cpu(self) -> int | None:
        """The CPU that took the most, the lowest number of equals."""
        return max(self.shares, key=lambda cpu: (self.shares[cpu], -cpu), default=None)


@dataclass(frozen=True, slots=True)
class SoftnetRate:
    """One CPU's row of `softnet_stat`, per second."""

    processed: float = 0.0
    dropped: float = 0.0
    squeezed: float = 0.0
    steered: float = 0.0
    limited: float = 0.0


class RollingQueues:
    """Running sums over the newest samples that together cover at least `window` seconds."""

    def __init__(self, window: float = SHORTEST_WINDOW) -> None:
        if window < SHORTEST_WINDOW:
            raise ValueError(f"window: {window} is less than {SHORTEST_WINDOW} s")
        self._window = window
        self._samples: deque[HostSample] = deque()
        self.counted: set[str] = set()
        """Queues that were ever seen to move: their driver counts by queue."""
        self.statistics_seen: dict[str, int] = {}
        """What every driver counter that was ever seen to move has moved by since then."""
        self.softnet_seen: set[int] = set()
        """CPUs that were ever seen to process packets."""
        self._clear()

    def _clear(self) -> None:
        self._samples.clear()
        self._covered = 0.0
        self._irqs: dict[int, dict[int, int]] = {}
        self._queues: dict[str, list[int]] = {}
        self._softnet: dict[int, list[int]] = {}
        self._statistics: dict[str, int] = {}
        self._softnet_rates: dict[int, SoftnetRate] | None = None

    def add(self, sample: HostSample) -> None:
        """Takes the newest sample. One that is older than the last, or comes after a long silence, starts anew."""
        if self._samples:
            silence = sample.time - sample.span - self._samples[-1].time
            if sample.time < self._samples[-1].time or silence > LONGEST_SILENCE * self._window:
                self._clear()
        self._samples.append(sample)
        self._softnet_rates = None
        self._remember(sample)
        self._count(sample, 1)
        while self._covered - self._samples[0].span >= self._window - _ROUNDING:
            self._count(self._samples.popleft(), -1)

    def _remember(self, sample: HostSample) -> None:
        self.counted.update(sample.queues)
        self.softnet_seen.update(sample.softnet)
        for name, moved in sample.statistics.items():
            if moved:
                self.statistics_seen[name] = self.statistics_seen.get(name, 0) + moved

    def _count(self, sample: HostSample, sign: int) -> None:
        self._covered += sign * sample.span
        for number, cpus in sample.irqs.items():
            _add(self._irqs.setdefault(number, {}), cpus, sign)
        for queue, counts in sample.queues.items():
            _move(self._queues.setdefault(queue, [0] * len(counts)), counts, sign)
        for cpu, row in sample.softnet.items():
            _move(self._softnet.setdefault(cpu, [0] * len(row)), row, sign)
        _add(self._statistics, sample.statistics, sign)

    def forget_statistics(self) -> None:
        """The counters are looked at anew: what moved before belongs to another look."""
        self.statistics_seen.clear()

    @property
    def seconds(self) -> float:
        """How long the figures reach back; 0 as long as there is less than a window of samples."""
        return self._covered if self._covered >= self._window - _ROUNDING else 0.0

    def queue(self, name: str) -> QueueRate | None:
        """None before a window is full, and where the driver was never seen to count any queue."""
        if not self.seconds or not self.counted:
            return None
        counts = QueueCounts(*self._queues.get(name, ()))
        return QueueRate(counts.packets / self.seconds, 8 * counts.bytes / self.seconds)

    def irq(self, number: int) -> IrqRate | None:
        """None before a window is full."""
        if not self.seconds:
            return None
        cpus = self._irqs.get(number)
        if not cpus:
            return IrqRate()
        total = sum(cpus.values())
        return IrqRate(total / self.seconds, {cpu: count / total for cpu, count in cpus.items()})

    def softnet(self) -> Mapping[int, SoftnetRate]:
        """By CPU, every CPU that was ever seen to process; empty before a window is full."""
        seconds = self.seconds
        if not seconds:
            return {}
        if self._softnet_rates is None:
            rows = ((cpu, self._softnet.get(cpu, _NOTHING)) for cpu in sorted(self.softnet_seen))
            self._softnet_rates = {cpu: SoftnetRate(*[count / seconds for count in row]) for cpu, row in rows}
        return self._softnet_rates

    def statistics(self) -> Mapping[str, float]:
        """The driver's counters that were ever seen to move, by name, per second; empty before a window is full."""
        if not self.seconds:
            return {}
        return {name: self._statistics.get(name, 0) / self.seconds for name in sorted(self.statistics_seen)}


def _move(sums: list[int], counts: Iterable[int], sign: int) -> None:
    for index, moved in enumerate(counts):
        sums[index] += sign * moved


def _add(sums: dict[Name, int], counts: Mapping[Name, int], sign: int) -> None:
    """Adds by name; what comes to 0 is left out, so that a long sitting does not fill the sums with noughts."""
    for name, moved in counts.items():
        left = sums.get(name, 0) + sign * moved
        if left:
            sums[name] = left
        else:
            sums.pop(name, None)
