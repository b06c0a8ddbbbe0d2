"""What the engine tells its faces. All are frozen. tui/bridge.py turns them into messages, cli.py prints some."""

from dataclasses import dataclass

from netbench_tui.model.change import Applied, JournalEntry, Restored
from netbench_tui.model.host import Clock, Role
from netbench_tui.model.question import Question
from netbench_tui.model.run import Interval, RunEvent, RunResult, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, Target
from netbench_tui.model.setting import HostSettings, QueueMap


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all events."""


@dataclass(frozen=True, slots=True)
class Connecting(Event):
    """A step on the way to a host, in words: `opening ssh`, `starting the agent`."""

    role: Role
    name: str
    step: str


@dataclass(frozen=True, slots=True)
class HostConnected(Event):
    view: HostView


@dataclass(frozen=True, slots=True)
class PairConnected(Event):
    """Both hosts are there and their data NICs chosen (the views hold the final choice). `warning` may be empty."""

    target: Target
    sender: HostView
    receiver: HostView
    warning: str = ""


@dataclass(frozen=True, slots=True)
class HostFailed(Event):
    """A host could not be reached, or was lost (`was_connected`). The screens keep what they had."""

    role: Role
    name: str
    message: str
    hint: str
    exit_code: int
    was_connected: bool = False


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """A host wants to know something; `Engine.answer(number, answers)` tells it."""

    number: int
    question: Question


@dataclass(frozen=True, slots=True)
class QuestionOver(Event):
    """The question was answered, or is not asked any more: the connection attempt is over."""

    number: int


@dataclass(frozen=True, slots=True)
class Reconnecting(Event):
    """A lost host is tried again, for the `attempt`-th time, in `wait` seconds."""

    role: Role
    name: str
    attempt: int
    wait: float


@dataclass(frozen=True, slots=True)
class HostReturned(Event):
    """A lost host is back. `note` says what is new about it, e.g. that it was rebooted; empty if nothing is."""

    view: HostView
    note: str = ""


@dataclass(frozen=True, slots=True)
class Disconnected(Event):
    """The pair was let go; hosts are clean."""


@dataclass(frozen=True, slots=True)
class ClockMeasured(Event):
    role: Role
    clock: Clock


@dataclass(frozen=True, slots=True)
class SampleTaken(Event):
    role: Role
    sample: HostSample


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """`run_id` is 0 where the history could not be written. `time` is on the workbench's time line."""

    run_id: int
    preset: str
    test: TrafficTest
    generator: str
    time: float


@dataclass(frozen=True, slots=True)
class IntervalSeen(Event):
    """Goodput as the receiver's generator reported it; `time` is the interval's end on the time line."""

    run_id: int
    interval: Interval
    time: float


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    run_id: int
    preset: str
    result: RunResult


@dataclass(frozen=True, slots=True)
class RunMarked(Event):
    """Something happened during the run in progress; its result will hold it as well."""

    run_id: int
    event: RunEvent


@dataclass(frozen=True, slots=True)
class HistoryTrouble(Event):
    """The history cannot be written; runs go on and are shown, but not kept."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class SettingsRead(Event):
    """All settings of a host's data NIC and of the machine, as of now: read when asked, and after every change."""

    role: Role
    settings: HostSettings


@dataclass(frozen=True, slots=True)
class QueuesRead(Event):
    """The way from the wire to the CPUs of a host's data NIC."""

    role: Role
    queues: QueueMap


@dataclass(frozen=True, slots=True)
class ChangesApplied(Event):
    """A transaction was carried out; its outcomes say what took. An undo is one as well."""

    applied: Applied


@dataclass(frozen=True, slots=True)
class ChangesKept(Event):
    """The trials up to now stand: as leases, or for good."""

    permanent: bool


@dataclass(frozen=True, slots=True)
class SettingsRestored(Event):
    """A host put settings back: because it was asked to, because a trial ended, or by itself after the link broke."""

    restored: Restored


@dataclass(frozen=True, slots=True)
class JournalChanged(Event):
    """All settings that differ from how the session found them, both hosts, oldest first."""

    entries: tuple[JournalEntry, ...]
