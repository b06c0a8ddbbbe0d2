"""SSH through asyncssh, as the user's ssh_config says. asyncssh is imported here and in trust.py alone, and these late.

Every way in which a connection fails has an error of its own; nothing is asked and no key is accepted unseen.
"""

import asyncio
import contextlib
import re
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from netbench_tui.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    HostLost,
    HostUnreachable,
    LoginRefused,
    UsageError,
    WorkbenchError,
)
from netbench_tui.hosts.transport import STDERR_KEPT, Channel
from netbench_tui.hosts.trust import DEFAULT_FILES, KeyWitness, KnownHosts
from netbench_tui.model.session import Reach
from netbench_tui.model.units import plain

READ_SIZE = 1 << 18
CONNECT_SECONDS = 10
LOGIN_SECONDS = 30
# A silent peer is given up after 3 x 5 s: short enough to tell the user, long enough for a busy host.
KEEPALIVE_SECONDS, KEEPALIVE_COUNT = 5, 3
CLOSE_SECONDS = 1.5
# `python3` first, as Ansible does; RHEL 8 without its python3 package has the other.
PYTHONS = ("python3", "/usr/libexec/platform-python")


# What may stand for a host: an option, a blank or a control character never does.
HOST = re.compile(r"[^\s\x00-\x20\x7f\[\]-][^\s\x00-\x20\x7f\[\]]*")
BRACKETED = re.compile(r"\[([^\]]*)\](?:(:)(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SshAccess:
    """How to get in where no ssh_config says it (the lab): fixed files and an open socket."""

    socket: socket.socket
    user: str
    key: str
    known_hosts: str
    host_key_alias: str


def split_name(name: str) -> tuple[str, str, int | None]:
    """`user@host:port`, each part but the host optional, as (user, host, port). IPv6 with a port needs brackets."""
    user, at, rest = name.rpartition("@")
    bracketed = BRACKETED.fullmatch(rest)
    if bracketed:
        host, colon, port = bracketed.groups(default="")
    else:
        host, colon, port = rest.partition(":") if rest.count(":") == 1 else (rest, "", "")
    number = int(port) if port.isascii() and port.isdecimal() and len(port) <= 5 else 0
    if not HOST.fullmatch(host) or (at and not user) or (colon and not 1 <= number <= 65535):
        raise UsageError(f"{name!r} is not a host", "write HOST, USER@HOST or USER@HOST:PORT, or a Host of ssh_config")
    return user, host, number or None


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

    reach = Reach.SSH
    pythons: Sequence[str] = PYTHONS

    def __init__(self, name: str, connection: asyncssh.SSHClientConnection, witness: KeyWitness, reach: Reach) -> None:
        self.name, self.connection, self.witness, self.reach = name, connection, witness, reach
        self.quick: socket.socket | None = connection.get_extra_info("socket")
        quicken(self.quick)

    @classmethod
    async def connect(cls, name: str, config: str | None = None, access: SshAccess | None = None) -> "SshTransport":
        """`config` is another ssh_config than the user's own, as with `ssh -F`. Raises the errors of errors.py."""
        witness = KeyWitness()
        user, host, port = split_name(name)
        trusted: KnownHosts | None = None
        options: dict[str, Any] = {}
        try:
            options, files = await _options(host, user, port, config, access)
            trusted = KnownHosts(files)
            connection = await _dial(host, witness, trusted, options)
        except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed) as error:
            raise _key_error(name, error, witness, trusted) from None
        except asyncssh.PermissionDenied as error:
            raise _refusal(name, error, options.get("client_keys", ())) from None
        except (OSError, asyncssh.Error, ValueError) as error:
            raise _connect_error(name, error) from None
        return cls(name, connection, witness, Reach.LAB if access else Reach.SSH)

    @property
    def note(self) -> str:
        return plain(str(self.connection.get_extra_info("server_version") or ""))

    async def open(self, argv: Sequence[str]) -> Channel:
        """The login shell on the other side sees one quoted line; `exec` keeps it from staying between us."""
        command = "exec " + shlex.join(argv)
        try:
            process = await self.connection.create_process(command, encoding=None)
        except (asyncssh.Error, OSError) as error:
            raise self.breakage() or HostLost(f"{self.name}: no channel could be opened: {_words(error)}") from None
        return SshChannel(process, self.quick)

    def breakage(self) -> WorkbenchError | None:
        if not self.witness.over:
            return None
        why = _words(self.witness.lost) if self.witness.lost else "closed by the host"
        return HostLost(
            f"{self.name}: the connection was lost: {why}", "see whether the host is up, then connect again"
        )

    async def close(self) -> None:
        self.connection.close()
        with contextlib.suppress(TimeoutError, asyncssh.Error, OSError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.connection.wait_closed()


async def _options(
    host: str, user: str, port: int | None, config: str | None, access: SshAccess | None
) -> tuple[dict[str, Any], Sequence[str]]:
    """Arguments for asyncssh.connect, and the known_hosts files to trust."""
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "login_timeout": LOGIN_SECONDS,
        "keepalive_interval": KEEPALIVE_SECONDS,
        "keepalive_count_max": KEEPALIVE_COUNT,
    }
    if access:
        fixed = {"sock": access.socket, "username": access.user, "client_keys": [access.key], "agent_path": None}
        return options | fixed | {"config": None, "host_key_alias": access.host_key_alias}, [access.known_hosts]
    options["config"] = [config] if config else _user_config()
    if user:
        options["username"] = user
    if port:
        options["port"] = port
    chosen = {key: options[key] for key in ("config", "username", "port") if key in options}
    read = await asyncssh.SSHClientConnectionOptions.construct(host=host, client_keys=None, **chosen)
    known, identities = read.known_hosts, [Path(file).expanduser() for file in read.config.get("IdentityFile", ())]
    if identities:
        # As ssh does: a file that is not there is passed over, and one that is locked may be in the ssh-agent.
        options["client_keys"] = [str(file) for file in identities if file.is_file()]
        options["ignore_encrypted"] = True
    files = [file for file in known if isinstance(file, str)] if isinstance(known, (list, tuple)) else []
    return options, files or DEFAULT_FILES


def _user_config() -> list[str]:
    files = (Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config"))
    return [str(file) for file in files if file.is_file()]


async def _dial(
    host: str, witness: KeyWitness, trusted: KnownHosts, options: dict[str, Any]
) -> asyncssh.SSHClientConnection:
    """asyncssh offers the kinds of key that are known for the host alone, so that a host which has none of them hangs
    up; asked again with all kinds it shows the key that it has, and the error can name it."""
    arguments: dict[str, Any] = {"client_factory": lambda: witness, "known_hosts": trusted, **options}
    try:
        return await asyncssh.connect(host, **arguments)
    except (asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost, ConnectionResetError):
        if witness.key or not trusted.known or "sock" in options:
            raise
    return await asyncssh.connect(host, server_host_key_algs="default", **arguments)


def _key_error(name: str, error: asyncssh.Error, witness: KeyWitness, trusted: KnownHosts | None) -> WorkbenchError:
    where = trusted.where if trusted else "known_hosts"
    if "revoked" in str(error):
        return HostKeyChanged(
            f"{name}: its host key is revoked in {where}", "do not log in; its administrator has to give it a new key"
        )
    if trusted and trusted.known:
        return HostKeyChanged(
            f"{name}: its host key is not the one in {where}; it shows {witness.fingerprint()}",
            "if the host was installed anew, remove the old key with ssh-keygen -R; if not, somebody is in between",
        )
    if witness.key is None:
        return LoginRefused(f"{name}: no secure connection: {_words(error)}", f"try: ssh -v {shlex.quote(name)}")
    return HostKeyUnknown(
        f"{name}: its host key is unknown: {witness.fingerprint()}",
        f"compare the fingerprint with the host's own, then log in once: ssh {shlex.quote(name)}",
    )


def _refusal(name: str, error: asyncssh.Error, keys: Sequence[str]) -> WorkbenchError:
    locked = [key for key in keys if _is_encrypted(key)]
    if locked:
        return LoginRefused(
            f"{name}: it refused the login; {locked[0]} has a passphrase and could not be tried",
            f"load it into ssh-agent: ssh-add {shlex.quote(locked[0])}",
        )
    return LoginRefused(
        f"{name}: it refused the login: {_words(error)}", f"see which keys it takes: ssh -v {shlex.quote(name)}"
    )


def _is_encrypted(file: str) -> bool:
    try:
        asyncssh.read_private_key(file)
    except asyncssh.KeyImportError as error:
        return "passphrase" in str(error).lower()
    except (OSError, ValueError):
        return False
    return False


def _connect_error(name: str, error: Exception) -> WorkbenchError:
    words = _words(error)
    if isinstance(error, (asyncssh.KeyImportError, asyncssh.KeyEncryptionError)):
        return LoginRefused(f"{name}: a key file cannot be used: {words}", "load it into ssh-agent: ssh-add")
    if isinstance(error, asyncssh.ConfigParseError):
        return UsageError(f"ssh_config cannot be read: {words}")
    if isinstance(error, ConnectionRefusedError):
        return HostUnreachable(f"{name}: it refused the connection", "is sshd running there, and is the port right?")
    if isinstance(error, socket.gaierror):
        return HostUnreachable(f"{name}: no such host: {words}", "check the name, or add it to ~/.ssh/config")
    if isinstance(error, TimeoutError):
        return HostUnreachable(f"{name}: no answer within {CONNECT_SECONDS} s", "is the host up and reachable?")
    return HostUnreachable(f"{name}: {words}", f"try: ssh {shlex.quote(name)}")


def _words(error: Exception) -> str:
    text = plain(str(error)) or type(error).__name__
    return text.split("] ", 1)[-1] if text.startswith("[Errno") else text
