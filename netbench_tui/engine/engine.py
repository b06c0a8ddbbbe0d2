"""The engine: a thread with its own event loop, in which everything that happens over time happens.

A terminal that does not read must not stop a measurement (DESIGN 2), so the faces live in other threads: they call
these methods, which answer with futures, and get events through `subscribe`. Used by cli/ and by tui/.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from netbench_tui.config import list_presets
from netbench_tui.engine import events
from netbench_tui.engine.questions import Questions
from netbench_tui.engine.runner import Run
from netbench_tui.engine.session import Session
from netbench_tui.engine.sshconfig import host_names
from netbench_tui.engine.ways import Ways
from netbench_tui.errors import AgentDied, HistoryError, UsageError, WorkbenchError
from netbench_tui.history.repository import History
from netbench_tui.history.writer import HistoryWriter
from netbench_tui.model.host import Role
from netbench_tui.model.preset import Preset
from netbench_tui.model.question import Answers
from netbench_tui.model.run import Interval, RunResult, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import RecentPair, RunSummary, StoredRun, Target
from netbench_tui.traffic.registry import choose

# A history on a stalled disk must not hold up a run: it then goes on unkept.
HISTORY_SECONDS = 3.0
# The hosts' agents get their time to end everything; then the program ends all the same.
CLOSE_SECONDS = 12.0
# A history that could not be written gets one more chance at the end, but nobody waits long for it.
TROUBLED_SECONDS = 1.0
# For what did not end in that time, and will hardly end now.
CANCEL_SECONDS = 2.0
GIVEN_UP = "the connection was given up"

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Engine:
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
        self.history_path, self.ssh_config = history, ssh_config
        self._questions = Questions(self._emit)
        self._ways = Ways(ssh_config, accept_new, self._questions.ask if may_ask else None, pythons or {})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._faces: list[Callable[[events.Event], None]] = []
        self._writer: HistoryWriter | None = None
        self._session: Session | None = None
        self._run: Run | None = None
        self._run_id = 0
        self._unrecorded: Session | None = None
        self._opening: asyncio.Task[None] | None = None
        # Connecting and letting go happen one at a time; of several that wait, only the newest wish is carried out.
        self._changing = asyncio.Lock()
        self._wish = 0
        self._closed = False
        self._troubled = False

    def start(self) -> None:
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(_cancel_all())
            self._loop.close()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if self._closed:
            work.close()
            refused: Future[T] = Future()
            refused.set_exception(UsageError("the workbench is closing"))
            return refused
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def subscribe(self, deliver: Callable[[events.Event], None]) -> Callable[[], None]:
        """`deliver` is called in the engine's thread and must not block. Returns what ends the subscription."""
        self._faces.append(deliver)
        return lambda: self._faces.remove(deliver)

    def _emit(self, event: events.Event) -> None:
        for face in list(self._faces):
            try:
                face(event)
            except Exception:
                _log.exception("a face failed on %s", type(event).__name__)

    # hosts

    def connect(self, target: Target) -> Future[None]:
        """Connects both hosts, letting the pair before go. Fails with the first WorkbenchError; events tell all."""
        return self._submit(self._connect(target))

    async def _connect(self, target: Target) -> None:
        async with self._newest_wish():
            await self._let_go()
            session = Session(
                target, self._ways, self._emit, self._sample, self._host_lost, lambda: self._record_views(session)
            )
            self._opening = asyncio.create_task(session.open())
            try:
                await self._opening
            except asyncio.CancelledError:
                await session.close()
                raise AgentDied(GIVEN_UP) from None
            finally:
                self._opening = None
            self._session = session

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
        self._session.choose_path(sender_nic, receiver_nic)

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

    def _sample(self, role: Role, sample: HostSample) -> None:
        if self._run:
            self._run.add_sample(role, sample)
            self._history_writer().add_sample(self._run_id, role, sample)

    # runs

    def run(self, preset: str, test: TrafficTest) -> Future[RunResult]:
        """Runs the test and keeps it. A run that fails is a result, not an exception; what cannot begin is one."""
        return self._submit(self._run_test(preset, test))

    async def _run_test(self, preset: str, test: TrafficTest) -> RunResult:
        if self._run:
            raise UsageError("a run is in progress", "stop it first, or wait for its end")
        session = self._session
        if session is None:
            raise UsageError("no hosts are connected", "connect two hosts first")
        session.require()
        generator = choose(test, session.views[Role.SENDER].facts, session.views[Role.RECEIVER].facts)
        self._run = run = Run(session, test, generator, self._interval)
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


async def _cancel_all() -> None:
    """Whoever still waits for an answer gets one: that it was cancelled."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=CANCEL_SECONDS)
