"""Small questions about ports: a free one, and whether somebody listens on one. Used by main.py."""

import socket

LISTEN = b"0A"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def free_port(address):
    """A TCP port that nobody uses on `address` now; raises OSError (e.g. EADDRNOTAVAIL)."""
    info = socket.getaddrinfo(address, 0, 0, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)[0]
    with socket.socket(info[0], socket.SOCK_STREAM) as handle:
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        handle.bind(info[4])
        return handle.getsockname()[1]


def listening(port):
    """True if some socket of this network namespace listens on the TCP port."""
    wanted = b"%04X" % port
    for table in TABLES:
        try:
            with open(table, "rb") as handle:
                lines = handle.read().split(b"\n")[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split(None, 4)
            if len(words) > 3 and words[3] == LISTEN and words[1].endswith(b":" + wanted):
                return True
    return False
