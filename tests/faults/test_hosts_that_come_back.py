"""A host that is lost is tried again with growing pauses, and is a whole host again when it is back."""

import dataclasses
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import chaos
import pytest
from far_hosts import FarHost, command_of, processes_in, signal_to

from netbench_tui.engine import events, runner, session
from netbench_tui.errors import HostKeyChanged, HostLost, LoginRefused
from netbench_tui.history.repository import History
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState, TrafficTest
from netbench_tui.model.session import LabTarget

SHORT = TrafficTest(seconds=1, generator="builtin")
LONG = TrafficTest(seconds=30, generator="iperf3")
# What an engine that waits for nothing needs to let two hosts go.
AT_ONCE_SECONDS = 8.0


@pytest.fixture
def alpha(far_pair: Any) -> Iterator[FarHost]:
    """The sender; whatever was done to it is undone."""
    host = far_pair.hosts[Role.SENDER]
    yield host
    host.set_link("up")
    host.authorize()
    signal_to([host.process.pid, *host.processes()], signal.SIGCONT)
    if host.process.poll() is not None:
        host.start()


def has_returned(bench: Any, eventually: Callable[..., Any], times: int = 1, run: bool = False) -> Any:
    """The last HostReturned, once all is well: samples of both hosts come, and a run, if asked for, is a run."""
    eventually(lambda: len(bench.of(events.HostReturned)) >= times, "HostReturned", 25)
    seen = len(bench.of(events.SampleTaken))
    eventually(
        lambda: {event.role for event in bench.of(events.SampleTaken)[seen:]} == set(Role), "samples of both hosts", 5
    )
    if run:
        result = bench.engine.run("after", SHORT).result(30)
        assert result.state is RunState.FINISHED, result.reason
    return bench.of(events.HostReturned)[-1]


def is_lost(bench: Any, eventually: Callable[..., Any]) -> Any:
    failed = eventually(lambda: bench.of(events.HostFailed), "HostFailed", 8)[0]
    assert failed.was_connected
    return failed


@pytest.mark.parametrize("fault", [chaos.cut_link, chaos.kill_sshd, chaos.kill_agent])
def test_a_host_is_lost_and_comes_back(
    far_bench: Any, alpha: FarHost, eventually: Callable[..., Any], fault: Callable[[FarHost], chaos.Undo]
) -> None:
    undo = fault(alpha)
    failed = is_lost(far_bench, eventually)
    assert (failed.role, failed.name) == (Role.SENDER, "alpha") and failed.message.startswith("alpha: ")
    eventually(lambda: far_bench.of(events.Reconnecting), "Reconnecting", 10)
    undo()
    back = has_returned(far_bench, eventually, run=True)
    assert (back.view.name, back.view.data_nic, back.note) == ("alpha", "data0", "")
    tries = [(event.attempt, event.wait) for event in far_bench.of(events.Reconnecting)]
    assert tries[:4] == [(1, 0.2), (2, 0.4), (3, 0.8), (4, 0.8)][: len(tries)]
    told = [e for e in far_bench.seen if isinstance(e, (events.HostFailed, events.Reconnecting, events.HostReturned))]
    assert told == [failed, *told[1:-1], back] and all(isinstance(event, events.Reconnecting) for event in told[1:-1])
    assert len(alpha.agents()) == 1 or fault is chaos.cut_link, "the agent of before is gone"


def test_a_run_while_a_host_is_away_is_refused_with_a_sentence(
    far_bench: Any, alpha: FarHost, eventually: Callable[..., Any]
) -> None:
    mend = chaos.kill_sshd(alpha)
    is_lost(far_bench, eventually)
    with pytest.raises(HostLost, match="alpha: ") as caught:
        far_bench.engine.run("x", SHORT).result(5)
    assert caught.value.hint == session.AWAY
    assert not far_bench.of(events.RunStarted)
    mend()
    has_returned(far_bench, eventually)


def test_a_frozen_host_is_noticed_by_its_pulse(far_bench: Any, alpha: FarHost, eventually: Callable[..., Any]) -> None:
    start = time.monotonic()
    thaw = chaos.freeze_agent(alpha)
    failed = is_lost(far_bench, eventually)
    assert time.monotonic() - start < session.PULSE_SECONDS + session.PULSE_PATIENCE + 1
    assert failed.message == "alpha: no answer for 2 s" and failed.hint
    eventually(lambda: far_bench.of(events.Reconnecting), "Reconnecting", 10)
    thaw()
    has_returned(far_bench, eventually)


def test_the_pulse_notices_within_eleven_seconds() -> None:
    assert session.PULSE_SECONDS + session.PULSE_PATIENCE <= 11
    assert list(session.PAUSES) == sorted(session.PAUSES) and session.PAUSES[-1] <= 30


def test_both_hosts_are_lost_at_once(far_bench: Any, far_pair: Any, eventually: Callable[..., Any]) -> None:
    for host in far_pair.hosts.values():
        chaos.kill_connection(host)
    has_returned(far_bench, eventually, times=2, run=True)
    assert {event.role for event in far_bench.of(events.HostFailed)} == set(Role)
    assert {event.view.role for event in far_bench.of(events.HostReturned)} == set(Role)


def test_a_host_that_was_rebooted(
    far_bench: Any, alpha: FarHost, eventually: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect = HostConnection.inspect

    async def after_a_boot(host: HostConnection) -> Any:
        host.facts = dataclasses.replace(await inspect(host), boot_id="another")
        return host.facts

    monkeypatch.setattr(HostConnection, "inspect", after_a_boot)
    chaos.kill_connection(alpha)
    assert has_returned(far_bench, eventually).note == "alpha was rebooted while it was away"


def test_a_host_whose_key_changed_is_not_tried_again(
    far_bench: Any, far_pair: Any, alpha: FarHost, eventually: Callable[..., Any]
) -> None:
    mend = chaos.kill_sshd(alpha)
    alpha.make_host_key()
    mend()
    try:
        failed = eventually(
            lambda: len(far_bench.of(events.HostFailed)) >= 2 and far_bench.of(events.HostFailed)[-1], "2"
        )
        assert failed.exit_code == HostKeyChanged.exit_code and "host key" in failed.message and failed.was_connected
        tries = len(far_bench.of(events.Reconnecting))
        with pytest.raises(HostLost) as caught:
            far_bench.engine.run("x", SHORT).result(5)
        assert (caught.value.message, caught.value.hint) == (failed.message, failed.hint)
        far_bench.engine.disconnect().result(AT_ONCE_SECONDS)
        assert len(far_bench.of(events.Reconnecting)) == tries
    finally:
        far_pair.know()


def refusals(bench: Any) -> int:
    return len(bench.of(events.Reconnecting))


def test_a_host_that_lets_nobody_in_while_it_starts(
    far_bench: Any, alpha: FarHost, eventually: Callable[..., Any]
) -> None:
    alpha.authorize(False)
    chaos.kill_connection(alpha)
    eventually(lambda: refusals(far_bench) >= 3, "two refused tries")
    alpha.authorize()
    has_returned(far_bench, eventually)


def test_a_host_that_lets_nobody_in_for_good(far_bench: Any, alpha: FarHost, eventually: Callable[..., Any]) -> None:
    alpha.authorize(False)
    chaos.kill_connection(alpha)
    failed = eventually(lambda: far_bench.of(events.HostFailed)[1:], "the last word", 20)[0]
    assert failed.exit_code == LoginRefused.exit_code and refusals(far_bench) == session.REFUSALS


def test_data_addresses_that_changed_meanwhile(far_bench: Any, alpha: FarHost, eventually: Callable[..., Any]) -> None:
    old = far_bench.engine._session.views[Role.SENDER].addresses[4]
    subnet = old.rpartition(".")[0]

    def change(before: str, after: str) -> None:
        alpha.configure("addr", "del", "data0", f"{subnet}.{before}/25")
        alpha.configure("addr", "add", "data0", f"{subnet}.{after}/25")

    change("129", "140")
    try:
        chaos.kill_connection(alpha)
        has_returned(far_bench, eventually, run=True)
        pair = far_bench.of(events.PairConnected)[-1]
        assert (pair.sender.addresses[4], pair.sender.data_nic) == (f"{subnet}.140", "data0")
    finally:
        change("140", "129")


def test_a_host_lost_while_the_other_is_still_connected(
    make_bench: Any, far_pair: Any, alpha: FarHost, eventually: Callable[..., Any], impatient: None
) -> None:
    bench = make_bench(ssh_config=far_pair.config)
    beta = far_pair.hosts[Role.RECEIVER]
    signal_to([beta.process.pid], signal.SIGSTOP)
    try:
        going = bench.engine.connect(far_pair.target)
        eventually(lambda: bench.of(events.HostConnected), "alpha is connected")
        chaos.kill_connection(alpha)
        is_lost(bench, eventually)
        eventually(lambda: len(bench.of(events.HostConnected)) == 2, "alpha is connected again")
    finally:
        signal_to([beta.process.pid], signal.SIGCONT)
    going.result(20)
    assert not bench.of(events.HostReturned) and len(bench.of(events.PairConnected)) == 1
    assert bench.engine.run("after", SHORT).result(30).state is RunState.FINISHED


# leaving while a host is away


@pytest.fixture(params=["in a pause", "on the way"])
def away(
    request: pytest.FixtureRequest,
    far_bench: Any,
    alpha: FarHost,
    eventually: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """alpha is lost, and the next try is far off, or hangs."""
    if request.param == "in a pause":
        monkeypatch.setattr(session, "PAUSES", (60.0,))
        chaos.kill_connection(alpha)
    else:
        monkeypatch.setattr(session, "PAUSES", (0.0,))
        signal_to([alpha.process.pid], signal.SIGSTOP)
        chaos.kill_connection(alpha)
    eventually(lambda: far_bench.of(events.Reconnecting), "Reconnecting", 20)
    return far_bench


def test_disconnecting_while_a_host_is_away(away: Any) -> None:
    start = time.monotonic()
    away.engine.disconnect().result(AT_ONCE_SECONDS)
    assert time.monotonic() - start < 4
    tries = len(away.of(events.Reconnecting))
    assert away.of(events.Disconnected)
    time.sleep(0.5)
    assert len(away.of(events.Reconnecting)) == tries and not away.of(events.HostReturned)


def test_closing_while_a_host_is_away(away: Any) -> None:
    start = time.monotonic()
    away.engine.close()
    assert time.monotonic() - start < AT_ONCE_SECONDS


def test_connecting_others_while_a_host_is_away(away: Any, far_pair: Any) -> None:
    away.connect(LabTarget(queues=1))
    assert away.engine.run("lab", SHORT).result(30).state is RunState.FINISHED


def test_giving_up_a_connection_that_a_frozen_host_holds_up(
    far_bench: Any, alpha: FarHost, eventually: Callable[..., Any]
) -> None:
    """Letting go of a host that does not answer must not wait for it."""
    thaw = chaos.freeze_agent(alpha)
    start = time.monotonic()
    far_bench.engine.disconnect().result(AT_ONCE_SECONDS)
    assert time.monotonic() - start < AT_ONCE_SECONDS
    thaw()


# runs


@pytest.mark.parametrize("fault", [chaos.kill_connection, chaos.freeze_sshd])
def test_a_run_ends_at_once_and_the_other_host_is_clean(
    far_bench: Any,
    far_pair: Any,
    alpha: FarHost,
    eventually: Callable[..., Any],
    fault: Callable[[FarHost], chaos.Undo],
) -> None:
    going = far_bench.engine.run("long", LONG)
    far_bench.wait_running(5)
    undo = fault(alpha)
    failed = is_lost(far_bench, eventually)
    result = going.result(3)
    beta = far_pair.hosts[Role.RECEIVER]
    assert "iperf3" not in map(command_of, beta.processes())
    undo()
    assert (result.state, result.reason, result.hint) == (RunState.INTERRUPTED, failed.message, failed.hint)
    run_id = far_bench.of(events.RunEnded)[-1].run_id
    has_returned(far_bench, eventually)
    stored = far_bench.engine.stored_run(run_id).result(10)
    assert (stored.result.state, stored.result.reason) == (RunState.INTERRUPTED, result.reason)
    assert len(stored.result.report.received) == len(result.report.received) >= 5
    assert all(len(stored.samples[role]) >= 5 for role in Role)


def test_a_host_that_is_back_before_the_run_is_over_does_not_disturb_its_record(
    far_bench: Any, far_pair: Any, alpha: FarHost, eventually: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """beta hangs and holds up the end of the run; meanwhile alpha comes back."""
    monkeypatch.setattr(session, "PULSE_PATIENCE", 30.0)
    monkeypatch.setattr(runner, "END_SECONDS", 2.0)
    going = far_bench.engine.run("long", LONG)
    far_bench.wait_running(5)
    thaw = chaos.freeze_agent(far_pair.hosts[Role.RECEIVER])
    chaos.kill_connection(alpha)
    try:
        eventually(lambda: far_bench.of(events.HostReturned), "HostReturned", 10)
        assert not going.done()
        result = going.result(12)
    finally:
        thaw()
    assert result.state is RunState.INTERRUPTED and result.reason.startswith("alpha: ")
    run_id = far_bench.of(events.RunEnded)[-1].run_id
    has_returned(far_bench, eventually, run=True)
    with History(far_bench.history) as history:
        after, before = (history.stored_run(row.id) for row in history.runs(2))
    assert before.summary.id == run_id and before.result.reason == result.reason
    assert before.summary.session != after.summary.session
    assert before.hosts[Role.SENDER].clock != after.hosts[Role.SENDER].clock


def test_a_host_that_hangs_for_a_moment_costs_no_run(
    far_bench: Any, far_pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent stands still over the end of the run, for longer than a generator may take to follow its peer."""
    monkeypatch.setattr(session, "PULSE_PATIENCE", 30.0)
    monkeypatch.setattr(runner, "FOLLOW_SECONDS", 0.7)
    monkeypatch.setattr(runner, "STALL_SECONDS", 1.0)
    going = far_bench.engine.run("hangs", TrafficTest(seconds=2, generator="builtin"))
    far_bench.wait_running(5)
    thaw = chaos.freeze_agent(far_pair.hosts[Role.RECEIVER])
    time.sleep(5)
    assert not going.done()
    thaw()
    result = going.result(10)
    assert result.state is RunState.FINISHED, result.reason
    assert result.window and result.window.seconds > 1.5


def test_what_a_host_says_after_the_end_of_a_run_is_not_told(far_bench: Any) -> None:
    going = far_bench.engine.run("stopped", LONG)
    far_bench.wait_running(5)
    run = far_bench.engine._run
    far_bench.engine.stop_run().result(10)
    kept = len(going.result(0).report.received)
    run._output("[  5]  77.00-77.10 sec  81.8 MBytes  6848920 Kbits/sec\n", 0.0)
    assert len(far_bench.of(events.IntervalSeen)) == kept


# the lab


def agent_in(bench: Any, role: Role) -> int:
    """With ssh between, its parent is an sshd; a generator of the built-in kind would come after it."""
    return min(pid for pid in processes_in(bench.inodes[role]) if command_of(pid).startswith("python"))


@pytest.mark.parametrize("ssh", [True, False])
def test_agents_of_the_lab_that_are_killed_one_after_the_other(
    bench: Any, eventually: Callable[..., Any], impatient: None, ssh: bool
) -> None:
    bench.connect(LabTarget(queues=1, ssh=ssh))
    for times, role in enumerate(Role, 1):
        signal_to([agent_in(bench, role)], signal.SIGKILL)
        back = has_returned(bench, eventually, times, run=times == 2)
        assert (back.view.role, back.note) == (role, "")
        assert bench.of(events.Reconnecting)[-1].attempt == 1
    assert len(bench.of(events.HostFailed)) == 2


def test_a_lost_lab_is_let_go(bench: Any, eventually: Callable[..., Any], impatient: None) -> None:
    """Its keeper is gone as well: there is nothing to come back to."""
    bench.connect(LabTarget(queues=1, ssh=True))
    signal_to([bench.keepers[-1]], signal.SIGKILL)
    for role in Role:
        signal_to(processes_in(bench.inodes[role]), signal.SIGKILL)
    eventually(lambda: len(bench.of(events.Reconnecting)) >= 4, "tries")
    bench.engine.disconnect().result(20)
    assert not bench.left()
