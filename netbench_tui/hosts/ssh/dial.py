"""Connects to a host: through its jump hosts, with its key checked, with whatever login it takes. Used by transport.py.

A key is accepted only if known_hosts holds it, if the person at the keyboard says so, or, with `accept_new`, if no key
of that host is known yet; what was accepted is written to known_hosts and the connection is made anew, pinned to it.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field

import asyncssh
from asyncssh.public_key import get_default_public_key_algs

from netbench_tui.errors import HostKeyUnknown, UsageError, WorkbenchError
from netbench_tui.hosts.ssh import known_hosts
from netbench_tui.hosts.ssh.failures import connect_error, key_error, login_error
from netbench_tui.hosts.ssh.login import Login
from netbench_tui.hosts.ssh.options import HostOptions, read_options, unsupported
from netbench_tui.hosts.ssh.trust import KnownHosts, Pinned, Trust
from netbench_tui.model.host import Role
from netbench_tui.model.question import Asker, Question, QuestionKind

# ssh itself stops following jump hosts of jump hosts somewhere; a loop in ssh_config must end.
MOST_JUMPS = 8
# Every kind of host key but certificates.
PLAIN_KINDS = [kind.decode() for kind in get_default_public_key_algs()]


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
    """`config` is another ssh_config, as with `ssh -F`. `asker` is None where nobody can be asked. `said` holds
    the unsupported keywords that were told already, for all who share it."""

    config: str | None = None
    accept_new: bool = False
    asker: Asker | None = None
    role: Role = Role.SENDER
    on_note: Callable[[str], None] = _nobody_listens
    said: set[str] = field(default_factory=set)


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
    carriers: list[Dialled] = []
    try:
        options = await _read(name, settings)
        for keyword in unsupported(options.arguments["config"]):
            if keyword not in settings.said:
                settings.said.add(keyword)
                settings.on_note(f"ssh_config: {keyword} is not supported and is passed over")
        for hop in await _way(options, settings):
            settings.on_note(f"through {hop.name}")
            carriers.append(await _connect(hop, settings, carriers[-1] if carriers else None))
        dialled = await _connect(options, settings, carriers[-1] if carriers else None)
    except BaseException:
        for carrier in reversed(carriers):
            carrier.connection.close()
        raise
    dialled.carriers = [carrier.connection for carrier in carriers]
    return dialled


async def _read(name: str, settings: SshSettings) -> HostOptions:
    try:
        options = await read_options(name, settings.config)
    except (OSError, asyncssh.Error, ValueError) as error:
        raise connect_error(None, name, error) from None
    for file in options.identities.unusable:
        settings.on_note(f"{file} is no key that can be read; it is passed over")
    return options


async def _way(options: HostOptions, settings: SshSettings, depth: int = 0) -> list[HostOptions]:
    """All jump hosts up to the host, those of the first jump host's own ssh_config before it."""
    if depth > MOST_JUMPS:
        raise UsageError(f"{options.name}: its jump hosts lead in a circle", "look at ProxyJump in ssh_config")
    hops = [await _read(name, settings) for name in options.jumps]
    return [*(await _way(hops[0], settings, depth + 1)), *hops] if hops else []


def _lab_options(name: str, access: SshAccess) -> HostOptions:
    fixed = {"sock": access.socket, "username": access.user, "client_keys": [access.key], "agent_path": None}
    arguments = fixed | {"config": None, "host_key_alias": access.host_key_alias}
    return HostOptions(name, name, arguments, [access.known_hosts], name, user=access.user)


async def _connect(options: HostOptions, settings: SshSettings, carrier: Dialled | None) -> Dialled:
    trusted = KnownHosts(options.known_hosts, options.trusted_names)
    try:
        return await _attempt(options, settings, carrier, trusted)
    except _UnknownKey as unknown:
        accepted = await _accept(options, settings, unknown, trusted)
    return await _attempt(options, settings, carrier, Pinned(accepted))


class _UnknownKey(Exception):
    """The host showed a key of which nothing is known; `error` says so where nobody decides otherwise."""

    def __init__(self, error: WorkbenchError, key: asyncssh.SSHKey, fingerprint: str) -> None:
        super().__init__()
        self.error, self.key, self.fingerprint = error, key, fingerprint


async def _accept(
    options: HostOptions, settings: SshSettings, unknown: _UnknownKey, trusted: KnownHosts
) -> asyncssh.SSHKey:
    """The key that the host showed, now written to known_hosts. Raises HostKeyUnknown if it is not accepted."""
    key = unknown.key
    if not settings.accept_new:
        if settings.asker is None:
            raise unknown.error
        title = f"the host key of {options.name} is unknown; is this its fingerprint?"
        question = Question(settings.role, options.name, QuestionKind.HOST_KEY, title, (), unknown.fingerprint)
        if await settings.asker(question) is None:
            raise unknown.error
    try:
        if not trusted.holds(key):  # the other host may have come the same way
            public = " ".join(key.export_public_key("openssh").decode().split()[:2])
            known_hosts.append(trusted.files[0], trusted.names[0], public)
    except OSError as error:
        settings.on_note(f"{trusted.files[0]} cannot be written: {error.strerror}; the key is trusted this once")
    return key


async def _attempt(options: HostOptions, settings: SshSettings, carrier: Dialled | None, trust: Trust) -> Dialled:
    """One connection and login. Raises _UnknownKey, or one of our errors."""
    hidden = options.identities.hidden
    login = Login(settings.role, options.name, options.user, settings.asker, options.seconds, hidden)
    try:
        return Dialled(await login.patience.run(_open(options, login, carrier, trust)), login)
    except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed) as error:
        found = key_error(options, error, login, trust)
        if isinstance(found, HostKeyUnknown) and login.key:
            raise _UnknownKey(found, login.key, login.fingerprint()) from None
        raise found from None
    except (OSError, asyncssh.Error, ValueError) as error:
        via = f"{options.name}: through {carrier.login.name}" if carrier else options.name
        raise login_error(options, error, login) or connect_error(options, via, error) from None
    finally:
        login.forget()


async def _open(
    options: HostOptions, login: Login, carrier: Dialled | None, trust: Trust
) -> asyncssh.SSHClientConnection:
    arguments = {**options.arguments, "client_factory": lambda: login, "known_hosts": trust}
    arguments |= {"tunnel": carrier.connection} if carrier else {}
    arguments |= {"passphrase": login.passphrase} if login.asker else {}
    try:
        return await asyncssh.connect(options.host, **arguments)
    except (asyncssh.KeyExchangeFailed, asyncssh.ConnectionLost, ConnectionResetError):
        # asyncssh offers only the kinds of key that are known for the host; one that has none of them hangs up.
        if login.key or not trust.restricts or "sock" in arguments:
            raise
    except asyncssh.HostKeyNotVerifiable as error:
        # Without a key it was a certificate. Of an authority that nobody knows, it says as little as none.
        if login.key or "revoked" in str(error) or "sock" in arguments:
            raise
    # Asked with all plain kinds, the host shows the key that it has; known_hosts, the person or the error can name it.
    return await asyncssh.connect(options.host, server_host_key_algs=PLAIN_KINDS, **arguments)
