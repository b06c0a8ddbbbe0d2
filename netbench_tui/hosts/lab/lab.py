"""The built-in lab: two network namespaces of this machine, joined by a veth pair, as two hosts. Used by engine/.

A child process, the keeper, owns everything (keeper.py); this is its owner's side, for asyncio. It installs no signal
handlers and works in any thread with an event loop. Both hosts share this machine's CPUs.
"""

import asyncio
import contextlib
import functools
import json
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType

from netbench_tui.errors import HostUnreachable, LabImpossible
from netbench_tui.hosts.lab import records
from netbench_tui.hosts.lab.plan import HostPlan, KeeperReply, LabPlan, plan_lab
from netbench_tui.hosts.lab.sshd import LabSsh, SshServer, start_servers
from netbench_tui.model.codec import from_plain, to_plain
from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget

__all__ = ["Lab", "LabHost", "LabSsh", "remove_stale_labs"]

remove_stale_labs = records.remove_stale_labs

_ENTER = str(Path(__file__).with_name("enter.py"))

# Building takes about a second, nearly all of it imports; removing waits for processes inside that will not go.
_BUILD_SECONDS = 30.0
_REMOVE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class LabHost:
    """One side of the lab. `addresses` maps an IP version to an address without prefix; `enter` is an argv prefix:
    `enter + ("python3", ...)` runs inside, sees the namespace's NICs in /sys/class/net, and gets SIGTERM when the
    thread that started it ends. So start it from the engine's thread, not from a short-lived one."""

    role: Role
    name: str
    nic: str
    addresses: Mapping[int, str]
    enter: tuple[str, ...]
    ssh: LabSsh | None = None


class Lab:
    """A running lab. `async with await Lab.start(target) as lab`, or `close()` by hand."""

    def __init__(self, keeper: asyncio.subprocess.Process, hosts: Mapping[Role, LabHost]) -> None:
        self.hosts = hosts
        self._keeper = keeper
        self._servers: tuple[SshServer, ...] = ()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, target: LabTarget) -> "Lab":
        """Builds the lab; leavings of killed ones are removed first. Raises LabImpossible or UsageError."""
        plan = plan_lab(target)
        lab = cls(await _start_keeper(), {})
        try:
            reply = await _ask_keeper(lab._keeper, plan)
            lab.hosts = MappingProxyType(_hosts(plan, reply))
            if plan.ssh:
                await lab._start_ssh(Path(reply.key_folder))
            await lab._try_out()
        except BaseException:
            await lab.close()
            raise
        return lab

    async def __aenter__(self) -> "Lab":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Removes the lab and ends what still runs inside; returns when all is gone. May be called again."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._remove())
        await asyncio.shield(self._closing)

    async def open_ssh_socket(self, role: Role) -> socket.socket:
        """A TCP socket connected to the sshd in that host's namespace. Raises HostUnreachable."""
        host = self.hosts[role]
        if host.ssh is None:
            raise HostUnreachable(f"{host.name} runs no sshd.", "Start the lab with --ssh.")
        return await _connect_inside(host, host.ssh.address, host.ssh.port)

    async def _start_ssh(self, folder: Path) -> None:
        enter = {role: host.enter for role, host in self.hosts.items()}
        self._servers = await start_servers(enter, folder)
        facts = {server.role: server.ssh for server in self._servers}
        self.hosts = MappingProxyType(
            {
                role: LabHost(role, host.name, host.nic, host.addresses, host.enter, facts[role])
                for role, host in self.hosts.items()
            }
        )
        for server in self._servers:
            await server.until_ready(functools.partial(self.open_ssh_socket, server.role))

    async def _try_out(self) -> None:
        """A container may forbid the mount that entering needs: said here, not by an agent that will not start."""
        host = self.hosts[Role.SENDER]
        process = await asyncio.create_subprocess_exec(
            *host.enter, "true", stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        _, trouble = await process.communicate()
        if process.returncode:
            reason = trouble.decode("utf-8", "replace").strip()
            raise LabImpossible(
                f"The lab was built, but nothing can run inside: {reason}.",
                "Run it as root on the machine itself; in a container, one that may mount sysfs.",
            )

    async def _remove(self) -> None:
        for server in self._servers:
            await server.stop()
        keeper = self._keeper
        assert keeper.stdin is not None
        keeper.stdin.close()
        try:
            await asyncio.wait_for(keeper.wait(), _REMOVE_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                keeper.kill()
            await keeper.wait()
        if keeper.returncode:
            await asyncio.to_thread(records.remove_stale_labs)


async def _start_keeper() -> asyncio.subprocess.Process:
    """With our own module path, so that it works from an installed wheel, a checkout and a zip alike; -P keeps the
    working folder out of it."""
    paths = [path or str(Path.cwd()) for path in sys.path]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "netbench_tui.hosts.lab.keeper",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


async def _ask_keeper(keeper: asyncio.subprocess.Process, plan: LabPlan) -> KeeperReply:
    """Raises LabImpossible with the keeper's own words, or with its last ones if it died."""
    assert keeper.stdin is not None and keeper.stdout is not None and keeper.stderr is not None
    keeper.stdin.write(json.dumps(to_plain(plan)).encode() + b"\n")
    try:
        with contextlib.suppress(ConnectionError):
            await keeper.stdin.drain()
        line = await asyncio.wait_for(keeper.stdout.readline(), _BUILD_SECONDS)
    except TimeoutError:
        raise LabImpossible(f"The lab was not built within {_BUILD_SECONDS:.0f} s.", "Is the machine busy?") from None
    if not line:
        last = (await keeper.stderr.read()).decode("utf-8", "replace").strip().splitlines()[-1:]
        words = last[0] if last else "without a word"
        raise LabImpossible(f"The lab's keeper ended at once: {words}.", "Please report it.")
    reply = from_plain(KeeperReply, json.loads(line))
    if reply.message:
        raise LabImpossible(reply.message, reply.hint)
    return reply


def _hosts(plan: LabPlan, reply: KeeperReply) -> dict[Role, LabHost]:
    user = ("--user", reply.user_namespace) if reply.user_namespace else ()
    hosts = {}
    for role, host, path in zip(Role, plan.hosts, reply.namespaces, strict=True):
        enter = (sys.executable, "-I", "-S", _ENTER, *user, "--net", path, "--sysfs", "--")
        hosts[role] = LabHost(role, host.name, plan.nic, _addresses(host, reply.families), enter)
    return hosts


def _addresses(host: HostPlan, families: tuple[int, ...]) -> Mapping[int, str]:
    return MappingProxyType({family: host.addresses[family].partition("/")[0] for family in families})


async def _connect_inside(host: LabHost, address: str, port: int) -> socket.socket:
    """The launcher enters, connects, and hands the socket back through its stdin."""
    argv = (*host.enter[: host.enter.index("--sysfs")], "--connect", address, str(port))
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = await asyncio.create_subprocess_exec(*argv, stdin=theirs.fileno(), stderr=asyncio.subprocess.PIPE)
        _, trouble = await process.communicate()
        if process.returncode:
            reason = trouble.decode("utf-8", "replace").strip().removeprefix("enter: ")
            raise HostUnreachable(f"No connection to {host.name}, {address} port {port}: {reason}.")
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    connected = socket.socket(fileno=descriptors[0])
    connected.setblocking(False)
    return connected
