"""The journal of changed settings in the history: what stands there after a crash, and files of version 1."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from netbench_tui.errors import HistoryError
from netbench_tui.history import database, repository
from netbench_tui.history.owner import Owner, current_owner
from netbench_tui.history.repository import History
from netbench_tui.history.schema import MIGRATIONS
from netbench_tui.history.writer import HistoryWriter
from netbench_tui.model.change import ChangeKind, Held, JournalEntry
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunResult
from netbench_tui.model.sample import HostSample, QueueCounts
from netbench_tui.model.session import HostTarget, Reach

ALPHA = HostTarget("alpha")
VERSION_1 = Path(__file__).with_name("version_1.sql")
# A process that lives as long as the test may be the owner of another workbench's entries.
TSO = JournalEntry(
    0, Role.SENDER, "alpha", "eth1", "feature.tx-tcp-segmentation", "on", "off", ChangeKind.LEASE, time=1000.0
)
CREATE_ENTRY = """
import sys
from pathlib import Path
from netbench_tui.history.repository import History
from netbench_tui.model.change import *
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget
entry = JournalEntry(0, Role.SENDER, "alpha", "eth1", "ring.rx", "256", "4096", ChangeKind.LEASE, time=5.0)
with History(Path(sys.argv[1])) as history:
    history.record_changes([(HostTarget("alpha"), entry)])
print("written", flush=True)
sys.stdin.read()
"""


def permanent(entry: JournalEntry, ours: str | None, **more: object) -> JournalEntry:
    made = replace(entry, ours=ours, kind=ChangeKind.PERMANENT, state=Held.PERMANENT)
    return replace(made, **more)  # type: ignore[arg-type]


def test_an_entry_is_written_once_and_updated_after(history: History) -> None:
    (number,) = history.record_changes([(ALPHA, TSO)])
    assert history.record_changes([(ALPHA, replace(TSO, ours="on, fixed"))]) == [number]
    (found,) = history.open_changes()
    assert found.entry == replace(TSO, id=number, ours="on, fixed")
    assert (found.target, found.owner_gone) == (ALPHA, False)
    history.record_changes([(ALPHA, replace(TSO, state=Held.RESTORED))])
    assert history.open_changes() == []


def test_what_went_away_is_kept_as_nothing(history: History) -> None:
    gone = replace(TSO, key="queue.rx-3.rps_cpus", found="0-3", ours=None)
    new = replace(TSO, key="queue.rx-4.rps_cpus", found=None, ours="none", time=1001.0)
    history.record_changes([(ALPHA, gone), (ALPHA, new)])
    assert [(each.entry.found, each.entry.ours) for each in history.open_changes()] == [("0-3", None), (None, "none")]


def test_hosts_are_told_apart_and_labs_left_out(history: History) -> None:
    beta = replace(TSO, host="local", role=Role.RECEIVER)
    history.record_changes([(ALPHA, TSO), (HostTarget("local", Reach.LOCAL), beta), (None, replace(TSO, time=2.0))])
    assert [each.entry.host for each in history.open_changes()] == ["alpha", "local"]
    assert [each.target for each in history.open_changes("local")] == [HostTarget("local", Reach.LOCAL)]


@pytest.mark.parametrize(
    ("state", "is_open"),
    [(state, state in (Held.HELD, Held.PERMANENT, Held.REFUSED)) for state in Held],
)
def test_marking_an_entry(history: History, state: Held, is_open: bool) -> None:
    (number,) = history.record_changes([(ALPHA, TSO)])
    history.mark_change(number, state, "as told")
    assert [each.entry.note for each in history.open_changes()] == (["as told"] if is_open else [])
    with pytest.raises(HistoryError, match="no entry 99"):
        history.mark_change(99, state)


def test_changes_for_good_of_several_sittings_lead_back_to_the_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with History(path) as first:
        first.record_changes([(ALPHA, permanent(TSO, "off"))])
    monkeypatch.setattr(repository, "current_owner", lambda: replace(current_owner(), start=1))
    with History(path) as second:
        second.record_changes([(ALPHA, permanent(TSO, "maybe", found="off", time=2000.0))])
        (found,) = second.open_changes()
        assert (found.entry.found, found.entry.ours) == ("on", "maybe")
        # Written again with what that sitting found, it still leads to the first.
        second.record_changes([(ALPHA, permanent(TSO, "perhaps", found="off", time=2000.0))])
        (found,) = second.open_changes()
        assert (found.entry.found, found.entry.ours) == ("on", "perhaps")
    monkeypatch.setattr(repository, "current_owner", lambda: replace(current_owner(), start=2))
    with History(path) as third:
        third.record_changes([(ALPHA, permanent(TSO, "on", found="perhaps", time=3000.0))])
        assert third.open_changes() == []


def test_a_workbench_that_is_killed_leaves_its_entries(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CREATE_ENTRY, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        try:
            assert child.stdout and child.stdout.readline() == b"written\n"
            with History(path) as history:
                (found,) = history.open_changes()
                assert not found.owner_gone
                child.kill()
                child.wait(10)
                (found,) = history.open_changes("alpha")
                assert found.owner_gone and found.entry.ours == "4096"
        finally:
            child.kill()


def test_an_owner_elsewhere_counts_as_gone_after_long_silence(
    path: Path, monkeypatch: pytest.MonkeyPatch, until: Callable[..., None]
) -> None:
    with History(path) as history:
        history._owner = Owner(os.getpid(), 1, "another boot", "another machine")
        history.record_changes([(ALPHA, TSO)])
    with History(path) as reader:
        assert not reader.open_changes()[0].owner_gone
        reader._connection.execute("UPDATE change SET updated = updated - 120")
        assert reader.open_changes()[0].owner_gone
        reader._owner = Owner(os.getpid(), 1, "another boot", "another machine")
        reader.keep_changes_alive()
        reader._owner = current_owner()
        assert not reader.open_changes()[0].owner_gone


def test_the_writer_writes_entries_and_retries(path: Path, until: Callable[..., None]) -> None:
    troubles: list[object] = []
    path.parent.mkdir()
    path.mkdir()  # what cannot be opened now may be later
    writer = HistoryWriter(path, troubles.append, flush_seconds=0.05)
    first = writer.record_changes([(ALPHA, TSO)])
    with pytest.raises(HistoryError):
        first.result(10)
    path.rmdir()
    until(path.is_file)
    assert writer.record_changes([(ALPHA, replace(TSO, ours="on"))]).result(10) == [1]
    writer.mark_change(1, Held.FOREIGN, "it reads on").result(10)
    assert writer.close()
    assert troubles
    with History(path) as history:
        assert history.open_changes() == []


# --- version 1 -----------------------------------------------------------------------------------------------------


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file as the program of version 1 wrote it."""
    path = tmp_path / "old.db"
    text = VERSION_1.read_text()
    connection = sqlite3.connect(path)
    connection.executescript(
        text if sqlite3.sqlite_version_info >= database.STRICT_SINCE else text.replace(") STRICT;", ");")
    )
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    return path


def test_a_file_of_version_1_is_migrated_with_all_its_runs(
    old_file: Path, result: RunResult, samples: tuple[HostSample, ...]
) -> None:
    with History(old_file) as history:
        (run,) = history.runs()
        stored = history.stored_run(run.id)
        assert (run.preset, run.note, run.sender) == ("quick-tcp", "before the change", "alpha")
        assert stored.samples == dict.fromkeys(Role, samples)
        assert stored.result.metrics == result.metrics and stored.result.events == result.events
        assert stored.hosts[Role.SENDER].facts.nics[0].lower == ()
        assert history.open_changes() == []
        (number,) = history.record_changes([(ALPHA, TSO)])
        assert [each.entry.id for each in history.open_changes()] == [number]
    assert sqlite3.connect(old_file).execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_a_migration_that_breaks_off_leaves_version_1(old_file: Path) -> None:
    half = (MIGRATIONS[0], MIGRATIONS[1] + "\nCREATE TABLE change (id INTEGER);\n")
    before = old_file.read_bytes()
    with pytest.raises(HistoryError):
        database.connect(old_file, half)
    assert old_file.read_bytes() == before
    with History(old_file) as history:
        assert len(history.runs()) == 1


def test_old_and_new_samples_stand_in_one_run(old_file: Path, samples: tuple[HostSample, ...]) -> None:
    watched = replace(
        samples[-1],
        time=2000.0,
        irqs={24: {0: 7, 3: 1}},
        queues={"rx-0": QueueCounts(5, 7000), "tx-0": QueueCounts(0, 0)},
        statistics={"rx_queue_0_drops": 2},
    )
    with History(old_file) as history:
        history.add_samples(1, Role.SENDER, [watched])
        assert history.stored_run(1).samples[Role.SENDER] == (*samples, watched)
