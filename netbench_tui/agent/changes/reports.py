"""What a guardian put back after its agent had gone, left on the host until the next agent of this user asks for it.
Written by guardian.py, read by transactions.py.

One JSON file a report, in a folder that only this user can enter. Nothing in it is trusted beyond being shown: it names
settings, and is never written back from.
"""

import errno
import json
import os
import socket
import stat
import struct
import time

FOLDER = "netbench-tui"
PREFIX, SUFFIX = "restored-", ".json"
# Nobody may ever come back for them: the oldest go first.
MOST_REPORTS = 64
# Of namespaces that may be gone: kept for so long.
OTHERS_SECONDS = 86400.0
# A report of ours is far smaller, even with every queue of a large NIC in it.
MOST_BYTES = 4 << 20
SO_NETNS_COOKIE = 71
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def folders():
    """Where reports may lie, best first: memory that a reboot clears."""
    found = ["/run/" + FOLDER] if os.geteuid() == 0 else []
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        found.append(os.path.join(runtime, FOLDER))
    return found + ["/tmp/%s-%d" % (FOLDER, os.geteuid())]  # noqa: S108 - opened as ours alone, or not at all


def network_namespace():
    """Names the network namespace whose NICs this process sees: several may share one machine's folder. By its cookie,
    which no later one will have; kernels before 5.14 have only an inode number, which may come again."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as handle:
            return "%d" % struct.unpack("=Q", handle.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8))
    except (OSError, struct.error):
        pass
    try:
        return os.readlink("/proc/thread-self/ns/net")
    except OSError:
        return ""


def write(why, entries):
    """Leaves a report; OSError if there is nowhere to."""
    boot_id = ""
    try:
        with open("/proc/sys/kernel/random/boot_id") as handle:
            boot_id = handle.read().strip()
    except OSError:
        pass
    report = {"boot_id": boot_id, "time": time.time(), "why": why, "entries": entries, "of": network_namespace()}
    folder = _open_first()
    try:
        _prune(folder)
        name = "%s%d-%d" % (PREFIX, int(report["time"] * 1000), os.getpid())
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open("." + name, flags, 0o600, dir_fd=folder), "w") as handle:
            json.dump(report, handle)
        os.rename("." + name, name + SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def take():
    """All reports about this network namespace, oldest first; they are deleted."""
    taken, ours, now = [], network_namespace(), time.time()
    for path in folders():
        try:
            folder = _open(path)
        except OSError:
            continue
        try:
            for name in _names(folder):
                report = _read(folder, name) or {"of": None, "time": 0.0}
                mine = report.pop("of", "") == ours
                if mine or report["time"] < now - OTHERS_SECONDS:
                    os.unlink(name, dir_fd=folder)
                if mine:
                    taken.append(report)
        finally:
            os.close(folder)
        _remove_if_empty(path)
    return sorted(taken, key=lambda report: report["time"])


def _open_first():
    problem = OSError(errno.ENOENT, "no folder for reports")
    for path in folders():
        try:
            try:
                os.mkdir(path, 0o700)
            except FileExistsError:
                pass
            return _open(path)
        except OSError as error:
            problem = error
    raise problem


def _open(path):
    """The folder's descriptor; PermissionError unless it is ours and nobody else may enter it."""
    folder = os.open(path, FOLDER_FLAGS)
    found = os.fstat(folder)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        os.close(folder)
        raise PermissionError(errno.EPERM, "not a folder of this user alone", path)
    return folder


def _names(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith(PREFIX) and name.endswith(SUFFIX))


def _prune(folder):
    names = _names(folder)
    for name in names[: max(0, len(names) - MOST_REPORTS + 1)]:
        os.unlink(name, dir_fd=folder)


def _read(folder, name):
    """None for what is no report of ours."""
    try:
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as handle:
            report = json.loads(handle.read(MOST_BYTES).decode("utf-8"))
        if isinstance(report["time"], float) and isinstance(report["entries"], list):
            return report
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _remove_if_empty(path):
    try:
        os.rmdir(path)
    except OSError:
        pass
