"""Traffic tests, and what came out of running them. Shared by traffic/, engine/, history/, analysis/ and screens."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from netbench_tui.model.host import Role
from netbench_tui.model.outcome import Outcome

# A run's first 0.3 s are not measured: slow start makes them some 5 % slower, and iperf3's own -O cannot express it.
WARM_UP_SECONDS = 0.3


class RunState(enum.StrEnum):
    """`running` in the history of a workbench that is gone reads as `interrupted`."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class TrafficTest:
    """What to send. `generator` is a name or `auto`; CPU tuples are empty for unpinned."""

    protocol: str = "tcp"
    streams: int = 1
    message_bytes: int = 131072
    seconds: float = 5.0
    ip_version: int = 4
    generator: str = "auto"
    sender_cpus: tuple[int, ...] = ()
    receiver_cpus: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.protocol not in ("tcp",):
            raise ValueError(f"protocol: {self.protocol} is not one of tcp")
        if self.streams < 1:
            raise ValueError(f"streams: {self.streams} is less than 1")
        if not 1 <= self.message_bytes <= 1 << 20:
            raise ValueError(f"message_bytes: {self.message_bytes} is not in 1..1048576")
        if not 1.0 <= self.seconds <= 86400:
            raise ValueError(f"seconds: {self.seconds} is not in 1..86400")
        if self.ip_version not in (4, 6):
            raise ValueError(f"ip_version: {self.ip_version} is neither 4 nor 6")


@dataclass(frozen=True, slots=True)
class Interval:
    """What the generator itself reported for [start, end), seconds since its stream's start; all streams summed."""

    start: float
    end: float
    bytes: float
    retransmits: int | None = None

    @property
    def bits_per_second(self) -> float:
        return 8 * self.bytes / (self.end - self.start) if self.end > self.start else 0.0


@dataclass(frozen=True, slots=True)
class TrafficReport:
    """A generator's output, read. `received` are the receiver's intervals (goodput), `sent` the sender's.

    `error` is the generator's own complaint, in words; a report with an error is a failed run whatever else it holds.
    `own` keeps further figures of the generator, named as it names them, never used for our own metrics.
    """

    received: tuple[Interval, ...] = ()
    sent: tuple[Interval, ...] = ()
    retransmits: int | None = None
    mss: int | None = None
    version: str = ""
    error: str = ""
    own: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a reader of the figures should know: a length rounded up, several documents in one output."""


@dataclass(frozen=True, slots=True)
class Window:
    """The measured window, on the workbench's time line, seconds."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a run. `role` is None where it belongs to the pair; `value` is None where it could not be had."""

    name: str
    value: float | None
    unit: str
    source: str
    role: Role | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """A generator process as it ended. Exactly one of `exit_code` and `signal` is set, or none if it never started."""

    role: Role
    tool: str
    argv: tuple[str, ...]
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    user_seconds: float | None = None
    system_seconds: float | None = None
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something that happened during a run, for the mark on the graph; `time` on the workbench's time line."""

    time: float
    text: str
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run as it ended. `origin` is the workbench time of the streams' start; None if no stream ever started."""

    state: RunState
    test: TrafficTest
    generator: str
    reason: str = ""
    hint: str = ""
    origin: float | None = None
    window: Window | None = None
    metrics: tuple[Metric, ...] = ()
    report: TrafficReport = TrafficReport()
    outputs: tuple[ProcessOutput, ...] = ()
    events: tuple[RunEvent, ...] = ()
    lost_samples: int = 0
    settings: tuple[Outcome, ...] = ()
    """What the preset asked of both hosts for this run, and what came of it."""

    def metric(self, name: str, role: Role | None = None) -> float | None:
        return next((m.value for m in self.metrics if m.name == name and m.role is role), None)
