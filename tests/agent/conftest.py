"""What the agent's tests share: an agent on plain pipes, without any of the client's code but the payload."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.hosts.payload import READY, agent_argv, payload

DEADLINE_SECONDS = 10.0
Message = dict[str, Any]


def poll(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.005)
    return found


def state(pid: int) -> str:
    """The process's state letter; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


class PipedAgent:
    """One agent; a thread reads its messages. `reading` cleared makes this a reader that does not read."""

    def __init__(self, python: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(agent_argv(python), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self.messages: list[Message] = []
        self.reading = threading.Event()
        self.reading.set()
        self.number = 0
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.send_bytes(payload())
        self.thread.start()
        self.hello = self.event("hello")

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self) -> None:
        assert self.process.stdout
        rest = b""
        while data := os.read(self.process.stdout.fileno(), 1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            self.messages += [json.loads(line) for line in lines if line and line != READY.encode()]
            self.reading.wait()

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin
        while data:
            data = data[self.process.stdin.write(data) or 0 :]

    def send(self, operation: Any, **arguments: Any) -> int:
        self.number += 1
        self.send_bytes(json.dumps({"id": self.number, "op": operation, **arguments}).encode() + b"\n")
        return self.number

    def find(self, wanted: Callable[[Message], bool], what: str, seconds: float = DEADLINE_SECONDS) -> Message:
        found: Message = poll(lambda: next(filter(wanted, list(self.messages)), None), what, seconds)
        return found

    def event(self, name: str, key: str | None = None) -> Message:
        return self.find(lambda m: m.get("ev") == name and key in (None, m.get("key")), f"event {name} {key or ''}")

    def ask(self, operation: Any, **arguments: Any) -> Message:
        """The whole answer, with `ok` or `error`."""
        number = self.send(operation, **arguments)
        return self.find(lambda m: m.get("re") == number, f"an answer to {operation}")

    def ok(self, operation: str, **arguments: Any) -> Message:
        answer = self.ask(operation, **arguments)
        assert "ok" in answer, answer
        granted: Message = answer["ok"]
        return granted

    def refused(self, operation: Any, **arguments: Any) -> Message:
        error: Message = self.ask(operation, **arguments)["error"]
        return error

    def output(self, key: str, descriptor: int = 1) -> str:
        said = [m for m in list(self.messages) if m.get("ev") == "out" and m["key"] == key]
        pieces = [m["text"] for m in said if m["fd"] == descriptor]
        return "".join(pieces)

    def ticks(self, kind: str | None = None) -> list[Message]:
        return [m for m in list(self.messages) if m.get("ev") == "tick" and kind in (None, m["kind"])]

    def close_stdin(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def end(self) -> None:
        self.reading.set()
        if self.process.stdin and not self.process.stdin.closed:
            self.close_stdin()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.thread.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


@pytest.fixture
def start_agent() -> Iterator[Callable[..., PipedAgent]]:
    """Starts an agent with that interpreter, by default the one that runs the tests."""
    started: list[PipedAgent] = []

    def start(python: str = sys.executable) -> PipedAgent:
        started.append(PipedAgent(python))
        return started[-1]

    yield start
    for agent in started:
        agent.end()


@pytest.fixture
def agent(start_agent: Callable[..., PipedAgent]) -> PipedAgent:
    return start_agent()


@pytest.fixture(scope="module")
def lasting_agent() -> Iterator[PipedAgent]:
    """One agent for a whole file, for tests that must not harm it."""
    agent = PipedAgent(sys.executable)
    yield agent
    agent.end()


@pytest.fixture
def eventually() -> Callable[..., Any]:
    return poll


@pytest.fixture
def process_state() -> Callable[[int], str]:
    return state


@pytest.fixture
def stubborn() -> Iterator[list[str]]:
    """A program that ignores SIGTERM, as does its grandchild; it prints both process ids. Ended by pid afterwards."""
    yield [
        sys.executable,
        "-S",
        "-c",
        "import os,signal,time\n"
        "signal.signal(signal.SIGTERM,signal.SIG_IGN)\n"
        "child=os.fork()\n"
        "if child: os.write(1,b'%d %d\\n'%(os.getpid(),child))\n"
        "time.sleep(300)",
    ]


@pytest.fixture
def end_processes() -> Iterator[list[int]]:
    """Process ids put in here are killed at the end of the test, should the agent have failed to."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        if state(pid):
            os.kill(pid, signal.SIGKILL)
