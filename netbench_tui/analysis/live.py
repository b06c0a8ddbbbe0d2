"""A rolling view of one host for the screens: the last second or a little more, never less.

Used by the bridge or the engine, one per host. A tick of /proc/stat is 10 ms, so per-CPU figures over less than 1 s
would show the tick and not the load. Pure: it reads no clock; times are those of the samples.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, SoftnetCounts

SHORTEST_WINDOW = 1.0
# After such a silence (in windows) the samples before it say nothing of now.
LONGEST_SILENCE = 2.0


@dataclass(frozen=True, slots=True)
class CpuLoad:
    """One CPU's load, per cent of its time. `user` includes nice, `softirq` includes hard interrupts, which `irq` has
    apart."""

    busy: float
    user: float
    system: float
    softirq: float
    steal: float
    irq: float = 0.0


@dataclass(frozen=True, slots=True)
class NicLoad:
    """One NIC's rates per second; errors count as drops."""

    rx_bits: float
    tx_bits: float
    rx_packets: float
    tx_packets: float
    drops: float


class RollingHost:
    """Running sums over the newest samples that together cover at least `window` seconds.

    `add` costs as much as the sample lists and never walks older ones, but to take each out once."""

    def __init__(self, window: float = SHORTEST_WINDOW) -> None:
        if window < SHORTEST_WINDOW:
            raise ValueError(f"window: {window} is less than {SHORTEST_WINDOW} s")
        self._window = window
        self._samples: deque[HostSample] = deque()
        self._clear()

    def _clear(self) -> None:
        self._samples.clear()
        self._covered = 0.0
        self._cpus: dict[int, list[int]] = {}
        self._nics: dict[str, list[int]] = {}
        self._softnet: dict[int, list[int]] = {}

    def add(self, sample: HostSample) -> None:
        """Takes the newest sample. One that is older than the last, or comes after a long silence, starts anew."""
        if self._samples:
            silence = sample.time - sample.span - self._samples[-1].time
            if sample.time < self._samples[-1].time or silence > LONGEST_SILENCE * self._window:
                self._clear()
        self._samples.append(sample)
        self._count(sample, 1)
        while self._covered - self._samples[0].span >= self._window:
            self._count(self._samples.popleft(), -1)

    def _count(self, sample: HostSample, sign: int) -> None:
        self._covered += sign * sample.span
        for cpu, ticks in sample.cpus.items():
            _move(self._cpus.setdefault(cpu, [0] * len(ticks)), ticks, sign)
        for nic, counts in sample.nics.items():
            _move(self._nics.setdefault(nic, [0] * len(counts)), counts, sign)
        for cpu, row in sample.softnet.items():
            _move(self._softnet.setdefault(cpu, [0] * len(row)), row, sign)

    @property
    def seconds(self) -> float:
        """How long the figures reach back; 0 as long as there is less than a window of samples."""
        # Sums of decimal fractions: ten spans of 0.1 s must count as 1 s.
        return self._covered if self._covered >= self._window - 1e-9 else 0.0

    @property
    def time(self) -> float | None:
        """The newest sample's time, to mark the figures' age by."""
        return self._samples[-1].time if self._samples else None

    def cpus(self) -> Mapping[int, CpuLoad]:
        """Load by CPU number; empty before a window is full. A CPU that did not tick is not there."""
        if not self.seconds:
            return {}
        loads = ((cpu, _load(CpuTicks(*ticks))) for cpu, ticks in sorted(self._cpus.items()))
        return {cpu: load for cpu, load in loads if load is not None}

    def busy_cores(self) -> float | None:
        """Sum of the CPUs' busy shares; None before a window is full or where no CPU ticked."""
        loads = self.cpus()
        return sum(load.busy for load in loads.values()) / 100 if loads else None

    def nic(self, name: str) -> NicLoad | None:
        """Rates of one NIC; None before a window is full. A NIC that did not move rates 0."""
        if not self.seconds:
            return None
        counts = NicCounts(*self._nics.get(name, ()))
        drops = counts.rx_dropped + counts.tx_dropped + counts.rx_errors + counts.tx_errors
        figures = (8 * counts.rx_bytes, 8 * counts.tx_bytes, counts.rx_packets, counts.tx_packets, drops)
        return NicLoad(*(figure / self.seconds for figure in figures))

    def softnet_drops(self) -> float | None:
        """Packets per second dropped from the CPUs' backlogs."""
        return self._softnet_rate(1)

    def softnet_squeezes(self) -> float | None:
        """Times per second that a CPU's NAPI budget ran out."""
        return self._softnet_rate(2)

    def _softnet_rate(self, column: int) -> float | None:
        if not self.seconds:
            return None
        return sum(SoftnetCounts(*row)[column] for row in self._softnet.values()) / self.seconds


def _move(sums: list[int], counts: Iterable[int], sign: int) -> None:
    for index, moved in enumerate(counts):
        sums[index] += sign * moved


def _load(ticks: CpuTicks) -> CpuLoad | None:
    total = ticks.total
    if total <= 0:
        return None
    parts = (ticks.busy, ticks.user + ticks.nice, ticks.system, ticks.softirq + ticks.irq, ticks.steal, ticks.irq)
    return CpuLoad(*(100 * part / total for part in parts))
