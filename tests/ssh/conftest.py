"""A real OpenSSH server on a loopback port, with throw-away keys, a configuration and an ssh_config of its own.

Nothing of the machine's own sshd and of the user's ~/.ssh is read or written.
"""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.ssh import SshSettings, SshTransport
from netbench_tui.model.host import Role
from netbench_tui.model.question import Question, QuestionKind

DEADLINE_SECONDS = 15.0
SBIN = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin", "/sbin"))
# Where sshd drops its privileges; Debian makes it at boot only.
PRIVILEGE_FOLDER = Path("/run/sshd")


def keygen(*arguments: str) -> str:
    return subprocess.run(["ssh-keygen", *arguments], check=True, capture_output=True, text=True).stdout


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    keygen("-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path))
    return path


def public(key: Path) -> str:
    """`ssh-ed25519 AAAA...`, without the comment."""
    return " ".join(key.with_name(key.name + ".pub").read_text().split()[:2])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def password_is_locked(user: str) -> bool:
    """Without PAM sshd refuses such an account even with a key; Ubuntu's root is one."""
    with contextlib.suppress(OSError):
        for line in Path("/etc/shadow").read_text().splitlines():
            if line.startswith(user + ":"):
                return line.split(":")[1].startswith("!")
    return False


class Server:
    """One sshd, what a client needs to reach it as `alpha`, and ways to do it harm."""

    def __init__(self, folder: Path, program: str, name: str = "alpha") -> None:
        self.folder, self.program, self.name, self.port = folder, program, name, free_port()
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.host_key, self.client_key = make_key(folder / "host_key"), make_key(folder / "client_key")
        self.known_hosts, self.config = folder / "known_hosts", folder / "ssh_config"
        self.authorized = folder / "authorized_keys"
        self.authorized.write_text(public(self.client_key) + "\n")
        self.know(public(self.host_key))
        self.configure()
        self.process: subprocess.Popen[bytes] | None = None

    def know(self, *keys: str, marker: str = "") -> None:
        """Writes known_hosts anew: these keys for this server."""
        self.known_hosts.write_text("".join(f"{marker}[127.0.0.1]:{self.port} {key}\n" for key in keys))

    def configure(self, **changed: Any) -> None:
        """Writes the ssh_config; `None` takes a line out."""
        lines = {
            "HostName": "127.0.0.1",
            "Port": self.port,
            "User": self.user,
            "IdentityFile": self.client_key,
            "UserKnownHostsFile": self.known_hosts,
        } | changed
        said = "".join(f"  {name} {value}\n" for name, value in lines.items() if value is not None)
        self.config.write_text(f"Host {self.name}\n" + said)

    def start(self, **settings: str) -> None:
        """Runs sshd with these settings beside our own; returns when it greets."""
        lines = {
            "ListenAddress": "127.0.0.1",
            "Port": self.port,
            "HostKey": self.host_key,
            "AuthorizedKeysFile": self.authorized,
            "PermitRootLogin": "prohibit-password",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "UsePAM": "yes" if password_is_locked(self.user) else "no",
            "StrictModes": "no",
            "UseDNS": "no",
            "PidFile": "none",
            "PrintMotd": "no",
            "PrintLastLog": "no",
        } | settings
        configuration = self.folder / "sshd_config"
        configuration.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        log = self.folder / "sshd.log"
        nothing = subprocess.DEVNULL
        if os.geteuid() == 0:
            PRIVILEGE_FOLDER.mkdir(mode=0o755, exist_ok=True)  # other tests on this machine may have removed theirs
        self.process = subprocess.Popen(
            [self.program, "-D", "-E", str(log), "-f", str(configuration)],
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
        )
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self._greets():
            assert self.process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.01)

    def _greets(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as connection:
            return connection.recv(4) == b"SSH-"
        return False

    def sessions(self) -> list[int]:
        """Process ids of the servers of single connections."""
        return children(self.process.pid) if self.process else []

    def shell(self, text: str) -> str:
        """A program that stands for the user's login shell; for ForceCommand. The command is in "$command"."""
        path = self.folder / "login-shell"
        path.write_text(f'#!/bin/sh\ncommand="$SSH_ORIGINAL_COMMAND"\n{text}\n')
        path.chmod(0o755)
        return str(path)

    def stop(self) -> None:
        if self.process is None:
            return
        for pid in self.sessions():
            for number in (signal.SIGCONT, signal.SIGTERM):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def new_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Server]]:
    """Makes servers that are not started yet, each with a folder of its own."""
    program = shutil.which("sshd", path=SBIN)
    if not program:
        pytest.skip("no sshd here: install openssh-server")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    made = os.geteuid() == 0 and not PRIVILEGE_FOLDER.exists()
    if made:
        PRIVILEGE_FOLDER.mkdir(mode=0o755)
    servers: list[Server] = []

    def make(name: str) -> Server:
        folder = tmp_path if name == "alpha" else tmp_path / name
        folder.mkdir(exist_ok=True)
        servers.append(Server(folder, program, name))
        return servers[-1]

    yield make
    for server in reversed(servers):
        server.stop()
    if made:
        with contextlib.suppress(OSError):
            PRIVILEGE_FOLDER.rmdir()


@pytest.fixture
def server(new_server: Callable[[str], Server]) -> Server:
    """A server that is not started yet."""
    return new_server("alpha")


@pytest.fixture
def running(server: Server) -> Server:
    server.start()
    return server


@pytest.fixture
def ssh_agent(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts an ssh-agent that holds the keys; gives its socket's path."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*keys: Path) -> str:
        path = tmp_path / "agent.socket"
        started.append(subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL))
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        environment = {**os.environ, "SSH_AUTH_SOCK": str(path)}
        subprocess.run(["ssh-add", "-q", *map(str, keys)], check=True, env=environment, capture_output=True)
        return str(path)

    yield start
    for process in started:
        process.terminate()
        process.wait(5)


class Person:
    """Answers questions from a list, in order; an answer may be a function of the question. `asked` are they."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[Question]()

    async def __call__(self, question: Question) -> Any:
        self.asked.append(question)
        assert self.answers, f"asked once too often: {question}"
        answer = self.answers.pop(0)
        return await answer(question) if callable(answer) else answer

    def kinds(self) -> list[QuestionKind]:
        return [question.kind for question in self.asked]


@pytest.fixture
def person() -> type[Person]:
    return Person


class Session:
    """A HostConnection over ssh, with what it reported."""

    def __init__(self, transport: SshTransport, asker: Any = None, python: str = "") -> None:
        self.lost: list[WorkbenchError] = []
        self.transport = transport
        self.host = HostConnection(
            Role.RECEIVER, transport, lambda *_: None, lambda _, error: self.lost.append(error), asker, python
        )


Connect = Callable[..., Awaitable[SshTransport]]


@pytest.fixture
async def connect(server: Server) -> AsyncIterator[Connect]:
    """Connects to `alpha` as its ssh_config says; raises what goes wrong. Closed after the test."""
    transports: list[SshTransport] = []

    async def reach(asker: Any = None, name: str = "alpha", **how: Any) -> SshTransport:
        transports.append(await SshTransport.connect(name, SshSettings(str(server.config), asker=asker, **how)))
        return transports[-1]

    yield reach
    for transport in transports:
        await transport.close()


@pytest.fixture
async def login(connect: Connect) -> AsyncIterator[Callable[..., Awaitable[Session]]]:
    """Connects to `alpha` and starts the agent; raises what goes wrong. Closed after the test."""
    sessions: list[Session] = []

    async def start(asker: Any = None, python: str = "", **how: Any) -> Session:
        sessions.append(Session(await connect(asker, **how), asker, python))
        await sessions[-1].host.connect(lambda _: None)
        return sessions[-1]

    yield start
    for session in sessions:
        await session.host.close()


@pytest.fixture
def assert_no_leak() -> Callable[..., None]:
    """Neither the error nor any error behind it says the secret."""

    def check(error: BaseException | None, *secret: str) -> None:
        while error is not None:
            said = "".join(traceback.format_exception(error, chain=False)) + repr(error) + repr(vars(error))
            assert not any(one in said for one in secret)
            error = error.__context__

    return check


@pytest.fixture
def new_key() -> Callable[..., Path]:
    return make_key


@pytest.fixture
def public_key() -> Callable[[Path], str]:
    return public


@pytest.fixture
def ssh_keygen() -> Callable[..., str]:
    return keygen


@pytest.fixture
def unused_port() -> int:
    return free_port()


@pytest.fixture
def eventually() -> Callable[..., Awaitable[Any]]:
    async def poll(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            await asyncio.sleep(0.01)
        return found

    return poll
