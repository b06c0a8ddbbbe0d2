"""The workbench itself is killed or told to end, or its disk is full: real child processes, seen from outside."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.history.repository import History
from netbench_tui.hosts.lab import kernel
from netbench_tui.hosts.lab.records import process_start
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState

WORKBENCH = (sys.executable, "-m", "netbench_tui")
QUICK = ("run", "quick-tcp", "--lab", "--queues", "1", "--seconds", "1")


def netbench(history: Path, *words: str, seconds: float = 60, **how: Any) -> subprocess.CompletedProcess[str]:
    argv = [*WORKBENCH, "--history", str(history), *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, **how)


class Family:
    """All processes below one, and the network namespaces that they made."""

    def __init__(self, root: int) -> None:
        here = os.stat("/proc/self/ns/net").st_ino
        parents = {int(p.name): _parent(p) for p in Path("/proc").iterdir() if p.name.isdigit()}
        members, before = {root}, set[int]()
        while members != before:
            before = set(members)
            members |= {pid for pid, parent in parents.items() if parent in members}
        self.members = {pid: start for pid in members if (start := process_start(pid)) is not None}
        self.inodes = {inode for pid in members if (inode := _namespace(Path(f"/proc/{pid}"))) not in (None, here)}
        self.names = [p for p in Path("/run/netns").glob("*") if p.stat().st_ino in self.inodes]

    def left(self) -> list[str]:
        found = [f"process {pid}" for pid, start in self.members.items() if process_start(pid) == start]
        found += [f"inside {p.name}" for p in Path("/proc").iterdir() if p.name.isdigit() and self._inside(p)]
        return found + [str(name) for name in self.names if name.exists()]

    def _inside(self, process: Path) -> bool:
        return _namespace(process) in self.inodes


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _namespace(process: Path) -> int | None:
    try:
        return (process / "ns/net").stat().st_ino
    except OSError:
        return None


@pytest.fixture
def running(tmp_path: Path, eventually: Callable[..., Any]) -> Iterator[tuple[subprocess.Popen[str], Path, Family]]:
    """A workbench in mid-run, with samples of both hosts in its history."""
    history = tmp_path / "history.db"
    argv = [*WORKBENCH, "--history", str(history), "run", "quick-tcp", "--lab", "--seconds", "60"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as child:
        try:
            eventually(lambda: _samples(history) >= 5, "samples in the history")
            yield child, history, Family(child.pid)
        finally:
            child.kill()


def _samples(history: Path) -> int:
    """The least number of samples of either host of the newest run."""
    if not history.exists():
        return 0
    with History(history) as reader:
        latest = reader.latest()
        return min((len(s) for s in reader.stored_run(latest.id).samples.values()), default=0) if latest else 0


def stored(history: Path) -> Any:
    with History(history) as reader:
        latest = reader.latest()
        assert latest
        return reader.stored_run(latest.id)


def test_kill_9_in_mid_run(running: Any, eventually: Callable[..., Any]) -> None:
    child, history, family = running
    assert len(family.members) >= 5 and len(family.inodes) == 2
    child.kill()
    child.wait(5)
    eventually(lambda: not family.left(), f"nothing is left of {family.left()}", 2)
    listed = netbench(history, "history", "--json")
    (run,) = json.loads(listed.stdout)["runs"]
    assert (run["state"], run["preset"], run["sender"]) == ("interrupted", "quick-tcp", "alpha")
    assert run["ended"] and run["reason"]
    kept = stored(history)
    assert all(len(kept.samples[role]) >= 5 for role in Role)
    shown = netbench(history, "show", "latest")
    assert shown.returncode == 0 and "interrupted" in shown.stdout
    assert netbench(history, *QUICK).returncode == 0, "the next one works"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_in_mid_run(running: Any, number: int, code: int) -> None:
    child, history, family = running
    start = time.monotonic()
    child.send_signal(number)
    _, complaint = child.communicate(timeout=15)
    assert child.returncode == code
    assert time.monotonic() - start < 8
    assert "Traceback" not in complaint
    assert not family.left()
    kept = stored(history)
    assert kept.result.state is RunState.STOPPED
    assert all(len(kept.samples[role]) >= 5 for role in Role) and kept.result.report.received
    assert all((o.exit_code is None) != (o.signal is None) for o in kept.outputs)


def test_signals_again_and_again_do_not_cut_the_letting_go(running: Any) -> None:
    child, history, family = running
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        child.send_signal(number)
        time.sleep(0.15)
    child.communicate(timeout=15)
    # Of a signal that comes after all was let go, Python ends at once.
    assert child.returncode in (130, 143, -signal.SIGINT)
    assert not family.left()
    assert stored(history).result.state is RunState.STOPPED


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    if not kernel.may_administrate() or not shutil.which("mount"):
        pytest.skip("mounting needs root and mount(8)")
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    with (folder / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 4096)
        except OSError:
            return


def test_a_full_disk_costs_the_record_and_not_the_run(small_disk: Path) -> None:
    history = small_disk / "history.db"
    assert netbench(history, "history").returncode == 0
    fill(small_disk)
    ran = netbench(history, *QUICK)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("run (not kept)  quick-tcp  finished") and "\nthroughput " in ran.stdout
    assert ran.stderr.startswith("! ") and "history" in ran.stderr and "Traceback" not in ran.stderr


def test_a_disk_that_fills_up_during_a_run(small_disk: Path, make_bench: Any) -> None:
    from netbench_tui.engine import events
    from netbench_tui.model.run import TrafficTest
    from netbench_tui.model.session import LabTarget

    bench = make_bench(small_disk / "history.db")
    bench.connect(LabTarget(queues=1))
    going = bench.engine.run("full", TrafficTest(seconds=3, generator="builtin"))
    bench.wait_running(2)
    fill(small_disk)
    result = going.result(30)
    assert result.state is RunState.FINISHED and result.metric("throughput")
    assert bench.of(events.RunEnded)[-1].run_id > 0
    assert bench.of(events.HistoryTrouble), "the history could not be written, and nobody said so"
    (small_disk / "ballast").unlink()
    bench.engine.close()
    kept = stored(bench.history)
    assert kept.result.state is RunState.FINISHED and kept.result.metrics == result.metrics, "kept when there was room"


def test_a_history_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    ran = netbench(tmp_path / "file/history.db", *QUICK, "--json")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith("! ") and str(tmp_path / "file") in ran.stderr
    document = json.loads(ran.stdout)
    assert document["id"] is None and document["state"] == "finished"


def test_no_iperf3_on_the_hosts(tmp_path: Path) -> None:
    """Hidden by a mount of nothing over it, in a mount namespace of the child's own."""
    found = shutil.which("iperf3")
    if not (kernel.may_administrate() and shutil.which("unshare") and shutil.which("mount")):
        pytest.skip("a mount namespace needs root, unshare(1) and mount(8)")
    hide = 'if [ -n "$1" ]; then mount --bind /dev/null "$1" || exit 99; fi; shift; exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", hide, "sh", found or ""]
    argv += [*WORKBENCH, "--history", str(tmp_path / "history.db"), *QUICK]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert ran.returncode == 0, ran.stderr
    assert "by builtin" in ran.stdout.splitlines()[2]
    refused = subprocess.run([*argv, "--generator", "iperf3"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 30 and "iperf3 was not found" in refused.stderr and refused.stdout == ""
