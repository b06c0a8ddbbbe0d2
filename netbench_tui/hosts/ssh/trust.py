"""Which host keys are trusted: known_hosts as ssh reads it, with `unknown` told apart from `changed`. Used by dial.py.

asyncssh raises the same error for both, and a missing file is an error to it; so it asks us instead.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import asyncssh

USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
# What a match gives: host keys, CA keys, revoked keys; X.509 certificates, those revoked; subjects, those revoked.
KINDS = 7
REVOKED = (2, 4, 6)


class KnownHosts:
    """Reads `files` (those that exist) when asyncssh asks. `names` are the host's names in them: the first is its own,
    under the others its key is trusted too, but not expected (a host's name without the port, as ssh does).

    Then `known` says whether any key stands under its own name, and `restricts` whether asyncssh knows any key at all:
    it asks the host only for kinds of key that it knows.
    """

    def __init__(self, files: Sequence[str], names: Sequence[str]) -> None:
        self.files = [Path(file).expanduser() for file in files]
        self.names = [name.lower() for name in names]
        self.known = self.restricts = False
        self._places: list[tuple[str, asyncssh.SSHKey]] = []

    def __call__(self, host: str, address: str, port: int | None) -> Any:
        """asyncssh's protocol: seven lists of keys and certificates trusted or revoked for the host."""
        rows, found, revoked = list(self._rows()), _nothing(), _nothing()
        for name in self.names:
            matches = [(place, row.match(name, "", None)) for place, row in rows]
            found = tuple([key for _, match in matches for key in match[kind]] for kind in range(KINDS))
            revoked = tuple(before + now for before, now in zip(revoked, found, strict=True))
            if found[0] or found[1]:
                break
        self.known = bool(found[0]) and name == self.names[0]
        self.restricts = bool(found[0] or found[1])
        self._places = [(place, key) for place, match in matches for key in match[0]]
        return [revoked[kind] if kind in REVOKED else found[kind] for kind in range(KINDS)]

    def _rows(self) -> Iterator[tuple[str, asyncssh.SSHKnownHosts]]:
        """Each line that can be read, with its place: one broken line must not lock the user out of every host."""
        for file in self.files:
            try:
                lines = file.read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
            for number, line in enumerate(lines, 1):
                try:
                    yield f"{file} line {number}", asyncssh.import_known_hosts(line)
                except ValueError:
                    continue

    @property
    def where(self) -> str:
        """The files that were read, or would be, for a sentence."""
        return " or ".join(str(file) for file in self.files if file.is_file()) or str(self.files[0])

    def place(self, shown: asyncssh.SSHKey | None) -> str:
        """Where the key stands that the one `shown` contradicts: `FILE line 3`; one of its kind if there is one."""
        kind = shown.algorithm if shown else b""
        places = sorted(self._places, key=lambda place: place[1].algorithm != kind)
        return places[0][0] if places else self.where

    def holds(self, key: asyncssh.SSHKey) -> bool:
        """Whether this key is in the files by now."""
        trusted = self("", "", None)[0]
        return any(key.public_data == other.public_data for other in trusted)


class Pinned:
    """Trusts the one key that was accepted a moment ago."""

    restricts = True

    def __init__(self, key: asyncssh.SSHKey) -> None:
        self.key = key

    def __call__(self, host: str, address: str, port: int | None) -> Any:
        return [self.key], *_nothing()[1:]


Trust = KnownHosts | Pinned


def _nothing() -> tuple[list[Any], ...]:
    return tuple([] for _ in range(KINDS))


class KeyWitness(asyncssh.SSHClient):
    """Sees the key that a host presents, also one that is not trusted. Its verdict is always no: KnownHosts decides.

    `key` is that key; one that is trusted is seen here only when the connection ends."""

    def __init__(self) -> None:
        self.key: asyncssh.SSHKey | None = None
        self.lost: Exception | None = None
        self.over = False
        self._connection: asyncssh.SSHClientConnection | None = None

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._connection, self.over = conn, False

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.key = key
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self.key is None and self._connection:
            self.key = self._connection.get_server_host_key()
        self.over, self.lost, self._connection = True, exc, None

    def fingerprint(self) -> str:
        """As ssh prints it: `ssh-ed25519 SHA256:...`."""
        if self.key is None:
            return "no key seen"
        return f"{self.key.get_algorithm()} {self.key.get_fingerprint()}"
