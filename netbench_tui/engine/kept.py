"""The samples of the run in progress, in little memory however long it lasts. Used by runner.py.

What lies inside the measured window for certain counts whole, so it is kept as one sample that is the sum of all.
"""

import operator
from collections import deque
from collections.abc import Mapping
from typing import Any, TypeVar

from netbench_tui.model.sample import HostSample

Key = TypeVar("Key")


class KeptSamples:
    """Of one host. As far as the figures go, `all` is the same as all samples that were added."""

    def __init__(self) -> None:
        self._early: list[HostSample] = []
        self._inside: HostSample | None = None
        self._late: deque[HostSample] = deque()

    def add(self, sample: HostSample) -> None:
        self._late.append(sample)

    def fold(self, start: float, end: float) -> None:
        """The window begins at `start` at the latest and does not end before `end`; both only ever grow."""
        while self._late and self._late[0].time <= end:
            sample = self._late.popleft()
            if sample.time - sample.span < start:
                self._early.append(sample)
            else:
                self._inside = _sum(self._inside, sample) if self._inside else sample

    def all(self) -> tuple[HostSample, ...]:
        return (*self._early, *([self._inside] if self._inside else []), *self._late)


def _sum(before: HostSample, sample: HostSample) -> HostSample:
    return HostSample(
        time=sample.time,
        span=before.span + sample.span,
        skipped=before.skipped + sample.skipped,
        cpus=_sums(before.cpus, sample.cpus),
        nics=_sums(before.nics, sample.nics),
        softnet=_sums(before.softnet, sample.softnet),
        protocols=_totals(before.protocols, sample.protocols),
        irqs={
            irq: _totals(before.irqs.get(irq, {}), sample.irqs.get(irq, {}))
            for irq in before.irqs.keys() | sample.irqs.keys()
        },
        queues=_sums(before.queues, sample.queues),
        statistics=_totals(before.statistics, sample.statistics),
    )


def _totals(before: Mapping[Key, int], moved: Mapping[Key, int]) -> dict[Key, int]:
    sums = dict(before)
    for key, count in moved.items():
        sums[key] = sums.get(key, 0) + count
    return sums


def _sums(before: Mapping[Key, Any], moved: Mapping[Key, Any]) -> dict[Key, Any]:
    """Rows of counts, each a NamedTuple, added field by field."""
    sums = dict(before)
    for key, row in moved.items():
        sums[key] = type(row)(*map(operator.add, sums[key], row)) if key in sums else row
    return sums
