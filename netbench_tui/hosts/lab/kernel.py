"""The few system calls that Python 3.11 lacks: unshare, setns, mount, umount2. Used by the lab's other modules.

enter.py has its own copies, since it runs alone with the standard library and nothing else of ours.
"""

import ctypes
import os
from pathlib import Path
from typing import Any

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_SHARED = 0x100000
MNT_DETACH = 2

# CapEff bits of linux/capability.h: what building namespaces and a veth pair needs.
_CAP_NET_ADMIN = 12
_CAP_SYS_ADMIN = 21

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> None:
    """Calls libc's `name`; raises OSError with its errno."""
    if getattr(_libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _call("unshare", flags)


def setns(descriptor: int, kind: int) -> None:
    _call("setns", descriptor, kind)


def mount(source: str, target: str, flags: int) -> None:
    """A bind mount or a change of propagation: these take no file system type and no data."""
    _call("mount", os.fsencode(source), os.fsencode(target), b"none", ctypes.c_ulong(flags), None)


def unmount(target: str) -> None:
    """Lazily: a process that still looks at the target does not keep it."""
    _call("umount2", os.fsencode(target), MNT_DETACH)


def network_namespace() -> int:
    """A descriptor of the calling thread's network namespace."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def may_administrate() -> bool:
    """Whether this process may give namespaces names: root, but not of a stripped container or of a user namespace
    that sees somebody else's /run."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    effective = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
    needed = 1 << _CAP_SYS_ADMIN | 1 << _CAP_NET_ADMIN
    return os.geteuid() == 0 and effective & needed == needed and os.access("/run", os.W_OK)
