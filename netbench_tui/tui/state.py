"""What the screens show, kept apart from how: engine events in, plain attributes out. No Textual here.

The app owns one `Workbench` and feeds it on its own thread; screens only read it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from netbench_tui.engine import events
from netbench_tui.model.change import Applied, ChangeKind, JournalEntry, Restored
from netbench_tui.model.host import Role
from netbench_tui.model.preset import Preset
from netbench_tui.model.question import Question
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, Target
from netbench_tui.model.setting import HostSettings, QueueMap
from netbench_tui.tui.staging import Staging

if TYPE_CHECKING:
    # The Connect screen needs none of these: they are imported with the first sample or run, so that it stands sooner.
    from netbench_tui.analysis.live import RollingHost
    from netbench_tui.analysis.queue_rates import RollingQueues
    from netbench_tui.tui.loads import HostLoad
    from netbench_tui.tui.trace import RunTrace

# The last of a host's steps on the Connect screen.
ARRIVED = "connected"


class Failure(NamedTuple):
    """What went wrong, for the place where it shows: a sentence, and what to do."""

    message: str
    hint: str = ""
    role: Role | None = None
    name: str = ""


class Retry(NamedTuple):
    """A lost host is tried for the `attempt`-th time, at `due` on the workbench's time line."""

    attempt: int
    due: float


@dataclass
class Workbench:
    """All that the screens know. `clock` is the workbench's time line (seconds)."""

    clock: Callable[[], float] = time.monotonic
    presets: Sequence[Preset] = ()
    chosen: int = 0
    target: Target | None = None
    connecting: bool = False
    connected: bool = False
    views: dict[Role, HostView] = field(default_factory=dict)
    steps: dict[Role, list[str]] = field(default_factory=dict)
    names: dict[Role, str] = field(default_factory=dict)
    failures: dict[Role, Failure] = field(default_factory=dict)
    trouble: Failure | None = None
    """Why the last connect or run could not even begin."""
    warning: str = ""
    history_trouble: Failure | None = None
    lost_at: dict[Role, float] = field(default_factory=dict)
    retries: dict[Role, Retry] = field(default_factory=dict)
    returned: dict[Role, str] = field(default_factory=dict)
    """What is new about a host that was lost and is back; until the next act."""
    questions: dict[int, Question] = field(default_factory=dict)
    """What hosts want to know, in the order in which they asked. Answers never stand here."""
    rolling: dict[Role, "RollingHost"] = field(default_factory=dict)
    queue_rates: dict[Role, "RollingQueues"] = field(default_factory=dict)
    trace: "RunTrace | None" = None
    settings: dict[Role, HostSettings] = field(default_factory=dict)
    queues: dict[Role, QueueMap] = field(default_factory=dict)
    staged: Staging = field(default_factory=Staging)
    applied: Applied | None = None
    """The last transaction, until the next act: what took, what moved along, what was refused."""
    trial: Applied | None = None
    """The last transaction while it waits to be kept or put back."""
    journal: tuple[JournalEntry, ...] = ()
    restored: dict[Role, Restored] = field(default_factory=dict)
    """What a host put back by itself or when asked, until the next act."""

    @property
    def preset(self) -> Preset | None:
        return self.presets[self.chosen % len(self.presets)] if self.presets else None

    @property
    def running(self) -> bool:
        return self.trace is not None and self.trace.running

    @property
    def whole(self) -> bool:
        """Both hosts are there."""
        return self.connected and not self.lost_at

    def begin_connect(self, target: Target) -> None:
        self.target, self.connecting, self.trouble, self.warning = target, True, None, ""
        for held in (self.steps, self.names, self.failures):
            held.clear()

    def refused(self, message: str, hint: str) -> None:
        """The engine could not do what was asked. What an event already told is not told twice."""
        self.connecting = False
        told = {failure.message for failure in self.failures.values()}
        if self.trace is not None and self.trace.result is not None:
            told.add(self.trace.result.reason)
        if message not in told:
            self.trouble = Failure(message, hint)

    def age(self, role: Role) -> float | None:
        """Seconds since a lost host's last sign; None while it is there."""
        return None if role not in self.lost_at else max(0.0, self.clock() - self.lost_at[role])

    def load(self, role: Role) -> "HostLoad | None":
        """The host's last second."""
        from netbench_tui.tui.loads import live_load

        view = self.views.get(role)
        rolling = self.rolling.get(role)
        return live_load(rolling, view) if view is not None and rolling is not None else None

    def apply(self, event: events.Event) -> None:
        """Takes one event. Unknown kinds are left alone: an engine may say more than this face shows."""
        match event:
            case events.SampleTaken(role=role, sample=sample):
                self._sample(role, sample)
            case events.IntervalSeen(run_id=run_id, interval=interval, time=at):
                if self.trace is not None and self.trace.running and self.trace.run_id == run_id:
                    self.trace.add_interval(interval, at)
            case events.RunStarted():
                self._run_started(event)
            case events.RunEnded(run_id=run_id, result=result):
                if self.trace is not None and self.trace.running and self.trace.run_id == run_id:
                    self.trace.finish(result)
            case events.HistoryTrouble(message=message, hint=hint):
                self.history_trouble = Failure(message, hint)
            case events.Asked(number=number, question=question):
                self.questions[number] = question
            case events.QuestionOver(number=number):
                self.questions.pop(number, None)
            case _:
                self._settings(event)
                self._hosts(event)

    def _settings(self, event: events.Event) -> None:
        match event:
            case events.SettingsRead(role=role, settings=settings):
                self.settings[role] = settings
            case events.QueuesRead(role=role, queues=queues):
                self.queues[role] = queues
            case events.ChangesApplied(applied=applied):
                self.applied = applied
                stands = not applied.undone and any(not outcome.code for outcome in applied.outcomes)
                self.trial = applied if applied.kind is ChangeKind.TRIAL and stands else None
                self.restored.clear()
            case events.ChangesKept():
                self.trial = None
            case events.SettingsRestored(restored=restored):
                self.restored[restored.role] = restored
                self.trial = None
            case events.JournalChanged(entries=entries):
                self.journal = entries

    def _hosts(self, event: events.Event) -> None:
        match event:
            case events.Connecting(role=role, name=name, step=step) if not self.connected:
                self.steps.setdefault(role, []).append(step)
                self.names[role] = name
                self.failures.pop(role, None)
            case events.HostConnected(view=view) if not self.connected:
                self.steps.setdefault(view.role, []).append(ARRIVED)
                self.names[view.role] = view.name
            case events.PairConnected():
                self._pair(event)
            case events.HostFailed():
                self._failed(event)
            case events.Reconnecting(role=role, attempt=attempt, wait=wait):
                self.retries[role] = Retry(attempt, self.clock() + wait)
            case events.HostReturned(view=view, note=note):
                self._returned(view, note)
            case events.ClockMeasured(role=role, clock=clock):
                if role in self.views:
                    self.views[role] = replace(self.views[role], clock=clock)
            case events.Disconnected():
                self.connected = self.connecting = False
                for held in (self.lost_at, self.retries, self.returned, self.steps, self.failures):
                    held.clear()
                self.staged.clear()
                self.applied, self.trial, self.journal = None, None, ()

    def _sample(self, role: Role, sample: HostSample) -> None:
        if role not in self.rolling:
            from netbench_tui.analysis.live import RollingHost
            from netbench_tui.analysis.queue_rates import RollingQueues

            self.rolling[role], self.queue_rates[role] = RollingHost(), RollingQueues()
        self.rolling[role].add(sample)
        self.queue_rates[role].add(sample)
        if self.trace is not None and self.trace.running:
            self.trace.add_sample(role, sample)

    def _run_started(self, event: events.RunStarted) -> None:
        from netbench_tui.tui.trace import RunTrace

        self.trouble = None
        self.returned.clear()
        self.trace = RunTrace(
            event.run_id, event.preset, event.test, event.generator, event.time, dict(self.views), stored=False
        )

    def _pair(self, event: events.PairConnected) -> None:
        """A new pair begins anew; the same hosts over other NICs keep the run that they were measured in."""
        if not (self.connected and event.target == self.target):
            self.trace = None
        self.target, self.warning = event.target, event.warning
        self.views = {Role.SENDER: event.sender, Role.RECEIVER: event.receiver}
        self.connected, self.connecting, self.trouble = True, False, None
        for held in (self.lost_at, self.retries, self.returned, self.failures, self.rolling, self.queue_rates):
            held.clear()
        for known in (self.settings, self.queues, self.staged, self.restored):
            known.clear()
        self.applied = self.trial = None

    def _returned(self, view: HostView, note: str) -> None:
        """The present run's trace stays; the last second begins anew, as the new agent's samples do."""
        role = view.role
        self.views[role] = view
        held: tuple[dict[Role, Any], ...] = (self.lost_at, self.retries, self.failures, self.rolling, self.returned)
        for of_role in held:
            of_role.pop(role, None)
        if note:
            self.returned[role] = note

    def _failed(self, event: events.HostFailed) -> None:
        self.failures[event.role] = Failure(event.message, event.hint, event.role, event.name)
        self.connecting = False
        if event.was_connected:
            self.lost_at.setdefault(event.role, self.clock())
            self.returned.pop(event.role, None)
