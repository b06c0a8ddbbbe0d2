"""Rates of queues, interrupts, softnet and driver counters over the last second."""

import random

import pytest

from netbench_tui.analysis.queue_rates import IrqRate, QueueRate, RollingQueues, SoftnetRate
from netbench_tui.model.sample import HostSample, QueueCounts, SoftnetCounts


def ticks(rolling: RollingQueues, number: int, start: float = 0.0, **fields: object) -> float:
    """`number` looks of 0.1 s, all alike; returns the time of the last."""
    for index in range(number):
        rolling.add(HostSample(start + 0.1 * (index + 1), 0.1, **fields))  # type: ignore[arg-type]
    return start + 0.1 * number


def test_nothing_before_a_second_is_full() -> None:
    rolling = RollingQueues()
    ticks(rolling, 9, queues={"rx-0": QueueCounts(10, 1000)}, irqs={5: {0: 1}}, softnet={0: SoftnetCounts(1)})
    assert rolling.seconds == 0
    assert (rolling.queue("rx-0"), rolling.irq(5), rolling.softnet(), rolling.statistics()) == (None, None, {}, {})


def test_rates_per_second() -> None:
    rolling = RollingQueues()
    ticks(
        rolling,
        10,
        queues={"rx-0": QueueCounts(10, 1000)},
        irqs={5: {0: 3, 2: 1}},
        softnet={1: SoftnetCounts(7, 1, 2, 3, 4)},
        statistics={"rx_discards": 2},
    )
    assert rolling.seconds == pytest.approx(1.0)
    rate = rolling.queue("rx-0")
    assert rate is not None
    assert (rate.packets, rate.bits) == (pytest.approx(100), pytest.approx(80_000))
    irq = rolling.irq(5)
    assert irq is not None
    assert irq.total == pytest.approx(40)
    assert irq.shares == {0: 0.75, 2: 0.25}
    assert irq.cpu == 0
    softnet = rolling.softnet()[1]
    assert (softnet.processed, softnet.dropped, softnet.squeezed) == tuple(map(pytest.approx, (70, 10, 20)))
    assert (softnet.steered, softnet.limited) == (pytest.approx(30), pytest.approx(40))
    assert rolling.statistics() == {"rx_discards": pytest.approx(20)}


def test_what_stopped_rates_nought_and_what_was_never_counted_has_no_rate() -> None:
    rolling = RollingQueues()
    ticks(rolling, 10, irqs={5: {0: 1}})
    assert rolling.queue("rx-0") is None, "this driver was never seen to count by queue"
    end = ticks(rolling, 1, 1.0, queues={"rx-1": QueueCounts(10, 1000)}, softnet={3: SoftnetCounts(9)})
    ticks(rolling, 10, end, statistics={})
    assert rolling.queue("rx-0") == QueueRate(0.0, 0.0), "counted, and did not move"
    assert rolling.queue("rx-1") == QueueRate(0.0, 0.0)
    assert rolling.irq(5) == IrqRate()
    assert rolling.softnet() == {3: SoftnetRate()}, "a CPU that once processed stays listed"


def test_counters_that_moved_stay_listed_until_the_next_look() -> None:
    rolling = RollingQueues()
    end = ticks(rolling, 10, statistics={"b": 1, "a": 2})
    ticks(rolling, 10, end)
    assert rolling.statistics() == {"a": 0.0, "b": 0.0}
    assert rolling.statistics_seen == {"a": 20, "b": 10}
    rolling.forget_statistics()
    assert rolling.statistics() == {}


@pytest.mark.parametrize("gap", [2.5, -5.0])
def test_a_silence_or_a_clock_set_back_begins_anew(gap: float) -> None:
    rolling = RollingQueues()
    end = ticks(rolling, 10, irqs={5: {0: 1}})
    ticks(rolling, 1, end + gap, irqs={5: {1: 1}})
    assert rolling.irq(5) is None
    ticks(rolling, 9, end + gap + 0.1, irqs={5: {1: 1}})
    found = rolling.irq(5)
    assert found is not None
    assert found.shares == {1: 1.0}


def test_sums_are_those_of_the_newest_samples() -> None:
    """Against counting all that lies in the window, with spans that vary."""
    drawn, rolling, samples, now = random.Random(4), RollingQueues(), [], 0.0
    for _ in range(200):
        span = drawn.choice([0.1, 0.1, 0.2, 0.25])
        now += span
        irqs = {irq: {drawn.randrange(4): drawn.randrange(1, 9)} for irq in range(3) if drawn.random() < 0.6}
        queues = {"tx-1": QueueCounts(drawn.randrange(99), drawn.randrange(9999))}
        samples.append(HostSample(now, span, irqs=irqs, queues=queues))
        rolling.add(samples[-1])
        if not rolling.seconds:
            continue
        inside, covered = [], 0.0
        for sample in reversed(samples):
            if covered >= 1 - 1e-9:
                break
            inside.append(sample)
            covered += sample.span
        assert rolling.seconds == pytest.approx(covered)
        for irq in range(3):
            expected = sum(sum(sample.irqs.get(irq, {}).values()) for sample in inside)
            found = rolling.irq(irq)
            assert found is not None
            assert found.total * covered == pytest.approx(expected)
            assert sum(found.shares.values()) == pytest.approx(1.0 if expected else 0.0)
        rate = rolling.queue("tx-1")
        assert rate is not None
        assert rate.packets * covered == pytest.approx(sum(sample.queues["tx-1"].packets for sample in inside))


def test_a_window_below_a_second_is_refused() -> None:
    with pytest.raises(ValueError, match="less than"):
        RollingQueues(0.5)
