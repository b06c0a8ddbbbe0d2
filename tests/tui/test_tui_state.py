"""Events in, what the screens show out; live and stored runs give the same picture."""

from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, RunState, TrafficTest
from netbench_tui.tui.figures import DEMAND, EFFICIENCY, RETRANSMITS, THROUGHPUT, of_last_second, of_result, value_text
from netbench_tui.tui.screens.run_texts import notes_of, throughput_chart
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.trace import run_load, stored_trace


@pytest.fixture
def bench(fake: Any) -> Workbench:
    bench = Workbench(clock=lambda: 50.0)
    views = {role: fake.make_view(role) for role in Role}
    bench.apply(events.PairConnected(fake.pair(), views[Role.SENDER], views[Role.RECEIVER]))
    return bench


def start(bench: Workbench, seconds: float = 5.0) -> None:
    bench.apply(events.RunStarted(7, "quick-tcp", TrafficTest(seconds=seconds), "iperf3", 100.0))


def test_live_figures_are_of_the_last_second(bench: Workbench, fake: Any) -> None:
    start(bench)
    for i in range(20):
        gbits = 1 if i < 10 else 4
        bench.apply(events.IntervalSeen(7, Interval(i / 10, (i + 1) / 10, gbits * 1e8 / 8), 100.2 + (i + 1) / 10))
        for role in Role:
            sample = fake.make_sample(bench.views[role], 100.2 + (i + 1) / 10, 0.5, seed=i)
            bench.apply(events.SampleTaken(role, sample))
    assert bench.trace is not None
    assert bench.trace.origin == pytest.approx(100.2)
    last = bench.trace.last_second()
    assert last == pytest.approx(4.0)
    load = bench.load(Role.RECEIVER)
    assert load is not None
    figures = of_last_second(4e9, 0.0, {Role.RECEIVER: load})
    assert value_text(THROUGHPUT, figures, Role.RECEIVER) == "4.00"
    assert value_text(THROUGHPUT, figures, Role.SENDER) == "–"
    cores = sum(cpu.busy for cpu in load.cpus.values()) / 100
    assert figures["efficiency", Role.RECEIVER] == pytest.approx(4e9 / cores)
    assert value_text(EFFICIENCY, figures, Role.RECEIVER) == f"{4 / cores:.2f}"
    assert value_text(DEMAND, figures, Role.RECEIVER) == f"{cores * 1e6 / (5e8 / 1024):.3f}"


def test_intervals_of_another_run_are_not_this_ones(bench: Workbench) -> None:
    start(bench)
    bench.apply(events.IntervalSeen(6, Interval(0, 0.1, 1e9), 100.1))
    assert bench.trace is not None
    assert not bench.trace.spans


def test_stored_run_shows_what_the_result_holds(fake: Any) -> None:
    stored = fake.make_stored(12)
    trace = stored_trace(stored)
    figures = of_result(stored.result)
    assert figures["throughput", None] == stored.result.metric("throughput")
    assert value_text(RETRANSMITS, figures, Role.SENDER) == f"{3 / 5.0:.1f}"
    chart = throughput_chart(trace)
    assert len(chart.series[0].spans) == 50
    assert chart.marks[0].time == pytest.approx(3.1)
    for role in Role:
        load = run_load(trace, role)
        assert load is not None
        assert load.busy_cores == pytest.approx(stored.result.metric("busy_cores", role))
        assert load.peak == stored.result.metric("peak_cpu_number", role)


def test_failed_run_says_why_once(bench: Workbench) -> None:
    start(bench)
    failed = RunResult(RunState.FAILED, TrafficTest(), "iperf3", "iperf3: unable to connect", "is a firewall between?")
    bench.apply(events.RunEnded(7, "quick-tcp", failed))
    bench.refused("iperf3: unable to connect", "is a firewall between?")
    notes = notes_of(bench, bench.trace, {})
    assert [(note.text, note.remedy, note.wants_action) for note in notes] == [
        ("iperf3: unable to connect", "is a firewall between?", True)
    ]


def test_a_lost_host_keeps_its_data_with_an_age(bench: Workbench) -> None:
    bench.apply(events.HostFailed(Role.RECEIVER, "beta", "beta is gone", "look at it", 16, was_connected=True))
    assert bench.connected
    assert not bench.whole
    bench.clock = lambda: 54.0
    assert bench.age(Role.RECEIVER) == 4.0
    assert bench.age(Role.SENDER) is None
    assert bench.views[Role.RECEIVER].name == "beta"


def test_long_runs_roll_and_short_ones_stand(bench: Workbench) -> None:
    start(bench, seconds=3600)
    assert bench.trace is not None
    bench.trace.add_interval(Interval(299.0, 300.0, 1.0))
    assert bench.trace.axis() == (240.0, 300.0, True)
    start(bench, seconds=5)
    assert bench.trace.axis() == (0.0, 5.0, False)
