"""The generator that the agent carries, for hosts without iperf3: its arguments and its output (agent/streams.py).

It is Python: enough to fill a few tens of Gbit/s with large messages, not a reference.
"""

import json
from collections.abc import Mapping
from typing import Any

from netbench_tui.model.host import HostFacts
from netbench_tui.model.run import Interval, ProcessOutput, TrafficReport, TrafficTest
from netbench_tui.traffic.base import LiveReader, Path, ProcessSpec

NAME = "builtin"
# One process per stream; agent/streams.py refuses more.
MOST_STREAMS = 512
# Our lines are some 60 bytes; what is longer is none of ours and is not kept.
LONGEST_LINE = 1 << 12


class Builtin:
    """TCP from sender to receiver, one process a stream."""

    name = NAME

    def refusal(self, test: TrafficTest, sender: HostFacts, receiver: HostFacts) -> str:
        if test.protocol != "tcp":
            return f"the built-in generator does not speak {test.protocol}"
        if test.streams > MOST_STREAMS:
            return f"the built-in generator has at most {MOST_STREAMS} streams, not {test.streams}"
        return ""

    def receiver(self, test: TrafficTest, path: Path, facts: HostFacts) -> ProcessSpec:
        arguments = {"role": "receive", "address": path.receiver, "port": path.port, "streams": test.streams}
        return _spec(arguments, test.receiver_cpus)

    def sender(self, test: TrafficTest, path: Path, facts: HostFacts) -> ProcessSpec:
        arguments = {
            "role": "send",
            "address": path.target,
            "source": path.sender,
            "port": path.port,
            "streams": test.streams,
            "message": test.message_bytes,
            "seconds": test.seconds,
        }
        return _spec(arguments, test.sender_cpus)

    def live(self, test: TrafficTest) -> LiveReader:
        return BuiltinReader()

    def read(self, test: TrafficTest, receiver: ProcessOutput, sender: ProcessOutput) -> TrafficReport:
        received, sent = _read(receiver), _read(sender)
        error = received.error or sent.error
        if not error and not received.received:
            error = "the receiver reported no interval"
        return TrafficReport(
            received=received.received,
            sent=sent.received,
            retransmits=sent.retransmits,
            mss=sent.mss,
            version="",
            error=error,
            own={
                f"{side}.{name}": value
                for side, part in (("receiver", received), ("sender", sent))
                for name, value in part.own.items()
            },
        )


def _spec(arguments: dict[str, Any], cpus: tuple[int, ...]) -> ProcessSpec:
    words = tuple(f"{key}={value}" for key, value in arguments.items() if value != "")
    return ProcessSpec(NAME, (NAME, *words), arguments, cpus)


class BuiltinReader:
    """Collects lines from pieces of text; what is not a line of ours is skipped."""

    def __init__(self) -> None:
        self.rest = ""

    def feed(self, text: str) -> list[Interval]:
        *lines, self.rest = (self.rest + text).split("\n")
        self.rest = self.rest[-LONGEST_LINE:]
        intervals = (_interval(_message(line).get("interval")) for line in lines)
        return [interval for interval in intervals if interval is not None]


def _message(line: str) -> Mapping[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18


def _interval(value: Any) -> Interval | None:
    if not isinstance(value, list) or len(value) != 4 or not all(_number(part) for part in value[:3]):
        return None
    resent = int(value[3]) if _number(value[3]) else None
    return Interval(float(value[0]), float(value[1]), float(value[2]), resent)


def _read(output: ProcessOutput) -> TrafficReport:
    """One side's output, its intervals under `received`."""
    intervals, own, error, mss, ended, resent = [], {}, "", None, False, None
    for line in output.stdout.splitlines():
        message = _message(line)
        interval, end = _interval(message.get("interval")), message.get("end")
        if interval is not None:
            intervals.append(interval)
        if _number(message.get("mss")):
            mss = int(message["mss"]) or None
        if isinstance(end, list) and len(end) == 3 and _number(end[0]) and _number(end[1]):
            ended, own = True, {"seconds": float(end[0]), "bytes": float(end[1])}
            resent = int(end[2]) if _number(end[2]) else None
        if message.get("error"):
            error = f"{output.role.value}: {message['error']}"
    complaint = output.stderr.strip().splitlines()
    if error and complaint:
        error += f" ({complaint[-1]})"
    if not ended and not error:
        error = f"{output.role.value}: the built-in generator ended early" + (
            f" by signal {output.signal}" if output.signal else ""
        )
    return TrafficReport(tuple(intervals), retransmits=resent, mss=mss, error=error, own=own)
