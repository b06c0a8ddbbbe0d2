"""The irqbalance that runs on a host, if one does: found in /proc, spoken to through its socket. Used by irqbalance.py
and irqbalance_service.py.

The socket takes one command a connection from root, who shows who he is by SCM_CREDENTIALS. `setup` answers
`SLEEP 10 IRQ 38 LOAD 0 DIFF 0 CLASS 5 ... BANNED 00000000`: the IRQs in it are the banned ones. `settings ban irqs
38 39` replaces that list, `settings ban irqs NONE` empties it; there is no answer to these.
"""

import errno
import os
import re
import socket
import struct

NAME = "irqbalance"
SOCKETS = "/run/irqbalance/irqbalance%d.sock", "\0irqbalance%d.sock"
# What it waits for a command's answer, in seconds; it answers between two rounds of balancing.
PATIENCE = 2.0
# It reads so many bytes of a command and no more.
LONGEST_COMMAND = 499
SCM_CREDENTIALS = getattr(socket, "SCM_CREDENTIALS", 2)
BANNED = re.compile(r"IRQ (\d+) LOAD")


def running(root):
    """Its process id; None where it does not run, or we may not see it."""
    for name in root.names("proc"):
        if name.isdecimal() and root.text("proc", name, "comm") == NAME and _alive(root, name):
            return int(name)
    return None


def _alive(root, name):
    """A process that ended and was not yet waited for is in /proc as well."""
    state = (root.text("proc", name, "stat") or "").rpartition(")")[2].split()
    return bool(state) and state[0] not in "ZX"


def banned(pid):
    """The IRQs that it was told to leave alone. Raises OSError."""
    return [int(number) for number in BANNED.findall(ask(pid, "setup"))]


def ban(pid, numbers):
    """Makes these, and no others, the IRQs that it leaves alone. Raises OSError, also if it did not."""
    command = "settings ban irqs " + (" ".join("%d" % number for number in sorted(numbers)) or "NONE")
    if len(command) > LONGEST_COMMAND:
        raise OSError(errno.E2BIG, "irqbalance takes no list of %d interrupts" % len(numbers))
    ask(pid, command)
    if set(banned(pid)) != set(numbers):
        raise OSError(errno.EIO, "irqbalance did not take the list")


def ask(pid, command):
    """What it says to one command; empty where it says nothing."""
    handle = _connected(pid)
    try:
        credentials = struct.pack("3i", os.getpid(), os.geteuid(), os.getegid())
        handle.sendmsg([command.encode()], [(socket.SOL_SOCKET, SCM_CREDENTIALS, credentials)])
        pieces = []
        while True:
            piece = handle.recv(1 << 16)
            if not piece:
                return b"".join(pieces).decode("ascii", "replace")
            pieces.append(piece)
    except socket.timeout:
        raise OSError(errno.ETIMEDOUT, "irqbalance does not answer")
    finally:
        handle.close()


def _connected(pid):
    """Newer ones have a socket in /run, older ones an abstract one."""
    failure = None
    for form in SOCKETS:
        handle = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        handle.settimeout(PATIENCE)
        try:
            handle.connect(form % pid)
            return handle
        except OSError as error:
            handle.close()
            failure = failure if failure and failure.errno == errno.EACCES else error
    raise failure
