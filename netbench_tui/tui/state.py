"""What the screens show, kept apart from how: engine events in, plain attributes out. No Textual here.

The app owns one `Workbench` and feeds it on its own thread; screens only read it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from netbench_tui.engine import events
from netbench_tui.model.host import Role
from netbench_tui.model.preset import Preset
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, Target

if TYPE_CHECKING:
    # The Connect screen needs none of these: they are imported with the first sample or run, so that it stands sooner.
    from netbench_tui.analysis.live import RollingHost
    from netbench_tui.tui.loads import HostLoad
    from netbench_tui.tui.trace import RunTrace

# The last of a host's steps on the Connect screen.
ARRIVED = "connected"


@dataclass
class Failure:
    """What went wrong, for the place where it shows: a sentence, and what to do."""

    message: str
    hint: str = ""
    role: Role | None = None
    name: str = ""


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
    rolling: dict[Role, "RollingHost"] = field(default_factory=dict)
    trace: "RunTrace | None" = None

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
            case _:
                self._hosts(event)

    def _hosts(self, event: events.Event) -> None:
        match event:
            case events.Connecting(role=role, name=name, step=step):
                self.steps.setdefault(role, []).append(step)
                self.names[role] = name
                self.failures.pop(role, None)
            case events.HostConnected(view=view):
                self.steps.setdefault(view.role, []).append(ARRIVED)
                self.names[view.role] = view.name
            case events.PairConnected():
                self._pair(event)
            case events.HostFailed():
                self._failed(event)
            case events.ClockMeasured(role=role, clock=clock):
                if role in self.views:
                    self.views[role] = replace(self.views[role], clock=clock)
            case events.Disconnected():
                self.connected = self.connecting = False
                for held in (self.lost_at, self.steps, self.failures):
                    held.clear()

    def _sample(self, role: Role, sample: HostSample) -> None:
        if role not in self.rolling:
            from netbench_tui.analysis.live import RollingHost

            self.rolling[role] = RollingHost()
        self.rolling[role].add(sample)
        if self.trace is not None and self.trace.running:
            self.trace.add_sample(role, sample)

    def _run_started(self, event: events.RunStarted) -> None:
        from netbench_tui.tui.trace import RunTrace

        self.trouble = None
        self.trace = RunTrace(
            event.run_id, event.preset, event.test, event.generator, event.time, dict(self.views), stored=False
        )

    def _pair(self, event: events.PairConnected) -> None:
        self.target, self.warning = event.target, event.warning
        self.views = {Role.SENDER: event.sender, Role.RECEIVER: event.receiver}
        self.connected, self.connecting = True, False
        self.lost_at.clear()
        self.failures.clear()
        self.rolling.clear()
        self.trace = None

    def _failed(self, event: events.HostFailed) -> None:
        self.failures[event.role] = Failure(event.message, event.hint, event.role, event.name)
        self.connecting = False
        if event.was_connected:
            self.lost_at[event.role] = self.clock()
