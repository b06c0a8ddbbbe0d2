"""The engine: a thread with its own event loop, in which everything that happens over time happens.

A terminal that does not read must not stop a measurement (DESIGN 2), so the faces live in other threads: they call
these methods, which answer with futures, and get events through `subscribe`. Used by cli/ and by tui/.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from netbench_tui.config import list_presets
from netbench_tui.engine import events
from netbench_tui.engine.changes import Changes
from netbench_tui.engine.journal import Journal
from netbench_tui.engine.marks import mark_of
from netbench_tui.engine.questions import Questions
from netbench_tui.engine.reach import host_target
from netbench_tui.engine.runner import Run
from netbench_tui.engine.session import Session
from netbench_tui.engine.settings_calls import SettingsCalls
from netbench_tui.engine.sshconfig import host_names
from netbench_tui.engine.visit import Visit
from netbench_tui.engine.ways import Ways
from netbench_tui.errors import AgentDied, HistoryError, UsageError, WorkbenchError
from netbench_tui.history.repository import History
from netbench_tui.history.writer import HistoryWriter
from netbench_tui.model.change import Held, OpenChange
from netbench_tui.model.host import Role
from netbench_tui.model.preset import Preset
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.question import Answers
from netbench_tui.model.run import Interval, RunResult, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import (
    HostTarget,
    HostView,
    LabTarget,
    PairTarget,
    RecentPair,
    RunSummary,
    StoredRun,
    Target,
)
from netbench_tui.traffic.registry import choose

# A history on a stalled disk must not hold up a run: it then goes on unkept.
HISTORY_SECONDS = 3.0
# The hosts' agents get their time to end everything; then the program ends all the same.
CLOSE_SECONDS = 12.0
# A history that could not be written gets one more chance at the end, but nobody waits long for it.
TROUBLED_SECONDS = 1.0
GIVEN_UP = "the connection was given up"

T = TypeVar("T")


class Engine(SettingsCalls):
    """`start` it before use and `close` it at the end. All methods may be called from any thread."""

    def __init__(
        self,
        history: Path,
        ssh_config: str | None = None,
        *,
        accept_new: bool = False,
        may_ask: bool = False,
        pythons: Mapping[str, str] | None = None,
    ) -> None:
        """`may_ask` promises that a subscriber shows `Asked` events to a person and calls `answer`."""
        super().__init__()
        self.history_path, self.ssh_config = history, ssh_config
        self._questions = Questions(self._emit)
        self._ways = Ways(ssh_config, accept_new, self._questions.ask if may_ask else None, pythons or {})
        self._writer: HistoryWriter | None = None
        self._session: Session | None = None
        self._visit: Visit | None = None
        self._run: Run | None = None
        self._run_id = 0
        self._unrecorded: Session | None = None
        self._opening: asyncio.Task[None] | None = None
        # Connecting and letting go happen one at a time; of several that wait, only the newest wish is carried out.
        self._changing = asyncio.Lock()
        self._wish = 0
        self._troubled = False

    # hosts

    def connect(self, target: Target) -> Future[None]:
        """Connects both hosts, letting the pair before go. Fails with the first WorkbenchError; events tell all."""
        return self._submit(self._connect(target))

    async def _connect(self, target: Target) -> None:
        async with self._newest_wish():
            await self._let_go()
            session = Session(
                target,
                self._ways,
                self._tell,
                self._sample,
                self._host_lost,
                lambda: self._record_views(session),
                self._journal(target),
            )
            await self._open(session)
            self._session = session

    def visit(self, targets: Sequence[HostTarget] | LabTarget) -> Future[Mapping[Role, HostView]]:
        """Connects one or two hosts, or the lab, without a data path, letting those before go. The first is the
        sender, the second the receiver. Fails with the first WorkbenchError."""
        return self._submit(self._connect_visit(targets))

    async def _connect_visit(self, targets: Sequence[HostTarget] | LabTarget) -> Mapping[Role, HostView]:
        if not isinstance(targets, LabTarget) and len(targets) not in (1, 2):
            raise UsageError(f"{len(targets)} hosts cannot be visited at a time", "name one or two")
        async with self._newest_wish():
            await self._let_go()
            target = targets if isinstance(targets, LabTarget) else PairTarget(targets[0], targets[-1])
            visit = Visit(targets, self._ways, self._emit, self._journal(target))
            await self._open(visit)
            self._visit = visit
            return visit.views

    async def _open(self, sitting: Session | Visit) -> None:
        self._opening = asyncio.create_task(sitting.open())
        try:
            await self._opening
        except asyncio.CancelledError:
            await sitting.close()
            raise AgentDied(GIVEN_UP) from None
        finally:
            self._opening = None

    def _journal(self, target: Target) -> Journal:
        writer = self._history_writer()
        return Journal(
            lambda entries: writer.record_changes([(host_target(target, entry.role), entry) for entry in entries]),
            writer.mark_change,
        )

    def _changes(self) -> Changes:
        return self._sitting().changes

    def _sitting(self) -> Session | Visit:
        sitting = self._session or self._visit
        if sitting is None:
            raise UsageError("no hosts are connected", "connect two hosts first")
        return sitting

    def _record_views(self, session: Session) -> None:
        """A run is kept with the hosts and the path as they were: what changed begins another session there, once the
        run in progress is over."""
        if self._run:
            self._unrecorded = session
            return
        self._history_writer().start_session(session.target, session.views[Role.SENDER], session.views[Role.RECEIVER])

    def _host_lost(self, role: Role, error: WorkbenchError) -> None:
        if self._run:
            self._run.host_lost(error)

    @contextlib.asynccontextmanager
    async def _newest_wish(self) -> AsyncIterator[None]:
        """Gives up the connecting in progress and waits for its end. Raises AgentDied if yet another wish came."""
        self._wish += 1
        wish = self._wish
        if self._opening:
            self._opening.cancel()
        async with self._changing:
            if wish != self._wish:
                raise AgentDied(GIVEN_UP)
            yield

    def choose_path(self, sender_nic: str, receiver_nic: str) -> Future[None]:
        """Sends the traffic over these NICs from now on; PairConnected tells. Fails with UsageError."""
        return self._submit(self._choose_path(sender_nic, receiver_nic))

    async def _choose_path(self, sender_nic: str, receiver_nic: str) -> None:
        if self._run:
            raise UsageError("a run is in progress", "stop it first, or wait for its end")
        if self._session is None:
            raise UsageError("no hosts are connected", "connect two hosts first")
        await self._session.choose_path(sender_nic, receiver_nic)

    def watch(self, watched: bool, statistics: bool = False) -> Future[None]:
        """Samples carry the queues and IRQs of both data NICs while watched, and what their drivers count as well."""

        async def work() -> None:
            if self._session:
                await self._session.watching.ask(watched, statistics)

        return self._submit(work())

    def answer(self, number: int, answers: Answers | None) -> None:
        """Answers an `Asked` event; None declines. Returns at once."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for it any more
            self._loop.call_soon_threadsafe(self._questions.answer, number, answers)

    def disconnect(self) -> Future[None]:
        return self._submit(self._disconnect())

    async def _disconnect(self) -> None:
        with contextlib.suppress(AgentDied):
            async with self._newest_wish():
                await self._let_go()

    async def _let_go(self) -> None:
        await self._stop_run()
        if self._session:
            session, self._session = self._session, None
            await session.close()
            self._history_writer().end_session()
            self._emit(events.Disconnected())
        if self._visit:
            visit, self._visit = self._visit, None
            await visit.close()
            self._emit(events.Disconnected())

    def _sample(self, role: Role, sample: HostSample) -> None:
        if self._run:
            self._run.add_sample(role, sample)
            self._history_writer().add_sample(self._run_id, role, sample)

    # runs

    def run(self, preset: str, test: TrafficTest, settings: Sequence[PresetSetting] = ()) -> Future[RunResult]:
        """Runs the test with these settings and keeps it. A run that fails is a result, not an exception; what cannot
        begin is one. The settings are taken back after it, whatever comes of it."""
        return self._submit(self._run_test(preset, test, settings))

    async def _run_test(self, preset: str, test: TrafficTest, settings: Sequence[PresetSetting]) -> RunResult:
        if self._run:
            raise UsageError("a run is in progress", "stop it first, or wait for its end")
        session = self._session
        if session is None:
            raise UsageError("no hosts are connected", "connect two hosts first")
        session.require()
        generator = choose(test, session.views[Role.SENDER].facts, session.views[Role.RECEIVER].facts)
        self._run = run = Run(session, test, generator, self._interval, settings)
        self._run_id = 0  # until the history has given a number, nothing of this run may go to the one before
        try:
            self._run_id = await self._begin_record(preset, test, generator.name)
            self._emit(events.RunStarted(self._run_id, preset, test, generator.name, time.monotonic()))
            result = await run.execute()
            await self._end_record(result)
        finally:
            self._run = None
            if self._unrecorded:
                self._record_views(self._unrecorded)
                self._unrecorded = None
            run.over.set()
        self._emit(events.RunEnded(self._run_id, preset, result))
        return result

    def _tell(self, event: events.Event) -> None:
        """What happens in the session; a change during a run leaves a mark in it."""
        self._emit(event)
        if self._run and (mark := mark_of(event)):
            self._run.add_event(mark)
            self._emit(events.RunMarked(self._run_id, mark))

    def _interval(self, interval: Interval, when: float) -> None:
        self._history_writer().add_interval(self._run_id, Role.RECEIVER, interval)
        self._emit(events.IntervalSeen(self._run_id, interval, when))

    async def _begin_record(self, preset: str, test: TrafficTest, generator: str) -> int:
        """The run's number, or 0 where the history cannot be written; the writer reports why."""
        begun = self._history_writer().start_run(preset, test, generator, time.time())
        with contextlib.suppress(HistoryError, TimeoutError):
            return await asyncio.wait_for(asyncio.wrap_future(begun), HISTORY_SECONDS)
        return 0

    async def _end_record(self, result: RunResult) -> None:
        ended = self._history_writer().finish_run(self._run_id, result)
        with contextlib.suppress(HistoryError, TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(ended)), HISTORY_SECONDS)

    def stop_run(self) -> Future[None]:
        """Ends the run in progress, if there is one; its result says `stopped`."""
        return self._submit(self._stop_run())

    async def _stop_run(self) -> None:
        run = self._run
        if run is None:
            return
        run.stop()
        await run.over.wait()

    # history

    def _history_writer(self) -> HistoryWriter:
        if self._writer is None:
            self._writer = HistoryWriter(self.history_path, self._trouble)
        return self._writer

    def _trouble(self, error: WorkbenchError) -> None:
        """Comes from the writer's thread."""
        self._troubled = True
        event = events.HistoryTrouble(error.message, error.hint)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._emit, event)

    def _read(self, question: Callable[[History], T]) -> Future[T]:
        def ask() -> T:
            with History(self.history_path) as history:
                return question(history)

        async def work() -> T:
            return await asyncio.to_thread(ask)

        return self._submit(work())

    def runs(self, limit: int = 500, text: str = "") -> Future[list[RunSummary]]:
        """The newest runs whose row holds `text`."""
        return self._read(lambda history: history.runs(limit, 0, text))

    def stored_run(self, run_id: int) -> Future[StoredRun]:
        """Fails with RunNotFound."""
        return self._read(lambda history: history.stored_run(run_id))

    def latest(self) -> Future[RunSummary | None]:
        return self._read(lambda history: history.latest())

    def recent_pairs(self, limit: int = 8) -> Future[list[RecentPair]]:
        return self._read(lambda history: history.recent_pairs(limit))

    def open_changes(self, host: str = "") -> Future[list[OpenChange]]:
        """What any workbench changed and has not put back; of one host only where it is named."""
        return self._read(lambda history: history.open_changes(host))

    def mark_change(self, number: int, state: Held, note: str = "") -> Future[None]:
        """Says in the history what became of an entry."""

        async def work() -> None:
            await asyncio.wrap_future(self._history_writer().mark_change(number, state, note))

        return self._submit(work())

    # what the Connect and Run screens offer

    def presets(self) -> list[Preset]:
        return list_presets()

    def known_hosts(self) -> list[str]:
        """The hosts that the user's ssh_config names."""
        return host_names(self.ssh_config)

    def close(self) -> None:
        """Ends the run, lets the hosts go, writes what waits. Blocks for some seconds at most; idempotent. What is
        asked of the engine from here on fails with UsageError."""
        if self._closed or not self._thread.is_alive():
            return
        leaving = self._submit(self._disconnect())
        self._closed = True
        with contextlib.suppress(Exception):
            leaving.result(CLOSE_SECONDS)
        if self._writer:
            self._writer.close(TROUBLED_SECONDS if self._troubled else CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_SECONDS)
