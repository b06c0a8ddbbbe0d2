"""Everything that can be changed on a host, as one idea: (scope, key, value). Built by hosts/, used everywhere above.

A scope is a NIC's name or `machine`. Keys of a NIC are dotted: `feature.tx-tcp-segmentation`, `ring.rx`,
`channels.combined`, `coalesce.rx-usecs`, `pause.rx`, `mtu`, `qdisc.root`, `rss.indirection`, `queue.rx-0.irq_affinity`,
`queue.rx-0.rps_cpus`, `queue.tx-0.xps_cpus`, `napi.threaded`, `irqbalance.ban`; of the machine:
`sysctl.net.core.rmem_max`, `cpu.governor`, `service.irqbalance`. Values are text in one canonical form per key:
`on`/`off`, decimal numbers, CPU lists such as `0-3,8` (`none` where empty), words.
"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from netbench_tui.model.cpulist import CpuSet

MACHINE = "machine"
# The first words of all keys: of the machine's, of a NIC's, and a NIC's keys that are one word.
MACHINE_GROUPS = ("sysctl", "cpu", "service")
NIC_GROUPS = ("feature", "ring", "channels", "coalesce", "pause", "qdisc", "rss", "queue", "irq", "napi", "irqbalance")
NIC_WORDS = ("mtu", "txqueuelen")
# Keys whose values are lists of CPUs or queues.
LIST_KEYS = (".irq_affinity", ".rps_cpus", ".xps_cpus", ".xps_rxqs")


class Lives(enum.StrEnum):
    """Where a setting lives: whom it changes besides us."""

    DEVICE = "device"
    NAMESPACE = "namespace"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as the host has it. `value` is what is set, and what an undo writes back."""

    scope: str
    key: str
    value: str
    active: str = ""
    """What is in force, where that is not `value`: a feature wanted on that is off, an IRQ's effective CPUs."""
    fixed: bool = False
    """The driver does not let it change."""
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    lives: Lives = Lives.DEVICE
    refusal: str = ""
    """Why it cannot be written here and now, in words: `needs root`, `managed by the kernel`; empty if it can."""
    via: str = ""
    """Which kernel interface gave it: netlink, ioctl, netdev, rtnetlink, sysfs, procfs, socket."""

    @property
    def group(self) -> str:
        """The key's first word: `feature`, `ring`, `queue` ..."""
        return self.key.partition(".")[0]

    @property
    def in_force(self) -> str:
        return self.active or self.value

    @property
    def writable(self) -> bool:
        return not self.fixed and not self.refusal


@dataclass(frozen=True)
class HostSettings:
    """What one look found, in the host's order. `notes` say what could not be read; `paths` which kernel interface gave
    what, by `scope: part`."""

    settings: tuple[Setting, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def index(self) -> Mapping[tuple[str, str], Setting]:
        return {(setting.scope, setting.key): setting for setting in self.settings}

    def get(self, scope: str, key: str) -> Setting | None:
        return self.index.get((scope, key))

    def of(self, scope: str) -> Iterator[Setting]:
        return (setting for setting in self.settings if setting.scope == scope)


@dataclass(frozen=True, slots=True)
class Irq:
    """One interrupt line. `wanted` is smp_affinity_list, `effective` where the kernel really sends it; either may be
    empty. `count` is all interrupts since boot."""

    number: int
    actions: tuple[str, ...] = ()
    chip: str = ""
    wanted: CpuSet = ()
    effective: CpuSet = ()
    node: int | None = None
    managed: bool = False
    """The kernel spreads it itself and refuses others."""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue of a NIC. `name` is `rx-0`, `tx-3`. `irq_by` says how its IRQ was found: `netdev`, `name`, `line`."""

    name: str
    kind: str
    index: int
    napi: int | None = None
    irq: int | None = None
    irq_by: str = ""


@dataclass(frozen=True, slots=True)
class RssTable:
    """Receive-side scaling: entry i of `indirection` is the queue for hashes i modulo its length."""

    indirection: tuple[int, ...] = ()
    key: str = ""
    hash_function: str = ""
    rings: int = 0
    """Receive rings that the table may name."""
    via: str = ""

    @property
    def weights(self) -> dict[int, int]:
        """Entries by queue."""
        counts: dict[int, int] = {}
        for queue in self.indirection:
            counts[queue] = counts.get(queue, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class Pcie:
    """A NIC's PCI function: link speed in GT/s and lanes, now and at most; None where unknown."""

    address: str = ""
    node: int | None = None
    speed: float | None = None
    width: int | None = None
    max_speed: float | None = None
    max_width: int | None = None
    local_cpus: CpuSet = ()


@dataclass(frozen=True, slots=True)
class QueueMap:
    """A NIC's way from the wire to the CPUs. `irqs` holds all of its IRQs, also those that serve no queue."""

    nic: str
    queues: tuple[Queue, ...] = ()
    irqs: tuple[Irq, ...] = ()
    rss: RssTable | None = None
    pcie: Pcie | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def irq(self, number: int | None) -> Irq | None:
        return next((irq for irq in self.irqs if irq.number == number), None)

    def of_kind(self, kind: str) -> tuple[Queue, ...]:
        """The queues of `rx` or `tx`, by index."""
        return tuple(queue for queue in self.queues if queue.kind == kind)
