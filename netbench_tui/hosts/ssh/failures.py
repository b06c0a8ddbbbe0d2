"""Why a connection failed, as one of our errors: a sentence and what to do. Used by dial.py and transport.py."""

import shlex
import socket

import asyncssh

from netbench_tui.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    HostUnreachable,
    LoginRefused,
    UsageError,
    WorkbenchError,
)
from netbench_tui.hosts.ssh.login import Login
from netbench_tui.hosts.ssh.options import HostOptions
from netbench_tui.hosts.ssh.trust import KeyWitness, KnownHosts, Pinned, Trust
from netbench_tui.model.units import plain

# What sshd says when it hangs up after MaxAuthTries.
TOO_MANY = "too many authentication failures"


def key_error(options: HostOptions, error: Exception, witness: KeyWitness, trust: Trust) -> WorkbenchError:
    """The host's key was not accepted."""
    name = options.name
    if isinstance(trust, Pinned):
        return HostKeyChanged(
            f"{name}: it no longer shows the host key that was accepted, but {witness.fingerprint()}",
            "somebody may be in between; connect again and compare",
        )
    if "revoked" in str(error):
        return HostKeyChanged(
            f"{name}: its host key is revoked in {trust.where}",
            "do not log in; its administrator has to give it a new key",
        )
    if trust.known:
        remove = shlex.join(
            ["ssh-keygen", "-R", trust.names[0], "-f", trust.place(witness.key).rpartition(" line ")[0]]
        )
        return HostKeyChanged(
            f"{name}: its host key is not the one in {trust.place(witness.key)}; it shows {witness.fingerprint()}",
            f"if the host was installed anew, remove the old key: {remove}; if not, somebody is in between",
        )
    if witness.key is None:
        return LoginRefused(f"{name}: no secure connection: {words(error)}", f"try: ssh -v {shlex.quote(name)}")
    return HostKeyUnknown(
        f"{name}: its host key is unknown: {witness.fingerprint()}",
        f"compare the fingerprint with the host's own, then: {_remedy(options, trust)}, or use --accept-new",
    )


def _remedy(options: HostOptions, trusted: KnownHosts) -> str:
    """The command that makes an unknown key known."""
    scan = ["ssh-keyscan", *(["-p", str(options.port)] if options.port != 22 else []), options.address]
    return f"{shlex.join(scan)} >> {shlex.quote(str(trusted.files[0]))}"


def login_error(options: HostOptions, error: Exception, login: Login) -> LoginRefused | None:
    """No way to log in was accepted; None if that is not what went wrong."""
    name, hint = options.name, f"see which keys it takes: ssh -v {shlex.quote(options.name)}"
    if login.unanswered:
        return LoginRefused(f"{name}: it closed the connection while it waited for an answer", "connect again")
    if TOO_MANY in str(error).lower():
        return LoginRefused(
            f"{name}: it refused the login after too many tries",
            "each key of ssh-agent counts: name the right one by IdentityFile, with IdentitiesOnly yes",
        )
    if not isinstance(error, asyncssh.PermissionDenied):
        return None
    locked = login.locked_keys if login.asker else options.identities.encrypted
    if locked and not login.asker:
        return LoginRefused(
            f"{name}: it refused the login; {locked[0]} has a passphrase and could not be tried",
            f"load it into ssh-agent: ssh-add {shlex.quote(locked[0])}, or use --ask-pass",
        )
    if login.declined or locked:
        left = f"; {locked[0]} stayed locked" if locked else ""
        return LoginRefused(f"{name}: the login was given up{left}", "connect again to be asked again")
    if login.asker is None:
        hint += "; for a password, use --ask-pass"
    return LoginRefused(f"{name}: it refused the login of {options.user}: {words(error)}", hint)


def connect_error(options: HostOptions | None, name: str, error: Exception) -> WorkbenchError:
    """Everything that goes wrong before a host key is seen, or outside the login. `name` may say the way as well."""
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
    return HostUnreachable(f"{name}: {said}", f"try: ssh {shlex.quote(options.name if options else name)}")


def words(error: Exception) -> str:
    """The error's own words, without errno."""
    text = plain(str(error)) or type(error).__name__
    return text.split("] ", 1)[-1] if text.startswith("[Errno") else text
