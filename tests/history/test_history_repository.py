"""Sessions and runs are written and read back whole; strange files are refused and left alone."""

import dataclasses
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from netbench_tui.errors import HistoryError, RunNotFound
from netbench_tui.history import database
from netbench_tui.history.owner import process_start
from netbench_tui.history.repository import History
from netbench_tui.history.schema import MIGRATIONS
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, RunState, TrafficReport, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostTarget, HostView, LabTarget, PairTarget

Views = tuple[HostView, HostView]


def test_the_folder_and_the_file_are_the_users_own(history: History, path: Path) -> None:
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_finished_run_comes_back_whole(
    history: History,
    session: int,
    views: Views,
    samples: tuple[HostSample, ...],
    intervals: tuple[Interval, ...],
    result: RunResult,
) -> None:
    run = history.start_run(session, "quick-tcp", TrafficTest(), "auto", 1_700_000_000.25)
    history.add_samples(run, Role.SENDER, samples[:10])
    history.add_samples(run, Role.SENDER, samples[10:])
    history.add_samples(run, Role.RECEIVER, samples[:3])
    history.add_intervals(run, Role.RECEIVER, intervals[:4])
    history.finish_run(run, result, ended=1_700_000_006.5)
    history.set_note(run, "after the new firmware")
    stored = history.stored_run(run)
    assert stored.result == result
    assert stored.outputs == result.outputs
    assert stored.samples == {Role.SENDER: samples, Role.RECEIVER: samples[:3]}
    assert stored.hosts == {Role.SENDER: views[0], Role.RECEIVER: views[1]}
    summary = stored.summary
    assert (summary.started, summary.ended) == (1_700_000_000.25, 1_700_000_006.5)
    assert (summary.sender, summary.receiver, summary.note) == ("alpha", "beta", "after the new firmware")
    assert summary.result.metrics == result.metrics
    assert summary.result.report == TrafficReport() and summary.result.outputs == ()


def test_live_intervals_stay_where_the_report_has_none(
    history: History, session: int, intervals: tuple[Interval, ...], result: RunResult
) -> None:
    run = history.start_run(session, "quick-tcp", TrafficTest(), "iperf3", 1.0)
    history.add_intervals(run, Role.RECEIVER, intervals[:4])
    report = TrafficReport(error="truncated JSON")
    history.finish_run(run, dataclasses.replace(result, state=RunState.FAILED, reason="cut", report=report))
    stored = history.stored_run(run)
    assert stored.result.report.received == intervals[:4]
    assert stored.result.report.error == "truncated JSON"
    assert stored.summary.state is RunState.FAILED


def test_finishing_twice_leaves_one_result(history: History, session: int, result: RunResult) -> None:
    run = history.start_run(session, "quick-tcp", TrafficTest(), "iperf3", 1.0)
    history.finish_run(run, result)
    history.finish_run(run, result)
    assert history.stored_run(run).result == result


def test_a_failing_finish_leaves_the_run_as_it_was(history: History, session: int, result: RunResult) -> None:
    run = history.start_run(session, "quick-tcp", TrafficTest(), "iperf3", 1.0)
    bad = dataclasses.replace(result, events=(dataclasses.replace(result.events[0], time="soon"),))  # type: ignore[arg-type]
    with pytest.raises(HistoryError):
        history.finish_run(run, bad)
    stored = history.stored_run(run)
    assert stored.summary.state is RunState.RUNNING and stored.result.metrics == ()


def test_an_unknown_run_says_so(history: History) -> None:
    with pytest.raises(RunNotFound, match="no run 7"):
        history.stored_run(7)
    with pytest.raises(RunNotFound):
        history.set_note(7, "")
    assert history.latest() is None


def test_runs_are_listed_newest_first_and_filtered(history: History, session: int, result: RunResult) -> None:
    runs = [history.start_run(session, f"preset-{n}", TrafficTest(), "iperf3", 100.0 + n) for n in range(5)]
    history.finish_run(runs[2], result)
    history.set_note(runs[1], "100 % of\nIRQ_1")
    assert [r.id for r in history.runs()] == runs[::-1]
    assert [r.id for r in history.runs(limit=2, offset=1)] == [runs[3], runs[2]]
    assert [r.id for r in history.runs(text="FINISHED beta")] == [runs[2]]
    assert [r.id for r in history.runs(text="100 % irq_")] == [runs[1]]
    assert [r.id for r in history.runs(text=f"#{runs[4]}")] == [runs[4]]
    assert history.runs(text="preset-3 nothing") == []
    latest = history.latest()
    assert latest and latest.id == runs[4]
    assert history.runs(text="finished")[0].result.metrics == result.metrics


def test_recent_pairs_are_distinct_and_newest_first(history: History, target: PairTarget, views: Views) -> None:
    first = history.start_session(target, *views)
    history.start_run(first, "a", TrafficTest(), "iperf3", 1.0)
    history.start_session(LabTarget(queues=8, ssh=True), *views)
    other = dataclasses.replace(views[0], data_nic="eth9")
    again = history.start_session(target, other, views[1])
    history.start_run(again, "b", TrafficTest(), "iperf3", 2.0)
    reverse = PairTarget(HostTarget("beta"), HostTarget("alpha"))
    history.start_session(reverse, *views)
    pairs = history.recent_pairs(9)
    assert [pair.target for pair in pairs] == [reverse, target, LabTarget(queues=8, ssh=True)]
    assert (pairs[1].runs, pairs[1].sender_nic, pairs[1].receiver_nic) == (2, "eth9", "eth1")
    assert len(history.recent_pairs(1)) == 1


def test_hostile_text_is_stored_as_data(history: History, session: int, result: RunResult) -> None:
    run = history.start_run(session, "x'; DROP TABLE run; --", TrafficTest(), "iperf3", 1.0)
    history.finish_run(run, dataclasses.replace(result, reason="[b]\x1b[31m\x00 \udcff"))
    assert history.runs()[0].preset == "x'; DROP TABLE run; --"
    assert history.stored_run(run).result.reason == "[b]\x1b[31m\x00 ?"


def test_a_reader_sees_a_run_while_it_is_written(
    history: History, path: Path, session: int, samples: tuple[HostSample, ...]
) -> None:
    run = history.start_run(session, "quick-tcp", TrafficTest(), "iperf3", 1.0)
    with History(path) as reader:
        history.add_samples(run, Role.SENDER, samples)
        stored = reader.stored_run(run)
    assert stored.samples[Role.SENDER] == samples
    assert stored.summary.state is RunState.RUNNING, "a live workbench's run was marked"


# Whose runs are marked interrupted


def _own(path: Path, session: int, **columns: object) -> None:
    with sqlite3.connect(path) as connection:
        for column, value in columns.items():
            connection.execute(f"UPDATE session SET {column} = ? WHERE id = ?", (value, session))
    connection.close()


@pytest.mark.parametrize(
    ("columns", "is_marked"),
    [
        ({}, False),
        ({"heartbeat": 0}, False),
        ({"owner_start": 1}, True),
        ({"owner_pid": 2**22 + 1}, True),
        ({"owner_boot": "another"}, False),
        ({"owner_boot": "another", "heartbeat": 0}, True),
        ({"owner_namespace": "pid:[1]", "owner_pid": 2**22 + 1}, False),
        ({"owner_namespace": "pid:[1]", "heartbeat": 0}, True),
        ({"ended": 5.0}, True),
    ],
)
def test_only_runs_of_workbenches_that_are_gone_are_marked(
    history: History, path: Path, session: int, columns: dict[str, object], is_marked: bool
) -> None:
    run = history.start_run(session, "quick-tcp", TrafficTest(), "iperf3", 1.0)
    _own(path, session, **columns)
    with History(path) as later:
        assert (later.stored_run(run).summary.state is RunState.INTERRUPTED) is is_marked


def test_the_run_of_another_living_process_is_not_marked(history: History, path: Path, session: int) -> None:
    run = history.start_run(session, "quick-tcp", TrafficTest(), "iperf3", 1.0)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        _own(path, session, owner_pid=other.pid, owner_start=process_start(other.pid))
        with History(path) as later:
            assert later.stored_run(run).summary.state is RunState.RUNNING
    finally:
        other.kill()
        # A zombie has not been waited for, and is gone all the same.
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        with History(path) as later:
            assert later.stored_run(run).summary.state is RunState.INTERRUPTED
        other.wait()


def test_an_interrupted_run_ends_with_its_last_record(
    history: History, session: int, samples: tuple[HostSample, ...], intervals: tuple[Interval, ...]
) -> None:
    with_records = history.start_run(session, "a", TrafficTest(), "iperf3", 100.0)
    without = history.start_run(session, "b", TrafficTest(), "iperf3", 200.0)
    history.add_samples(with_records, Role.SENDER, samples, arrived=103.0)
    history.add_intervals(with_records, Role.RECEIVER, intervals, arrived=103.5)
    history.end_session(session)
    assert history.stored_run(with_records).summary.ended == 103.5
    assert history.stored_run(without).summary.ended == 200.0
    stored = history.stored_run(with_records)
    assert stored.summary.state is RunState.INTERRUPTED
    assert stored.samples[Role.SENDER] == samples and stored.result.report.received == intervals


# Strange files


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to look at" * 50, b"SQLite format 3\0" * 300]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(content)
    with pytest.raises(HistoryError) as caught:
        History(path)
    assert str(path) in caught.value.message and caught.value.hint
    assert path.read_bytes() == content


def test_a_damaged_database_is_a_history_error(history: History, path: Path, session: int) -> None:
    for n in range(200):
        history.start_run(session, "x" * 500, TrafficTest(), "iperf3", float(n))
    history.close()
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(bytes(content))
    with pytest.raises(HistoryError, match="damaged"), History(path) as damaged:
        damaged.runs(limit=-1)
    assert path.read_bytes() == bytes(content)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmark (id INTEGER)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="another program's"):
        History(path)
    assert path.read_bytes() == before


def test_a_newer_version_is_refused(history: History, path: Path) -> None:
    history.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(HistoryError, match=f"of version {len(MIGRATIONS) + 1}") as caught:
        History(path)
    assert "newer" in caught.value.hint


def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot be opened"):
        History(tmp_path)


def test_a_record_that_cannot_be_read_is_named(history: History, path: Path, session: int) -> None:
    run = history.start_run(session, "a", TrafficTest(), "iperf3", 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute("""UPDATE run SET test = '{"streams": "four"}'""")
    connection.close()
    with pytest.raises(HistoryError, match=r"TrafficTest\.streams"):
        history.stored_run(run)


# Migrations


def test_a_later_version_migrates_and_keeps_the_runs(
    history: History, path: Path, session: int, result: RunResult
) -> None:
    run = history.start_run(session, "a", TrafficTest(), "iperf3", 1.0)
    history.finish_run(run, result)
    history.close()
    addition = "CREATE TABLE tag (run INTEGER NOT NULL REFERENCES run, text TEXT NOT NULL) STRICT;\n"
    connection = database.connect(path, (*MIGRATIONS, addition))
    assert connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS) + 1
    connection.execute("INSERT INTO tag VALUES (?, 'x')", (run,))
    assert connection.execute("SELECT generator FROM run WHERE id = ?", (run,)).fetchone()[0] == "iperf3"
    connection.close()


def test_a_failing_migration_leaves_the_old_version(history: History, path: Path) -> None:
    history.close()
    half = "CREATE TABLE tag (id INTEGER);\nINSERT INTO nowhere VALUES (1);\n"
    with pytest.raises(HistoryError):
        database.connect(path, (*MIGRATIONS, half))
    with History(path) as again:
        assert again.runs() == []
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'tag'").fetchone()[0] == 0
    connection.close()


def test_many_openers_of_a_new_file_migrate_it_once(path: Path) -> None:
    failures: list[Exception] = []

    def open_it() -> None:
        try:
            History(path).close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
