"""The user's key files, sorted by what it takes to use them. Used by options.py.

asyncssh fails as a whole on one key file that it cannot read, and on an encrypted one whose public part it does not
find; ssh passes over the one and asks for the other only when nothing else was taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

# Those that ssh tries where ssh_config names none, in its order.
DEFAULT_FILES = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")


class NoKeys(list[str]):
    """An empty list that counts as something said: asyncssh takes an empty one for `the default keys`."""

    def __bool__(self) -> bool:
        return True


@dataclass
class Identities:
    """`offered` are files for asyncssh: plain ones, and encrypted ones whose public part is known (their passphrase is
    wanted only if the host takes the key). `hidden` are encrypted with no public part to be seen. `encrypted` are all
    that are encrypted; `unusable` cannot be read; `public` are the public parts."""

    offered: list[str] = field(default_factory=NoKeys)
    hidden: list[str] = field(default_factory=list)
    encrypted: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)
    public: list[str] = field(default_factory=list)

    def arguments(self, only_these: bool) -> dict[str, Any]:
        """For asyncssh.connect; `only_these` is IdentitiesOnly: of the ssh-agent's keys just those with a file."""
        given: dict[str, Any] = {"client_keys": self.offered, "ignore_encrypted": True}
        if only_these:
            # A key of no bytes is in no agent; without any, asyncssh would offer all of them.
            given["agent_identities"] = list(self.public) or [b""]
        return given


def sort_identities(named: Sequence[str]) -> Identities:
    """Reads the files that ssh_config names, or the default ones; those that do not exist are passed over."""
    folder = Path("~/.ssh").expanduser()
    paths = [Path(file).expanduser() for file in named] or [folder / name for name in DEFAULT_FILES]
    found = Identities()
    for path in paths:
        if path.is_file():
            _sort(str(path), found)
    return found


def _sort(file: str, found: Identities) -> None:
    public = next((part for part in (f"{file}.pub", file) if _is_public(part)), "")
    found.public += [public] if public else []
    try:
        asyncssh.read_private_key(file)
    except (OSError, ValueError) as error:
        if "passphrase" in str(error).lower():
            found.encrypted.append(file)
            (found.offered if public else found.hidden).append(file)
        elif public != file:  # of a public key alone the ssh-agent may hold the other half
            found.unusable.append(file)
        return
    found.offered.append(file)


def _is_public(file: str) -> bool:
    try:
        asyncssh.read_public_key(file)
    except (OSError, ValueError):
        return False
    return True
