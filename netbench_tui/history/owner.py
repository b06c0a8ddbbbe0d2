"""Who is writing a session: a process that can be told from a later one of the same number. Used by history/ alone."""

import os
from dataclasses import dataclass
from pathlib import Path

# Field 22 of /proc/PID/stat, counted from the field after the command's closing parenthesis (field 3, the state).
_START_FIELD = 22 - 3
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process by number, start (clock ticks since boot), boot and PID namespace."""

    pid: int
    start: int
    boot: str
    namespace: str


def current_owner() -> Owner:
    """This process. Outside Linux's /proc, what cannot be read is empty or zero."""
    pid = os.getpid()
    try:
        namespace = str((_PROC / "self/ns/pid").readlink())
    except OSError:
        namespace = ""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return Owner(pid, process_start(pid) or 0, boot, namespace)


def process_start(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None if it is gone or a zombie."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else int(fields[_START_FIELD])
    except (OSError, IndexError, ValueError):
        return None


def is_known_gone(owner: Owner, here: Owner) -> bool | None:
    """True or False where the process table tells, None where it cannot: another boot, machine or container."""
    if (owner.boot, owner.namespace) != (here.boot, here.namespace):
        return None
    return process_start(owner.pid) != owner.start
