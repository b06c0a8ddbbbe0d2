"""How a person names a host on the command line or the Connect screen. Used by dial.py."""

import re

from netbench_tui.errors import UsageError

# What may stand for a host: an option, a blank or a control character never does.
HOST = re.compile(r"[^\s\x00-\x20\x7f\[\]-][^\s\x00-\x20\x7f\[\]]*")
BRACKETED = re.compile(r"\[([^\]]*)\](?:(:)(.*))?", re.DOTALL)


def split_name(name: str) -> tuple[str, str, int | None]:
    """`user@host:port`, each part but the host optional, as (user, host, port). IPv6 with a port needs brackets."""
    user, at, rest = name.rpartition("@")
    bracketed = BRACKETED.fullmatch(rest)
    if bracketed:
        host, colon, port = bracketed.groups(default="")
    else:
        host, colon, port = rest.partition(":") if rest.count(":") == 1 else (rest, "", "")
    number = int(port) if port.isascii() and port.isdecimal() and len(port) <= 5 else 0
    if not HOST.fullmatch(host) or (at and not user) or (colon and not 1 <= number <= 65535):
        raise UsageError(f"{name!r} is not a host", "write HOST, USER@HOST or USER@HOST:PORT, or a Host of ssh_config")
    return user, host, number or None
