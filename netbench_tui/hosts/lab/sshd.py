"""A real OpenSSH sshd in each lab namespace, with throw-away keys, for the lab's ssh way in. Used by lab.py."""

import asyncio
import contextlib
import os
import pwd
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from netbench_tui.errors import HostUnreachable, LabImpossible
from netbench_tui.model.host import Role

# Each namespace has its own loopback, so the well-known port is free in it.
_ADDRESS = "127.0.0.1"
_PORT = 22

_READY_SECONDS = 10.0
_STOP_SECONDS = 2.0

# sshd wants its absolute path, and a user's PATH often lacks the sbin folders.
_SBIN = ("/usr/sbin", "/usr/local/sbin", "/sbin")


@dataclass(frozen=True, slots=True)
class LabSsh:
    """What a client needs beside a socket from `Lab.open_ssh_socket`. known_hosts names the host `host_key_alias`."""

    user: str
    address: str
    port: int
    host_key_alias: str
    client_key: Path
    host_key: Path
    known_hosts: Path


class SshServer:
    """One running sshd. It gets SIGTERM when the workbench dies, and the lab's keeper ends what is left of it."""

    def __init__(self, role: Role, ssh: LabSsh, process: asyncio.subprocess.Process, log: Path) -> None:
        self.role = role
        self.ssh = ssh
        self._process = process
        self._log = log

    async def until_ready(self, connect: Callable[[], Awaitable[socket.socket]]) -> None:
        """Waits until sshd sends its banner. Raises LabImpossible with sshd's own words if it ends or stays silent."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _READY_SECONDS
        while loop.time() < deadline and self._process.returncode is None:
            with contextlib.suppress(HostUnreachable, OSError, TimeoutError):
                with await connect() as connection:
                    banner = await asyncio.wait_for(loop.sock_recv(connection, 4), deadline - loop.time())
                if banner == b"SSH-":
                    return
            await asyncio.sleep(0.02)
        raise LabImpossible(f"The sshd of the lab did not start: {self._last_words()}.", "Start the lab without --ssh.")

    async def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    def _last_words(self) -> str:
        try:
            lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1].rstrip(".") if lines else "it said nothing"


async def start_servers(enter: Mapping[Role, tuple[str, ...]], folder: Path) -> tuple[SshServer, ...]:
    """Starts an sshd for each argv prefix; keys and configuration go to `folder`, which is the keeper's to remove.

    They may not accept connections yet: `until_ready`. Raises LabImpossible without an sshd on this machine.
    """
    program = _find_sshd()
    client_key = folder / "client_key"
    await asyncio.to_thread(_write_key, client_key)
    user = pwd.getpwuid(os.geteuid())
    servers = []
    for role, prefix in enter.items():
        ssh = await asyncio.to_thread(_prepare, role, folder, client_key, user.pw_name)
        log = folder / f"{role}.log"
        argv = (*prefix, program, "-D", "-E", str(log), "-f", str(folder / f"{role}.conf"))
        nothing = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*argv, stdin=nothing, stdout=nothing, stderr=nothing)
        servers.append(SshServer(role, ssh, process, log))
    return tuple(servers)


def _find_sshd() -> str:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *_SBIN))
    found = shutil.which("sshd", path=path)
    if not found:
        raise LabImpossible(
            "The ssh way into the lab needs an sshd, and this machine has none.",
            "Install the package openssh-server, or start the lab without --ssh.",
        )
    return str(Path(found).absolute())


def _prepare(role: Role, folder: Path, client_key: Path, user: str) -> LabSsh:
    """Host key, known_hosts and sshd_config of one server."""
    host_key, known_hosts, alias = folder / f"{role}_host_key", folder / f"{role}_known_hosts", f"lab-{role}"
    public = _write_key(host_key)
    known_hosts.write_text(f"{alias} {public}\n", encoding="ascii")
    authorized_keys = client_key.with_suffix(".pub")
    (folder / f"{role}.conf").write_text(_configuration(host_key, authorized_keys, user), encoding="utf-8")
    return LabSsh(user, _ADDRESS, _PORT, alias, client_key, host_key, known_hosts)


def _configuration(host_key: Path, authorized_keys: Path, user: str) -> str:
    settings = {
        "ListenAddress": _ADDRESS,
        "Port": _PORT,
        "HostKey": host_key,
        "AuthorizedKeysFile": authorized_keys,
        "AllowUsers": user,
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        # Without PAM sshd refuses an account whose password is locked, which root's is on Ubuntu.
        "UsePAM": "yes" if _is_locked(user) else "no",
        "StrictModes": "no",
        "UseDNS": "no",
        "PidFile": "none",
        "PrintMotd": "no",
        # The workbench opens a channel for each thing it does on a host, and reconnects at will.
        "MaxSessions": 50,
        "MaxStartups": 100,
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _is_locked(user: str) -> bool:
    with contextlib.suppress(OSError):
        for line in Path("/etc/shadow").read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split(":")
            if fields[0] == user and len(fields) > 1:
                return fields[1].startswith("!")
    return False


def _write_key(path: Path) -> str:
    """Makes an ed25519 key pair, PATH and PATH.pub. Returns the public key as one line."""
    import asyncssh

    key = asyncssh.generate_private_key("ssh-ed25519", comment="netbench-tui lab")
    path.touch(mode=0o600)
    path.write_bytes(key.export_private_key("openssh"))
    public = key.export_public_key("openssh").decode("ascii").strip()
    path.with_suffix(".pub").write_text(public + "\n", encoding="ascii")
    return public
