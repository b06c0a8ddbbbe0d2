"""What the agent's tests share: an agent on plain pipes, without any of the client's code but the payload."""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.changes import reports
from netbench_tui.hosts.lab import kernel
from netbench_tui.hosts.payload import READY, agent_argv, payload

# The tests of this folder share modules that are no tests.
sys.path.append(str(Path(__file__).parent))
DEADLINE_SECONDS = 10.0
CLONE_NEWNS = 0x00020000
Message = dict[str, Any]

bench, guardians = (getattr(importlib.import_module("driver_on_paper"), name) for name in ("bench", "guardians"))


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


class Namespace:
    """A network namespace of one thread, with a /sys of its own: what runs or is read by it sees that one alone. It is
    gone with its last process."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1)
        self.call(self._enter)

    def _enter(self) -> None:
        kernel.unshare(kernel.CLONE_NEWNET | CLONE_NEWNS)
        for words in (["mount", "--make-rslave", "/"], ["mount", "-t", "sysfs", "sysfs", "/sys"]):
            subprocess.run(words, check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.thread.submit(function, *arguments).result()

    def run(self, *argv: str) -> str:
        """What a program prints inside; it must succeed."""
        done = self.call(lambda: subprocess.run(argv, check=True, capture_output=True, text=True))
        return str(done.stdout)

    def read(self, path: str) -> str:
        return str(self.call(Path(path).read_text)).strip()

    def write(self, path: str, text: str) -> None:
        self.call(Path(path).write_text, text)

    def members(self) -> list[int]:
        """The processes inside that have not ended."""
        ours = self.call(os.readlink, "/proc/thread-self/ns/net")
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns/net") == ours:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    if os.geteuid():
        pytest.skip("a network namespace needs root")
    made = Namespace()
    yield made
    poll(lambda: not made.members(), "nothing runs in the namespace any more")
    made.call(reports.take)
    made.thread.shutdown()


@pytest.fixture
def start_inside(namespace: Namespace, start_agent: Callable[..., PipedAgent]) -> Callable[..., PipedAgent]:
    """Starts an agent in the test's own namespace."""
    return lambda: namespace.call(start_agent)


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


@pytest.fixture
def plant(tmp_path: Path) -> Callable[[Mapping[str, str]], str]:
    """Writes a file tree as a host would show it, {path: text}, where `-> target` makes a link; gives its root."""

    def write(files: Mapping[str, str]) -> str:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("-> "):
                path.symlink_to(text[3:])
            else:
                path.write_text(text)
        return str(tmp_path)

    return write
