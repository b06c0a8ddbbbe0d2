"""One look at a host's counters: what moved since the look before. Made by hosts/, used by engine, analysis, screens.

Times are seconds on the workbench's monotonic time line; the engine converts the host's clock once, on arrival.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class SampleKind(enum.StrEnum):
    """Why the sample was taken."""

    PERIODIC = "period"
    SPAWN = "spawn"
    EXIT = "exit"


class CpuTicks(NamedTuple):
    """Ticks of one CPU by state, of `/proc/stat` (guest time is inside user and nice there and shown apart)."""

    user: int = 0
    nice: int = 0
    system: int = 0
    idle: int = 0
    iowait: int = 0
    irq: int = 0
    softirq: int = 0
    steal: int = 0
    guest: int = 0

    @property
    def total(self) -> int:
        """Ticks that really passed, as the kernel counted them."""
        return self.user + self.nice + self.system + self.idle + self.iowait + self.irq + self.softirq + self.steal

    @property
    def busy(self) -> int:
        """Everything but idle and iowait."""
        return self.total - self.idle - self.iowait

    def plus(self, other: "CpuTicks") -> "CpuTicks":
        return CpuTicks(*(a + b for a, b in zip(self, other, strict=True)))


class NicCounts(NamedTuple):
    """What one NIC's counters moved by, of `/proc/net/dev`."""

    rx_bytes: int = 0
    rx_packets: int = 0
    rx_errors: int = 0
    rx_dropped: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0
    tx_errors: int = 0
    tx_dropped: int = 0


class SoftnetCounts(NamedTuple):
    """What one CPU's row of `/proc/net/softnet_stat` moved by."""

    processed: int = 0
    dropped: int = 0
    squeezed: int = 0
    steered: int = 0
    """Packets that RPS handed to this CPU (`received_rps`)."""
    limited: int = 0
    """Packets that the flow limit dropped."""


class QueueCounts(NamedTuple):
    """What one queue of the watched NIC moved by."""

    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class HostSample:
    """Deltas over the `span` seconds that end at `time`. Only what moved is listed; a CPU that is not listed did not
    tick. `skipped` counts looks that the agent left out before this one because the link was slow (their deltas
    are inside this one: no count is lost, only resolution)."""

    time: float
    span: float
    kind: SampleKind = SampleKind.PERIODIC
    skipped: int = 0
    cpus: Mapping[int, CpuTicks] = field(default_factory=dict)
    nics: Mapping[str, NicCounts] = field(default_factory=dict)
    softnet: Mapping[int, SoftnetCounts] = field(default_factory=dict)
    protocols: Mapping[str, int] = field(default_factory=dict)
    """Counters of `/proc/net/snmp` and `netstat` by name, e.g. `Tcp.RetransSegs`."""
    irqs: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    """Interrupts of the watched NIC by IRQ number and CPU."""
    queues: Mapping[str, QueueCounts] = field(default_factory=dict)
    """Of the watched NIC, by queue name (`rx-0`)."""
    statistics: Mapping[str, int] = field(default_factory=dict)
    """What `ethtool -S` counts for the watched NIC, by the driver's own names; only while it is asked for."""
