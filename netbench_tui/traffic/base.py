"""What a traffic generator is to the rest: argv in, text out, a report read from the text. No I/O. Used by engine/."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from netbench_tui.model.host import HostFacts
from netbench_tui.model.run import WARM_UP_SECONDS as WARM_UP_SECONDS
from netbench_tui.model.run import Interval, ProcessOutput, TrafficReport, TrafficTest

# Generators report every 0.1 s, so that the window can be cut at 0.3 s exactly.
INTERVAL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process for a host's agent to start: `argv` to execute, or, where `builtin` is not None, arguments for the
    generator that the agent carries (`argv` is then only its name for people)."""

    tool: str
    argv: tuple[str, ...]
    builtin: Mapping[str, Any] | None = None
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """From where to where: data addresses of one IP version, each as its own host writes it, and the receiver's port.

    A link-local address carries a zone, the NIC's name, which is another one on the other host."""

    sender: str
    receiver: str
    port: int

    @property
    def target(self) -> str:
        """The receiver's address as the sender writes it: with the sender's own zone."""
        address, zone, _ = self.receiver.partition("%")
        return f"{address}%{self.sender.partition('%')[2]}" if zone else address


class LiveReader(Protocol):
    """Reads the receiver's standard output as it comes."""

    def feed(self, text: str) -> list[Interval]:
        """Intervals completed by this piece of text, all streams summed. Never raises: unknown lines are skipped."""
        ...


class Generator(Protocol):
    """One traffic generator. Stateless."""

    @property
    def name(self) -> str: ...

    def refusal(self, test: TrafficTest, sender: HostFacts, receiver: HostFacts) -> str:
        """Why this generator cannot run `test` on these hosts, as a sentence; empty if it can."""
        ...

    def receiver(self, test: TrafficTest, path: Path, facts: HostFacts) -> ProcessSpec: ...

    def sender(self, test: TrafficTest, path: Path, facts: HostFacts) -> ProcessSpec: ...

    def live(self, test: TrafficTest) -> LiveReader: ...

    def read(self, test: TrafficTest, receiver: ProcessOutput, sender: ProcessOutput) -> TrafficReport:
        """The finished processes' output. Never raises: what cannot be read becomes the report's `error`."""
        ...
