"""Which labs exist on this machine, so that the leavings of a killed one are found and nobody else's are touched.

Only labs of root leave anything: named namespaces in /run/netns, a folder with throw-away keys, perhaps /run/sshd.
Each such lab has a record, written before anything gets a name and deleted last. Used by keeper.py and lab.py.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from netbench_tui.hosts.lab import kernel
from netbench_tui.hosts.lab.plan import NAMESPACE_NAME
from netbench_tui.model.codec import from_plain, to_plain

RUN_FOLDER = Path("/run/netbench-tui")
NETNS_FOLDER = Path("/run/netns")

# sshd's folder for privilege separation: Debian and Ubuntu compile this path in, and only its service creates it.
SSHD_FOLDER = Path("/run/sshd")
_SSHD_FOLDER_IS_OURS = RUN_FOLDER / "made-run-sshd"

# The agent ends what it started within 1 s of losing its stdin; who is left after that is killed.
_GRACE_SECONDS = 1.0
_KILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class LabRecord:
    """A lab of root's. `namespaces` maps names in /run/netns to inode numbers of nsfs; the keeper is known by
    pid and start time (clock ticks since boot), which together are never used twice within one boot."""

    lab_id: str
    keeper: int
    keeper_start: int
    boot_id: str
    pid_namespace: int
    ssh: bool
    namespaces: Mapping[str, int]

    @property
    def path(self) -> Path:
        return RUN_FOLDER / f"lab-{self.lab_id}.json"

    @property
    def key_folder(self) -> Path:
        return RUN_FOLDER / f"keys-{self.lab_id}"

    def abandoned(self) -> bool:
        """Whether the keeper is gone. A keeper that cannot be seen from our pid namespace counts as alive."""
        if self.boot_id != _boot_id():
            return True
        return self.pid_namespace == _pid_namespace() and process_start(self.keeper) != self.keeper_start


def new_record(lab_id: str, ssh: bool, namespaces: Mapping[str, int]) -> LabRecord:
    """The record of a lab whose keeper is the calling process."""
    start = process_start(os.getpid()) or 0
    return LabRecord(lab_id, os.getpid(), start, _boot_id(), _pid_namespace(), ssh, namespaces)


def write_record(record: LabRecord) -> None:
    RUN_FOLDER.mkdir(mode=0o700, exist_ok=True)
    draft = record.path.with_suffix(".new")
    draft.write_text(json.dumps(to_plain(record)), encoding="utf-8")
    draft.rename(record.path)


def process_start(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None if there is none or it is only a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold blanks and parentheses itself; state is the 3rd field, start time the 22nd.
    after_name = text.rpartition(")")[2].split()
    return None if after_name[0] in "ZX" else int(after_name[19])


def remove_stale_labs() -> list[str]:
    """Removes what labs with a dead keeper left, and tells the names of the removed namespaces.

    A namespace goes only if its name stands in a record and its inode number agrees. Does nothing without root.
    """
    removed: list[str] = []
    if not (kernel.may_administrate() and RUN_FOLDER.is_dir()):
        return removed
    with _locked():
        stale = [record for record in _records() if record.abandoned()]
    for record in stale:
        removed += remove_lab(record)
    with _locked():
        _remove_sshd_folder()
    return removed


def remove_lab(record: LabRecord) -> list[str]:
    """Ends what runs in the lab's namespaces, takes the names away, then the keys, then the record itself."""
    ours = {name: inode for name, inode in record.namespaces.items() if _is_ours(name, inode)}
    end_processes_in(set(ours.values()))
    for name in ours:
        _take_name(name)
    for name in record.namespaces:
        _remove_bare_mount_point(name)
    shutil.rmtree(record.key_folder, ignore_errors=True)
    with _locked():
        record.path.unlink(missing_ok=True)
        if record.ssh:
            _remove_sshd_folder()
    return sorted(ours)


def give_name(name: str, descriptor: int) -> None:
    """Makes a namespace visible as /run/netns/NAME, as `ip netns add` does."""
    NETNS_FOLDER.mkdir(mode=0o755, exist_ok=True)
    with _lock_on(NETNS_FOLDER):
        _share_netns_folder()
    path = NETNS_FOLDER / name
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444))
    kernel.mount(f"/proc/self/fd/{descriptor}", str(path), kernel.MS_BIND)


def prepare_sshd_folder() -> None:
    """Creates sshd's folder where its service never ran, and notes that it was us. Call with the record written."""
    with _locked():
        if not SSHD_FOLDER.exists():
            _SSHD_FOLDER_IS_OURS.touch()
            SSHD_FOLDER.mkdir(mode=0o755)


def end_processes_in(namespaces: set[int]) -> None:
    """Ends every process in these network namespaces (inode numbers) but the caller: SIGTERM, 1 s, SIGKILL."""
    grace = time.monotonic() + _GRACE_SECONDS
    deadline = grace + _KILL_SECONDS
    asked: set[int] = set()
    while inside := _processes_in(namespaces):
        now = time.monotonic()
        if now > deadline:
            return
        for pid in inside:
            if now > grace or pid not in asked:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL if now > grace else signal.SIGTERM)
                asked.add(pid)
        time.sleep(0.01)


def _processes_in(namespaces: set[int]) -> list[int]:
    if not namespaces:
        return []
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{entry.name}/ns/net").st_ino in namespaces:  # noqa: PTH116
                    found.append(int(entry.name))
    return found


def _is_ours(name: str, inode: int) -> bool:
    if not NAMESPACE_NAME.fullmatch(name):
        return False
    try:
        found = (NETNS_FOLDER / name).stat()
    except OSError:
        return False
    return (found.st_ino, found.st_dev) == (inode, Path("/proc/self/ns/net").stat().st_dev)


def _take_name(name: str) -> None:
    path = NETNS_FOLDER / name
    with contextlib.suppress(OSError):
        kernel.unmount(str(path))
    with contextlib.suppress(OSError):
        path.unlink()


def _remove_bare_mount_point(name: str) -> None:
    """The empty file of a keeper that was killed between creating it and mounting on it."""
    path = NETNS_FOLDER / name
    with contextlib.suppress(OSError):
        found = path.lstat()
        is_bare = stat.S_ISREG(found.st_mode) and found.st_size == 0 and found.st_dev == NETNS_FOLDER.stat().st_dev
        if NAMESPACE_NAME.fullmatch(name) and is_bare:
            path.unlink()


def _share_netns_folder() -> None:
    """A shared mount of its own, so that unmounting a name reaches every mount namespace. Stays, as with `ip netns`."""
    try:
        kernel.mount("", str(NETNS_FOLDER), kernel.MS_SHARED | kernel.MS_REC)
    except OSError:
        kernel.mount(str(NETNS_FOLDER), str(NETNS_FOLDER), kernel.MS_BIND | kernel.MS_REC)
        kernel.mount("", str(NETNS_FOLDER), kernel.MS_SHARED | kernel.MS_REC)


def _remove_sshd_folder() -> None:
    """Only if a lab made it, no other lab needs it, and no sshd runs that came to rely on it meanwhile."""
    if not _SSHD_FOLDER_IS_OURS.exists() or _sshd_runs() or any(record.ssh for record in _records()):
        return
    with contextlib.suppress(OSError):
        SSHD_FOLDER.rmdir()
    _SSHD_FOLDER_IS_OURS.unlink(missing_ok=True)


def _sshd_runs() -> bool:
    """Zombies do not count: a lab's last sshd may wait for init to reap it."""
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            is_sshd = path.read_text(encoding="utf-8", errors="replace").startswith("sshd")
            if is_sshd and process_start(int(path.parent.name)) is not None:
                return True
    return False


def _records() -> list[LabRecord]:
    """All readable records. A file that is no record is left alone: it is not ours."""
    found = []
    for path in sorted(RUN_FOLDER.glob("lab-*.json")):
        with contextlib.suppress(OSError, ValueError):
            record = from_plain(LabRecord, json.loads(path.read_text(encoding="utf-8")))
            if record.path == path:
                found.append(record)
    return found


def _locked() -> contextlib.AbstractContextManager[None]:
    return _lock_on(RUN_FOLDER)


@contextlib.contextmanager
def _lock_on(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
