"""iperf3, for TCP from sender to receiver. Used by the engine through the registry of generators.

The server prints text, which comes as it is measured; the client prints JSON at its end, which has the retransmits.
One-off servers (`-1`), since a server pinned once keeps no pinning of later tests. Never `-O` (0.3 silently becomes 0)
and never `-A` (with several streams newer versions put all threads on that one CPU): the agent pins the process.
"""

import math
import signal
from dataclasses import replace

from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.run import ProcessOutput, TrafficReport, TrafficTest
from netbench_tui.traffic.base import INTERVAL_SECONDS, LiveReader, Path, ProcessSpec
from netbench_tui.traffic.iperf3_json import read_json
from netbench_tui.traffic.iperf3_side import SideReport, sentence
from netbench_tui.traffic.iperf3_text import TextReader, read_text

# iperf3's MAX_STREAMS.
MOST_STREAMS = 128
_OLD_SERVER = "--forceflush"


class Iperf3:
    """The generator `iperf3`. Stateless."""

    @property
    def name(self) -> str:
        return "iperf3"

    def refusal(self, test: TrafficTest, sender: HostFacts, receiver: HostFacts) -> str:
        """Why iperf3 cannot run `test` on these hosts, as a sentence; empty if it can."""
        if test.protocol != "tcp":
            return f"iperf3 is driven here for tcp only, not for {test.protocol}"
        if test.streams > MOST_STREAMS:
            return f"iperf3 sends at most {MOST_STREAMS} streams, not {test.streams}"
        missing = [facts.name for facts in (sender, receiver) if not facts.tool("iperf3")]
        if not missing:
            return ""
        return f"{' and '.join(dict.fromkeys(missing))}: iperf3 was not found (the package is called iperf3)"

    def receiver(self, test: TrafficTest, path: Path, facts: HostFacts) -> ProcessSpec:
        """A server for one test. `-f k` prints rates in full resolution."""
        argv = (_program(facts), "-s", "-1", "-p", str(path.port), "-B", path.receiver)
        report = ("-i", f"{INTERVAL_SECONDS:g}", "-f", "k", "--forceflush")
        return ProcessSpec(self.name, argv + report, cpus=test.receiver_cpus)

    def sender(self, test: TrafficTest, path: Path, facts: HostFacts) -> ProcessSpec:
        """The client. It knows whole seconds only: see `whole_seconds`."""
        argv = (_program(facts), "-c", path.target, "-B", path.sender, "-p", str(path.port))
        load = ("-t", str(whole_seconds(test)), "-P", str(test.streams), "-l", str(test.message_bytes))
        report = ("-i", f"{INTERVAL_SECONDS:g}", "-J", f"-{test.ip_version}")
        return ProcessSpec(self.name, argv + load + report, cpus=test.sender_cpus)

    def live(self, test: TrafficTest) -> LiveReader:
        return TextReader(test.streams)

    def read(self, test: TrafficTest, receiver: ProcessOutput, sender: ProcessOutput) -> TrafficReport:
        """The finished processes' output. Never raises: what cannot be read becomes the report's `error`."""
        received, sent = read_side(receiver.stdout, test.streams), read_side(sender.stdout, test.streams)
        notes = [f"{role}: {note}" for role, side in (("receiver", received), ("sender", sent)) for note in side.notes]
        if whole_seconds(test) != test.seconds:
            notes.append(f"iperf3 takes whole seconds: ran {whole_seconds(test)} s instead of {test.seconds:g} s")
        error, *others = [*_complaints(received, receiver, sent, sender), ""]
        if error and _is_whole(sent, sender) and received.intervals:
            # Both ends measured to the end; how the server's process ended afterwards takes nothing from that.
            error, others = "", [error, *others]
        own = {**sent.own, **{f"server.{name}": value for name, value in received.own.items()}}
        return TrafficReport(
            received=received.intervals,
            sent=sent.intervals,
            retransmits=sent.retransmits,
            mss=sent.mss or received.mss,
            version=sent.version or received.version,
            error=error,
            own=own,
            notes=tuple(notes + [other for other in others if other]),
        )


def whole_seconds(test: TrafficTest) -> int:
    """The test's length for `-t`, which is an integer: rounded up, so that no run is shorter than asked for."""
    return math.ceil(test.seconds)


def read_side(text: str, streams: int) -> SideReport:
    """Either side's output in whichever form it came: JSON if there is a result in it, else text."""
    from_json = read_json(text)
    if from_json and not from_json.unfinished:
        return from_json
    from_text = read_text(text, streams)
    if from_json and not from_text.intervals:
        return from_json
    return replace(from_text, unfinished=0)


def _program(facts: HostFacts) -> str:
    tool = facts.tool("iperf3")
    return tool.path if tool else "iperf3"


def _is_whole(side: SideReport, output: ProcessOutput) -> bool:
    return side.complete and not side.error and output.exit_code == 0 and bool(side.intervals)


def _complaints(received: SideReport, receiver: ProcessOutput, sent: SideReport, sender: ProcessOutput) -> list[str]:
    """All that went wrong, the likeliest cause first: a killed process, then what iperf3 says, then silence. What the
    other end says of a partner that was killed ("control socket has closed") is only the echo."""
    sides = ((sent, sender), (received, receiver))
    killed = [_killed(output) for _, output in sides]
    said = [_said(side, output) for side, output in sides]
    silent = [
        "" if death or words else _silent(side, output)
        for (side, output), death, words in zip(sides, killed, said, strict=True)
    ]
    return [text for text in killed + said + silent if text]


def _killed(output: ProcessOutput) -> str:
    if output.signal is None:
        return ""
    try:
        name = f"{signal.Signals(output.signal).name}, signal {output.signal}"
    except ValueError:
        name = f"signal {output.signal}"
    return f"{_who(output)} was ended by {name}"


def _said(side: SideReport, output: ProcessOutput) -> str:
    """iperf3's own complaint: the JSON's `error`, or its standard error if it did not end well."""
    if side.error:
        return f"{_who(output)}: {side.error}"
    lines = [line for line in output.stderr.splitlines() if line.strip() and "iperf3: exiting" not in line]
    if output.exit_code == 0:
        # Servers end with 0 when their client vanished, and say so; a line without this prefix is only a warning.
        lines = [line for line in lines if line.startswith("iperf3: ")]
    if any(_OLD_SERVER in line for line in lines):
        return f"{_who(output)} is too old: it does not know {_OLD_SERVER}"
    return f"{_who(output)}: {sentence(lines[0])}" if lines else ""


def _silent(side: SideReport, output: ProcessOutput) -> str:
    """A process that gave no result and no reason."""
    if side.unfinished:
        return f"{_who(output)} ended after {side.unfinished} bytes of unfinished JSON"
    if output.exit_code:
        return f"{_who(output)} ended with exit code {output.exit_code}"
    if output.exit_code is None and output.signal is None and not output.stdout:
        return f"{_who(output)} did not start"
    if not side.intervals:
        return f"{_who(output)} reported no interval"
    if output.role is Role.SENDER and not side.complete:
        return f"{_who(output)} ended without a result"
    return ""


def _who(output: ProcessOutput) -> str:
    return f"iperf3 on the {output.role}"
