"""This machine, or a lab host on it: the agent as a child process. `prefix` enters a namespace (see lab/enter.py)."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence

from netbench_tui.errors import WorkbenchError
from netbench_tui.hosts.transport import STDERR_KEPT, Channel
from netbench_tui.model.session import Reach

READ_SIZE = 1 << 18
# The agent ends its children within half a second of losing its input; then there is nothing to wait for.
CLOSE_SECONDS = 1.5


class LocalChannel:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.stderr = b""
        self.reader = asyncio.create_task(self._keep_stderr())

    async def _keep_stderr(self) -> None:
        assert self.process.stderr
        while data := await self.process.stderr.read(READ_SIZE):
            self.stderr = (self.stderr + data)[-STDERR_KEPT:]

    async def read(self) -> bytes:
        assert self.process.stdout
        return await self.process.stdout.read(READ_SIZE)

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        if not self.process.stdin.is_closing():
            self.process.stdin.write(data)

    def complaint(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    async def wait(self, seconds: float) -> int | None:
        try:
            async with asyncio.timeout(seconds):
                await self.reader
                return await self.process.wait()
        except TimeoutError:
            return None

    async def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        if await self.wait(CLOSE_SECONDS) is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        self.reader.cancel()


class LocalTransport:
    """Runs commands on this machine. `name` is what the screens call the host."""

    def __init__(self, name: str, reach: Reach = Reach.LOCAL, prefix: Sequence[str] = ()) -> None:
        self.name, self.reach, self.prefix = name, reach, tuple(prefix)

    @property
    def pythons(self) -> Sequence[str]:
        return (sys.executable,)

    @property
    def note(self) -> str:
        return "on this machine"

    async def open(self, argv: Sequence[str]) -> Channel:
        """Raises FileNotFoundError if the program does not exist (e.g. sudo)."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self.prefix,
            *argv,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=READ_SIZE,
            start_new_session=True,  # Ctrl-C belongs to the workbench, which ends the agent in order
            env={**os.environ, "LC_ALL": "C"},
        )
        return LocalChannel(process)

    def breakage(self) -> WorkbenchError | None:
        return None

    async def close(self) -> None:
        return None
