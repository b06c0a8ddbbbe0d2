"""A host as the agent found it: CPUs, NUMA nodes, NICs, tools. Built by hosts/, shown by screens, stored by history."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Role(enum.StrEnum):
    """What a host does in a run. The sender is *local*, the receiver *remote*, as in netperf."""

    SENDER = "sender"
    RECEIVER = "receiver"

    @property
    def other(self) -> "Role":
        return Role.RECEIVER if self is Role.SENDER else Role.SENDER


class Privilege(enum.StrEnum):
    """By what right the agent runs on its host."""

    ROOT = "root"
    SUDO = "sudo"
    NONE = "read-only"


@dataclass(frozen=True, slots=True)
class Cpu:
    """One logical CPU. `None` where the kernel does not say; `cache` groups CPUs that share a last-level cache."""

    index: int
    online: bool = True
    node: int | None = None
    socket: int | None = None
    core: int | None = None
    cache: int | None = None
    sibling: int = 0
    """0 for the first hardware thread of its core, 1 for the next."""
    isolated: bool = False
    """Taken from the scheduler at boot (isolcpus)."""
    nohz_full: bool = False
    """Runs without a tick while it has one task."""
    die: int | None = None


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One NUMA node; `cpus` may be empty (memory-only nodes exist). `memory_kib` is its MemTotal."""

    index: int
    cpus: tuple[int, ...] = ()
    memory_kib: int | None = None
    distances: tuple[int, ...] = ()
    memory_free_kib: int | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """One IP address of a NIC. `family` is 4 or 6; `scope` is `global`, `link` or `host`."""

    text: str
    prefix: int
    family: int
    scope: str = "global"


@dataclass(frozen=True, slots=True)
class Nic:
    """One network interface. `speed_mbit` and `node` are None where unknown; a node of -1 is reported as None."""

    name: str
    index: int = 0
    driver: str = ""
    firmware: str = ""
    bus: str = ""
    mac: str = ""
    mtu: int = 0
    state: str = "unknown"
    """The kernel's operstate: up, down, lowerlayerdown, unknown ..."""
    speed_mbit: int | None = None
    duplex: str = ""
    node: int | None = None
    rx_queues: int = 0
    tx_queues: int = 0
    kind: str = ""
    """`loopback`, `physical`, `vlan`, `bond`, `bridge`, `virtual`."""
    addresses: tuple[Address, ...] = ()
    lower: tuple[str, ...] = ()
    """The NICs that this one sits on: a VLAN's parent, a bond's or a bridge's members."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program found on the host, e.g. iperf3."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All that an inspection found. Every field but `name` may be empty: hosts hide things."""

    name: str
    kernel: str = ""
    distribution: str = ""
    machine: str = ""
    product: str = ""
    cpu_model: str = ""
    boot_id: str = ""
    uid: int = -1
    python: str = ""
    clock_ticks: int = 100
    cpus: tuple[Cpu, ...] = ()
    nodes: tuple[NumaNode, ...] = ()
    nics: tuple[Nic, ...] = ()
    tools: tuple[Tool, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """What else decides performance, as text: governor, command line, mitigations, sysctls ..."""
    notes: tuple[str, ...] = ()
    """What could not be read, and why."""

    def nic(self, name: str) -> Nic | None:
        return next((nic for nic in self.nics if nic.name == name), None)

    def below(self, name: str) -> tuple[str, ...]:
        """All NICs that this one sits on, nearest first."""
        found: list[str] = []
        waiting = [name]
        while waiting:
            nic = self.nic(waiting.pop(0))
            new = [lower for lower in (nic.lower if nic else ()) if lower not in found and lower != name]
            found += new
            waiting += new
        return tuple(found)

    def carrier(self, name: str) -> str:
        """The NIC whose queues and interrupts carry this one's packets: itself, or the nearest with hardware that it
        sits on, one that is up before others. A VLAN and a bond have none of their own."""
        nic = self.nic(name)
        if nic is None or nic.kind == "physical":
            return name
        under = [lower for lower in map(self.nic, self.below(name)) if lower is not None and lower.kind == "physical"]
        return next((lower.name for lower in under if lower.state == "up"), under[0].name if under else name)

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, slots=True)
class Clock:
    """The host's monotonic clock against ours: `host = ours + offset`, known to +-`error`; both in seconds."""

    offset: float
    error: float
    round_trip: float
