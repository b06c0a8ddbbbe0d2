"""Why a connection failed, as one of our errors: a sentence and what to do. Used by dial.py and transport.py."""

import shlex
import socket
from collections.abc import Sequence

import asyncssh

from netbench_tui.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    HostUnreachable,
    LoginRefused,
    UsageError,
    WorkbenchError,
)
from netbench_tui.hosts.ssh.known_hosts import find
from netbench_tui.hosts.ssh.login import Login, is_encrypted
from netbench_tui.hosts.ssh.options import HostOptions
from netbench_tui.hosts.ssh.trust import KeyWitness, KnownHosts
from netbench_tui.model.units import plain


def key_error(options: HostOptions, error: Exception, witness: KeyWitness, trusted: KnownHosts) -> WorkbenchError:
    """The host's key was not accepted."""
    name = options.name
    if "revoked" in str(error):
        return HostKeyChanged(
            f"{name}: its host key is revoked in {trusted.where}",
            "do not log in; its administrator has to give it a new key",
        )
    if trusted.known:
        where = find(trusted.files, options.trusted_name, options.port) or trusted.where
        return HostKeyChanged(
            f"{name}: its host key is not the one in {where}; it shows {witness.fingerprint()}",
            "if the host was installed anew, remove the old key with ssh-keygen -R; if not, somebody is in between",
        )
    if witness.key is None:
        return LoginRefused(f"{name}: no secure connection: {words(error)}", f"try: ssh -v {shlex.quote(name)}")
    return HostKeyUnknown(
        f"{name}: its host key is unknown: {witness.fingerprint()}",
        f"compare the fingerprint with the host's own, then: {_remedy(options, trusted)}, or use --accept-new",
    )


def _remedy(options: HostOptions, trusted: KnownHosts) -> str:
    """The command that makes an unknown key known."""
    scan = ["ssh-keyscan", *(["-p", str(options.port)] if options.port != 22 else []), options.address]
    return f"{shlex.join(scan)} >> {shlex.quote(str(trusted.files[0]))}"


def refusal(options: HostOptions, error: Exception, login: Login) -> WorkbenchError:
    """No way to log in was accepted."""
    name, hint = options.name, f"see which keys it takes: ssh -v {shlex.quote(options.name)}"
    locked = [] if login.asker else _locked(options.identities)
    if locked:
        return LoginRefused(
            f"{name}: it refused the login; {locked[0]} has a passphrase and could not be tried",
            f"load it into ssh-agent: ssh-add {shlex.quote(locked[0])}, or use --ask-pass",
        )
    if login.declined:
        return LoginRefused(f"{name}: the login was given up", "connect again to be asked again")
    if login.asker is None:
        hint += "; for a password, use --ask-pass"
    return LoginRefused(f"{name}: it refused the login of {options.user}: {words(error)}", hint)


def _locked(files: Sequence[str]) -> list[str]:
    return [file for file in files if is_encrypted(file)]


def connect_error(options: HostOptions | None, name: str, error: Exception) -> WorkbenchError:
    """Everything that goes wrong before a host key is seen, or outside the login."""
    said = words(error)
    if isinstance(error, (asyncssh.KeyImportError, asyncssh.KeyEncryptionError)):
        return LoginRefused(f"{name}: a key file cannot be used: {said}", "load it into ssh-agent: ssh-add")
    if isinstance(error, asyncssh.ConfigParseError):
        return UsageError(f"ssh_config cannot be read: {said}")
    if isinstance(error, ConnectionRefusedError):
        return HostUnreachable(f"{name}: it refused the connection", "is sshd running there, and is the port right?")
    if isinstance(error, socket.gaierror):
        return HostUnreachable(f"{name}: no such host: {said}", "check the name, or add it to ~/.ssh/config")
    if isinstance(error, TimeoutError):
        seconds = f" within {options.seconds:g} s" if options else ""
        return HostUnreachable(f"{name}: no answer{seconds}", "is the host up and reachable?")
    return HostUnreachable(f"{name}: {said}", f"try: ssh {shlex.quote(name)}")


def words(error: Exception) -> str:
    """The error's own words, without errno."""
    text = plain(str(error)) or type(error).__name__
    return text.split("] ", 1)[-1] if text.startswith("[Errno") else text
