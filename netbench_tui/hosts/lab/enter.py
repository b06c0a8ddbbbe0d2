"""A launcher that becomes a program inside a lab namespace. Runs alone, as `python -I -S enter.py`, and so imports
the standard library only.

    enter.py [--user PATH] --net PATH [--sysfs] -- ARGV...      becomes ARGV inside
    enter.py [--user PATH] --net PATH --connect ADDRESS PORT    connects inside and hands the socket to its parent

For --connect, stdin is an AF_UNIX socket; the connected TCP socket goes through it (SCM_RIGHTS).
"""

import ctypes
import os
import signal
import sys

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8
_MS_REC = 0x4000
_MS_SLAVE = 0x80000
_PR_SET_PDEATHSIG = 1

# Exit codes of env(1) and the shell: the launcher failed, the program cannot be executed, the program was not found.
_LAUNCHER_FAILED = 125
_NOT_EXECUTABLE = 126
_NOT_FOUND = 127

_CONNECT_SECONDS = 5.0

_libc = ctypes.CDLL(None, use_errno=True)


class _Request:
    """The command line, read by hand: argparse would double the time until the program runs. Raises ValueError."""

    def __init__(self, words: list[str]) -> None:
        self.user = self.net = ""
        self.sysfs = False
        self.connect: tuple[str, int] | None = None
        self.argv: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--user":
                self.user = next(rest, "")
            elif word == "--net":
                self.net = next(rest, "")
            elif word == "--sysfs":
                self.sysfs = True
            elif word == "--connect":
                self.connect = (next(rest, ""), int(next(rest, "")))
            elif word == "--":
                self.argv = list(rest)
            else:
                raise ValueError(f"unknown word {word!r}")
        if not self.net or bool(self.argv) == bool(self.connect):
            raise ValueError("give --net, and either a program or --connect")


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _enter(user: str, net: str) -> None:
    """Both paths are opened first: inside the user namespace the second might be out of reach."""
    kinds = [(_CLONE_NEWUSER, user), (_CLONE_NEWNET, net)]
    opened = [(kind, os.open(path, os.O_RDONLY | os.O_CLOEXEC)) for kind, path in kinds if path]
    for kind, descriptor in opened:
        _call("setns", descriptor, kind)


def _die_with_parent(parent: int) -> None:
    """SIGTERM when the workbench dies, so that an agent or sshd may end its own children first; whoever ignores it is
    killed a moment later by the lab's keeper. Comes after setns, because a change of credentials would clear it."""
    _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        raise OSError("the workbench has ended")


def _mount_sysfs() -> None:
    """sysfs shows the NICs of the namespace it was mounted in. Our mounts stay ours; others' unmounts reach us."""
    _call("unshare", _CLONE_NEWNS)
    _call("mount", b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_SLAVE), None)
    _call("mount", b"sysfs", b"/sys", b"sysfs", ctypes.c_ulong(_MS_NOSUID_NODEV_NOEXEC), None)


def _hand_over(address: str, port: int) -> None:
    import socket  # costs more than all the rest, and only this needs it

    with (
        socket.create_connection((address, port), timeout=_CONNECT_SECONDS) as connection,
        socket.socket(fileno=os.dup(0)) as channel,
    ):
        connection.setblocking(True)
        socket.send_fds(channel, [b"."], [connection.fileno()])


def _become(argv: list[str]) -> int:
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - to become another program is the purpose
    except FileNotFoundError:
        return _fail(f"{argv[0]}: not found", _NOT_FOUND)
    except OSError as error:
        return _fail(f"{argv[0]}: {error.strerror}", _NOT_EXECUTABLE)


def _fail(message: str, code: int = _LAUNCHER_FAILED) -> int:
    sys.stderr.write(f"enter: {message}\n")
    return code


def main() -> int:
    parent = os.getppid()
    try:
        request = _Request(sys.argv[1:])
        _enter(request.user, request.net)
        _die_with_parent(parent)
        if request.connect:
            _hand_over(*request.connect)
            return 0
        if request.sysfs:
            _mount_sysfs()
    except (OSError, ValueError) as error:
        return _fail(str(error))
    return _become(request.argv)


if __name__ == "__main__":
    sys.exit(main())
