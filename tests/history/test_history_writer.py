"""The writer keeps what must be kept through kill -9, a full disk, locks and missing folders, and says what it lost."""

import dataclasses
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from netbench_tui.errors import HistoryError, WorkbenchError
from netbench_tui.history import database
from netbench_tui.history.repository import History
from netbench_tui.history.writer import HistoryWriter
from netbench_tui.model.codec import to_plain
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, RunState, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, PairTarget

Views = tuple[HostView, HostView]
WAIT = 15

# A workbench in a process of its own: starts a run, then writes samples until it is killed.
CHILD = """
import json, sys, time
from pathlib import Path
from netbench_tui.history.writer import HistoryWriter
from netbench_tui.model.codec import from_plain
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, TrafficTest
from netbench_tui.model.sample import HostSample, CpuTicks
from netbench_tui.model.session import HostView, PairTarget

given = json.loads(sys.argv[2])
writer = HistoryWriter(Path(sys.argv[1]), lambda error: print(error, file=sys.stderr, flush=True))
views = [from_plain(HostView, view) for view in given["views"]]
session = writer.start_session(from_plain(PairTarget, given["target"]), *views).result(20)
finished = []
for number in range(given["runs"]):
    run = writer.start_run(given["preset"], TrafficTest(), "iperf3", time.time()).result(20)
    for tick in range(given["samples"]):
        writer.add_sample(run, Role.SENDER, HostSample(tick / 10, 0.1, cpus={0: CpuTicks(tick, 1)}))
        writer.add_interval(run, Role.RECEIVER, Interval(tick / 10, tick / 10 + 0.1, 1e8))
    if given["finish"]:
        writer.finish_run(run, from_plain(RunResult, given["result"])).result(20)
    print(run, flush=True)
if given["finish"]:
    print(writer.close(), flush=True)
else:
    sys.stdin.read()
"""


@pytest.fixture
def troubles() -> list[WorkbenchError]:
    return []


@pytest.fixture
def writer(path: Path, troubles: list[WorkbenchError]) -> Iterator[HistoryWriter]:
    made = HistoryWriter(path, troubles.append, flush_seconds=0.05)
    yield made
    made.close(2)


def _started(writer: HistoryWriter, target: PairTarget, views: Views) -> int:
    writer.start_session(target, *views).result(WAIT)
    return writer.start_run("quick-tcp", TrafficTest(), "iperf3", 100.0).result(WAIT)


def _child(path: Path, target: PairTarget, views: Views, **given: object) -> "subprocess.Popen[str]":
    text = json.dumps({"target": to_plain(target), "views": to_plain(views), **given})
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(database.__file__).parents[2])},
    )


def test_a_run_is_written_as_it_goes_and_whole_at_its_end(
    writer: HistoryWriter,
    path: Path,
    target: PairTarget,
    views: Views,
    samples: tuple[HostSample, ...],
    result: RunResult,
    until,
) -> None:
    run = _started(writer, target, views)
    with History(path) as reader:
        for sample in samples:
            writer.add_sample(run, Role.RECEIVER, sample)
        until(lambda: reader.stored_run(run).samples[Role.RECEIVER] == samples)
        assert reader.stored_run(run).summary.state is RunState.RUNNING
        writer.add_sample(run, Role.SENDER, samples[0])
        writer.finish_run(run, result).result(WAIT)
        stored = reader.stored_run(run)
        assert stored.result == result
        assert stored.samples[Role.SENDER] == samples[:1], "a sample that came before the end was not kept"
        assert writer.close()
        assert writer.lost == 0


def test_a_dropped_record_is_counted_in_its_run(
    path: Path, target: PairTarget, views: Views, samples: tuple[HostSample, ...], result: RunResult
) -> None:
    writer = HistoryWriter(path, lambda error: None, capacity=10, flush_seconds=3600)
    run = _started(writer, target, views)
    for sample in samples:
        writer.add_sample(run, Role.SENDER, sample)
    writer.finish_run(run, result).result(WAIT)
    assert writer.close() and writer.lost == 20
    with History(path) as history:
        stored = history.stored_run(run)
    assert stored.samples[Role.SENDER] == samples[-10:]
    assert stored.result.lost_samples == result.lost_samples + 20


def test_killed_in_mid_run_leaves_a_readable_interrupted_run(
    path: Path, target: PairTarget, views: Views, until
) -> None:
    child = _child(path, target, views, runs=1, samples=40, preset="quick-tcp", finish=False)
    try:
        assert child.stdout
        run = int(child.stdout.readline())
        with History(path) as watcher:
            until(lambda: len(watcher.stored_run(run).samples[Role.SENDER]) == 40)
            assert watcher.stored_run(run).summary.state is RunState.RUNNING
            child.kill()
            child.wait()
            assert watcher.stored_run(run).summary.state is RunState.RUNNING
        with History(path) as later:
            stored = later.stored_run(run)
    finally:
        child.kill()
        child.communicate()
    assert stored.summary.state is RunState.INTERRUPTED and stored.summary.result.reason
    assert [sample.cpus[0].user for sample in stored.samples[Role.SENDER]] == list(range(40))
    assert len(stored.result.report.received) == 40
    assert stored.summary.ended and stored.summary.ended >= stored.summary.started


def test_two_workbenches_write_at_once(path: Path, target: PairTarget, views: Views, result: RunResult) -> None:
    children = [
        _child(path, target, views, runs=8, samples=30, preset=name, finish=True, result=to_plain(result))
        for name in ("left", "right")
    ]
    for child in children:
        out, _ = child.communicate(timeout=60)
        assert out.splitlines()[-1] == "True" and child.returncode == 0
    with History(path) as history:
        runs = history.runs(limit=-1)
        assert sorted(run.preset for run in runs) == ["left"] * 8 + ["right"] * 8
        assert {run.state for run in runs} == {RunState.FINISHED}
        assert all(len(history.stored_run(run.id).samples[Role.SENDER]) == 30 for run in runs)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "netbench-test", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root and the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_once_and_survived(
    small_disk: Path, target: PairTarget, views: Views, samples: tuple[HostSample, ...], result: RunResult, until
) -> None:
    troubles: list[WorkbenchError] = []
    path = small_disk / "history.db"
    writer = HistoryWriter(path, troubles.append, flush_seconds=0.05)
    try:
        first = _started(writer, target, views)
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(os.urandom(4096))
        big = dataclasses.replace(result.outputs[0], stdout=os.urandom(100_000).hex())
        ending = writer.finish_run(first, dataclasses.replace(result, outputs=(big,)))
        with pytest.raises(HistoryError, match="full"):
            ending.result(WAIT)
        for sample in samples:
            writer.add_sample(first, Role.SENDER, sample)
        until(lambda: troubles)
        assert [trouble.message for trouble in troubles] == [f"the history {path} cannot grow: the disk is full"]
        ballast.unlink()
        second = writer.start_run("after", TrafficTest(), "iperf3", 200.0).result(WAIT)
        writer.finish_run(second, result).result(WAIT)
        assert writer.close(), "what waited was not written"
        with History(path) as history:
            assert history.stored_run(second).result == result
            stored = history.stored_run(first)
        assert stored.result.outputs == (big,), "the first run's end was dropped"
        assert stored.samples[Role.SENDER] == samples
        assert writer.lost == 0
    finally:
        writer.close(1)


def test_a_lock_held_too_long_is_told_and_nothing_is_lost(
    writer: HistoryWriter,
    path: Path,
    troubles: list[WorkbenchError],
    target: PairTarget,
    views: Views,
    samples: tuple[HostSample, ...],
    result: RunResult,
    monkeypatch: pytest.MonkeyPatch,
    until,
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    run = _started(writer, target, views)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for sample in samples:
        writer.add_sample(run, Role.SENDER, sample)
    ending = writer.finish_run(run, result)
    with pytest.raises(HistoryError, match="locked"):
        ending.result(WAIT)
    other.execute("ROLLBACK")
    other.close()
    with History(path) as reader:
        until(lambda: reader.stored_run(run).result == result)
        assert reader.stored_run(run).samples[Role.SENDER] == samples
    assert len(troubles) == 1 and "locked" in troubles[0].message


def test_a_folder_that_cannot_be_made_is_told_and_later_runs_are_kept(
    tmp_path: Path, target: PairTarget, views: Views, result: RunResult, until
) -> None:
    obstacle = tmp_path / "data"
    obstacle.write_text("a file where the folder should be")
    troubles: list[WorkbenchError] = []
    writer = HistoryWriter(obstacle / "history.db", troubles.append, flush_seconds=0.05)
    with pytest.raises(HistoryError, match="cannot be opened"):
        writer.start_session(target, *views).result(WAIT)
    with pytest.raises(HistoryError):
        writer.start_run("lost", TrafficTest(), "iperf3", 1.0).result(WAIT)
    writer.finish_run(0, result)
    assert len(troubles) == 1 and troubles[0].hint
    obstacle.unlink()
    run = writer.start_run("kept", TrafficTest(), "iperf3", 2.0).result(WAIT)
    writer.finish_run(run, result).result(WAIT)
    assert writer.close()
    with History(obstacle / "history.db") as history:
        assert [summary.preset for summary in history.runs()] == ["kept"]
        assert [pair.runs for pair in history.recent_pairs()] == [1]


# permissions do not bind root, so that a reader without rights is another user in a process of its own
READER = """
import os, sys
from pathlib import Path
from netbench_tui.history.repository import History
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
history = History(Path(sys.argv[1]))
print(history.runs()[0].state)
try:
    history.set_note(1, "x")
except Exception as error:
    print(type(error).__name__, error.message, "|", error.hint)
"""


def test_a_history_without_write_permission_can_be_read_and_says_why_not_written(
    target: PairTarget, views: Views, result: RunResult
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "history.db"
        writer = HistoryWriter(path, lambda error: None)
        writer.finish_run(_started(writer, target, views), result).result(WAIT)
        assert writer.close()
        path.chmod(0o444)
        folder.chmod(0o555)
        root = str(Path(database.__file__).parents[2])
        done = subprocess.run(
            [sys.executable, "-c", READER, str(path)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": root},
            check=False,
        )
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    state, complaint = done.stdout.splitlines()
    assert state == "finished"
    assert complaint.startswith("HistoryError") and "may not be written" in complaint and "rights" in complaint


def test_a_hopeless_record_does_not_hold_up_the_rest(
    writer: HistoryWriter,
    path: Path,
    troubles: list[WorkbenchError],
    target: PairTarget,
    views: Views,
    result: RunResult,
) -> None:
    run = _started(writer, target, views)
    bad = writer.finish_run(run, dataclasses.replace(result, lost_samples=2**70))
    with pytest.raises(OverflowError):
        bad.result(WAIT)
    writer.add_interval(run, Role.RECEIVER, Interval(0.0, 0.1, 5.0))
    writer.finish_run(run, result).result(WAIT)
    assert writer.close()
    assert len(troubles) == 1
    with History(path) as history:
        assert history.stored_run(run).summary.state is RunState.FINISHED


def test_a_closed_writer_refuses_and_its_session_is_over(
    writer: HistoryWriter, path: Path, target: PairTarget, views: Views
) -> None:
    run = _started(writer, target, views)
    assert writer.close()
    with pytest.raises(HistoryError, match="closed"):
        writer.start_run("late", TrafficTest(), "iperf3", 1.0).result(WAIT)
    with History(path) as history:
        assert history.stored_run(run).summary.state is RunState.INTERRUPTED


def test_a_new_session_ends_the_one_before(writer: HistoryWriter, path: Path, target: PairTarget, views: Views) -> None:
    first = _started(writer, target, views)
    second = _started(writer, target, views)
    with History(path) as history:
        assert history.stored_run(first).summary.state is RunState.INTERRUPTED
        assert history.stored_run(second).summary.state is RunState.RUNNING
        assert history.recent_pairs()[0].runs == 2
