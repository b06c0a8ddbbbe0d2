"""Between the engine's thread and Textual: events wait in a bounded queue, one message says that some are there.

Used by the app. `deliver` runs on the engine's thread and never blocks; with a terminal that does not read, samples and
intervals lose their oldest here (the history keeps its own) and everything else stays, in order.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from textual.message import Message

from netbench_tui.engine.events import Event, IntervalSeen, SampleTaken
from netbench_tui.model.bounded import BoundedQueue
from netbench_tui.model.change import (
    TRIAL_SECONDS,
    Applied,
    Change,
    ChangeKind,
    JournalEntry,
    OnRefusal,
    Restored,
)
from netbench_tui.model.host import Role
from netbench_tui.model.preset import Preset
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.run import RunResult, TrafficTest
from netbench_tui.model.session import RecentPair, RunSummary, StoredRun, Target
from netbench_tui.model.setting import HostSettings, QueueMap

# Two hosts at 10 Hz and intervals at 10 Hz for more than two minutes without a look.
CAPACITY = 4096


class EngineFace(Protocol):
    """What the screens need of the engine. Futures are answered on the engine's thread."""

    def subscribe(self, deliver: Callable[[Event], None]) -> Callable[[], None]: ...
    def connect(self, target: Target) -> "Future[None]": ...
    def disconnect(self) -> "Future[None]": ...
    def answer(self, number: int, answers: tuple[str, ...] | None) -> None: ...
    def choose_path(self, sender_nic: str, receiver_nic: str) -> "Future[None]": ...
    def run(self, preset: str, test: TrafficTest, settings: Sequence[PresetSetting] = ()) -> "Future[RunResult]": ...
    def stop_run(self) -> "Future[None]": ...
    def runs(self, limit: int = 500, text: str = "") -> "Future[list[RunSummary]]": ...
    def stored_run(self, run_id: int) -> "Future[StoredRun]": ...
    def recent_pairs(self, limit: int = 8) -> "Future[list[RecentPair]]": ...
    def presets(self) -> list[Preset]: ...
    def known_hosts(self) -> list[str]: ...
    def close(self) -> None: ...

    # Settings. Answers come as events too: SettingsRead, QueuesRead, ChangesApplied, SettingsRestored, JournalChanged.

    def read_settings(self, role: Role) -> "Future[HostSettings]": ...
    def read_queues(self, role: Role) -> "Future[QueueMap]": ...
    def watch(self, watched: bool, statistics: bool = False) -> "Future[None]": ...
    def apply(
        self,
        changes: Sequence[Change],
        kind: ChangeKind = ChangeKind.TRIAL,
        on_refusal: OnRefusal = OnRefusal.REST,
        seconds: float = TRIAL_SECONDS,
    ) -> "Future[Applied]": ...
    def keep(self, permanent: bool = False) -> "Future[None]": ...
    def undo(self) -> "Future[Applied | None]": ...
    def restore(self, entries: Sequence[JournalEntry] = ()) -> "Future[tuple[Restored, ...]]": ...


class EventsWaiting(Message):
    """The bridge holds events. One is enough, however many there are."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, EventsWaiting)


class Bridge:
    """`wake` is called at most once between two drains, from the engine's thread."""

    def __init__(self, wake: Callable[[], object], capacity: int = CAPACITY) -> None:
        self._wake = wake
        self._queue: BoundedQueue[Event] = BoundedQueue(capacity)
        self._rescued: list[Event] = []
        self._lock = threading.Lock()
        self._asleep = True
        self.lost = 0

    def deliver(self, event: Event) -> None:
        with self._lock:
            for dropped in self._queue.push(event):
                if isinstance(dropped, (SampleTaken, IntervalSeen)):
                    self.lost += 1
                else:
                    self._rescued.append(dropped)
            wake, self._asleep = self._asleep, False
        if wake:
            self._wake()

    def drain(self) -> list[Event]:
        """All events so far, in their order."""
        with self._lock:
            found = [*self._rescued, *self._queue.drain()]
            self._rescued.clear()
            self._asleep = True
            return found
