"""What the lab's tests share: running something inside, and seeing that nothing is left of a lab."""

import asyncio
import dataclasses
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from netbench_tui.hosts.lab import kernel, records
from netbench_tui.hosts.lab.lab import Lab, LabHost

DEADLINE_SECONDS = 10.0


def poll(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS} s: {what}"
        time.sleep(0.01)


@dataclasses.dataclass(frozen=True)
class Traces:
    """All that a lab shows on the machine: its keeper, its namespaces, what runs inside, its files."""

    keeper: int
    names: tuple[Path, ...]
    inodes: frozenset[int]

    def left(self) -> list[str]:
        found = [str(name) for name in self.names if name.exists()]
        if records.process_start(self.keeper) is not None:
            found.append(f"keeper {self.keeper}")
        found += [f"process {pid} inside" for pid in processes_in(self.inodes)]
        lab_ids = {name.name.split("-")[1] for name in self.names}
        found += [str(path) for lab_id in lab_ids for path in records.RUN_FOLDER.glob(f"*{lab_id}*")]
        return found

    def assert_gone(self) -> None:
        poll(lambda: not self.left(), f"gone, but there is {self.left()}")


def processes_in(inodes: frozenset[int]) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "ns/net").stat().st_ino in inodes:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.fixture
def traces_of() -> Callable[[Lab], Traces]:
    def look(lab: Lab) -> Traces:
        paths = [Path(host.enter[host.enter.index("--net") + 1]) for host in lab.hosts.values()]
        names = tuple(path for path in paths if path.is_relative_to(records.NETNS_FOLDER))
        return Traces(lab._keeper.pid, names, frozenset(path.stat().st_ino for path in paths))

    return look


@pytest.fixture
def run_inside() -> Callable[..., Awaitable[str]]:
    async def run(host: LabHost, *argv: str) -> str:
        process = await asyncio.create_subprocess_exec(*host.enter, *argv, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        assert process.returncode == 0
        return output.decode()

    return run


@pytest.fixture
def named_namespaces() -> None:
    """For tests of /run/netns and of sshd; without root the lab has neither."""
    if not kernel.may_administrate():
        pytest.skip("named namespaces need root")


@pytest.fixture
def foreign_namespace(named_namespaces: None) -> Iterator[Callable[[str], int]]:
    """Makes a namespace of that name by hand, as somebody else would, and returns its inode number."""
    made: list[str] = []

    def make(name: str) -> int:
        opened: list[int] = []

        def in_a_thread_of_its_own() -> None:
            kernel.unshare(kernel.CLONE_NEWNET)
            opened.append(kernel.network_namespace())

        thread = threading.Thread(target=in_a_thread_of_its_own)
        thread.start()
        thread.join()
        records.give_name(name, opened[0])
        made.append(name)
        inode = os.fstat(opened[0]).st_ino
        os.close(opened[0])
        return inode

    yield make
    for name in made:
        path = records.NETNS_FOLDER / name
        if path.exists():
            kernel.unmount(str(path))
            path.unlink()


@pytest.fixture
def python_environment() -> dict[str, str]:
    """For a child Python that imports what this one can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool], str], None]:
    return poll
