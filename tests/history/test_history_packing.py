"""Packed samples and intervals come back exactly, or a ValueError says why not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netbench_tui.history.packing import (
    pack_intervals,
    pack_samples,
    pack_text,
    unpack_intervals,
    unpack_samples,
    unpack_text,
)
from netbench_tui.model.run import Interval
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, QueueCounts, SampleKind, SoftnetCounts

counts = st.integers(min_value=-5, max_value=2**64)
moments = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(max_size=12)
samples = st.builds(
    HostSample,
    moments,
    moments,
    st.sampled_from(SampleKind),
    st.integers(0, 99),
    st.dictionaries(st.integers(0, 1023), st.tuples(*[counts] * 9).map(lambda row: CpuTicks(*row)), max_size=6),
    st.dictionaries(names, st.tuples(*[counts] * 8).map(lambda row: NicCounts(*row)), max_size=3),
    st.dictionaries(st.integers(0, 1023), st.tuples(*[counts] * 5).map(lambda row: SoftnetCounts(*row)), max_size=6),
    st.dictionaries(names, counts, max_size=4),
    st.dictionaries(st.integers(0, 4095), st.dictionaries(st.integers(0, 1023), counts, max_size=4), max_size=4),
    st.dictionaries(names, st.tuples(counts, counts).map(lambda row: QueueCounts(*row)), max_size=4),
    st.dictionaries(names, counts, max_size=4),
)
intervals = st.builds(Interval, moments, moments, moments, st.none() | st.integers(0, 10**9))


@settings(max_examples=50, deadline=None)
@given(st.lists(samples, max_size=8))
def test_samples_come_back_as_they_were(given_samples: list[HostSample]) -> None:
    back = unpack_samples(pack_samples(given_samples))
    assert back == tuple(given_samples)
    for sample in back:
        assert all(type(ticks) is CpuTicks for ticks in sample.cpus.values())
        assert all(type(counted) is NicCounts for counted in sample.nics.values())
        assert all(type(counted) is QueueCounts for counted in sample.queues.values())


@settings(max_examples=50, deadline=None)
@given(st.lists(intervals, max_size=20))
def test_intervals_come_back_as_they_were(given_intervals: list[Interval]) -> None:
    assert unpack_intervals(pack_intervals(given_intervals)) == tuple(given_intervals)


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_text_comes_back_as_it_was_even_with_lone_surrogates(text: str) -> None:
    assert unpack_text(pack_text(text)) == text


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=60))
def test_foreign_bytes_are_a_value_error(blob: bytes) -> None:
    with pytest.raises(ValueError):
        unpack_samples(blob)


def test_a_cut_blob_is_a_value_error(samples: tuple[HostSample, ...]) -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack_samples(pack_samples(samples)[:-9])


def test_a_later_format_is_refused(samples: tuple[HostSample, ...]) -> None:
    with pytest.raises(ValueError, match="format 3"):
        unpack_samples(b"\x03" + pack_samples(samples)[1:])


def test_a_large_host_stays_small() -> None:
    """128 busy CPUs at 10 Hz: a second must stay below 16 KiB, half a megabyte for a run of 30 s."""
    cpus = {cpu: CpuTicks(cpu % 2, 0, cpu % 7, 10 - cpu % 7 - cpu % 3, 0, 0, cpu % 3) for cpu in range(128)}
    softnet = {cpu: SoftnetCounts(1000 + 37 * cpu % 977) for cpu in range(128)}
    second = [HostSample(1000 + i / 10, 0.1, cpus=cpus, softnet=softnet) for i in range(10)]
    assert len(pack_samples(second)) < 16 << 10
