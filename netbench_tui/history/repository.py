"""The history: sessions and runs, written as they happen and read back whole. Used by the writer and the faces.

A `History` is one connection behind a lock. The engine's writer thread has one; a reader opens its own.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from netbench_tui.errors import HistoryError, RunNotFound
from netbench_tui.history import database, journal, reading, rows
from netbench_tui.history.owner import Owner, current_owner, is_known_gone
from netbench_tui.history.packing import pack_intervals, pack_samples
from netbench_tui.model.change import Held, JournalEntry, OpenChange
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, RunState, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostTarget, HostView, RecentPair, RunSummary, StoredRun, Target

# An owner that cannot be asked (other boot, machine or container) counts as gone after this much silence.
HEARTBEAT_LIMIT_SECONDS = 60.0

_EDITED = "the file was edited or damaged; name another one with --history, or move this one away"
_GONE_WITHOUT_RESULT = "the workbench ended before the run did"


class History:
    """The history file at `path`. Opening makes folder and file, migrates, and marks what dead workbenches left.

    Every method raises HistoryError where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owner = current_owner()
        self._lock = threading.RLock()
        self._connection = database.connect(path)
        self._connection.row_factory = sqlite3.Row
        try:
            self.mark_interrupted()
        except HistoryError:
            # A file that can only be read, or is locked just now, is still worth reading.
            if not self.is_readable():
                self.close()
                raise

    def __enter__(self) -> "History":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def is_readable(self) -> bool:
        try:
            with self._reading() as connection:
                connection.execute("SELECT count(*) FROM run").fetchone()
            return True
        except HistoryError:
            return False

    # Sessions

    def start_session(self, target: Target, sender: HostView, receiver: HostView) -> int:
        """A sitting of this process with these two hosts; gives its number."""
        now = time.time()
        owner = self._owner
        values = (rows.to_json(target), now, now, owner.pid, owner.start, owner.boot, owner.namespace)
        with self._writing() as connection:
            session = connection.execute(
                "INSERT INTO session (target, started, heartbeat, owner_pid, owner_start, owner_boot, owner_namespace)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            ).lastrowid
            assert session is not None
            for view in (sender, receiver):
                name, nic = rows.storable(view.name), rows.storable(view.data_nic)
                connection.execute(
                    "INSERT INTO host (session, role, name, data_nic, view) VALUES (?, ?, ?, ?, ?)",
                    (session, view.role.value, name, nic, rows.to_json(view)),
                )
        return session

    def heartbeat(self, session: int) -> None:
        """Says that the session's owner lives. Due more often than HEARTBEAT_LIMIT_SECONDS."""
        with self._writing() as connection:
            connection.execute("UPDATE session SET heartbeat = ? WHERE id = ?", (time.time(), session))

    def end_session(self, session: int) -> None:
        """Its runs that never finished become interrupted."""
        now = time.time()
        with self._writing() as connection:
            connection.execute("UPDATE session SET ended = ?, heartbeat = ? WHERE id = ?", (now, now, session))
            _interrupt(connection, session)

    # Runs

    def start_run(self, session: int, preset: str, test: TrafficTest, generator: str, started: float) -> int:
        """A run in state `running`; `started` is Unix seconds. Gives the run's number."""
        values = (session, RunState.RUNNING.value, rows.storable(preset), rows.to_json(test), generator, started)
        with self._writing() as connection:
            run = connection.execute(
                "INSERT INTO run (session, state, preset, test, generator, started) VALUES (?, ?, ?, ?, ?, ?)", values
            ).lastrowid
        assert run is not None
        return run

    def add_samples(self, run: int, role: Role, samples: Sequence[HostSample], arrived: float | None = None) -> None:
        """Appends a chunk, if there is such a run. `arrived` is when the last of them came in (Unix seconds; now if
        not given)."""
        if samples:
            first, last = samples[0].time, samples[-1].time
            self._add_chunk("sample_chunk", run, role, len(samples), first, last, arrived, pack_samples(samples))

    def add_intervals(self, run: int, role: Role, intervals: Sequence[Interval], arrived: float | None = None) -> None:
        """Appends a chunk of what `role`'s generator reported live; the finished report will replace it."""
        if intervals:
            first, last = intervals[0].start, intervals[-1].end
            packed = pack_intervals(intervals)
            self._add_chunk("interval_chunk", run, role, len(intervals), first, last, arrived, packed)

    def _add_chunk(
        self,
        table: str,
        run: int,
        role: Role,
        records: int,
        first: float,
        last: float,
        arrived: float | None,
        blob: bytes,
    ) -> None:
        moment = time.time() if arrived is None else arrived
        query = (
            f"INSERT INTO {table} SELECT ?, ?, "  # noqa: S608 - one of our two table names
            f"(SELECT coalesce(max(sequence) + 1, 0) FROM {table} WHERE run = ? AND role = ?), ?, ?, ?, ?, ? "
            "WHERE EXISTS (SELECT 1 FROM run WHERE id = ?)"
        )
        with self._writing() as connection:
            connection.execute(query, (run, role.value, run, role.value, records, first, last, moment, blob, run))

    def add_unwritten(self, run: int, count: int) -> None:
        """Counts samples and intervals that the writer had to drop."""
        with self._writing() as connection:
            connection.execute("UPDATE run SET unwritten_samples = unwritten_samples + ? WHERE id = ?", (count, run))

    def finish_run(self, run: int, result: RunResult, ended: float | None = None) -> None:
        """Writes the whole result at once; may be repeated. `ended` is Unix seconds; now if not given."""
        window = (result.window.start, result.window.end) if result.window else (None, None)
        values = (
            result.state.value,
            rows.to_json(result.test),
            rows.storable(result.generator),
            time.time() if ended is None else ended,
            result.origin,
            *window,
            rows.storable(result.reason),
            rows.storable(result.hint),
            result.lost_samples,
            rows.report_json(result.report),
            run,
        )
        with self._writing() as connection:
            changed = connection.execute(
                "UPDATE run SET state = ?, test = ?, generator = ?, ended = ?, origin = ?, window_start = ?,"
                " window_end = ?, reason = ?, hint = ?, lost_samples = ?, report = ? WHERE id = ?",
                values,
            ).rowcount
            if not changed:
                raise RunNotFound(f"there is no run {run} in the history")
            _write_details(connection, run, result)
            self._replace_intervals(run, result)

    def _replace_intervals(self, run: int, result: RunResult) -> None:
        """The report's intervals are exact, the live ones stay only where the report has none (a failed run)."""
        for role, intervals in ((Role.RECEIVER, result.report.received), (Role.SENDER, result.report.sent)):
            if intervals:
                self._connection.execute("DELETE FROM interval_chunk WHERE run = ? AND role = ?", (run, role.value))
                self.add_intervals(run, role, intervals)

    def set_note(self, run: int, note: str) -> None:
        with self._writing() as connection:
            changed = connection.execute("UPDATE run SET note = ? WHERE id = ?", (rows.storable(note), run)).rowcount
        if not changed:
            raise RunNotFound(f"there is no run {run} in the history")

    # Changed settings

    def record_changes(self, entries: Sequence[tuple[HostTarget | None, JournalEntry]]) -> list[int]:
        """Writes journal entries of this process, each with how its host is reached (None: the lab), or updates those
        that stand there already; gives their numbers."""
        with self._writing() as connection:
            return [journal.record(connection, self._owner, target, entry) for target, entry in entries]

    def open_changes(self, host: str = "") -> list[OpenChange]:
        """What any workbench changed and has not put back, oldest first; of one host only where it is named."""
        with self._reading() as connection:
            return list(journal.open_changes(connection, host, self._is_gone))

    def mark_change(self, number: int, state: Held, note: str = "") -> None:
        """Says what became of an entry, whoever made it."""
        with self._writing() as connection:
            if not journal.mark(connection, number, state, note):
                raise HistoryError(f"there is no entry {number} in the journal of changes")

    def keep_changes_alive(self) -> None:
        """Says that this process still holds its changes. Due more often than HEARTBEAT_LIMIT_SECONDS."""
        with self._writing() as connection:
            journal.beat(connection, self._owner)

    # Reading

    def runs(self, limit: int = 100, offset: int = 0, text: str = "") -> list[RunSummary]:
        """Newest first; `limit` -1 gives all. Every word of `text` must occur in the number (`#12`), preset, state,
        generator, host names, note or reason."""
        with self._reading() as connection:
            return reading.summaries(connection, limit, offset, text)

    def latest(self) -> RunSummary | None:
        return next(iter(self.runs(limit=1)), None)

    def stored_run(self, run: int) -> StoredRun:
        """All of one run, also of one that is running or was interrupted. RunNotFound if there is none."""
        with self._reading() as connection:
            return reading.stored(connection, run)

    def recent_pairs(self, limit: int = 10) -> list[RecentPair]:
        """The targets of past sessions, each once, newest first."""
        with self._reading() as connection:
            return reading.recent_pairs(connection, limit)

    # Runs that a dead workbench left

    def mark_interrupted(self) -> list[int]:
        """Marks the runs whose session is over or whose workbench is gone; gives the sessions concerned.

        Takes no write lock if there is nothing to mark. A run of a live workbench is never marked.
        """
        with self._reading() as connection:
            gone = self._left_behind(connection)
        if not gone:
            return []
        with self._writing() as connection:
            # Asked again under the lock: an owner may have finished its run in between.
            gone = self._left_behind(connection)
            for session, last_seen in gone.items():
                _interrupt(connection, session)
                connection.execute("UPDATE session SET ended = ? WHERE id = ? AND ended IS NULL", (last_seen, session))
        return list(gone)

    def _left_behind(self, connection: sqlite3.Connection) -> Mapping[int, float]:
        unfinished = connection.execute(
            "SELECT * FROM session WHERE id IN (SELECT session FROM run WHERE state = 'running')"
        )
        return {row["id"]: row["heartbeat"] for row in unfinished.fetchall() if self._is_over(row)}

    def _is_over(self, session: sqlite3.Row) -> bool:
        if session["ended"] is not None:
            return True
        owner = Owner(session["owner_pid"], session["owner_start"], session["owner_boot"], session["owner_namespace"])
        return self._is_gone(owner, session["heartbeat"])

    def _is_gone(self, owner: Owner, last_sign: float) -> bool:
        gone = is_known_gone(owner, self._owner)
        return time.time() - last_sign > HEARTBEAT_LIMIT_SECONDS if gone is None else gone

    # The connection

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot for all queries inside, so that a run that finishes meanwhile is not read in halves."""
        with self._lock, self._errors_in_words():
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            except ValueError as error:
                message = f"the history {self.path} holds a record that cannot be read: {error}"
                raise HistoryError(message, _EDITED) from error
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A short write transaction; inside another one it joins that."""
        with self._lock, self._errors_in_words():
            if self._connection.in_transaction:
                yield self._connection
                return
            with database.transaction(self._connection):
                yield self._connection

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Everything written inside is one transaction."""
        with self._writing():
            yield

    @contextlib.contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise database.in_words(error, self.path) from error


def _interrupt(connection: sqlite3.Connection, session: int) -> None:
    """A run's end is when its last record came in; with no record, its start."""
    connection.execute(
        """
        UPDATE run SET state = 'interrupted', reason = ?, ended = max(
            started,
            coalesce((SELECT max(arrived) FROM sample_chunk WHERE run = run.id), 0),
            coalesce((SELECT max(arrived) FROM interval_chunk WHERE run = run.id), 0))
        WHERE session = ? AND state = 'running'""",
        (_GONE_WITHOUT_RESULT, session),
    )


def _write_details(connection: sqlite3.Connection, run: int, result: RunResult) -> None:
    def replace(table: str, values: list[tuple[Any, ...]]) -> None:
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608 - our own table names
        if values:
            marks = ", ".join("?" * len(values[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608

    replace("metric", [rows.metric_row(run, i, metric) for i, metric in enumerate(result.metrics)])
    replace("process_output", [rows.output_row(run, i, output) for i, output in enumerate(result.outputs)])
    replace("run_event", [rows.event_row(run, i, event) for i, event in enumerate(result.events)])
    replace("run_setting", [rows.setting_row(run, i, outcome) for i, outcome in enumerate(result.settings)])
