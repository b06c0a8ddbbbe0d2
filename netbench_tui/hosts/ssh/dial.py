"""Connects to a host: through its jump hosts, with its key checked, with whatever login it takes. Used by transport.py.

A key is accepted only if known_hosts holds it, if the person at the keyboard says so, or, with `accept_new`, if no key
of that host is known yet; what was accepted is written to known_hosts and the connection is made anew, pinned to it.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import asyncssh

from netbench_tui.errors import HostKeyUnknown, UsageError, WorkbenchError
from netbench_tui.hosts.ssh import known_hosts
from netbench_tui.hosts.ssh.failures import connect_error, key_error, refusal
from netbench_tui.hosts.ssh.login import Login
from netbench_tui.hosts.ssh.options import HostOptions, read_options, unsupported
from netbench_tui.hosts.ssh.trust import KnownHosts
from netbench_tui.model.host import Role
from netbench_tui.model.question import Asker, QuestionKind

# ssh itself stops following jump hosts of jump hosts somewhere; a loop in ssh_config must end.
MOST_JUMPS = 8


def _nobody_listens(note: str) -> None:
    """For those who only want the connection."""


@dataclass(frozen=True, slots=True)
class SshAccess:
    """How to get in where no ssh_config says it (the lab): fixed files and an open socket."""

    socket: socket.socket
    user: str
    key: str
    known_hosts: str
    host_key_alias: str


@dataclass(frozen=True, slots=True)
class SshSettings:
    """`config` is another ssh_config, as with `ssh -F`. `asker` is None where nobody can be asked."""

    config: str | None = None
    accept_new: bool = False
    asker: Asker | None = None
    role: Role = Role.SENDER
    on_note: Callable[[str], None] = _nobody_listens


@dataclass
class Dialled:
    """A connection with its login, and the connections to the jump hosts that carry it, first hop first."""

    connection: asyncssh.SSHClientConnection
    login: Login
    carriers: list[asyncssh.SSHClientConnection] = field(default_factory=list)


async def dial(name: str, settings: SshSettings, access: SshAccess | None = None) -> Dialled:
    """Raises the errors of errors.py, each naming the host (or jump host) that it is about."""
    if access:
        return await _connect(_lab_options(name, access), settings, None)
    carriers: list[asyncssh.SSHClientConnection] = []
    try:
        options = await _read(name, settings)
        for keyword in unsupported(options.arguments["config"]):
            settings.on_note(f"ssh_config: {keyword} is not supported and is passed over")
        for hop in await _way(options, settings):
            settings.on_note(f"through {hop.name}")
            carriers.append((await _connect(hop, settings, carriers[-1] if carriers else None)).connection)
        dialled = await _connect(options, settings, carriers[-1] if carriers else None)
    except BaseException:
        for carrier in reversed(carriers):
            carrier.close()
        raise
    dialled.carriers = carriers
    return dialled


async def _read(name: str, settings: SshSettings) -> HostOptions:
    try:
        return await read_options(name, settings.config)
    except (OSError, asyncssh.Error, ValueError) as error:
        raise connect_error(None, name, error) from None


async def _way(options: HostOptions, settings: SshSettings, depth: int = 0) -> list[HostOptions]:
    """All jump hosts up to the host, those of the first jump host's own ssh_config before it."""
    if depth > MOST_JUMPS:
        raise UsageError(f"{options.name}: its jump hosts lead in a circle", "look at ProxyJump in ssh_config")
    hops = [await _read(name, settings) for name in options.jumps]
    return [*(await _way(hops[0], settings, depth + 1)), *hops] if hops else []


def _lab_options(name: str, access: SshAccess) -> HostOptions:
    fixed = {"sock": access.socket, "username": access.user, "client_keys": [access.key], "agent_path": None}
    arguments = fixed | {"config": None, "host_key_alias": access.host_key_alias}
    return HostOptions(name, name, arguments, [access.known_hosts], user=access.user)


async def _connect(
    options: HostOptions, settings: SshSettings, carrier: asyncssh.SSHClientConnection | None
) -> Dialled:
    trusted = KnownHosts(options.known_hosts)
    try:
        return await _attempt(options, settings, carrier, trusted, trusted)
    except _UnknownKey as unknown:
        accepted = await _accept(options, settings, unknown, trusted)
    pinned: Any = ([accepted], [], [])
    try:
        return await _attempt(options, settings, carrier, pinned, trusted)
    except _UnknownKey as other:
        raise other.error from None


class _UnknownKey(Exception):
    """The host showed a key of which nothing is known; `error` says so where nobody decides otherwise."""

    def __init__(self, error: WorkbenchError, login: Login) -> None:
        super().__init__()
        self.error, self.login = error, login


async def _accept(
    options: HostOptions, settings: SshSettings, unknown: _UnknownKey, trusted: KnownHosts
) -> asyncssh.SSHKey:
    """The key that the host showed, now written to known_hosts. Raises HostKeyUnknown if it is not accepted."""
    key = unknown.login.key
    assert key
    if not settings.accept_new:
        title = f"the host key of {options.name} is unknown; is this its fingerprint?"
        detail = unknown.login.fingerprint()
        if await unknown.login.ask(QuestionKind.HOST_KEY, title, (), detail) is None:
            raise unknown.error
    try:
        public = key.export_public_key("openssh").decode()
        known_hosts.append(trusted.files[0], options.trusted_name, options.port, " ".join(public.split()[:2]))
    except OSError as error:
        settings.on_note(f"{trusted.files[0]} cannot be written: {error.strerror}; the key is trusted this once")
    return key


async def _attempt(
    options: HostOptions,
    settings: SshSettings,
    carrier: asyncssh.SSHClientConnection | None,
    trust: Any,
    trusted: KnownHosts,
) -> Dialled:
    """One connection and login. Raises _UnknownKey, or one of our errors."""
    login = Login(settings.role, options.name, options.user, settings.asker, options.seconds)
    try:
        return Dialled(await login.patience.run(_open(options, login, carrier, trust, trusted)), login)
    except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed) as error:
        found = key_error(options, error, login, trusted)
        if isinstance(found, HostKeyUnknown):
            raise _UnknownKey(found, login) from None
        raise found from None
    except asyncssh.PermissionDenied as error:
        raise refusal(options, error, login) from None
    except (OSError, asyncssh.Error, ValueError) as error:
        raise connect_error(options, options.name, error) from None
    finally:
        login.forget()


async def _open(
    options: HostOptions,
    login: Login,
    carrier: asyncssh.SSHClientConnection | None,
    trust: Any,
    trusted: KnownHosts,
) -> asyncssh.SSHClientConnection:
    arguments = {**options.arguments, "client_factory": lambda: login, "known_hosts": trust}
    arguments |= {"tunnel": carrier} if carrier else {}
    if login.asker:
        arguments["passphrase"] = login.passphrase
    try:
        return await asyncssh.connect(options.host, **arguments)
    except (asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost, ConnectionResetError):
        if login.key or not trusted.known or "sock" in arguments:
            raise
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        if not login.locked_keys:
            raise
        # A key whose passphrase nobody gave is like one that is not there.
        left = [key for key in options.identities if key not in login.locked_keys]
        return await asyncssh.connect(options.host, **(arguments | {"client_keys": left or None}))
    # asyncssh offers only the kinds of key that are known for the host, and a host that has none of them hangs up;
    # asked with all kinds it shows the key that it has, and the error can name it.
    return await asyncssh.connect(options.host, server_host_key_algs="default", **arguments)
