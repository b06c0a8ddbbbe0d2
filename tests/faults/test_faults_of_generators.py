"""A generator that is killed, hangs, prints garbage or finds its port taken: a failed run that says why."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events, runner
from netbench_tui.errors import TrafficImpossible
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunResult, RunState, TrafficTest
from netbench_tui.model.session import LabTarget

SHORT = TrafficTest(seconds=1, generator="iperf3")
LONG = TrafficTest(seconds=30, generator="iperf3")

# Stands in for iperf3: the client (or, if asked, the server) prints what no iperf3 prints.
FAKE = """#!/bin/sh
case "$*" in
  *-s*) if [ -z "$FAKE_SERVER" ]; then exec {real} "$@"; fi ;;
esac
printf '\\033]0;owned\\007\\377\\376 {{"start": [1, 2'
exit 0
"""


def next_run_works(bench: Any) -> None:
    assert not any(bench.generators(role) for role in Role)
    result = bench.engine.run("next", SHORT).result(30)
    assert result.state is RunState.FINISHED, result.reason


def kept(bench: Any) -> Any:
    return bench.engine.stored_run(bench.of(events.RunEnded)[-1].run_id).result(10)


def output_of(result: RunResult, role: Role) -> Any:
    return next(output for output in result.outputs if output.role is role)


@pytest.mark.parametrize("role", list(Role))
def test_a_generator_that_is_killed(lab_bench: Any, role: Role) -> None:
    going = lab_bench.engine.run("killed", LONG)
    lab_bench.wait_running()
    (pid,) = lab_bench.generators(role)
    start = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    result = going.result(15)
    assert time.monotonic() - start < 8
    assert result.state is RunState.FAILED
    assert f"iperf3 on the {role.value} was ended by SIGKILL" in result.reason
    assert output_of(result, role).signal == signal.SIGKILL
    assert output_of(result, Role.RECEIVER).stdout.count("Kbits/sec") >= 3
    stored = kept(lab_bench)
    assert stored.result.reason == result.reason
    assert [o.stdout for o in stored.outputs] == [o.stdout for o in result.outputs]
    assert len(stored.result.report.received) >= 3 and stored.samples[role]
    next_run_works(lab_bench)


@pytest.mark.parametrize("role", list(Role))
def test_a_generator_that_hangs(lab_bench: Any, role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 1.5)
    going = lab_bench.engine.run("hangs", TrafficTest(seconds=2, generator="iperf3"))
    lab_bench.wait_running()
    (pid,) = lab_bench.generators(role)
    os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    result = going.result(30)
    assert time.monotonic() - start < 2 + 1.5 + 2 * runner.FOLLOW_SECONDS
    assert result.state is RunState.FAILED and result.reason and result.hint
    assert output_of(result, Role.RECEIVER).stdout.count("Kbits/sec") >= 3
    assert all((o.exit_code is None) != (o.signal is None) for o in result.outputs)
    assert kept(lab_bench).result.reason == result.reason
    next_run_works(lab_bench)


def test_traffic_that_stops_in_a_long_run(lab_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """iperf3's server goes on to report that nothing came; nobody wants to look at that for the rest of the day."""
    monkeypatch.setattr(runner, "STALL_SECONDS", 1.5)
    going = lab_bench.engine.run("stalls", LONG)
    lab_bench.wait_running()
    (pid,) = lab_bench.generators(Role.SENDER)
    os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    result = going.result(30)
    assert time.monotonic() - start < 1.5 + 2 + 2 * runner.FOLLOW_SECONDS
    assert result.state is RunState.FAILED
    assert result.reason == "no data arrived at the receiver for 1.5 s: iperf3 was killed" and result.hint
    assert len(kept(lab_bench).result.report.received) >= 3
    next_run_works(lab_bench)


def test_the_reason_names_who_did_not_end(lab_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 1.0)
    going = lab_bench.engine.run("hang", TrafficTest(seconds=1, generator="iperf3"))
    lab_bench.wait_running()
    for role in Role:
        os.kill(lab_bench.generators(role)[0], signal.SIGSTOP)
    result = going.result(30)
    assert "on the sender and on the receiver did not end" in result.reason
    next_run_works(lab_bench)


def test_stop_of_a_run_whose_generators_hang(lab_bench: Any) -> None:
    going = lab_bench.engine.run("hang", LONG)
    lab_bench.wait_running()
    for role in Role:
        os.kill(lab_bench.generators(role)[0], signal.SIGSTOP)
    lab_bench.engine.stop_run().result(10)
    assert going.result(0).state is RunState.STOPPED
    next_run_works(lab_bench)


HOLDER = "import socket, sys; s = socket.socket(); s.bind((sys.argv[1], 0)); print(s.getsockname()[1], flush=True)"


@pytest.fixture
def taken_port(lab_bench: Any) -> Iterator[int]:
    """A port of the receiver that somebody else has bound."""
    host = lab_bench.engine._session._reached.lab.hosts[Role.RECEIVER]
    argv = [*host.enter, sys.executable, "-c", HOLDER + "; sys.stdin.read()", host.addresses[4]]
    holder = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin and holder.stdout
    yield int(holder.stdout.readline())
    holder.stdin.close()
    holder.wait(10)
    holder.stdout.close()


@pytest.mark.parametrize("generator", ["iperf3", "builtin"])
def test_a_port_that_was_taken_meanwhile_is_tried_anew(
    lab_bench: Any, taken_port: int, generator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    free_port = HostConnection.free_port

    async def first_the_taken_one(host: HostConnection, address: str) -> int:
        asked.append(taken_port if not asked else await free_port(host, address))
        return asked[-1]

    monkeypatch.setattr(HostConnection, "free_port", first_the_taken_one)
    result = lab_bench.engine.run("port", TrafficTest(seconds=1, generator=generator)).result(30)
    assert result.state is RunState.FINISHED, result.reason
    assert len(asked) == 2


def test_a_port_that_is_always_taken_is_a_failed_run(
    lab_bench: Any, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def always(host: HostConnection, address: str) -> int:
        return taken_port

    monkeypatch.setattr(HostConnection, "free_port", always)
    result = lab_bench.engine.run("port", SHORT).result(30)
    assert result.state is RunState.FAILED
    assert "beta: iperf3 did not begin to listen" in result.reason and "in use" in result.reason
    assert kept(lab_bench).outputs


@pytest.fixture
def fake_iperf3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    real = subprocess.run(["sh", "-c", "command -v iperf3"], capture_output=True, text=True).stdout.strip()
    if not real:
        pytest.skip("iperf3 is not installed")
    fake = tmp_path / "bin/iperf3"
    fake.parent.mkdir()
    fake.write_text(FAKE.format(real=real))
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    return fake


def test_a_client_that_prints_garbage(bench: Any, fake_iperf3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 1.0)
    bench.connect(LabTarget(queues=1))
    result = bench.engine.run("garbage", SHORT).result(30)
    assert result.state is RunState.FAILED and "sender" in result.reason
    assert '{"start": [1, 2' in output_of(result, Role.SENDER).stdout
    assert output_of(result, Role.SENDER).argv[0] == str(fake_iperf3)
    stored = kept(bench)
    assert '{"start": [1, 2' in stored.outputs[0].stdout + stored.outputs[1].stdout
    assert bench.engine.run("next", TrafficTest(seconds=1, generator="builtin")).result(30).state is RunState.FINISHED


def test_a_server_that_prints_garbage_and_ends(bench: Any, fake_iperf3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SERVER", "1")
    bench.connect(LabTarget(queues=1))
    result = bench.engine.run("garbage", SHORT).result(30)
    assert result.state is RunState.FAILED
    assert "beta: iperf3 did not begin to listen" in result.reason
    assert '{"start": [1, 2' in kept(bench).outputs[0].stdout


def test_asking_for_a_generator_that_a_host_lacks(lab_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    view = lab_bench.engine._session.views[Role.RECEIVER]
    monkeypatch.setitem(lab_bench.engine._session.views, Role.RECEIVER, _without_tools(view))
    with pytest.raises(TrafficImpossible, match="iperf3 was not found"):
        lab_bench.engine.run("x", SHORT).result(10)
    result = lab_bench.engine.run("x", TrafficTest(seconds=1)).result(30)
    assert (result.state, result.generator) == (RunState.FINISHED, "builtin")


def _without_tools(view: Any) -> Any:
    import dataclasses

    return dataclasses.replace(view, facts=dataclasses.replace(view.facts, tools=()))
