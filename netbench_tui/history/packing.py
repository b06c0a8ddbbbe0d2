"""Samples and intervals as compact blobs and back, without loss. Used by history/ alone.

A blob is one byte of format version, then zlib-compressed JSON: one list per record, one record a line. Zeros at the
end of a row of counters are left out. JSON keeps floats exact, compresses well, and can be read by anything.
"""

import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from netbench_tui.model.run import Interval
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, QueueCounts, SampleKind, SoftnetCounts

FORMAT = 2
# What this module can read. Format 1 had samples without IRQs, queues and a driver's own counters.
READABLE = (1, 2)
# Level 6 gives half the size of level 1; both take milliseconds for a second of samples of 128 CPUs.
LEVEL = 6

Record = TypeVar("Record", HostSample, Interval)


def pack_samples(samples: Iterable[HostSample]) -> bytes:
    return _pack(_sample_row(sample) for sample in samples)


def unpack_samples(blob: bytes) -> tuple[HostSample, ...]:
    """ValueError if the blob is not one of ours, is damaged, or is of a later format."""
    return _unpack(blob, _sample)


def pack_intervals(intervals: Iterable[Interval]) -> bytes:
    return _pack([i.start, i.end, i.bytes, i.retransmits] for i in intervals)


def unpack_intervals(blob: bytes) -> tuple[Interval, ...]:
    """ValueError if the blob is not one of ours, is damaged, or is of a later format."""
    return _unpack(blob, lambda row: Interval(*row))


def pack_text(text: str) -> bytes:
    """Raw tool output, compressed. Bytes that were no UTF-8 and came as lone surrogates survive."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), LEVEL)


def unpack_text(blob: bytes) -> str:
    try:
        return zlib.decompress(blob).decode("utf-8", "surrogatepass")
    except zlib.error as error:
        raise ValueError(f"damaged text: {error}") from None


def _pack(rows: Iterable[list[Any]]) -> bytes:
    text = "\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    return bytes([FORMAT]) + zlib.compress(text.encode("ascii"), LEVEL)


def _unpack(blob: bytes, build: Callable[[list[Any]], Record]) -> tuple[Record, ...]:
    if not blob or blob[0] not in READABLE:
        raise ValueError(f"packed records of format {blob[0] if blob else 'none'}, not up to {FORMAT}")
    try:
        lines = zlib.decompress(blob[1:]).decode("ascii").splitlines()
        return tuple(build(json.loads(line)) for line in lines)
    except (zlib.error, TypeError, IndexError, KeyError) as error:
        raise ValueError(f"damaged records: {error}") from None


def _sample_row(sample: HostSample) -> list[Any]:
    return [
        sample.time,
        sample.span,
        sample.kind.value,
        sample.skipped,
        list(_table(sample.cpus)),
        list(_table(sample.nics)),
        list(_table(sample.softnet)),
        dict(sample.protocols),
        [[irq, *itertools.chain.from_iterable(counts.items())] for irq, counts in sample.irqs.items()],
        list(_table(sample.queues)),
        dict(sample.statistics),
    ]


def _sample(row: list[Any]) -> HostSample:
    time, span, kind, skipped, cpus, nics, softnet, protocols, *watched = row
    irqs, queues, statistics = watched or ([], [], {})
    return HostSample(
        time,
        span,
        SampleKind(kind),
        skipped,
        {key: CpuTicks(*counts) for key, *counts in cpus},
        {key: NicCounts(*counts) for key, *counts in nics},
        {key: SoftnetCounts(*counts) for key, *counts in softnet},
        protocols,
        {irq: dict(zip(flat[::2], flat[1::2], strict=True)) for irq, *flat in irqs},
        {key: QueueCounts(*counts) for key, *counts in queues},
        statistics,
    )


def _table(counters: Mapping[Any, Sequence[int]]) -> Iterator[list[Any]]:
    """Rows of key and counts; zeros at the end go, since they are the defaults of every counter tuple."""
    for key, counts in counters.items():
        row = [key, *counts]
        while len(row) > 1 and row[-1] == 0:
            row.pop()
        yield row
