"""The built-in TCP generator: real connections on loopback, through the agent, and what breaks them."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

MODULE = str(Path(__file__).parents[2] / "netbench_tui" / "agent")


class Pair:
    """A receiver `in` and a sender `out` on one agent."""

    def __init__(self, agent: Any, streams: int, address: str = "127.0.0.1") -> None:
        self.agent = agent
        self.port = agent.ok("port", address=address)["port"]
        self.common = {"address": address, "port": self.port, "streams": streams}

    def receive(self) -> int:
        pid: int = self.agent.ok("spawn", key="in", stream={"role": "receive", **self.common})["pid"]
        self.agent.ok("listening", port=self.port, key="in", patience=5)
        return pid

    def send(self, seconds: float, message: int = 65536, **more: Any) -> int:
        stream = {"role": "send", **self.common, "message": message, "seconds": seconds, **more}
        pid: int = self.agent.ok("spawn", key="out", stream=stream)["pid"]
        return pid

    def said(self, key: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.agent.output(key).splitlines()]

    def last(self, key: str) -> dict[str, Any]:
        return self.said(key)[-1]


@pytest.mark.parametrize(("streams", "address"), [(1, "127.0.0.1"), (4, "127.0.0.1"), (2, "::1")])
def test_both_ends_count_the_same_bytes(agent: Any, streams: int, address: str) -> None:
    if ":" in address and not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 here")
    pair = Pair(agent, streams, address)
    pair.receive()
    pair.send(0.7, source=address)
    assert [agent.event("exit", key)["code"] for key in ("out", "in")] == [0, 0]
    for key in ("in", "out"):
        start, *intervals, end = pair.said(key)
        assert start["streams"] == streams
        assert start["mss"] > 500
        moments = [interval["interval"][:2] for interval in intervals]
        assert moments[0][0] == 0
        assert all(before[1] == after[0] for before, after in itertools.pairwise(moments))
        assert all(0.05 < stop - begin < 0.5 for begin, stop in moments)
        assert sum(interval["interval"][2] for interval in intervals) <= end["end"][1]
        resent = [interval["interval"][3] for interval in intervals] + [end["end"][2]]
        assert all(isinstance(value, int) for value in resent) if key == "out" else set(resent) == {None}
    assert pair.last("in")["end"][1] == pair.last("out")["end"][1] > 1_000_000
    assert pair.last("out")["end"][0] == pytest.approx(0.7, abs=0.4)


def test_messages_of_one_byte(agent: Any) -> None:
    pair = Pair(agent, 1)
    pair.receive()
    pair.send(0.3, message=1)
    agent.event("exit", "out"), agent.event("exit", "in")
    assert pair.last("in")["end"][1] == pair.last("out")["end"][1] > 100


def test_strangers_are_not_counted(agent: Any) -> None:
    pair = Pair(agent, 2)
    pair.receive()
    silent = socket.create_connection(("127.0.0.1", pair.port))
    with socket.create_connection(("127.0.0.1", pair.port)) as rude:
        rude.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    pair.send(0.3)
    assert [agent.event("exit", key)["code"] for key in ("out", "in")] == [0, 0]
    assert pair.last("in")["end"][1] == pair.last("out")["end"][1]
    assert pair.said("in")[0]["streams"] == 2
    silent.close()


def test_a_killed_receiver_breaks_the_sender_at_once(agent: Any, eventually: Any) -> None:
    pair = Pair(agent, 3)
    receiver = pair.receive()
    pair.send(60)
    eventually(lambda: len(pair.said("in")) > 2, "intervals")
    os.kill(receiver, signal.SIGKILL)
    began = time.monotonic()
    assert agent.event("exit", "in")["signal"] == signal.SIGKILL
    assert agent.event("exit", "out")["code"] == 1
    assert time.monotonic() - began < 3
    assert "streams broke" in pair.last("out")["error"]
    assert "stream " in agent.output("out", 2)


def test_a_killed_sender_ends_the_receiver(agent: Any, eventually: Any) -> None:
    pair = Pair(agent, 2)
    pair.receive()
    sender = pair.send(60)
    eventually(lambda: len(pair.said("in")) > 2, "intervals")
    os.kill(sender, signal.SIGKILL)
    assert agent.event("exit", "out")["signal"] == signal.SIGKILL
    agent.event("exit", "in")
    assert {"end", "error"} & set(pair.last("in"))


def test_a_killed_worker_is_a_broken_stream_and_no_hang(agent: Any, eventually: Any) -> None:
    pair = Pair(agent, 2)
    receiver = pair.receive()
    pair.send(60)
    eventually(lambda: len(pair.said("in")) > 2, "intervals")
    workers = Path(f"/proc/{receiver}/task/{receiver}/children").read_text().split()
    os.kill(int(workers[0]), signal.SIGKILL)
    assert agent.event("exit", "in")["code"] == 1
    assert agent.event("exit", "out")["code"] == 1
    assert pair.last("in") == {"error": "1 of 2 streams broke"}


def test_nobody_listens(agent: Any) -> None:
    pair = Pair(agent, 1)
    pair.send(1)
    assert agent.event("exit", "out")["code"] == 1
    assert pair.said("out") == [{"error": "Connection refused"}]


def test_the_port_is_taken(agent: Any) -> None:
    pair = Pair(agent, 1)
    with socket.create_server(("127.0.0.1", pair.port)):
        agent.ok("spawn", key="in", stream={"role": "receive", **pair.common})
        assert agent.event("exit", "in")["code"] == 1
    assert pair.said("in") == [{"error": "Address already in use"}]


def test_pinned_streams_stay_on_their_cpus(agent: Any, eventually: Any) -> None:
    cpu = min(os.sched_getaffinity(0))
    pair = Pair(agent, 1)
    pid = agent.ok("spawn", key="in", stream={"role": "receive", **pair.common}, cpus=[cpu])["pid"]
    agent.ok("listening", port=pair.port, key="in", patience=5)
    pair.send(5)
    children = eventually(lambda: Path(f"/proc/{pid}/task/{pid}/children").read_text().split(), "a worker")
    assert os.sched_getaffinity(int(children[0])) == {cpu}


def impatient(stream: dict[str, Any], patience: float = 0.5) -> "subprocess.Popen[str]":
    """The generator alone, in a process of its own, with less patience than the real one has."""
    program = (
        f"import sys; sys.path.insert(0, {MODULE!r}); import streams\n"
        f"streams.PATIENCE_SECONDS = streams.GREETING_SECONDS = {patience}\n"
        f"streams.prepare({stream!r}, lambda: None)()"
    )
    return subprocess.Popen(
        [sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def last_line(process: "subprocess.Popen[str]") -> dict[str, Any]:
    output, _ = process.communicate(timeout=10)
    message: dict[str, Any] = json.loads(output.splitlines()[-1])
    return message


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_receiver_whom_nobody_calls_gives_up() -> None:
    receiver = impatient({"role": "receive", "address": "127.0.0.1", "port": free_port(), "streams": 2})
    assert last_line(receiver)["error"].startswith("0 of 2 streams connected")
    assert receiver.returncode == 1


def test_a_receiver_whose_sender_falls_silent_gives_up(eventually: Any) -> None:
    port = free_port()
    receiver = impatient({"role": "receive", "address": "127.0.0.1", "port": port, "streams": 1}, 1.0)

    def connected() -> socket.socket | None:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            return None

    with eventually(connected, "the receiver") as sender:
        sender.sendall(b"netbench-stream\n" + b"x" * 1000)
        assert last_line(receiver) == {"error": "1 of 1 streams broke"}


def test_a_sender_whose_receiver_does_not_read_gives_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        stream = {
            "role": "send",
            "address": "127.0.0.1",
            "port": port,
            "streams": 1,
            "message": 1 << 16,
            "seconds": 0.3,
        }
        sender = impatient(stream)
        accepted, _ = server.accept()
        assert last_line(sender) == {"error": "1 of 1 streams broke"}
        accepted.close()
