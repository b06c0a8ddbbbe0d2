"""A user of this machine, made and removed by these tests, for what needs a password or sudo; root alone can."""

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DEADLINE_SECONDS = 15.0
SBIN = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin", "/sbin"))


class Account:
    """A user of this machine with a password, made for these tests. Its home can be read by sshd in the user's name."""

    def __init__(self) -> None:
        self.name, self.first_password = f"nbt-{secrets.token_hex(4)}", f"pw-{secrets.token_hex(8)}"
        self.home = Path(tempfile.mkdtemp(prefix="nbt-home-"))
        self.home.chmod(0o755)
        run("useradd", "-M", "-d", str(self.home), "-s", "/bin/sh", self.name)
        try:
            self.set_password(self.first_password)
            self.uid = pwd.getpwnam(self.name).pw_uid
        except BaseException:
            self.remove()
            raise
        self.sudoers = Path("/etc/sudoers.d") / self.name

    def set_password(self, password: str) -> None:
        self.password = password
        run("chpasswd", input=f"{self.name}:{password}\n")

    def authorize(self, key: str) -> Path:
        path = self.home / "authorized_keys"
        path.write_text(key + "\n")
        path.chmod(0o644)
        return path

    def may(self, *rules: str) -> None:
        """Writes sudoers rules, `NAME` in them standing for this user; refused if they are no valid sudoers."""
        draft = self.home / "sudoers"
        draft.write_text("".join(rule.replace("NAME", self.name) + "\n" for rule in rules))
        draft.chmod(0o440)
        run("visudo", "-cf", str(draft))
        shutil.copy(draft, self.sudoers)
        self.sudoers.chmod(0o440)

    def processes(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and entry.stat().st_uid == self.uid:
                    found.append(int(entry.name))
        return found

    def clear(self) -> None:
        """As if new; its password is given anew if a test changed it."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)  # they end when their sshd has
        for path in (self.sudoers, Path(f"/run/sudo/ts/{self.name}"), Path(f"/var/lib/sudo/lectured/{self.name}")):
            path.unlink(missing_ok=True)
        for path in self.home.iterdir():
            path.unlink()
        if self.password != self.first_password:
            self.set_password(self.first_password)

    def remove(self) -> None:
        subprocess.run(["userdel", "-f", self.name], capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)


def run(*argv: str, **how: Any) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, "PATH": SBIN}, **how)


@pytest.fixture(scope="session")
def made_account() -> Iterator[Account]:
    """Made once, since it takes a second."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a user with a password")
    if not shutil.which("useradd", path=SBIN) or not shutil.which("chpasswd", path=SBIN):
        pytest.skip("no useradd and chpasswd here: install passwd")
    made = Account()
    yield made
    made.remove()


@pytest.fixture
def account(made_account: Account) -> Iterator[Account]:
    """Name it before the server among a test's fixtures: the server then ends first."""
    yield made_account
    made_account.clear()


@pytest.fixture
def sudoer(account: Account) -> Account:
    if not shutil.which("sudo") or not shutil.which("visudo", path=SBIN):
        pytest.skip("no sudo here: install sudo")
    return account
