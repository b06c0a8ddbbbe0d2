"""The engine's way to the history: everything is queued and written by one thread. Used by engine/.

Nothing here blocks or raises on the engine's side. What must not be lost (states, results, notes) waits until it can
be written; what comes at a high rate (samples, intervals) waits in a bounded queue that drops its oldest and counts.
"""

import logging
import sqlite3
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from netbench_tui.errors import HistoryError, WorkbenchError
from netbench_tui.history.repository import History
from netbench_tui.model.bounded import BoundedQueue
from netbench_tui.model.change import Held, JournalEntry
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostTarget, HostView, Target

# kill -9 loses what was not written yet: about one second of samples.
FLUSH_SECONDS = 1.0
# Well below the 60 s after which another machine's workbench would call the session's owner gone.
HEARTBEAT_SECONDS = 10.0
# Both hosts at 10 Hz and intervals at 10 Hz make 30 records a second: 100 s of them, 60 MB with 128 CPUs each.
CAPACITY = 3000
# What these say is wrong with the record, not with the file: trying again would not help.
_HOPELESS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.InterfaceError)
_RETRY_AT_CLOSE_SECONDS = 0.1

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass
class _Session:
    """The present sitting; `id` is None until it could be written."""

    target: Target
    sender: HostView
    receiver: HostView
    id: int | None = None


@dataclass
class _Command:
    """One thing to write. `kept` ones are tried until they succeed; their future tells about the first try.

    `remember` runs before the first try, whether the file can be opened or not.
    """

    action: Callable[[History], Any]
    kept: bool = False
    remember: Callable[[], None] | None = None
    future: Future[Any] = field(default_factory=Future)

    def settle(self, value: Any = None, error: BaseException | None = None) -> None:
        if self.future.done():
            return
        if error:
            self.future.set_exception(error)
        else:
            self.future.set_result(value)


@dataclass(frozen=True, slots=True)
class _Record:
    """A sample or an interval on its way; `arrived` is Unix seconds."""

    run: int
    role: Role
    value: HostSample | Interval
    arrived: float


class HistoryWriter:
    """Owns a thread and its connection. `on_trouble` is called in that thread, once when writing begins to fail.

    After trouble the file is opened anew and everything that is still waiting is tried again, once a second and with
    each new command. Futures fail with HistoryError if their record could not be written.
    """

    def __init__(
        self,
        path: Path,
        on_trouble: Callable[[WorkbenchError], None],
        capacity: int = CAPACITY,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self.path = path
        self._on_trouble = on_trouble
        self._flush_seconds = flush_seconds
        self._records: BoundedQueue[_Record] = BoundedQueue(capacity)
        self._wake = threading.Condition()
        self._commands: list[_Command] = []
        self._closing_at: float | None = None
        self._unreported_losses: Counter[int] = Counter()
        self._lost = 0
        # From here on only the thread touches these.
        self._history: History | None = None
        self._session: _Session | None = None
        self._over: list[int] = []
        self._waiting: list[_Command] = []
        self._trouble = ""
        self._holds_changes = False
        self._thread = threading.Thread(target=self._work, name="history-writer", daemon=True)
        self._thread.start()

    # What the engine calls, from any thread

    @property
    def lost(self) -> int:
        """Samples and intervals dropped so far because they could not be written in time."""
        with self._wake:
            return self._lost

    def start_session(self, target: Target, sender: HostView, receiver: HostView) -> Future[int]:
        """Begins a sitting, ending the one before. If it cannot be written now, the next run tries again."""
        session = _Session(target, sender, receiver)
        return self._send(self._write_session, remember=lambda: self._let_go(session))

    def end_session(self) -> Future[None]:
        return self._send(self._end_sessions, kept=True, remember=self._let_go)

    def start_run(self, preset: str, test: TrafficTest, generator: str, started: float) -> Future[int]:
        """A run of the present session; `started` is Unix seconds. If the future fails, the run is not kept: use
        number 0, for which all further records are ignored."""

        def action(history: History) -> int:
            return history.start_run(self._session_id(history), preset, test, generator, started)

        return self._send(action)

    def add_sample(self, run: int, role: Role, sample: HostSample) -> None:
        self._push(run, role, sample)

    def add_interval(self, run: int, role: Role, interval: Interval) -> None:
        self._push(run, role, interval)

    def finish_run(self, run: int, result: RunResult) -> Future[None]:
        """The run's end, never dropped: if it cannot be written now, the future fails and it is tried again."""
        ended = time.time()
        return self._send(lambda history: history.finish_run(run, result, ended) if run else None, kept=True)

    def set_note(self, run: int, note: str) -> Future[None]:
        return self._send(lambda history: history.set_note(run, note))

    def record_changes(self, entries: Sequence[tuple[HostTarget | None, JournalEntry]]) -> Future[list[int]]:
        """Journal entries as they are now, each with how its host is reached (None: the lab); gives their numbers.
        Never dropped, as results are not."""
        stored = tuple(entries)

        def action(history: History) -> list[int]:
            self._holds_changes = True
            return history.record_changes(stored)

        return self._send(action, kept=True)

    def mark_change(self, number: int, state: Held, note: str = "") -> Future[None]:
        """What became of an entry of the journal, whoever made it."""
        return self._send(lambda history: history.mark_change(number, state, note))

    def close(self, seconds: float = 10.0) -> bool:
        """Ends the session and writes what waits, for at most `seconds`; False if something could not be written."""
        with self._wake:
            if self._closing_at is None:
                self._commands.append(_Command(self._end_sessions, True, self._let_go))
                self._closing_at = time.monotonic() + seconds
            self._wake.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive() and not self._waiting and not len(self._records)

    def _send(
        self, action: Callable[[History], T], kept: bool = False, remember: Callable[[], None] | None = None
    ) -> Future[T]:
        command = _Command(action, kept, remember)
        with self._wake:
            if self._closing_at is None:
                self._commands.append(command)
                self._wake.notify()
            else:
                command.settle(error=HistoryError("the history is closed"))
        return command.future

    def _push(self, run: int, role: Role, value: HostSample | Interval) -> None:
        if run and self._closing_at is None:
            self._count_lost(self._records.push(_Record(run, role, value, time.time())))

    def _count_lost(self, dropped: list[_Record]) -> None:
        if dropped:
            with self._wake:
                self._lost += len(dropped)
                self._unreported_losses.update(record.run for record in dropped)

    # The thread

    def _work(self) -> None:
        self._attempt(lambda history: None)
        flush_at = time.monotonic() + self._flush_seconds
        heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
        while True:
            commands = self._next_commands(flush_at)
            self._pass(commands)
            flush_at = time.monotonic() + self._flush_seconds
            if time.monotonic() >= heartbeat_at:
                self._attempt(self._beat)
                heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
            if self._is_done():
                break
        if self._history:
            self._history.close()

    def _next_commands(self, flush_at: float) -> list[_Command]:
        """Waits for commands, for the closing, or until the next flush is due."""
        with self._wake:
            while not self._commands:
                wait = flush_at - time.monotonic()
                if self._closing_at is not None:
                    wait = min(wait, _RETRY_AT_CLOSE_SECONDS)
                if wait <= 0 or not self._wake.wait(wait):
                    break
            commands, self._commands = self._commands, []
            return commands

    def _is_done(self) -> bool:
        with self._wake:
            if self._closing_at is None or self._commands:
                return False
        return not (self._waiting or len(self._records)) or time.monotonic() >= self._closing_at

    def _pass(self, commands: list[_Command]) -> None:
        """Records first: those of a run were pushed before its end was sent."""
        self._flush()
        while self._waiting and self._run_command(self._waiting[0]):
            self._waiting.pop(0)
        for command in commands:
            if command.remember:
                command.remember()
            wanted = command.future.set_running_or_notify_cancel() or command.kept
            if wanted and not self._run_command(command) and command.kept:
                self._waiting.append(command)

    def _run_command(self, command: _Command) -> bool:
        """True if there is no point in trying again."""
        try:
            value = command.action(self._opened())
        except Exception as error:
            command.settle(error=error)
            return self._failed(error)
        self._trouble = ""
        command.settle(value)
        return True

    def _attempt(self, action: Callable[[History], None]) -> bool:
        """For what nobody waits for; False if it failed and may be tried again."""
        try:
            action(self._opened())
        except Exception as error:
            return self._failed(error)
        return True

    def _flush(self) -> None:
        records = self._records.drain()
        with self._wake:
            losses, self._unreported_losses = self._unreported_losses, Counter()
        if not records and not losses:
            return
        try:
            _write_records(self._opened(), records, losses)
            self._trouble = ""
        except Exception as error:
            with self._wake:
                self._unreported_losses.update(losses)
            self._count_lost(records if self._failed(error) else self._records.put_back(records))

    def _opened(self) -> History:
        if self._history is None:
            self._history = History(self.path)
        return self._history

    def _failed(self, error: Exception) -> bool:
        """Tells about new trouble. True if trying again is pointless; else the file is opened anew next time."""
        is_hopeless = not isinstance(error, HistoryError) or isinstance(error.__cause__, _HOPELESS)
        if is_hopeless:
            _log.error("a record could not be stored", exc_info=error)
        elif self._history:
            self._history.close()
            self._history = None
        told = error if isinstance(error, WorkbenchError) else HistoryError(f"a record could not be stored: {error}")
        if told.message != self._trouble:
            self._trouble = told.message
            try:
                self._on_trouble(told)
            except Exception:
                _log.exception("on_trouble failed")
        return is_hopeless

    # What the thread does with the session

    def _write_session(self, history: History) -> int:
        self._end_sessions(history)
        return self._session_id(history)

    def _session_id(self, history: History) -> int:
        session = self._session
        if session is None:
            raise HistoryError("a run was started without a session")
        if session.id is None:
            session.id = history.start_session(session.target, session.sender, session.receiver)
        return session.id

    def _let_go(self, following: _Session | None = None) -> None:
        if self._session and self._session.id is not None:
            self._over.append(self._session.id)
        self._session = following

    def _end_sessions(self, history: History) -> None:
        while self._over:
            history.end_session(self._over[0])
            self._over.pop(0)

    def _beat(self, history: History) -> None:
        if self._session and self._session.id is not None:
            history.heartbeat(self._session.id)
        if self._holds_changes:
            history.keep_changes_alive()


def _write_records(history: History, records: list[_Record], losses: Counter[int]) -> None:
    """One transaction, one chunk for each run, role and kind of record."""
    groups: dict[tuple[int, Role], list[_Record]] = defaultdict(list)
    for record in records:
        groups[record.run, record.role].append(record)
    with history.batch():
        for (run, role), group in groups.items():
            arrived = group[-1].arrived
            history.add_samples(run, role, [r.value for r in group if isinstance(r.value, HostSample)], arrived)
            history.add_intervals(run, role, [r.value for r in group if isinstance(r.value, Interval)], arrived)
        for run, count in losses.items():
            history.add_unwritten(run, count)
