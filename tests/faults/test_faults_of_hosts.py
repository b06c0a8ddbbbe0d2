"""A host that is lost in mid-run: the run is interrupted, what was measured stays, and connecting again works."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.errors import HostLost
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState, TrafficTest
from netbench_tui.model.session import LabTarget

LONG = TrafficTest(seconds=30)


def agent_of(bench: Any, role: Role) -> int:
    return bench.engine._session.hosts[role].client.channel.process.pid


def assert_interrupted(bench: Any, result: Any) -> None:
    assert result.state is RunState.INTERRUPTED and result.reason
    stored = bench.engine.stored_run(bench.of(events.RunEnded)[-1].run_id).result(10)
    assert stored.result.state is RunState.INTERRUPTED
    assert len(stored.result.report.received) >= 3
    assert all(len(stored.samples[role]) >= 3 for role in Role)


@pytest.mark.parametrize("role", list(Role))
def test_an_agent_that_is_killed_in_mid_run(bench: Any, eventually: Callable[..., Any], role: Role) -> None:
    bench.connect(LabTarget(queues=1))
    going = bench.engine.run("long", LONG)
    bench.wait_running(5)
    os.kill(agent_of(bench, role), signal.SIGKILL)
    result = going.result(20)
    assert_interrupted(bench, result)
    assert bench.engine._session.hosts[role].name in result.reason, "the reason names the host that was lost"
    (failed,) = bench.of(events.HostFailed)
    assert (failed.role, failed.was_connected) == (role, True) and failed.hint
    eventually(lambda: not any(bench.generators(r) for r in Role), "no generator is left", 3)
    with pytest.raises(HostLost):
        bench.engine.run("at once", TrafficTest(seconds=1)).result(10)
    if role is Role.RECEIVER:
        return
    bench.connect(LabTarget(queues=1))
    result = bench.engine.run("again", TrafficTest(seconds=1, generator="builtin")).result(30)
    assert result.state is RunState.FINISHED, result.reason


def test_an_agent_that_is_killed_between_runs_is_told_at_once(bench: Any, eventually: Callable[..., Any]) -> None:
    bench.connect(LabTarget(queues=1))
    os.kill(agent_of(bench, Role.RECEIVER), signal.SIGKILL)
    eventually(lambda: bench.of(events.HostFailed), "HostFailed", 5)
    with pytest.raises(HostLost):
        bench.engine.run("x", TrafficTest(seconds=1)).result(10)
    assert not bench.of(events.RunStarted), "a run that could not begin is not in the history"


def test_the_labs_keeper_is_killed_in_mid_run(bench: Any) -> None:
    """The namespaces live on while something runs inside; letting go removes what the keeper could not."""
    bench.connect(LabTarget(queues=1))
    going = bench.engine.run("short", TrafficTest(seconds=2))
    bench.wait_running()
    os.kill(bench.keepers[-1], signal.SIGKILL)
    assert going.result(20).state in (RunState.FINISHED, RunState.INTERRUPTED)
    bench.engine.disconnect().result(20)
    assert not bench.left()
    bench.connect(LabTarget(queues=1))
