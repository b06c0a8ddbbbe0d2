"""What one iperf3 process, client or server, said of its test. Made by the two grammars, joined by `iperf3.py`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from netbench_tui.model.run import Interval

# A complaint is one line on a screen; more than this of it is no sentence.
LONGEST_COMPLAINT = 300


@dataclass(frozen=True, slots=True)
class SideReport:
    """One process's output, read. `complete` says that iperf3 printed its final summary; `error` is its own complaint;
    `unfinished` counts the bytes of JSON that never came to an end; `own` has iperf3's own names and figures."""

    intervals: tuple[Interval, ...] = ()
    retransmits: int | None = None
    mss: int | None = None
    version: str = ""
    complete: bool = False
    error: str = ""
    unfinished: int = 0
    own: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def interval(start: float, end: float, size: float, retransmits: int | None) -> Interval | None:
    """The interval, or None where the figures cannot be one: not finite, negative, or without length."""
    if not all(map(math.isfinite, (start, end, size))) or start < 0 or size < 0 or end <= start:
        return None
    return Interval(start, end, size, retransmits)


def sentence(text: object) -> str:
    """iperf3's complaint as one line: `error - ` and `iperf3: ` in front say nothing and go."""
    line = " ".join(str(text).split())
    for prefix in ("iperf3:", "error -", "interrupt -"):
        line = line.removeprefix(prefix).lstrip()
    return line[:LONGEST_COMPLAINT]
