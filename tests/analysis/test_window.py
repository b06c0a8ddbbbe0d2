"""The measured window: which intervals count, and how samples are cut to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.analysis.window import CpuTime, cut_samples, full_intervals, goodput, measured
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, TrafficReport, Window
from netbench_tui.model.sample import CpuTicks, HostSample


def test_window_begins_after_the_warm_up_and_ends_before_the_short_rest(make_report) -> None:
    cut = measured(make_report(), 100.0)
    assert cut is not None
    assert (cut.window.start, cut.window.end) == pytest.approx((100.3, 102.0))
    assert len(cut.intervals) == 17
    assert cut.bits_per_second == pytest.approx(1e9)
    assert cut.counted_by is Role.RECEIVER
    assert not cut.whole_run


def test_a_start_that_rounding_put_before_the_warm_ups_end_counts() -> None:
    report = TrafficReport(received=(Interval(0.2, 0.2961, 9), Interval(0.2961, 0.4, 10), Interval(0.4, 0.5, 10)))
    cut = measured(report, 0.0)
    assert cut is not None
    assert cut.window == Window(0.2961, 0.5)


def test_window_is_that_of_the_chosen_intervals_where_none_starts_at_the_warm_ups_end() -> None:
    cut = measured(TrafficReport(received=tuple(Interval(i, i + 1.0, 10) for i in range(3))), 5.0)
    assert cut is not None
    assert cut.window == Window(6.0, 8.0)


def test_one_interval_is_the_whole_run_and_says_so() -> None:
    cut = measured(TrafficReport(received=(Interval(0.0, 5.0, 625.0),)), 1.0)
    assert cut is not None
    assert cut.whole_run
    assert cut.window == Window(1.0, 6.0)
    assert cut.bits_per_second == 1000.0


def test_the_senders_count_stands_in(make_report) -> None:
    cut = measured(make_report(received=()), 0.0)
    assert cut is not None
    assert cut.counted_by is Role.SENDER


def test_nothing_measured_is_none() -> None:
    assert measured(TrafficReport(), 0.0) is None
    assert measured(TrafficReport(received=(Interval(0, 0.1, 1), Interval(0.1, 0.2, 1))), 0.0) is None


def test_full_intervals_keeps_a_last_one_of_usual_length() -> None:
    usual = [Interval(0, 1, 1), Interval(1, 2, 1)]
    assert len(full_intervals([*usual, Interval(2, 2.9, 1)])) == 3
    assert len(full_intervals([*usual, Interval(2, 2.1, 1)])) == 2


def test_goodput_of_none_is_zero() -> None:
    assert goodput(()) == 0.0


def test_samples_count_by_their_overlap(make_samples) -> None:
    totals = cut_samples(make_samples(10), Window(0.25, 0.5))
    assert totals.covered == pytest.approx(0.25)
    assert totals.coverage == pytest.approx(1.0)
    assert totals.cpus[3].softirq == pytest.approx(17.5)
    assert totals.nics["eth0"].rx_packets == pytest.approx(2500)
    assert totals.softnet[3].squeezed == pytest.approx(5)
    assert totals.protocols["Tcp.RetransSegs"] == pytest.approx(5)


def test_a_hole_in_the_samples_is_seen(make_samples) -> None:
    samples = make_samples(10)
    totals = cut_samples(samples[:4] + samples[5:], Window(0.0, 1.0))
    assert totals.coverage == pytest.approx(0.9)
    assert not totals.is_covered
    assert cut_samples([], Window(0.0, 1.0)).coverage == 0.0


def test_busy_cores_divide_by_the_ticks_that_passed() -> None:
    sample = HostSample(1.0, 1.0, cpus={0: CpuTicks(user=30, idle=30), 1: CpuTicks(softirq=25, iowait=25, idle=50)})
    totals = cut_samples([sample], Window(0.0, 1.0))
    assert totals.busy_cores == pytest.approx(0.5 + 0.25)
    assert totals.machine == CpuTime(user=30, softirq=25, iowait=25, idle=80)


def test_guest_time_is_not_counted_twice() -> None:
    assert CpuTime(user=5, idle=5, guest=5).total == 10


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=20), st.floats(0, 1), st.floats(0, 1))
def test_two_windows_side_by_side_hold_what_their_sum_holds(spans: list[float], a: float, b: float) -> None:
    samples, now = [], 0.0
    for span in spans:
        now += span
        samples.append(HostSample(now, span, cpus={0: CpuTicks(user=7, idle=3)}))
    first, second = sorted((a * now, b * now))
    parts = [cut_samples(samples, Window(*ends)) for ends in ((0.0, first), (first, second), (second, now))]
    users = sum(part.cpus[0].user for part in parts if part.cpus)
    assert users == pytest.approx(7 * len(spans))
