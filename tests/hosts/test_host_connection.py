"""A connected host: this machine for real, and scripted ones for sudo, missing Pythons and unreadable ticks."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest

from netbench_tui.errors import AgentDied, HostLost, HostRefused, NoPythonOnHost
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.hosts.payload import STAGE0, agent_argv, payload
from netbench_tui.model.host import Privilege
from netbench_tui.model.sample import SampleKind

STREAMS = {"address": "127.0.0.1", "streams": 2}


async def test_this_machine(local: Any) -> None:
    host = local.host
    assert host.facts.name == os.uname().nodename
    assert host.facts.nic("lo").kind == "loopback"
    assert host.privilege is (Privilege.ROOT if os.geteuid() == 0 else host.privilege)
    assert local.steps[0] == "starting the agent" and local.steps[-1] == "inspecting"
    # One machine, one clock: what is left is the error that we claim.
    assert abs(host.clock.offset) <= host.clock.error + 0.001
    assert host.workbench_time(time.monotonic()) == pytest.approx(time.monotonic(), abs=0.01)


async def test_samples_arrive_on_our_time_line(local: Any, eventually: Any) -> None:
    before = time.monotonic()
    await local.host.sample(10)
    await eventually(lambda: len(local.samples) >= 3, "samples")
    await local.host.sample(0)
    assert all(before - 0.01 <= sample.time <= time.monotonic() for sample in local.samples)
    assert all(sample.kind is SampleKind.PERIODIC and sample.span > 0.05 for sample in local.samples)
    assert sum(ticks.total for sample in local.samples for ticks in sample.cpus.values()) > 0


async def test_a_process_streams_and_ends(local: Any) -> None:
    heard: list[tuple[str, float]] = []
    program = "import sys; print('hello'); sys.stderr.write('bad\\n'); sys.exit(3)"
    cpu = min(os.sched_getaffinity(0))
    process = await local.host.spawn(
        "p", "tool", (sys.executable, "-S", "-c", program), None, (cpu,), lambda text, at: heard.append((text, at))
    )
    assert await process.wait(10)
    output = process.output()
    assert (output.stdout, output.stderr, output.exit_code, output.signal) == ("hello\n", "bad\n", 3, None)
    assert output.cpus == (cpu,)
    assert "".join(text for text, _ in heard) == "hello\n"
    assert process.started <= heard[0][1]


async def test_stopping_a_process(local: Any) -> None:
    process = await local.host.spawn("p", "sleep", ("sleep", "60"))
    assert not await process.wait(0.01)
    await process.stop()
    assert await process.wait(5)
    assert process.output().signal == signal.SIGTERM
    await process.stop()


async def test_a_program_or_cpu_that_is_missing(local: Any) -> None:
    with pytest.raises(HostRefused, match=r"here: No such file or directory \(no-such-tool\): tool cannot") as caught:
        await local.host.spawn("p", "tool", ("no-such-tool",))
    assert (caught.value.code, caught.value.exit_code) == ("ENOENT", 17)
    with pytest.raises(HostRefused) as caught:
        await local.host.spawn("p", "tool", ("true",), None, (4000,))
    assert caught.value.code == "EINVAL"
    assert await (await local.host.spawn("p", "true", ("true",))).wait(5)


async def test_builtin_generator_through_the_connection(local: Any) -> None:
    port = await local.host.free_port("127.0.0.1")
    receive = {"role": "receive", "port": port, **STREAMS}
    receiver = await local.host.spawn("in", "builtin", ("builtin",), receive)
    await local.host.wait_listening(port, "in", 5)
    send = {"role": "send", "port": port, "message": 65536, "seconds": 0.2, **STREAMS}
    sender = await local.host.spawn("out", "builtin", ("builtin",), send)
    assert await sender.wait(10) and await receiver.wait(10)
    ends = [json.loads(process.output().stdout.splitlines()[-1])["end"] for process in (sender, receiver)]
    assert ends[0][1] == ends[1][1] > 0


async def test_a_killed_agent_is_reported_with_its_processes(local: Any, eventually: Any) -> None:
    process = await local.host.spawn("p", "sleep", ("sleep", "60"))
    os.kill(local.host.client.hello["pid"], signal.SIGKILL)
    await eventually(lambda: local.lost, "the loss", 3)
    assert isinstance(local.lost[0], AgentDied)
    assert local.lost[0].message == "here: the agent ended with status -9"
    with pytest.raises(HostLost, match="here: the agent ended"):
        await process.wait(5)
    with pytest.raises(AgentDied):
        await local.host.inspect()


async def test_a_crash_of_the_agent_shows_its_last_words(watch: Any, scripted_transport: Any) -> None:
    real = LocalTransport("here")

    async def broken(argv: Sequence[str]) -> Any:
        channel = await real.open(argv)
        write, channel.write = channel.write, lambda data: write(bytes([data[0] ^ 255]) + data[1:])
        return channel

    transport = scripted_transport(broken, "here")
    transport.pythons = (sys.executable,)
    with pytest.raises(AgentDied, match=r"here: the agent ended before it spoke: zlib.error"):
        await watch(transport).connect()


async def test_closing_twice_and_without_connecting(watch: Any) -> None:
    watched = watch(LocalTransport("here"))
    await watched.host.close()
    await watched.connect()
    pid = watched.host.client.hello["pid"]
    await watched.host.close()
    await watched.host.close()
    assert not os.path.exists(f"/proc/{pid}")
    assert not watched.lost


# --- scripted hosts -----------------------------------------------------------------------------------------------


class Answering:
    """A channel that answers like an agent of that uid."""

    def __init__(self, channel_class: Any, uid: int, **answers: Any) -> None:
        self.answers = {"inspect": {"name": "alpha"}, "ping": {"t": 5.0}, "sample": {}} | answers
        self.channel = channel_class(json.dumps({"ev": "hello", "protocol": 1, "uid": uid}).encode() + b"\n")
        self.channel.write = self.write

    def write(self, data: bytes) -> None:
        if data != payload():
            request = json.loads(data)
            answer = {"re": request["id"], "ok": self.answers[request["op"]]}
            self.channel.feed(json.dumps(answer).encode() + b"\n")


async def test_sudo_is_tried_with_the_very_command_and_its_agent_taken(
    watch: Any, scripted_transport: Any, scripted_channel: Any
) -> None:
    def script(argv: Sequence[str]) -> Any:
        return Answering(scripted_channel, 0 if argv[0] == "sudo" else 1000).channel

    transport = scripted_transport(script)
    watched = watch(transport)
    await watched.connect()
    assert transport.opened == [agent_argv("python3"), ["sudo", "-n", "--", *agent_argv("python3")]]
    assert watched.host.privilege is Privilege.SUDO
    assert watched.host.client.channel is transport.channels[1]
    assert transport.channels[0].closed and not transport.channels[1].closed
    assert "asking sudo" in watched.steps
    assert not watched.lost


@pytest.mark.parametrize("status", [1, 127])
async def test_without_sudo_the_host_is_read_only(
    watch: Any, scripted_transport: Any, scripted_channel: Any, status: int
) -> None:
    def script(argv: Sequence[str]) -> Any:
        if argv[0] == "sudo":
            return scripted_channel(b"", stderr="sudo: a password is required\n", status=status)
        return Answering(scripted_channel, 1000).channel

    watched = watch(scripted_transport(script))
    await watched.connect()
    assert watched.host.privilege is Privilege.NONE
    assert not watched.lost


async def test_sudo_that_gives_another_user_is_not_taken(
    watch: Any, scripted_transport: Any, scripted_channel: Any
) -> None:
    transport = scripted_transport(lambda argv: Answering(scripted_channel, 65534).channel)
    watched = watch(transport)
    await watched.connect()
    assert watched.host.privilege is Privilege.NONE
    assert transport.channels[1].closed and not transport.channels[0].closed


async def test_root_needs_no_sudo(watch: Any, scripted_transport: Any, scripted_channel: Any) -> None:
    transport = scripted_transport(lambda argv: Answering(scripted_channel, 0).channel)
    watched = watch(transport)
    await watched.connect()
    assert watched.host.privilege is Privilege.ROOT
    assert len(transport.opened) == 1


async def test_the_second_python_is_tried(watch: Any, scripted_transport: Any, scripted_channel: Any) -> None:
    def script(argv: Sequence[str]) -> Any:
        if argv[0] == "python3":
            return scripted_channel(b"", stderr="bash: exec: python3: not found\n", status=127)
        return Answering(scripted_channel, 0).channel

    transport = scripted_transport(script)
    await watch(transport).connect()
    assert [argv[0] for argv in transport.opened] == ["python3", "/usr/libexec/platform-python"]


@pytest.mark.parametrize("status", [126, 127, "FileNotFoundError", "PermissionError"])
async def test_no_python_at_all(watch: Any, scripted_transport: Any, scripted_channel: Any, status: Any) -> None:
    def script(argv: Sequence[str]) -> Any:
        if isinstance(status, str):
            raise {"FileNotFoundError": FileNotFoundError, "PermissionError": PermissionError}[status](2, "no", argv[0])
        return scripted_channel(b"", status=status)

    with pytest.raises(NoPythonOnHost) as caught:
        await watch(scripted_transport(script)).connect()
    assert caught.value.message == "alpha: no Python 3.6 or later (python3, /usr/libexec/platform-python)"
    assert "platform-python" in caught.value.hint
    assert caught.value.exit_code == 14


async def test_a_broken_connection_outranks_a_dead_agent(
    watch: Any, scripted_transport: Any, scripted_channel: Any
) -> None:
    transport = scripted_transport(lambda argv: scripted_channel(b""))
    transport.broken = HostLost("alpha: the connection was lost: closed by the host")
    with pytest.raises(HostLost):
        await watch(transport).connect()
    assert transport.channels[0].closed


@pytest.mark.parametrize(
    "answers",
    [
        {"inspect": {}},
        {"inspect": {"name": 5}},
        {"inspect": {"name": "x", "cpus": 3}},
        {"ping": {}},
        {"ping": {"t": "x"}},
    ],
)
async def test_facts_and_clocks_that_cannot_be_read(
    watch: Any, scripted_transport: Any, scripted_channel: Any, answers: Any
) -> None:
    transport = scripted_transport(lambda argv: Answering(scripted_channel, 0, **answers).channel)
    with pytest.raises(AgentDied):
        await watch(transport).connect()


@pytest.mark.parametrize("tick", [{}, {"t": "x"}, {"t": 1, "dt": 1, "kind": "period", "nic": [1]}])
async def test_a_tick_that_cannot_be_read_is_a_dead_agent(
    watch: Any, scripted_transport: Any, scripted_channel: Any, eventually: Any, tick: Any
) -> None:
    watched = watch(scripted_transport(lambda argv: Answering(scripted_channel, 0).channel))
    await watched.connect()
    watched.host.client.channel.feed(json.dumps({"ev": "tick", **tick}).encode() + b"\n")
    await eventually(lambda: watched.lost, "the loss")
    assert watched.lost[0].message.startswith("alpha: the agent sent a tick that cannot be read: ")


async def test_the_clock_is_taken_from_the_shortest_round_trip(
    watch: Any, scripted_transport: Any, scripted_channel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = watch(scripted_transport(lambda argv: Answering(scripted_channel, 0, ping={"t": 1000.0}).channel))
    await watched.connect()
    clock = watched.host.clock
    assert clock.error == clock.round_trip / 2
    assert clock.offset == pytest.approx(1000.0 - time.monotonic(), abs=1.0)
    await asyncio.sleep(0)


# --- the payload --------------------------------------------------------------------------------------------------


def test_the_command_survives_every_login_shell() -> None:
    argv = agent_argv("python3")
    assert argv == ["python3", "-I", "-S", "-c", STAGE0, str(len(payload()))]
    assert not set("'$!`\\\n\t{}~*?%^#") & set(STAGE0)


def test_the_payload_holds_the_agent_and_nothing_else() -> None:
    import zlib
    from pathlib import Path

    sources = json.loads(zlib.decompress(payload()))
    folder = Path(__file__).parents[2] / "netbench_tui" / "agent"
    names = {path: path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")}
    assert sources == {".".join(name.parts): path.read_text("utf-8") for path, name in names.items()}
    # It crosses the link at every connect: three quarters of a second at 1 Mbit/s. Without comments and docstrings it
    # would be a third less, and taking them out a quarter of a second of the workbench's time.
    assert len(payload()) < 96 << 10
