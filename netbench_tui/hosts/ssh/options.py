"""What ssh_config says of one host, as arguments for asyncssh. Used by dial.py."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

from netbench_tui.hosts.ssh.names import split_name
from netbench_tui.hosts.ssh.trust import DEFAULT_FILES

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
    identities: list[str] = field(default_factory=list)

    @property
    def trusted_name(self) -> str:
        """The name under which known_hosts holds the key."""
        return str(self.arguments.get("host_key_alias") or self.address)


async def read_options(name: str, config: str | None) -> HostOptions:
    """`name` is USER@HOST:PORT or a Host of ssh_config; `config` another file than the user's own, as `ssh -F`.

    Raises UsageError for a name that is none, and what asyncssh raises for a file that it cannot read.
    """
    user, host, port = split_name(name)
    arguments: dict[str, Any] = {"config": [config] if config else user_config(), "login_timeout": 0}
    arguments |= {"connect_timeout": None}
    arguments |= {"username": user} if user else {}
    arguments |= {"port": port} if port else {}
    read = await asyncssh.SSHClientConnectionOptions.construct(
        host=host, client_keys=None, **{key: arguments[key] for key in arguments if key != "login_timeout"}
    )
    said = read.config
    for keyword, argument, value in (
        ("ServerAliveInterval", "keepalive_interval", KEEPALIVE_SECONDS),
        ("ServerAliveCountMax", "keepalive_count_max", KEEPALIVE_COUNT),
    ):
        if said.get(keyword) is None:
            arguments[argument] = value
    identities = [Path(file).expanduser() for file in said.get("IdentityFile", ())]
    if identities:
        # As ssh does: a file that is not there is passed over, and one that is locked may be in the ssh-agent.
        arguments["client_keys"] = [str(file) for file in identities if file.is_file()]
        arguments["ignore_encrypted"] = True
    jump = said.get("ProxyJump", "")
    return HostOptions(
        name=name,
        host=host,
        arguments=arguments,
        known_hosts=_files(read.known_hosts),
        address=str(said.get("Hostname", host)),
        port=int(read.port or 22),
        user=str(read.username),
        jumps=[] if jump.lower() == "none" else [hop.strip() for hop in jump.split(",") if hop.strip()],
        seconds=float(said.get("ConnectTimeout") or CONNECT_SECONDS),
        identities=arguments.get("client_keys", []),
    )


def _files(known: Any) -> Sequence[str]:
    files = [file for file in known if isinstance(file, str)] if isinstance(known, (list, tuple)) else []
    return files or DEFAULT_FILES


def user_config() -> list[str]:
    files = (Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config"))
    return [str(file) for file in files if file.is_file()]


def unsupported(files: Sequence[str]) -> list[str]:
    """The keywords of these files that are passed over here, each once."""
    found = set()
    for file in files:
        try:
            lines = Path(file).read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        found |= {words[0].lower() for line in lines if (words := line.replace("=", " ", 1).split())}
    return [keyword for keyword in UNSUPPORTED if keyword.lower() in found]
