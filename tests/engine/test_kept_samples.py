"""Samples of a long run take little memory, and its figures are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.analysis.window import cut_samples
from netbench_tui.engine.kept import KeptSamples
from netbench_tui.model.run import Window
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, QueueCounts, SoftnetCounts

SPAN = 0.1
counts = st.integers(0, 1000)


def sample(number: int, moved: int) -> HostSample:
    """Each lists only what moved, as an agent's do."""
    return HostSample(
        time=100 + SPAN * number,
        span=SPAN,
        skipped=number % 3 == 0,
        cpus={number % 4: CpuTicks(user=moved, idle=7)},
        nics={"eth0": NicCounts(rx_bytes=moved, tx_packets=2)} if number % 2 else {},
        softnet={0: SoftnetCounts(processed=moved)},
        protocols={"Tcp.RetransSegs": moved} if number % 5 == 0 else {"Udp.InErrors": 1},
        irqs={24 + number % 2: {number % 3: moved}},
        queues={f"rx-{number % 2}": QueueCounts(moved, 3)},
        statistics={"drops": moved} if number % 4 == 0 else {},
    )


@given(st.lists(counts, min_size=60, max_size=120), st.floats(0, 2), st.floats(0, 0.5))
def test_the_figures_are_those_of_all_samples(moved: list[int], sure: float, early: float) -> None:
    samples = [sample(number, each) for number, each in enumerate(moved)]
    kept, start = KeptSamples(), 100 + 1.0
    for each in samples:
        kept.add(each)
        kept.fold(start + sure, each.time - 1)
    window = Window(start + sure - early, samples[-1].time - 0.55)
    ours, all_of_them = cut_samples(kept.all(), window), cut_samples(samples, window)
    assert ours.covered == pytest.approx(all_of_them.covered)
    assert ours.busy_cores == pytest.approx(all_of_them.busy_cores)
    assert ours.protocols == pytest.approx(all_of_them.protocols)
    for name in ("cpus", "nics", "softnet"):
        mine, theirs = getattr(ours, name), getattr(all_of_them, name)
        assert mine.keys() == theirs.keys()
        assert all(tuple(mine[key]) == pytest.approx(tuple(theirs[key])) for key in theirs)
    assert sum(each.skipped for each in kept.all()) == sum(each.skipped for each in samples)


def test_a_day_takes_no_more_than_a_minute() -> None:
    kept = KeptSamples()
    for number in range(20_000):
        kept.add(sample(number, 1))
        kept.fold(105, 100 + SPAN * number - 5)
    assert len(kept.all()) < 150
    assert sum(each.span for each in kept.all()) == pytest.approx(2000)


def test_without_a_live_report_every_sample_stays() -> None:
    kept = KeptSamples()
    samples = tuple(sample(number, 1) for number in range(50))
    for each in samples:
        kept.add(each)
    assert kept.all() == samples


def test_what_was_watched_is_summed_as_well() -> None:
    kept, samples = KeptSamples(), [sample(number, number) for number in range(60)]
    for each in samples:
        kept.add(each)
    kept.fold(0, 1000)
    (whole,) = kept.all()
    assert whole.queues["rx-0"] == QueueCounts(sum(range(0, 60, 2)), 90)
    assert sum(whole.irqs[25].values()) == sum(range(1, 60, 2))
    assert whole.irqs[24][0] == sum(range(0, 60, 6))
    assert whole.statistics == {"drops": sum(range(0, 60, 4))}
