"""The agent's ticks as model samples, on the workbench's time line. Used by connection.py."""

from collections.abc import Mapping
from typing import Any

from netbench_tui.model.host import Clock
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, SampleKind, SoftnetCounts


def read_tick(tick: Mapping[str, Any], clock: Clock) -> HostSample:
    """One `tick` event. Raises ValueError, TypeError or KeyError if the agent sent something else.

    Counters that went backwards (a device that was made anew) are left out rather than shown as a huge rate.
    """
    cpus = {int(row[0]): CpuTicks(*row[1:]) for row in tick.get("cpu", ())}
    idle = iter(tick.get("idle", ()))
    cpus |= {cpu: CpuTicks(idle=ticks) for cpu, ticks in zip(idle, idle, strict=True)}
    return HostSample(
        time=float(tick["t"]) - clock.offset,
        span=float(tick["dt"]),
        kind=SampleKind(tick["kind"]),
        skipped=int(tick.get("skipped", 0)),
        cpus=cpus,
        nics={name: NicCounts(*row) for name, row in tick.get("nic", {}).items() if min(row) >= 0},
        softnet={int(row[0]): SoftnetCounts(*row[1:]) for row in tick.get("softnet", ())},
        protocols={name: int(count) for name, count in tick.get("proto", {}).items() if count >= 0},
    )
