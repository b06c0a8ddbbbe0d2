"""What ssh_config says of one host, as arguments for asyncssh. Used by dial.py."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

from netbench_tui.hosts.ssh.identities import Identities, sort_identities
from netbench_tui.hosts.ssh.known_hosts import SSH_PORT, entry_name
from netbench_tui.hosts.ssh.names import split_name
from netbench_tui.hosts.ssh.trust import GLOBAL_FILES, USER_FILES

# From the first packet to a login, but for the time in which a person is asked; ConnectTimeout changes it.
CONNECT_SECONDS = 15.0
# A silent peer is given up after 3 x 5 s: short enough to tell the user, long enough for a busy host. ServerAlive*
# change it.
KEEPALIVE_SECONDS, KEEPALIVE_COUNT = 5, 3
# Keywords that change who is reached or trusted and that asyncssh does not know: silence about them would mislead.
UNSUPPORTED = (
    "KnownHostsCommand",
    "LocalCommand",
    "ProxyUseFdpass",
    "RevokedHostKeys",
    "SecurityKeyProvider",
    "StrictHostKeyChecking",
    "VerifyHostKeyDNS",
)


# Include may be nested; ssh itself stops at this depth.
DEEPEST_INCLUDE = 16


@dataclass
class HostOptions:
    """`arguments` go to asyncssh.connect as they are. `jumps` are the hosts on the way, first hop first."""

    name: str
    host: str
    arguments: dict[str, Any]
    known_hosts: Sequence[str]
    address: str = ""
    port: int = 22
    user: str = ""
    jumps: Sequence[str] = ()
    seconds: float = CONNECT_SECONDS
    identities: Identities = field(default_factory=Identities)

    @property
    def trusted_names(self) -> list[str]:
        """The names under which known_hosts may hold the key, the one to write first. An alias has no port."""
        if alias := self.arguments.get("host_key_alias"):
            return [str(alias)]
        return list(dict.fromkeys((entry_name(self.address, self.port), self.address)))


async def read_options(name: str, config: str | None) -> HostOptions:
    """`name` is USER@HOST:PORT or a Host of ssh_config; `config` another file than the user's own, as `ssh -F`.

    Raises UsageError for a name that is none, and what asyncssh raises for a file that it cannot read.
    """
    user, host, port = split_name(name)
    arguments: dict[str, Any] = {"config": [config] if config else user_config(), "connect_timeout": None}
    arguments |= {"username": user} if user else {}
    arguments |= {"port": port} if port else {}
    read = await asyncssh.SSHClientConnectionOptions.construct(host=host, client_keys=None, **arguments)
    said = read.config
    identities = await asyncio.to_thread(sort_identities, said.get("IdentityFile", ()))
    return HostOptions(
        name=name,
        host=host,
        arguments=arguments | _alive(said) | identities.arguments(bool(said.get("IdentitiesOnly"))),
        known_hosts=_known_hosts(said),
        address=str(said.get("Hostname") or host),
        port=int(read.port or SSH_PORT),
        user=str(read.username),
        jumps=_jumps(said),
        seconds=float(said.get("ConnectTimeout") or CONNECT_SECONDS),
        identities=identities,
    )


def _alive(said: Any) -> dict[str, Any]:
    """Our own limits where ssh_config has none; the login's time is kept by login.py."""
    given: dict[str, Any] = {"login_timeout": 0}
    if said.get("ServerAliveInterval") is None:
        given["keepalive_interval"] = KEEPALIVE_SECONDS
    if said.get("ServerAliveCountMax") is None:
        given["keepalive_count_max"] = KEEPALIVE_COUNT
    if alias := said.get("HostKeyAlias"):
        given["host_key_alias"] = alias
    return given


def _jumps(said: Any) -> list[str]:
    """`none` comes as None; a hop may be written as ssh://HOP."""
    hops = str(said.get("ProxyJump") or "").split(",")
    return [hop.strip().removeprefix("ssh://") for hop in hops if hop.strip()]


def _known_hosts(said: Any) -> list[str]:
    """The user's files first: the first of all is the one to write. `none` comes as an empty list."""
    own, common = said.get("UserKnownHostsFile"), said.get("GlobalKnownHostsFile")
    return [*(USER_FILES if own is None else own or [os.devnull]), *(GLOBAL_FILES if common is None else common)]


def user_config() -> list[str]:
    files = (Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config"))
    return [str(file) for file in files if file.is_file()]


def unsupported(files: Sequence[str]) -> list[str]:
    """The keywords of these files, and of those that they include, that are passed over here; each once."""
    found = {keyword for file in files for keyword in _keywords(Path(file), 0)}
    return [keyword for keyword in UNSUPPORTED if keyword.lower() in found]


def _keywords(file: Path, depth: int) -> Iterator[str]:
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        keyword, *words = line.replace("=", " ", 1).split() or [""]
        yield keyword.lower()
        if keyword.lower() == "include" and depth < DEEPEST_INCLUDE:
            for pattern in words:
                path = Path("~/.ssh").expanduser() / Path(pattern).expanduser()
                for included in Path(path.anchor).glob(str(path.relative_to(path.anchor))):
                    yield from _keywords(included, depth + 1)
