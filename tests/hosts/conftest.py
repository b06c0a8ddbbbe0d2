"""What the transports' tests share: a host that is a script of bytes, and this machine as a host."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from netbench_tui.errors import WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.hosts.payload import payload
from netbench_tui.model.host import Role
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import Reach

DEADLINE_SECONDS = 10.0


class ScriptedChannel:
    """A channel whose other side is the test: `feed` what the host says, take `requests`."""

    def __init__(self, *pieces: bytes, stderr: str = "", status: int | None = None) -> None:
        self.pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self.requests: asyncio.Queue[bytes] = asyncio.Queue()
        self.stderr, self.status, self.closed = stderr, status, False
        self.feed(*pieces)

    def feed(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.pieces.put_nowait(piece)

    async def read(self) -> bytes:
        return b"" if self.closed else await self.pieces.get()

    def write(self, data: bytes) -> None:
        if data != payload():
            self.requests.put_nowait(data)

    def complaint(self) -> str:
        return self.stderr

    async def wait(self, seconds: float) -> int | None:
        return self.status

    async def close(self) -> None:
        self.closed = True
        self.feed(b"")


class ScriptedTransport:
    """Opens the channels that `script(argv)` gives, or raises what it raises."""

    reach, note = Reach.SSH, "scripted"
    pythons: Sequence[str] = ("python3", "/usr/libexec/platform-python")

    def __init__(self, script: Callable[[Sequence[str]], Any], name: str = "alpha") -> None:
        self.script, self.name = script, name
        self.opened: list[list[str]] = []
        self.channels: list[Any] = []
        self.broken: WorkbenchError | None = None

    async def open(self, argv: Sequence[str]) -> Any:
        self.opened.append(list(argv))
        channel = self.script(argv)
        if asyncio.iscoroutine(channel):
            channel = await channel
        self.channels.append(channel)
        return channel

    def breakage(self) -> WorkbenchError | None:
        return self.broken

    async def close(self) -> None:
        for channel in self.channels:
            await channel.close()


class Watched:
    """A HostConnection with what it reported."""

    def __init__(self, transport: Any) -> None:
        self.samples: list[HostSample] = []
        self.lost: list[WorkbenchError] = []
        self.steps: list[str] = []
        self.host = HostConnection(
            Role.SENDER, transport, lambda _, sample: self.samples.append(sample), lambda _, e: self.lost.append(e)
        )

    async def connect(self) -> HostConnection:
        await self.host.connect(self.steps.append)
        return self.host


async def poll(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.005)
    return found


@pytest.fixture
def eventually() -> Callable[..., Awaitable[Any]]:
    return poll


@pytest.fixture
def scripted_channel() -> type[ScriptedChannel]:
    return ScriptedChannel


@pytest.fixture
def scripted_transport() -> type[ScriptedTransport]:
    return ScriptedTransport


@pytest.fixture
async def watch() -> AsyncIterator[Callable[[Any], Watched]]:
    """Wraps a transport; its connection is closed after the test."""
    made: list[Watched] = []

    def wrap(transport: Any) -> Watched:
        made.append(Watched(transport))
        return made[-1]

    yield wrap
    for watched in made:
        await watched.host.close()


@pytest.fixture
async def local(watch: Callable[[Any], Watched]) -> Watched:
    """This machine, connected."""
    watched = watch(LocalTransport("here"))
    await watched.connect()
    return watched
