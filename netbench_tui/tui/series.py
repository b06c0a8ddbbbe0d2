"""What a chart shows, as data: spans of a value, series, marks. Made by trace and screens, drawn by widgets.chart."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A value that holds from `start` to `end`, in seconds on the chart's own axis."""

    start: float
    end: float
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: `ink` is a palette name; the run under test is two dots thick."""

    spans: Sequence[Span]
    ink: str = "accent"
    thick: bool = True
    label: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """An event at `time`, with its words."""

    time: float
    text: str


@dataclass(frozen=True, slots=True)
class ChartData:
    """What a chart shows. `start`..`end` is its time axis in seconds; `rolling` labels it as time before now."""

    series: Sequence[Series] = ()
    start: float = 0.0
    end: float = 1.0
    rolling: bool = False
    marks: Sequence[Mark] = field(default=())
