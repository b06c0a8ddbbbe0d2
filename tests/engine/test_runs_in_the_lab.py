"""Whole runs over the engine: what was measured is what the generator printed, on one time line, and it is kept."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.engine.session import RUN_HERTZ
from netbench_tui.errors import TrafficImpossible, UsageError
from netbench_tui.history.repository import History
from netbench_tui.model.host import Role
from netbench_tui.model.run import WARM_UP_SECONDS, RunResult, RunState, TrafficTest
from netbench_tui.model.sample import SampleKind
from netbench_tui.model.session import StoredRun

IPERF3 = TrafficTest(streams=2, seconds=2, generator="iperf3")
BUILTIN = TrafficTest(streams=2, seconds=1.5, generator="builtin")
# `[  5]   0.30-0.40   sec   304 MBytes  25493504 Kbits/sec` and the sum of several streams.
SERVER_SUM = re.compile(r"\[SUM\]\s+([\d.]+)-([\d.]+)\s+sec\s+\S+ \S+\s+([\d.]+) Kbits/sec")


def run(bench: Any, test: TrafficTest) -> tuple[RunResult, StoredRun]:
    result = bench.engine.run("by hand", test).result(60)
    ended = bench.of(events.RunEnded)[-1]
    assert ended.result == result
    return result, bench.engine.stored_run(ended.run_id).result(10)


@pytest.fixture(scope="module")
def finished(lab_bench: Any) -> tuple[RunResult, StoredRun]:
    return run(lab_bench, IPERF3)


def iperf3_by_hand(text: str) -> float:
    """Mean of the server's own 0.1 s sums after the warm-up, without its last line over the whole run; weighed by their
    lengths, of which a busy machine makes some longer."""
    rows = [tuple(map(float, found)) for found in SERVER_SUM.findall(text)]
    rows = [row for row in rows if row[0] >= WARM_UP_SECONDS - 0.005 and 0.05 < row[1] - row[0] < 0.5]
    assert len(rows) >= 10
    seconds = sum(end - start for start, end, _ in rows)
    return 1e3 * sum(rate * (end - start) for start, end, rate in rows) / seconds


def test_throughput_is_what_iperf3_printed_over_the_same_interval(finished: tuple[RunResult, StoredRun]) -> None:
    result, stored = finished
    assert result.state is RunState.FINISHED, result.reason
    server = next(output for output in stored.outputs if output.role is Role.RECEIVER)
    assert result.metric("throughput") == pytest.approx(iperf3_by_hand(server.stdout), rel=0.005)
    assert stored.result.metric("throughput") == result.metric("throughput")


def test_throughput_is_what_the_builtin_generator_printed(lab_bench: Any) -> None:
    result, stored = run(lab_bench, BUILTIN)
    assert (result.state, result.generator) == (RunState.FINISHED, "builtin"), result.reason
    server = next(output for output in stored.outputs if output.role is Role.RECEIVER)
    lines = [json.loads(line) for line in server.stdout.splitlines()]
    rows = [line["interval"] for line in lines if "interval" in line]
    rows = [row for row in rows if row[0] >= WARM_UP_SECONDS - 0.005 and row[1] - row[0] > 0.05]
    by_hand = 8 * sum(row[2] for row in rows) / sum(row[1] - row[0] for row in rows)
    assert result.metric("throughput") == pytest.approx(by_hand, rel=0.005)


def test_both_hosts_samples_cover_the_window(finished: tuple[RunResult, StoredRun]) -> None:
    result, stored = finished
    assert result.window and result.window.seconds == pytest.approx(IPERF3.seconds - WARM_UP_SECONDS, abs=0.15)
    for role in Role:
        samples = stored.samples[role]
        assert samples[0].time - samples[0].span < result.window.start
        assert samples[-1].time > result.window.end
        assert {SampleKind.SPAWN, SampleKind.EXIT} <= {sample.kind for sample in samples}
        for before, after in itertools.pairwise(samples):
            assert after.time - after.span == pytest.approx(before.time, abs=0.001), "a gap or an overlap"
        inside = [s for s in samples if result.window.start < s.time <= result.window.end]
        assert len(inside) >= 0.9 * RUN_HERTZ * result.window.seconds
    assert result.lost_samples == stored.result.lost_samples == 0


def test_the_nics_counters_agree_with_the_throughput(finished: tuple[RunResult, StoredRun]) -> None:
    """The counters hold headers as well; their window is cut from samples, so they are a little coarse."""
    result, _ = finished
    for role in Role:
        assert result.metric("wire_throughput", role) == pytest.approx(result.metric("throughput"), rel=0.15)


def test_origin_and_intervals_lie_on_the_time_line(lab_bench: Any, finished: tuple[RunResult, StoredRun]) -> None:
    result, stored = finished
    started = lab_bench.of(events.RunStarted)[0].time
    assert result.origin is not None and 0 < result.origin - started < 5
    seen = [event for event in lab_bench.of(events.IntervalSeen) if event.run_id == stored.summary.id]
    assert len(seen) >= 15
    spawned = max(s.time for role in Role for s in stored.samples[role] if s.kind is SampleKind.SPAWN)
    assert spawned - 0.05 <= result.origin < spawned + 2
    for event in seen:
        # Later reports may move the origin back by the delay of the first ones.
        assert event.time == pytest.approx(result.origin + event.interval.end, abs=0.1)


def test_the_clocks_of_one_machine_agree_within_their_error(lab_bench: Any, finished: object) -> None:
    clocks = [event.clock for event in lab_bench.of(events.ClockMeasured)]
    assert len(clocks) >= 2
    for clock in clocks:
        assert abs(clock.offset) <= clock.error
        assert 0 < clock.error < 0.02


def test_a_run_over_ipv6(lab_bench: Any) -> None:
    result, stored = run(lab_bench, TrafficTest(seconds=1, ip_version=6))
    assert result.state is RunState.FINISHED, result.reason
    assert all(":" in view.addresses[6] for view in stored.hosts.values())
    client = next(output for output in stored.outputs if output.role is Role.SENDER)
    assert "-6" in client.argv and stored.hosts[Role.RECEIVER].addresses[6] in client.argv


def test_pinned_generators_ran_where_they_were_told(lab_bench: Any) -> None:
    result, stored = run(lab_bench, TrafficTest(seconds=1, sender_cpus=(0,), receiver_cpus=(0,)))
    assert result.state is RunState.FINISHED, result.reason
    assert [output.cpus for output in stored.outputs] == [(0,), (0,)]


def test_a_cpu_that_does_not_exist_fails_the_run_with_words(lab_bench: Any) -> None:
    result, _ = run(lab_bench, TrafficTest(seconds=1, receiver_cpus=(4000,)))
    assert result.state is RunState.FAILED
    assert "4000" in result.reason and "beta" in result.reason


def test_a_generator_that_nobody_knows_is_refused(lab_bench: Any) -> None:
    with pytest.raises(TrafficImpossible, match="no generator 'netcat'"):
        lab_bench.engine.run("x", TrafficTest(generator="netcat")).result(10)


def test_a_second_run_at_once_is_refused_and_stop_keeps_what_there_is(lab_bench: Any) -> None:
    going = lab_bench.engine.run("long", TrafficTest(seconds=30))
    lab_bench.wait_running()
    with pytest.raises(UsageError, match="in progress"):
        lab_bench.engine.run("second", TrafficTest(seconds=1)).result(10)
    lab_bench.engine.stop_run().result(10)
    result = going.result(0)
    assert (result.state, result.reason) == (RunState.STOPPED, "stopped by the user")
    assert len(result.report.received) >= 3
    assert all((o.exit_code is None) != (o.signal is None) for o in result.outputs), "how did it end?"
    stored = lab_bench.engine.stored_run(lab_bench.of(events.RunEnded)[-1].run_id).result(10)
    assert stored.result.state is RunState.STOPPED and len(stored.result.report.received) >= 3
    assert all(len(stored.samples[role]) >= 3 for role in Role)
    assert not any(lab_bench.generators(role) for role in Role)


def test_stop_before_the_traffic_starts(lab_bench: Any) -> None:
    going = lab_bench.engine.run("long", TrafficTest(seconds=30))
    lab_bench.engine.stop_run().result(15)
    assert going.result(0).state is RunState.STOPPED
    assert not any(lab_bench.generators(role) for role in Role)
    result, _ = run(lab_bench, TrafficTest(seconds=1))
    assert result.state is RunState.FINISHED, result.reason


def test_samples_between_runs_belong_to_no_run(lab_bench: Any, finished: object) -> None:
    """The next run's first samples must not go to the run before it."""
    with History(lab_bench.history) as history:
        runs = [history.stored_run(row.id) for row in history.runs(-1)]
    for stored in runs:
        for samples in stored.samples.values():
            assert all(a.time < b.time for a, b in itertools.pairwise(samples))
            if stored.result.window:
                assert samples[-1].time < stored.result.window.end + 2


def test_the_latest_run_and_the_pair_are_remembered(lab_bench: Any, finished: object) -> None:
    latest = lab_bench.engine.latest().result(10)
    assert latest.id == lab_bench.engine.runs().result(10)[0].id
    (pair,) = lab_bench.engine.recent_pairs().result(10)
    assert pair.target.queues == 4
    assert lab_bench.engine.runs(text="no such thing").result(10) == []


def test_presets_and_hosts_to_offer(lab_bench: Any, tmp_path: Path) -> None:
    assert "quick-tcp" in [preset.name for preset in lab_bench.engine.presets()]
    lab_bench.engine.ssh_config = str(tmp_path / "config")
    (tmp_path / "config").write_text("Host alpha\n")
    assert lab_bench.engine.known_hosts() == ["alpha"]
