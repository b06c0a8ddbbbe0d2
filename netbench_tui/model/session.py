"""One sitting: which two hosts, reached how, over which NICs. Shared by engine/, history/ and the faces."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from netbench_tui.model.host import Clock, HostFacts, Nic, Privilege, Role
from netbench_tui.model.run import ProcessOutput, RunResult, RunState, TrafficTest
from netbench_tui.model.sample import HostSample


class Reach(enum.StrEnum):
    """How a host is reached."""

    SSH = "ssh"
    LOCAL = "local"
    LAB = "lab"


@dataclass(frozen=True, slots=True)
class HostTarget:
    """One host as the user named it: a Host of ssh_config, `user@host:port`, or `local` for this machine."""

    name: str
    reach: Reach = Reach.SSH


@dataclass(frozen=True, slots=True)
class LabTarget:
    """The built-in lab: two network namespaces joined by a veth pair with `queues` queues a side. With `ssh` the way
    in goes through a real sshd in each namespace."""

    queues: int = 4
    mtu: int = 1500
    ssh: bool = False


@dataclass(frozen=True, slots=True)
class PairTarget:
    """Sender and receiver, in this order."""

    sender: HostTarget
    receiver: HostTarget


Target = PairTarget | LabTarget


@dataclass(frozen=True, slots=True)
class HostView:
    """A connected host: what it is, by what right we are there, and the NIC and addresses that carry the traffic."""

    role: Role
    name: str
    reach: Reach
    facts: HostFacts
    privilege: Privilege
    clock: Clock
    data_nic: str = ""
    addresses: Mapping[int, str] = field(default_factory=dict)
    """The data address for IP version 4 and 6, where there is one."""
    management_nic: str = ""
    """The NIC that carries the SSH connection, where it is known."""
    shares_cpus: bool = False
    """True in the lab: both hosts' CPU figures are those of one machine."""
    privilege_note: str = ""
    """Why there are no more rights; empty where there are."""
    transport_note: str = ""
    """e.g. the SSH server's version."""

    @property
    def nic(self) -> Nic | None:
        return self.facts.nic(self.data_nic)

    @property
    def queue_nic(self) -> str:
        """The name of the NIC whose queues and interrupts carry the data NIC's packets; it may be below."""
        return self.facts.carrier(self.data_nic)

    @property
    def carrier(self) -> Nic | None:
        return self.facts.nic(self.queue_nic)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One row of the history. Times are Unix seconds; `result` lacks outputs and report."""

    id: int
    session: int
    started: float
    ended: float | None
    state: RunState
    preset: str
    sender: str
    receiver: str
    generator: str
    test: TrafficTest
    result: RunResult
    note: str = ""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run with everything that was kept of it. Sample times are on the time line of that session."""

    summary: RunSummary
    hosts: Mapping[Role, HostView]
    samples: Mapping[Role, tuple[HostSample, ...]]
    result: RunResult
    outputs: tuple[ProcessOutput, ...] = ()


@dataclass(frozen=True, slots=True)
class RecentPair:
    """A pair that was connected before, newest first on the Connect screen. `last` is Unix seconds."""

    target: Target
    last: float
    runs: int
    sender_nic: str = ""
    receiver_nic: str = ""
