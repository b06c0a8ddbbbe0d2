"""The program without a screen, between this machine and a real sshd on it: paths, passwords typed on a terminal, and
the search for secrets in everything that it leaves or shows."""

import contextlib
import fcntl
import json
import os
import pty
import select
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.engine.engine import Engine
from netbench_tui.errors import LoginRefused
from netbench_tui.model.host import Privilege, Role
from netbench_tui.model.session import HostTarget, PairTarget, Reach

PYTHON = "/usr/bin/python3"
SECONDS = 60


@pytest.fixture
def headless(server: Any, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`run quick-tcp` for a second, with the server's ssh_config, a history in the test's folder and no terminal."""

    def run(sender: str, receiver: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [*command(server, tmp_path, sender, receiver), *words]
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, start_new_session=True
        )

    return run


def command(server: Any, folder: Path, sender: str, receiver: str) -> list[str]:
    program = [sys.executable, "-m", "netbench_tui", "--history", str(folder / "history.db")]
    hosts = ["--sender", sender, "--receiver", receiver, "-F", str(server.config)]
    return [*program, "run", "quick-tcp", "--seconds", "1", "--streams", "1", "--json", *hosts]


def document(ran: subprocess.CompletedProcess[str]) -> Any:
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["state"] == "finished"
    throughput = next(metric for metric in found["metrics"] if metric["name"] == "throughput")
    assert throughput["value"] > 1e6
    return found


@pytest.mark.parametrize("hosts", [("local", "alpha"), ("alpha", "local")])
@pytest.mark.parametrize("version", ["4", "6"])
def test_this_machine_and_one_over_ssh(running: Any, headless: Any, hosts: tuple[str, str], version: str) -> None:
    if version == "6" and "lo" not in Path("/proc/net/if_inet6").read_text().split():
        pytest.skip("no IPv6 here")
    found = document(headless(*hosts, "--ip-version", version))
    assert [found["hosts"][role]["name"] for role in ("sender", "receiver")] == list(hosts)
    assert [found["hosts"][role]["nic"] for role in ("sender", "receiver")] == ["lo", "lo"], "it is one machine"
    assert running.sessions() == []


def test_user_and_port_in_the_name(running: Any, headless: Any) -> None:
    name = f"{running.user}@alpha:{running.port}"
    running.configure(User="nobody-of-that-name", Port=1)
    assert document(headless("local", name, "--generator", "builtin"))["hosts"]["receiver"]["name"] == name


def test_an_unknown_key_without_anybody_to_ask(running: Any, headless: Any) -> None:
    running.known_hosts.unlink()
    ran = headless("local", "alpha")
    assert (ran.returncode, ran.stdout) == (11, "")
    assert "SHA256:" in ran.stderr and f"ssh-keyscan -p {running.port} 127.0.0.1 >> {running.known_hosts}" in ran.stderr
    assert not running.known_hosts.exists()
    document(headless("local", "alpha", "--accept-new"))
    document(headless("local", "alpha"))


def test_a_password_without_anybody_to_ask(account: Any, server: Any, headless: Any) -> None:
    server.configure(User=account.name, IdentityFile="none")
    server.start(PasswordAuthentication="yes", UsePAM="no")
    ran = headless("local", "alpha")
    assert (ran.returncode, ran.stdout) == (13, "")
    assert "--ask-pass" in ran.stderr


def test_a_python_for_one_host(running: Any, headless: Any) -> None:
    ran = headless("local", "alpha", "--python", "alpha=/opt/none/python3")
    assert ran.returncode == 14 and "/opt/none/python3" in ran.stderr


# secrets


@pytest.fixture
def three_secrets(sudoer: Any, server: Any, new_key: Any, public_key: Any, tmp_path: Path) -> list[str]:
    """alpha wants a key with a passphrase, then a password, then one for sudo. They are those three, in order."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"no {PYTHON} here: version managers of root are of no use to another user")
    passphrase = "canary-of-the-key"
    sudoer.set_password("canary-of-the-user")
    sudoer.may("NAME ALL=(ALL) ALL")
    key = new_key(tmp_path / "locked", passphrase=passphrase)
    server.configure(User=sudoer.name, IdentityFile=key)
    server.start(
        AuthorizedKeysFile=str(sudoer.authorize(public_key(key))),
        PasswordAuthentication="yes",
        AuthenticationMethods="publickey,password",
        UsePAM="no",
    )
    return [passphrase, sudoer.password, sudoer.password]


def in_processes(*words: str) -> list[str]:
    """Command lines and environments of this machine's processes that hold one of the words."""
    found = []
    for path in (path for name in ("cmdline", "environ") for path in Path("/proc").glob(f"[0-9]*/{name}")):
        with contextlib.suppress(OSError):
            content = path.read_bytes()
            found += [f"{path}: {word}" for word in words if word.encode() in content]
    return found


class Terminal:
    """A program with a terminal of its own, on which `shown` appears and things are typed. Its output is a pipe."""

    def __init__(self, argv: list[str], **environment: str) -> None:
        self.master, slave = pty.openpty()
        self.shown, self.read, self.deadline = "", 0, time.monotonic() + SECONDS
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def expect(self, text: str, *secret: str) -> None:
        """Waits until the text appears behind what was expected before; no process shows a secret meanwhile."""
        while (found := self.shown.find(text, self.read)) < 0:
            assert self.process.poll() is None, f"no {text!r} in {self.shown!r}"
            self._look(secret)
        self.read = found + len(text)

    def _look(self, secret: tuple[str, ...]) -> None:
        assert time.monotonic() < self.deadline, self.shown
        assert not in_processes(*secret)
        with contextlib.suppress(OSError):  # nobody has the other side open any more
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 1 << 16).decode()

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def finish(self, *secret: str) -> str:
        """What was printed."""
        while self.process.poll() is None:
            self._look(secret)
        printed = self.process.communicate()[0]
        self._look(secret)
        os.close(self.master)
        return str(printed)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def start(argv: list[str], **environment: str) -> Terminal:
        started.append(Terminal(argv, **environment))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(20)


def test_secrets_typed_on_a_terminal_are_nowhere_else(
    three_secrets: list[str], server: Any, terminal: Any, tmp_path: Path
) -> None:
    words = ["--ask-pass", "--python", f"alpha={PYTHON}", "--generator", "builtin"]
    program = terminal([*command(server, tmp_path, "local", "alpha"), *words], PYTHONDEVMODE="1")
    for prompt, secret in zip(("passphrase of ", "password of ", "for sudo on alpha"), three_secrets, strict=True):
        program.expect(prompt, *three_secrets)
        program.expect(": ", *three_secrets)
        program.type(secret + "\n")
    printed = program.finish(*three_secrets)
    assert program.process.returncode == 0, program.shown
    assert json.loads(printed)["hosts"]["receiver"]["privilege"] == "sudo"
    shown = subprocess.run(
        [*program.process.args[:5], "show", "latest", "--json", "--output"], capture_output=True, text=True
    )
    assert shown.returncode == 0
    files = {path: path.read_bytes() for path in tmp_path.glob("history.db*")}
    assert files
    for secret in three_secrets:
        assert secret not in printed + program.shown + shown.stdout + shown.stderr
        assert not [path for path, content in files.items() if secret.encode() in content]
        assert secret not in (tmp_path / "sshd.log").read_text()


def test_an_answer_that_is_refused_on_the_terminal(account: Any, server: Any, terminal: Any, tmp_path: Path) -> None:
    server.configure(User=account.name, IdentityFile="none")
    server.start(PasswordAuthentication="yes", UsePAM="no")
    program = terminal([*command(server, tmp_path, "local", "alpha"), "--ask-pass"])
    program.expect("password: ")
    program.type("canary-wrong\n")
    program.expect("that password was wrong; password of")
    program.expect("password: ")
    program.type("\x04")  # end of input
    assert program.finish("canary-wrong") == ""
    assert program.process.returncode == 13
    assert "the login was given up" in program.shown and "canary" not in program.shown
    assert "Traceback" not in program.shown


class Face:
    """Answers the engine's questions from a list, and keeps every event."""

    def __init__(self, engine: Engine, answers: list[str]) -> None:
        self.engine, self.answers = engine, answers
        self.seen: list[events.Event] = []
        self.over = threading.Event()
        engine.subscribe(self.deliver)

    def deliver(self, event: events.Event) -> None:
        self.seen.append(event)
        if isinstance(event, events.Asked):
            self.engine.answer(event.number, (self.answers.pop(0),) if self.answers else None)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.seen if isinstance(event, kind)]


@pytest.fixture
def engine(server: Any, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "history.db", str(server.config), may_ask=True, pythons={"alpha": PYTHON})
    made.start()
    yield made
    made.close()


TARGET = PairTarget(HostTarget("local", Reach.LOCAL), HostTarget("alpha", Reach.SSH))


def test_no_event_holds_a_secret(three_secrets: list[str], engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    face = Face(engine, list(three_secrets))
    engine.connect(TARGET).result(SECONDS)
    view = face.of(events.PairConnected)[0].receiver
    assert (view.privilege, view.privilege_note) == (Privilege.SUDO, "")
    asked, over = face.of(events.Asked), face.of(events.QuestionOver)
    assert len(asked) == 3 and [event.number for event in over] == [event.number for event in asked]
    assert all(event.question.role is Role.RECEIVER for event in asked)
    for secret in three_secrets:
        assert secret not in repr(face.seen) + caplog.text


def test_a_refused_login_says_no_secret(
    three_secrets: list[str], engine: Engine, assert_no_leak: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    wrong = ["canary-one", "canary-two", "canary-three"]
    face = Face(engine, [three_secrets[0], *wrong])
    future: Future[None] = engine.connect(TARGET)
    with pytest.raises(LoginRefused) as caught:
        future.result(SECONDS)
    assert_no_leak(caught.value, three_secrets[0], *wrong)
    assert not any(secret in repr(face.seen) + caplog.text for secret in (three_secrets[0], *wrong))
