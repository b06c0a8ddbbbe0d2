"""Which host keys are trusted: known_hosts as ssh reads it, with `unknown` told apart from `changed`. Used by dial.py.

asyncssh raises the same error for both, and a missing file is an error to it; so it asks us instead.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncssh

DEFAULT_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts")


class KnownHosts:
    """Reads `files` (those that exist) and remembers what they hold for the host that was asked about: whether any
    key is `known`."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = [Path(file).expanduser() for file in files]
        self.known = False

    def __call__(self, host: str, address: str, port: int | None) -> Any:
        """asyncssh's protocol: seven lists of keys and certificates trusted or revoked for the host."""
        text = ""
        for file in self.files:
            with contextlib.suppress(OSError):
                text += file.read_text("utf-8", "replace") + "\n"
        found = asyncssh.import_known_hosts(_valid_lines(text)).match(host, address, port)
        self.known = bool(found[0])
        return found

    @property
    def where(self) -> str:
        """The files that were read, or would be, for a sentence."""
        return " or ".join(str(file) for file in self.files if file.is_file()) or str(self.files[0])


def _valid_lines(text: str) -> str:
    """The lines that asyncssh accepts: one broken line must not lock the user out of every host."""
    good = []
    for line in text.splitlines():
        try:
            asyncssh.import_known_hosts(line)
        except ValueError:
            continue
        good.append(line)
    return "\n".join(good)


class KeyWitness(asyncssh.SSHClient):
    """Sees the key that a host presents, also one that is not trusted. Its verdict is always no: KnownHosts decides."""

    def __init__(self) -> None:
        self.key: asyncssh.SSHKey | None = None
        self.lost: Exception | None = None
        self.over = False

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.key = key
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.over, self.lost = True, exc

    def fingerprint(self) -> str:
        """As ssh prints it: `ssh-ed25519 SHA256:...`."""
        if self.key is None:
            return "no key seen"
        return f"{self.key.get_algorithm()} {self.key.get_fingerprint()}"
