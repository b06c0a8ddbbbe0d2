"""An unprivileged user namespace for the lab, and clear words where the kernel forbids it. Used by keeper.py."""

import os
from pathlib import Path

from netbench_tui.hosts.lab import kernel

# What may stand in the way, in the order of likelihood: (sysctl, the value that forbids, a value that allows).
_SWITCHES = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "10000"),
    ("user.max_net_namespaces", "0", "10000"),
)


def become_root_of_a_user_namespace() -> None:
    """Moves the calling process, which must have one thread, into a new user namespace as its root. Raises OSError."""
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    # Without this the kernel lets nobody unprivileged map a group.
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"0 {uid} 1")
    _write("/proc/self/gid_map", f"0 {gid} 1")


def refusal(error: OSError) -> tuple[str, str]:
    """Why this user may build no lab here, and what to do: a message and a hint."""
    message = "The lab needs root or an unprivileged user namespace, and this machine allows neither"
    for name, forbidding, allowing in _SWITCHES:
        if _sysctl(name) == forbidding:
            return (
                f"{message}: {name} is {forbidding}.",
                f"Run it as root (sudo), or allow it: sudo sysctl -w {name}={allowing}",
            )
    return (
        f'{message}: the kernel answered "{error.strerror or error}".',
        "Run it as root (sudo); in a container, one that has CAP_SYS_ADMIN and CAP_NET_ADMIN.",
    )


def _sysctl(name: str) -> str:
    try:
        return Path("/proc/sys", *name.split(".")).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    """In one write(2), as the map files demand, and unbuffered so that a refusal is seen here."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
