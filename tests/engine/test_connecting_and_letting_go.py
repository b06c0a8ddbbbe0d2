"""Connecting, letting go and closing at any moment: in bounded time, with nothing left."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.errors import AgentDied, HostUnreachable, UsageError, WorkbenchError
from netbench_tui.hosts.lab import records
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState, TrafficTest
from netbench_tui.model.session import HostTarget, LabTarget, PairTarget, Reach

CLOSE_SECONDS = 10.0


def connecting_started(bench: Any, eventually: Callable[..., Any]) -> None:
    before = len(bench.of(events.Connecting))
    eventually(lambda: len(bench.of(events.Connecting)) > before, "a step on the way")


def test_connecting_tells_each_step_and_then_both_hosts(bench: Any) -> None:
    bench.connect(LabTarget(queues=2, mtu=9000))
    (pair,) = bench.of(events.PairConnected)
    assert (pair.sender.name, pair.receiver.name, pair.warning) == ("alpha", "beta", "")
    for view in (pair.sender, pair.receiver):
        assert view.nic and (view.nic.driver, view.nic.mtu, view.nic.rx_queues) == ("veth", 9000, 2)
        assert view.shares_cpus and set(view.addresses) == {4, 6} and view.facts.cpus
    steps = {(event.role, event.step) for event in bench.of(events.Connecting)}
    assert {(role, step) for role in Role for step in ("starting the agent", "inspecting")} <= steps


def test_connecting_again_lets_the_pair_before_go(bench: Any, eventually: Callable[..., Any]) -> None:
    bench.connect(LabTarget())
    old = list(bench.inodes.values()), list(bench.names), list(bench.keepers)
    bench.connect(LabTarget(queues=1))
    assert len(bench.of(events.Disconnected)) == 1
    assert not [name for name in old[1] if name.exists()]
    assert records.process_start(old[2][0]) is None
    assert bench.engine.run("after", TrafficTest(seconds=1, generator="builtin")).result(30).state is RunState.FINISHED


def test_disconnect_during_connect(bench: Any, eventually: Callable[..., Any]) -> None:
    going = bench.engine.connect(LabTarget())
    connecting_started(bench, eventually)
    bench.engine.disconnect().result(CLOSE_SECONDS)
    with pytest.raises(AgentDied, match="given up"):
        going.result(CLOSE_SECONDS)
    with pytest.raises(UsageError, match="no hosts are connected"):
        bench.engine.run("x", TrafficTest()).result(5)
    bench.connect(LabTarget())


def test_of_many_wishes_the_newest_is_carried_out(bench: Any) -> None:
    wishes = [bench.engine.connect(LabTarget(queues=queues)) for queues in (1, 2, 3)]
    wishes[-1].result(30)
    for given_up in wishes[:-1]:
        with pytest.raises(AgentDied, match="given up"):
            given_up.result(5)
    bench.footprint()
    assert bench.of(events.PairConnected)[-1].sender.nic.rx_queues == 3
    assert len(bench.of(events.PairConnected)) == 1


@pytest.mark.parametrize("after", ["opening the connection", "starting the agent"])
def test_close_during_connect(make_bench: Any, eventually: Callable[..., Any], after: str) -> None:
    bench = make_bench()
    labs = set(records.RUN_FOLDER.glob("lab-*.json"))
    going = bench.engine.connect(LabTarget())
    eventually(lambda: any(e.step == after for e in bench.of(events.Connecting)), after)
    ours = set(records.RUN_FOLDER.glob("lab-*.json")) - labs
    start = time.monotonic()
    bench.engine.close()
    assert time.monotonic() - start < CLOSE_SECONDS
    assert going.done() and isinstance(going.exception(), AgentDied)
    # Other tests of this machine may have made labs meanwhile; one of ours is gone for good.
    eventually(lambda: not any(path.exists() for path in ours), "the lab's record is gone", 20)


def test_close_during_a_run_keeps_it_as_stopped(make_bench: Any) -> None:
    bench = make_bench()
    bench.connect(LabTarget())
    going = bench.engine.run("long", TrafficTest(seconds=60))
    bench.wait_running()
    start = time.monotonic()
    bench.engine.close()
    assert time.monotonic() - start < CLOSE_SECONDS
    assert going.result(0).state is RunState.STOPPED
    assert not bench.left()
    reader = make_bench(bench.history)
    assert reader.engine.latest().result(10).state is RunState.STOPPED


def test_a_closed_engine_answers_that_it_is_closing(make_bench: Any) -> None:
    bench = make_bench()
    bench.engine.close()
    bench.engine.close()
    with pytest.raises(UsageError, match="closing"):
        bench.engine.connect(LabTarget()).result(0)


def test_hosts_that_cannot_be_reached_are_each_told(bench: Any, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host gone other\n  HostName 127.0.0.1\n  Port 1\n")
    bench.engine.ssh_config = str(config)
    with pytest.raises(HostUnreachable):
        bench.engine.connect(PairTarget(HostTarget("gone"), HostTarget("other"))).result(30)
    failed = bench.of(events.HostFailed)
    assert {(event.role, event.name) for event in failed} == {(Role.SENDER, "gone"), (Role.RECEIVER, "other")}
    assert all(event.exit_code == HostUnreachable.exit_code and not event.was_connected for event in failed)


def test_this_machine_with_itself_over_loopback(bench: Any) -> None:
    here = HostTarget("local", Reach.LOCAL)
    bench.engine.connect(PairTarget(here, here)).result(30)
    (pair,) = bench.of(events.PairConnected)
    assert (pair.sender.data_nic, pair.receiver.data_nic, pair.warning) == ("lo", "lo", "")
    result = bench.engine.run("loop", TrafficTest(seconds=1)).result(30)
    assert result.state is RunState.FINISHED, result.reason


def test_two_engines_at_once_on_one_history(make_bench: Any, tmp_path: Path) -> None:
    benches = [make_bench(tmp_path / "shared.db") for _ in range(2)]
    for bench in benches:
        bench.connect(LabTarget(queues=1))
    goings = [bench.engine.run("both", TrafficTest(seconds=1)) for bench in benches]
    assert [going.result(60).state for going in goings] == [RunState.FINISHED] * 2
    runs = benches[0].engine.runs().result(10)
    assert len(runs) == 2 and len({run.session for run in runs}) == 2
    for run in runs:
        stored = benches[1].engine.stored_run(run.id).result(10)
        assert stored.result.state is RunState.FINISHED and all(stored.samples[role] for role in Role)
    assert not any(bench.of(events.HistoryTrouble) for bench in benches)


def test_a_face_that_fails_or_leaves_harms_nobody(bench: Any) -> None:
    def bad(event: events.Event) -> None:
        raise RuntimeError("a bug of the face")

    bench.engine.subscribe(bad)
    heard: list[events.Event] = []
    leave = bench.engine.subscribe(heard.append)
    with pytest.raises(WorkbenchError):
        bench.engine.connect(PairTarget(HostTarget("a b"), HostTarget("c d"))).result(30)
    assert heard and len(bench.seen) == len(heard)
    leave()
    with pytest.raises(WorkbenchError):
        bench.engine.connect(PairTarget(HostTarget("a b"), HostTarget("c d"))).result(30)
    assert len(bench.seen) > len(heard)


def test_subscribing_from_a_face_while_events_fly(bench: Any) -> None:
    """Emitting holds no lock: a face may subscribe others from within its own call."""
    others: list[events.Event] = []
    once = threading.Event()

    def nested(event: events.Event) -> None:
        if not once.is_set():
            once.set()
            bench.engine.subscribe(others.append)

    bench.engine.subscribe(nested)
    bench.connect(LabTarget(queues=1))
    assert others
