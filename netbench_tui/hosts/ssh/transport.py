"""Commands over one SSH connection. Made by `SshTransport.connect`; used by engine/reach.py.

asyncssh is imported in this package alone, and the package late.
"""

import asyncio
import contextlib
import shlex
import socket
from collections.abc import Sequence

import asyncssh

from netbench_tui.errors import HostLost, WorkbenchError
from netbench_tui.hosts.ssh.dial import Dialled, SshAccess, SshSettings, dial
from netbench_tui.hosts.ssh.failures import words
from netbench_tui.hosts.transport import STDERR_KEPT, Channel
from netbench_tui.model.session import Reach
from netbench_tui.model.units import plain

READ_SIZE = 1 << 18
CLOSE_SECONDS = 1.5
# `python3` first, as Ansible does; RHEL 8 without its python3 package has the other.
PYTHONS = ("python3", "/usr/libexec/platform-python")


class SshChannel:
    def __init__(self, process: "asyncssh.SSHClientProcess[bytes]", quick: socket.socket | None) -> None:
        self.process, self.quick = process, quick
        self.stderr = b""
        self.reader = asyncio.create_task(self._keep_stderr())

    async def _keep_stderr(self) -> None:
        with contextlib.suppress(asyncssh.Error, OSError):
            while data := await self.process.stderr.read(READ_SIZE):
                self.stderr = (self.stderr + data)[-STDERR_KEPT:]

    async def read(self) -> bytes:
        try:
            return await self.process.stdout.read(READ_SIZE)
        except (asyncssh.Error, OSError):
            return b""

    def write(self, data: bytes) -> None:
        quicken(self.quick)
        with contextlib.suppress(BrokenPipeError, asyncssh.Error, OSError):
            self.process.stdin.write(data)

    def complaint(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    async def wait(self, seconds: float) -> int | None:
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait_closed()
                await self.reader
        except (TimeoutError, asyncssh.Error, OSError):
            return None
        return self.process.returncode

    async def close(self) -> None:
        with contextlib.suppress(BrokenPipeError, asyncssh.Error, OSError):
            self.process.stdin.write_eof()
        await self.wait(CLOSE_SECONDS)
        self.process.close()
        self.reader.cancel()


def quicken(handle: socket.socket | None) -> None:
    """Without TCP_QUICKACK, Nagle and the delayed ACK hold a request for 40 ms; the kernel forgets it: set it often."""
    if handle is not None:
        with contextlib.suppress(OSError):
            handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


class SshTransport:
    """One SSH connection to one host; channels on it run commands."""

    pythons: Sequence[str] = PYTHONS

    def __init__(self, name: str, dialled: Dialled, reach: Reach = Reach.SSH) -> None:
        self.name, self.reach = name, reach
        self.connection, self.witness, self.carriers = dialled.connection, dialled.login, dialled.carriers
        handle = self.connection.get_extra_info("socket")
        self.quick: socket.socket | None = handle if hasattr(handle, "setsockopt") else None
        quicken(self.quick)

    @classmethod
    async def connect(cls, name: str, settings: SshSettings, access: SshAccess | None = None) -> "SshTransport":
        """`access` leads into the lab, where no ssh_config does. Raises the errors of errors.py."""
        return cls(name, await dial(name, settings, access), Reach.LAB if access else Reach.SSH)

    @property
    def note(self) -> str:
        return plain(str(self.connection.get_extra_info("server_version") or ""))

    async def open(self, argv: Sequence[str]) -> Channel:
        """The login shell on the other side sees one quoted line; `exec` keeps it from staying between us."""
        command = "exec " + shlex.join(argv)
        try:
            process = await self.connection.create_process(command, encoding=None)
        except (asyncssh.Error, OSError) as error:
            raise self.breakage() or HostLost(f"{self.name}: no channel could be opened: {words(error)}") from None
        return SshChannel(process, self.quick)

    def breakage(self) -> WorkbenchError | None:
        if not self.witness.over:
            return None
        why = words(self.witness.lost) if self.witness.lost else "closed by the host"
        return HostLost(
            f"{self.name}: the connection was lost: {why}", "see whether the host is up, then connect again"
        )

    async def close(self) -> None:
        self.connection.close()
        with contextlib.suppress(TimeoutError, asyncssh.Error, OSError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.connection.wait_closed()
        for carrier in reversed(self.carriers):
            carrier.close()
