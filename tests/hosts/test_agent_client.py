"""The agent's client against hosts that break the protocol: an error with words, never a crash and never a hang."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from netbench_tui.errors import AgentDied, HostRefused, WorkbenchError
from netbench_tui.hosts import client as client_module
from netbench_tui.hosts.client import AgentClient
from netbench_tui.hosts.process import RemoteProcess
from netbench_tui.model.host import Role

HELLO = b'{"ev": "hello", "protocol": 1, "uid": 0, "pid": 7}\n'


class Told:
    def __init__(self) -> None:
        self.ticks: list[Any] = []
        self.lost: list[WorkbenchError] = []
        self.fault: Exception | None = None

    def tick(self, message: Any) -> None:
        if self.fault:
            raise self.fault
        self.ticks.append(message)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def meet(told: Told) -> Callable[[Any], AgentClient]:
    return lambda channel: AgentClient("alpha", channel, told.tick, told.lost.append)


async def answer_next(channel: Any, **fields: Any) -> None:
    """Waits for a request and answers it with these fields."""
    request = json.loads(await asyncio.wait_for(channel.requests.get(), 5))
    channel.feed(json.dumps({"re": request["id"], **fields}).encode() + b"\n")


async def test_hello_after_a_banner(meet: Any, scripted_channel: Any) -> None:
    banner = b"Welcome to alpha\r\n{not json}\n[1]\n\x1b]0;title\x07\n"
    client = meet(scripted_channel(banner[:9], banner[9:] + HELLO[:5], HELLO[5:]))
    assert (await client.start())["pid"] == 7
    await client.close()


@pytest.mark.parametrize(
    ("pieces", "stderr", "sentence"),
    [
        ((b"",), "", "alpha: the agent ended before it spoke"),
        ((b"",), "Traceback ...\nImportError: zlib\n", "alpha: the agent ended before it spoke: ImportError: zlib"),
        ((b"",), "\x1b[31mred\n", "alpha: the agent ended before it spoke: ?[31mred"),
        ((b"x" * 70000 + b"\n",), "", "alpha: the login prints without end"),
        ((b"x" * 40000,) * 2, "", "alpha: the login prints without end"),
        ((b'{"ev": "hello", "protocol": 2}\n',), "", "alpha: the agent speaks protocol 2, not 1"),
        ((b'{"ev": "hello"}\n',), "", "alpha: the agent speaks protocol None, not 1"),
    ],
)
async def test_no_good_hello(meet: Any, scripted_channel: Any, pieces: Any, stderr: str, sentence: str) -> None:
    with pytest.raises(AgentDied) as caught:
        await meet(scripted_channel(*pieces, stderr=stderr)).start()
    assert caught.value.message == sentence
    assert caught.value.exit_code == 15


async def test_no_hello_at_all(meet: Any, scripted_channel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "HELLO_SECONDS", 0.05)
    with pytest.raises(AgentDied, match="did not start within"):
        await meet(scripted_channel(b"Last login: today\n")).start()


@pytest.mark.parametrize(
    ("piece", "sentence"),
    [
        (b"garbage \x1b[2J\n", "alpha: the agent sent what is not JSON: garbage ?[2J"),
        (b"[" * 100_000 + b"\n", "alpha: the agent sent what is not JSON: "),
        (b"\xff\xfe\n", "alpha: the agent sent what is not JSON: "),
        (b"17\n", "alpha: the agent sent what is not JSON: 17"),
        (b"x" * 3000, "alpha: the agent sends a line without end"),
    ],
)
async def test_garbage_in_mid_stream_is_a_dead_agent(
    meet: Any, told: Told, scripted_channel: Any, eventually: Any, monkeypatch: Any, piece: bytes, sentence: str
) -> None:
    monkeypatch.setattr(client_module, "LONGEST_LINE", 2000)
    channel = scripted_channel(HELLO)
    client = meet(channel)
    await client.start()
    waiting = asyncio.create_task(client.request("inspect"))
    await asyncio.sleep(0)
    channel.feed(piece)
    await eventually(lambda: told.lost, "the loss")
    assert told.lost[0].message.startswith(sentence)
    with pytest.raises(AgentDied):
        await waiting
    with pytest.raises(AgentDied, match="not running"):
        await client.request("ping")
    assert len(told.lost) == 1


async def test_an_unexpected_error_in_a_handler_is_told_and_not_swallowed(
    meet: Any, told: Told, scripted_channel: Any, eventually: Any
) -> None:
    channel = scripted_channel(HELLO)
    client = meet(channel)
    await client.start()
    told.fault = ZeroDivisionError("oops")
    channel.feed(b'{"ev": "tick"}\n')
    await eventually(lambda: told.lost, "the loss")
    assert told.lost[0].message == "alpha: what the agent sent cannot be handled: ZeroDivisionError: oops"


async def test_answers_to_nobody_and_unknown_events_are_ignored(meet: Any, told: Told, scripted_channel: Any) -> None:
    channel = scripted_channel(HELLO)
    client = meet(channel)
    await client.start()
    channel.feed(b'{"re": 99, "ok": {}}\n{"re": [1], "ok": {}}\n{"re": null}\n{"ev": "dance"}\n{"ev": "out"}\n{}\n')
    asking = asyncio.create_task(client.request("ping"))
    await answer_next(channel, ok={"t": 1.5})
    assert await asking == {"t": 1.5}
    assert not told.lost
    await client.close()


async def test_the_hosts_own_error_is_a_refusal_with_its_code(meet: Any, scripted_channel: Any) -> None:
    channel = scripted_channel(HELLO)
    client = meet(channel)
    await client.start()
    asking = asyncio.create_task(client.request("spawn"))
    await answer_next(channel, error={"code": "ENOENT", "text": "No such file\x07"})
    with pytest.raises(HostRefused) as caught:
        await asking
    assert (caught.value.code, caught.value.message) == ("ENOENT", "alpha: No such file?")
    await client.close()


@pytest.mark.parametrize("fields", [{}, {"ok": None}, {"ok": 5}, {"error": "text"}, {"error": None}])
async def test_an_answer_without_sense_is_a_dead_agent(meet: Any, scripted_channel: Any, fields: Any) -> None:
    channel = scripted_channel(HELLO)
    client = meet(channel)
    await client.start()
    asking = asyncio.create_task(client.request("ping"))
    await answer_next(channel, **fields)
    with pytest.raises(AgentDied, match="the answer to ping cannot be read"):
        await asking
    await client.close()


async def test_no_answer(meet: Any, scripted_channel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "ANSWER_SECONDS", 0.05)
    client = meet(scripted_channel(HELLO))
    await client.start()
    with pytest.raises(AgentDied, match="alpha: no answer to inspect within"):
        await client.request("inspect")
    assert not client._waiting
    await client.close()


async def test_the_end_fails_all_askers_and_tells_processes(
    meet: Any, told: Told, scripted_channel: Any, eventually: Any
) -> None:
    channel = scripted_channel(HELLO, stderr="Killed\n", status=-9)
    client = meet(channel)
    await client.start()
    heard: list[Any] = []
    client.listen_to("p", heard.append)
    askers = [asyncio.create_task(client.request("ping")) for _ in range(3)]
    await asyncio.sleep(0)
    channel.feed(b"")
    results = await asyncio.gather(*askers, return_exceptions=True)
    sentence = "alpha: the agent ended with status -9: Killed"
    assert [str(getattr(result, "message", result)) for result in results] == [sentence] * 3
    assert heard == [{"ev": "gone", "text": sentence}]
    assert [error.message for error in told.lost] == [sentence]


async def test_closing_is_no_loss(meet: Any, told: Told, scripted_channel: Any) -> None:
    channel = scripted_channel(HELLO)
    client = meet(channel)
    await client.start()
    asking = asyncio.create_task(client.request("ping"))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(AgentDied, match="closed"):
        await asking
    assert not told.lost


async def test_a_process_that_is_refused_leaves_no_listener(meet: Any, scripted_channel: Any) -> None:
    channel = scripted_channel(HELLO)
    client = meet(channel)
    await client.start()
    process = RemoteProcess(client, "p", Role.SENDER, "iperf3", ("iperf3",))
    for fields in ({"error": {"code": "ENOENT", "text": "no"}}, {"ok": {"cpus": "x"}}, {"ok": {"cpus": [0]}}, {}):
        starting = asyncio.create_task(process.start({"argv": ["iperf3"]}, ()))
        await answer_next(channel, **fields)
        with pytest.raises((HostRefused, AgentDied)):
            await starting
        assert not client._processes
    await client.close()


async def test_a_key_is_listened_to_once(meet: Any, scripted_channel: Any) -> None:
    client = meet(scripted_channel(HELLO))
    client.listen_to("p", print)
    with pytest.raises(ValueError, match="in use"):
        client.listen_to("p", print)
    client.forget("p")
    client.listen_to("p", print)


async def test_output_of_a_process_is_kept_to_a_bound(meet: Any, scripted_channel: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("netbench_tui.hosts.process.OUTPUT_KEPT", 10)
    process = RemoteProcess(meet(scripted_channel()), "p", Role.SENDER, "x", ("x",))
    for _ in range(5):
        process._event({"ev": "out", "fd": 1, "t": 0, "text": "1234"})
    assert process.output().stdout == "12341234"
