"""Talks to one agent over one channel: requests with answers, ticks and process events. Used by connection.py.

Everything that comes from the host is checked here; a host that breaks the protocol is an AgentDied, never a crash.
"""

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

from netbench_tui.errors import AgentDied, HostRefused, WorkbenchError
from netbench_tui.hosts.payload import PROTOCOL, payload
from netbench_tui.hosts.transport import Channel
from netbench_tui.model.units import plain

# A login shell with a version manager takes half a minute on an emulated host; a dead link is noticed by keepalive.
HELLO_SECONDS = 60.0
# Any request is answered in milliseconds; this long without one means that the host hangs.
ANSWER_SECONDS = 15.0
# What a login shell may print before the agent speaks.
BANNER_BYTES = 1 << 16
# A line of 512 CPUs and 2,000 IRQs is some 50 KB; one of this size is no tick.
LONGEST_LINE = 1 << 24

Message = Mapping[str, Any]


class AgentClient:
    """`on_tick(message)` for each tick, `on_restored(message)` when the host put settings back by itself;
    `on_lost(error)` once, when the channel ended without being closed by us."""

    def __init__(
        self,
        name: str,
        channel: Channel,
        on_tick: Callable[[Message], None],
        on_lost: Callable[[WorkbenchError], None],
        on_restored: Callable[[Message], None] = lambda _: None,
    ) -> None:
        self.name, self.channel, self.on_tick, self.on_lost = name, channel, on_tick, on_lost
        self.on_restored = on_restored
        self.hello: Message = {}
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._processes: dict[str, Callable[[Message], None]] = {}
        self._buffer = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    async def start(self) -> Message:
        """Sends the agent and waits for its hello. Raises AgentDied with the host's last words."""
        self.channel.write(payload())
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                self.hello = await self._first_hello()
        except TimeoutError:
            raise AgentDied(
                f"{self.name}: the agent did not start within {HELLO_SECONDS:.0f} s{self._last_words()}",
                "log in by hand and see whether python3 starts there",
            ) from None
        if self.hello.get("protocol") != PROTOCOL:
            raise AgentDied(f"{self.name}: the agent speaks protocol {self.hello.get('protocol')!r}, not {PROTOCOL}")
        self._task = asyncio.create_task(self._listen())
        return self.hello

    async def _first_hello(self) -> Message:
        skipped = 0
        while data := await self.channel.read():
            for line in self._lines(data):
                message = _decode(line)
                if message is not None and message.get("ev") == "hello":
                    return message
                skipped += len(line)
            if skipped + len(self._buffer) > BANNER_BYTES:
                raise AgentDied(f"{self.name}: the login prints without end", "quiet its shell's start-up files")
        await self.channel.wait(2)
        raise AgentDied(f"{self.name}: the agent ended before it spoke{self._last_words()}")

    def _last_words(self) -> str:
        lines = [plain(line) for line in self.channel.complaint().splitlines() if line.strip()]
        return f": {lines[-1]}" if lines else ""

    def _lines(self, data: bytes) -> list[bytes]:
        """The lines that end in `data`; what begins there is kept, and looked through no more until it ends."""
        self._buffer += data
        if b"\n" not in data:
            return []
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = bytearray(rest)
        return [bytes(line) for line in lines]

    async def _listen(self) -> None:
        error: WorkbenchError | None = None
        try:
            while data := await self.channel.read():
                for line in self._lines(data):
                    self._dispatch(line)
                if len(self._buffer) > LONGEST_LINE:
                    raise AgentDied(f"{self.name}: the agent sends a line without end")
        except WorkbenchError as broken:
            error = broken
        except Exception as broken:  # a listener that dies unseen would leave every asker waiting
            error = AgentDied(f"{self.name}: what the agent sent cannot be handled: {type(broken).__name__}: {broken}")
        if self._closing:
            self._fail_waiting(AgentDied(f"{self.name}: the connection was closed"))
            return
        status = await self.channel.wait(1)
        ended = f" with status {status}" if status is not None else ""
        error = error or AgentDied(
            f"{self.name}: the agent ended{ended}{self._last_words()}", "connect again; what it started was ended"
        )
        self._fail_waiting(error)
        self.on_lost(error)

    def _fail_waiting(self, error: WorkbenchError) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
                future.exception()  # its asker may be gone already: no complaint about an unread error
        self._waiting.clear()
        for handler in list(self._processes.values()):
            handler({"ev": "gone", "text": error.message})
        self._processes.clear()

    def _dispatch(self, line: bytes) -> None:
        message = _decode(line)
        if message is None:
            raise AgentDied(
                f"{self.name}: the agent sent what is not JSON: {plain(line[:80].decode(errors='replace'))}"
            )
        event = message.get("ev")
        if event == "tick":
            self.on_tick(message)
        elif event == "restored":
            self.on_restored(message)
        elif event in ("out", "exit"):
            key = str(message.get("key"))
            handler = self._processes.pop(key, None) if event == "exit" else self._processes.get(key)
            if handler:
                handler(message)
        elif "re" in message:
            future = self._waiting.pop(message["re"], None) if isinstance(message["re"], int) else None
            if future and not future.done():
                future.set_result(message)

    async def request(self, operation: str, within: float | None = None, **arguments: Any) -> Message:
        """The `ok` object of the answer, if it comes `within` so many seconds. Raises HostRefused (the host's own
        error), AgentDied or HostLost."""
        if self._closing or self._task is None or self._task.done():
            raise AgentDied(f"{self.name}: the agent is not running", "connect again")
        number, patience = next(self._numbers), ANSWER_SECONDS if within is None else within
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self.channel.write(json.dumps({"id": number, "op": operation, **arguments}).encode() + b"\n")
        try:
            async with asyncio.timeout(patience):
                answer = await future
        except TimeoutError:
            raise AgentDied(f"{self.name}: no answer to {operation} within {patience:.0f} s", "connect again") from None
        finally:
            self._waiting.pop(number, None)
        if isinstance(refusal := answer.get("error"), dict):
            raise HostRefused(f"{self.name}: {plain(str(refusal.get('text')))}", code=str(refusal.get("code")))
        granted = answer.get("ok")
        if not isinstance(granted, dict):
            raise AgentDied(f"{self.name}: the answer to {operation} cannot be read")
        return granted

    def listen_to(self, key: str, handler: Callable[[Message], None]) -> None:
        """Calls `handler` with the `out` and `exit` events of process `key`, and with `gone` if the agent is lost."""
        if key in self._processes:
            raise ValueError(f"process key {key!r} is in use")
        self._processes[key] = handler

    def forget(self, key: str) -> None:
        """Takes back `listen_to`: the process was not started."""
        self._processes.pop(key, None)

    async def close(self) -> None:
        """Ends the agent and with it all that it started on the host."""
        self._closing = True
        await self.channel.close()
        if self._task:
            await asyncio.wait([self._task], timeout=2)
            self._task.cancel()
        # Of a channel that hangs the listener did not see the end.
        self._fail_waiting(AgentDied(f"{self.name}: the connection was closed"))


def _decode(line: bytes) -> Message | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
