"""The agent's ticks as model samples, on the workbench's time line. Used by connection.py."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from netbench_tui.model.host import Clock
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, QueueCounts, SampleKind, SoftnetCounts


def read_tick(tick: Mapping[str, Any], clock: Clock) -> HostSample:
    """One `tick` event. Raises ValueError if the agent sent something else.

    Counters that went backwards (a device that was made anew) are left out rather than shown as a huge rate.
    """
    try:
        return _read(tick, clock)
    except (LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _read(tick: Mapping[str, Any], clock: Clock) -> HostSample:
    cpus = {row[0]: CpuTicks(*row[1:]) for row in map(_integers, tick.get("cpu", ()))}
    idle = iter(_integers(tick.get("idle", ())))
    cpus |= {cpu: CpuTicks(idle=ticks) for cpu, ticks in zip(idle, idle, strict=True)}
    nics = {name: NicCounts(*counts) for name, counts in _rows(tick.get("nic", {}))}
    return HostSample(
        time=_seconds(tick["t"]) - clock.offset,
        span=_seconds(tick["dt"]),
        kind=SampleKind(tick["kind"]),
        skipped=int(tick.get("skipped", 0)),
        cpus=cpus,
        nics={name: counts for name, counts in nics.items() if min(counts) >= 0},
        softnet={row[0]: SoftnetCounts(*row[1:]) for row in map(_integers, tick.get("softnet", ()))},
        protocols=_forward(tick.get("proto", {})),
        irqs=dict(map(_irq, tick.get("irq", ()))),
        queues={name: QueueCounts(*counts) for name, counts in _rows(tick.get("queue", {})) if min(counts) >= 0},
        statistics=_forward(tick.get("stat", {})),
    )


def _forward(counts: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(count) for name, count in counts.items() if count >= 0}


def _rows(table: Mapping[str, Any]) -> Iterator[tuple[str, list[int]]]:
    return ((name, _integers(row)) for name, row in table.items())


def _irq(row: Any) -> tuple[int, dict[int, int]]:
    """A row [irq, cpu, count, cpu, count, ...]."""
    number, *rest = _integers(row)
    flat = iter(rest)
    return number, {cpu: count for cpu, count in zip(flat, flat, strict=True) if count >= 0}


def _integers(row: Any) -> list[int]:
    if not isinstance(row, (list, tuple)) or not all(type(value) is int for value in row):
        raise ValueError(f"not a row of integers: {row!r:.80}")
    return list(row)


def _seconds(value: Any) -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"not a time: {value!r:.80}")
    return float(value)
