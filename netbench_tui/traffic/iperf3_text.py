"""iperf3's text output, of a client or of a server, whole or as it comes. Used by `iperf3.py`.

    [  5]   0.10-0.20   sec  81.8 MBytes  6848920 Kbits/sec              one stream
    [SUM]   0.10-0.20   sec   165 MBytes  13802564 Kbits/sec             all streams, where there are several
    [SUM]   0.00-1.00   sec  1.46 GBytes  12546565 Kbits/sec   receiver  the summary: not an interval

The rate is iperf3's own division by the true length, while the times are rounded to 10 ms, a tenth of an interval. The
true length is transfer divided by rate, to the three digits of the transfer: it is taken where that is closer than the
printed times and agrees with them. Without it totals were off by up to 0.6 % when intervals came irregularly.
"""

import math
import re
from dataclasses import dataclass

from netbench_tui.model.run import Interval
from netbench_tui.traffic.iperf3_side import SideReport, interval, sentence

# No line of iperf3 is longer; what is longer is not iperf3's and must not fill the memory.
LONGEST_LINE = 4096
# Times are printed to 10 ms: an interval that starts earlier than this before its predecessor's end is a summary.
TIME_ROUNDING = 0.011
# Half of the printed times' last digit.
PRINTED_ROUNDING = 0.005
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_NUMBER = r"[0-9]{1,18}(?:[.,][0-9]{1,18})?"
_LINE = re.compile(
    rf"\s*\[\s*(?P<id>SUM|[0-9]+)\](?:\[(?P<way>[A-Z]{{2}}-[A-Z])\])?\s+"
    rf"(?P<start>{_NUMBER})-\s*(?P<end>{_NUMBER})\s+sec\s+(?P<size>{_NUMBER})\s+(?P<power>[KMGTP]?)Bytes\s+"
    rf"(?P<rate>{_NUMBER})\s+(?P<scale>[KMGTP]?)(?P<unit>bits|Bytes)/sec(?P<rest>.*)"
)
_RETRANSMITS = re.compile(r"\s+([0-9]{1,18})(?:\s|$)")
_VERSION = re.compile(r"iperf [0-9][0-9.]*\+?")
_SUMMARY = re.compile(r"\b(sender|receiver)\s*$")
_NEW_TEST = ("Accepted connection from", "Connecting to host")


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of figures. `seconds` is the true length and `seconds_error` how far it may be off, in
    seconds. `summary` is `sender` or `receiver` on the lines after the test, else empty."""

    stream: str
    way: str
    start: float
    end: float
    bits_per_second: float
    seconds: float
    seconds_error: float
    rest: str
    summary: str

    @property
    def omitted(self) -> bool:
        return "(omitted)" in self.rest


def parse_line(line: str) -> TextLine | None:
    """A line of figures, or None for every other line."""
    found = _LINE.match(line)
    if not found:
        return None
    rate = _number(found["rate"])
    if found["unit"] == "bits":
        rate *= 1000.0 ** _POWER[found["scale"]]
    else:
        rate *= 8 * 1024.0 ** _POWER[found["scale"]]
    summary = _SUMMARY.search(found["rest"])
    start, end = _number(found["start"]), _number(found["end"])
    size = _number(found["size"]) * 1024.0 ** _POWER[found["power"]]
    seconds = 8 * size / rate if rate else math.inf
    error = seconds * (_rounding(found["size"]) + _rounding(found["rate"])) if rate else math.inf
    summary_word = summary[1] if summary else ""
    return TextLine(found["id"], found["way"] or "", start, end, rate, seconds, error, found["rest"], summary_word)


def _rounding(text: str) -> float:
    """How far a printed number may be from the truth, as a share of it: half a unit of its last digit."""
    _, _, decimals = text.replace(",", ".").partition(".")
    value = _number(text)
    return 0.5 / 10.0 ** len(decimals) / value if value else math.inf


def _number(text: str) -> float:
    return float(text.replace(",", "."))


class TextReader:
    """Reads a test's text piece by piece; pieces may end anywhere. With several `streams` only `[SUM]` lines count."""

    def __init__(self, streams: int) -> None:
        self._several = streams > 1
        self._tail = ""
        self._last_end = 0.0
        self._true_end = 0.0
        self._prints_retransmits = False
        self.tests = 0
        """Tests begun so far: their `Accepted connection` or `Connecting to host` lines."""
        self.summary: dict[str, float] = {}
        """iperf3's final rates, `sender` and `receiver`, bit/s."""

    def feed(self, text: str) -> list[Interval]:
        """Intervals completed by `text`, all streams summed. Never raises: unknown lines are skipped."""
        lines = (self._tail + text).split("\n")
        # One character more than allowed keeps the mark that this line is too long.
        self._tail = lines.pop()[: LONGEST_LINE + 1]
        found = [self._line(line) for line in lines if len(line) <= LONGEST_LINE]
        return [item for item in found if item]

    def _line(self, line: str) -> Interval | None:
        if line.startswith(_NEW_TEST):
            self.tests += 1
            self._last_end = self._true_end = 0.0
        elif "Interval" in line and line.lstrip().startswith("["):
            self._prints_retransmits = "Retr" in line
        figures = parse_line(line)
        if figures is None or figures.way or (figures.stream == "SUM") is not self._several:
            return None
        if figures.summary:
            self.summary[figures.summary] = figures.bits_per_second
            return None
        if figures.omitted or figures.start < self._last_end - TIME_ROUNDING:
            return None
        return self._interval(figures)

    def _interval(self, figures: TextLine) -> Interval | None:
        found = _RETRANSMITS.match(figures.rest) if self._prints_retransmits else None
        start, end = self._times(figures)
        self._last_end = max(self._last_end, figures.end)
        self._true_end = end
        if figures.end <= figures.start:
            # The rest of some microseconds after the last interval: too short for a rate that means anything.
            return None
        size = figures.bits_per_second * (end - start) / 8
        return interval(start, end, size, int(found[1]) if found else None)

    def _times(self, figures: TextLine) -> tuple[float, float]:
        """Start and end, from the true length where that is better; never further from the printed times than their
        rounding, so that errors do not add up."""
        follows = abs(figures.start - self._true_end) <= PRINTED_ROUNDING
        start = self._true_end if follows else figures.start
        end = start + figures.seconds
        apart = abs(end - figures.end)
        if figures.seconds_error > PRINTED_ROUNDING or apart > 2 * PRINTED_ROUNDING + figures.seconds_error:
            return start, figures.end
        return start, min(max(end, figures.end - PRINTED_ROUNDING), figures.end + PRINTED_ROUNDING)


def read_text(text: str, streams: int) -> SideReport:
    """A whole text report. Of several tests in one output the last with intervals counts, and a note says so."""
    reader = TextReader(streams)
    tests: dict[int, list[Interval]] = {}
    complaints = []
    for line in text.splitlines():
        for item in reader.feed(line + "\n") if len(line) <= LONGEST_LINE else ():
            tests.setdefault(reader.tests, []).append(item)
        if line.startswith("iperf3: ") and not line.startswith("iperf3: exiting"):
            complaints.append(sentence(line))
    intervals = tests[max(tests)] if tests else []
    counted = [item.retransmits for item in intervals if item.retransmits is not None]
    version = _VERSION.search(text[:LONGEST_LINE])
    return SideReport(
        intervals=tuple(intervals),
        retransmits=sum(counted) if counted else None,
        version=version[0] if version else "",
        complete=bool(reader.summary),
        error=complaints[0] if complaints else "",
        own={f"{name}.bits_per_second": rate for name, rate in reader.summary.items() if math.isfinite(rate)},
        notes=(f"the text holds {len(tests)} tests: read the last",) if len(tests) > 1 else (),
    )
