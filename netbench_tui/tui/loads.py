"""What a host's CPUs and NIC do over a window, in one form for live and stored runs. Used by the Run view."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from netbench_tui.analysis.live import CpuLoad, NicLoad, RollingHost
from netbench_tui.analysis.window import cut_samples
from netbench_tui.model.run import Window
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView

IDLE = CpuLoad(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Per-CPU shares in per cent, and rates per second, over the last second or a measured window."""

    cpus: Mapping[int, CpuLoad] = field(default_factory=dict)
    nic: NicLoad | None = None
    dropped: float | None = None
    squeezed: float | None = None

    @property
    def busy_cores(self) -> float:
        return sum(cpu.busy for cpu in self.cpus.values()) / 100

    @property
    def peak(self) -> int | None:
        """The busiest CPU, the lowest number of equals; None where no CPU was seen."""
        return max(self.cpus, key=lambda cpu: (self.cpus[cpu].busy, -cpu), default=None)

    def mean(self, cpus: Iterable[int] | None = None) -> CpuLoad | None:
        """The mean of these CPUs, or of all; None where none of them was seen."""
        chosen = self.cpus.values() if cpus is None else [self.cpus[cpu] for cpu in cpus if cpu in self.cpus]
        number = len(chosen)
        if not number:
            return None
        parts = ("busy", "user", "system", "softirq", "steal", "irq")
        return CpuLoad(*(sum(getattr(cpu, part) for cpu in chosen) / number for part in parts))


def live_load(rolling: RollingHost, view: HostView) -> HostLoad | None:
    """The last second of a host; None before there is one."""
    if not rolling.seconds:
        return None
    return HostLoad(
        _all_online(view, rolling.cpus()),
        rolling.nic(view.data_nic) if view.data_nic else None,
        rolling.softnet_drops(),
        rolling.softnet_squeezes(),
    )


def window_load(samples: Iterable[HostSample], window: Window, view: HostView) -> HostLoad | None:
    """A stored host over a window; None where no sample touches it."""
    totals = cut_samples(samples, window)
    if totals.covered <= 0:
        return None
    cpus = {
        number: CpuLoad(
            cpu.percent(cpu.busy),
            cpu.percent(cpu.user + cpu.nice),
            cpu.percent(cpu.system),
            cpu.percent(cpu.softirq + cpu.irq),
            cpu.percent(cpu.steal),
            cpu.percent(cpu.irq),
        )
        for number, cpu in totals.cpus.items()
    }
    return HostLoad(_all_online(view, cpus))


def _all_online(view: HostView, seen: Mapping[int, CpuLoad]) -> dict[int, CpuLoad]:
    """A CPU that is online and not listed did not tick: it shows as idle, not as unknown."""
    return {**{cpu.index: IDLE for cpu in view.facts.cpus if cpu.online}, **seen}
