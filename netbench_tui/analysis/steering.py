"""Plans for a NIC's way to the CPUs: which IRQ, RPS, XPS, RFS, RSS and channel settings a wish comes down to.

Pure: from what was last read of one NIC and its host to a list of changes, which the caller stages or applies. Used by
the Queues screen. A plan that cannot be made raises UsageError, which says why.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from netbench_tui.analysis.cpu_order import cpus_of_nic, in_order, usable_cpus
from netbench_tui.errors import UsageError
from netbench_tui.model.change import Change
from netbench_tui.model.cpulist import NONE, format_cpu_list
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.rss import table_text
from netbench_tui.model.setting import MACHINE, HostSettings, Irq, Queue, QueueMap

# The kernel's documentation proposes so many flows for a host with some connections (Documentation/networking/scaling).
FLOWS = 32768
FLOW_TABLE = "sysctl.net.core.rps_sock_flow_entries"
BAN_ALL = "all"


class Spread(enum.StrEnum):
    """How RPS or XPS maps queues to CPUs."""

    ONE_TO_ONE = "one-to-one"
    NODE_LOCAL = "node-local"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class NicState:
    """One NIC and its host as last read. `settings` may be empty: then it is not checked whether a setting exists."""

    role: Role
    facts: HostFacts
    queues: QueueMap
    settings: HostSettings

    @property
    def nic(self) -> str:
        return self.queues.nic

    def has(self, key: str) -> bool:
        """Whether the host has this setting of the NIC; taken for granted where its settings were not read."""
        return self.settings.get(self.nic, key) is not None or not any(self.settings.of(self.nic))

    def change(self, key: str, value: str, scope: str = "") -> Change:
        return Change(self.role, scope or self.nic, key, value)


def spread_irqs(state: NicState, cpus: Sequence[int], ban: bool = False) -> list[Change]:
    """One CPU per IRQ in turn, IRQs by number, as `tuna spread` does. With `ban`, irqbalance is told to leave them
    alone where it runs."""
    _require_online(state.facts, cpus)
    irqs = sorted(_movable(state), key=lambda pair: pair[1].number)
    changes = [state.change(key, str(cpus[turn % len(cpus)])) for turn, (key, _) in enumerate(irqs)]
    return _ban(state, ban) + changes


def spread_on_node(state: NicState, ban: bool = False) -> list[Change]:
    """The IRQs over the CPUs of the NIC's node: first one thread of every core, then the siblings; isolated CPUs are
    left out. The receive and the transmit queue of one number go to the same CPU."""
    cpus = cpus_of_nic(state.facts, state.nic, state.queues.pcie)
    indexes = sorted({_queue_of(state, irq).index for _, irq in _movable(state)})
    turn = {index: number for number, index in enumerate(indexes)}
    changes = [
        state.change(key, str(cpus[turn[_queue_of(state, irq).index] % len(cpus)])) for key, irq in _movable(state)
    ]
    return _ban(state, ban) + changes


def pin_irq(state: NicState, queue: str, cpus: Sequence[int], ban: bool = False) -> list[Change]:
    """The IRQ of one queue to these CPUs. Where it serves several queues it is set by the name of the first."""
    _require_online(state.facts, cpus)
    found = next((one for one in state.queues.queues if one.name == queue), None)
    if found is None:
        raise UsageError(f"{state.nic} has no queue {queue}")
    irq = state.queues.irq(found.irq)
    if irq is None:
        raise _no_irqs(state, queue)
    if irq.managed:
        raise UsageError(f"IRQ {irq.number} of {queue} is managed by the kernel, which refuses other CPUs")
    key = next((key for key, other in _movable(state) if other.number == irq.number), f"queue.{queue}.irq_affinity")
    return [*_ban(state, ban), state.change(key, format_cpu_list(cpus))]


def rps(state: NicState, how: Spread) -> list[Change]:
    """Receive packet steering. one-to-one: each receive queue to one CPU, cores of the NIC's node first; node-local:
    each to all CPUs of the NIC's node."""
    return _per_queue(state, "rx", "rps_cpus", _masks(state, "rx", how))


def xps(state: NicState, how: Spread) -> list[Change]:
    """Transmit packet steering by CPU. one-to-one: each CPU sends on one queue, and where a queue's IRQ is served by
    one CPU, that CPU sends on it; node-local: only CPUs of the NIC's node have queues of their own, and all of them."""
    _require_choice(state)
    masks = _one_queue_per_cpu(state) if how is Spread.ONE_TO_ONE else _masks(state, "tx", how)
    return _per_queue(state, "tx", "xps_cpus", masks)


def xps_by_receive_queue(state: NicState, on: bool) -> list[Change]:
    """Transmit packet steering by receive queue: what came in on rx-N goes out on tx-N. It goes before the CPU map."""
    _require_choice(state)
    received = {queue.index for queue in state.queues.of_kind("rx")}
    sent = state.queues.of_kind("tx")
    values = [str(queue.index) if on and queue.index in received else NONE for queue in sent]
    return _per_queue(state, "tx", "xps_rxqs", values)


def rfs(state: NicState, on: bool, accelerated: bool = False) -> list[Change]:
    """Receive flow steering. On: 32768 flows of the host, shared out among the receive queues; `accelerated` has the
    NIC's own rules follow (ntuple). Off: no flows for this NIC; the host's table stays, as other NICs may use it."""
    count = len(state.queues.of_kind("rx"))
    if not on:
        return _per_queue(state, "rx", "rps_flow_cnt", ["0"] * count)
    # The kernel rounds up to a power of two; asked for like this it reads back as asked.
    flows = str(1 << max(0, FLOWS // max(1, count) - 1).bit_length())
    changes = _flow_table(state) + _per_queue(state, "rx", "rps_flow_cnt", [flows] * count)
    if accelerated:
        ntuple = state.settings.get(state.nic, "feature.rx-ntuple-filter")
        if ntuple and ntuple.fixed and ntuple.in_force != "on":
            raise UsageError(f"{state.nic} cannot steer flows by itself: its driver has no ntuple filters")
        changes.append(state.change("feature.rx-ntuple-filter", "on"))
    return changes


def rss_equal(state: NicState, rings: int) -> list[Change]:
    """The indirection table spread evenly over the first `rings` receive queues."""
    size = _table_size(state)
    _require_rings(state, rings)
    return [_table(state, [entry % rings for entry in range(size)])]


def rss_weights(state: NicState, weights: Sequence[int]) -> list[Change]:
    """The indirection table shared out by weight, queue 0 first, as `ethtool -X weight` does."""
    size = _table_size(state)
    _require_rings(state, len(weights))
    if any(weight < 0 for weight in weights) or not sum(weights):
        raise UsageError("weights are whole numbers, and one of them is above 0")
    if sum(weights) > size:
        raise UsageError(f"the weights come to {sum(weights)}: the table of {state.nic} has {size} entries")
    return [_table(state, list(weigh(size, weights)))]


def weigh(size: int, weights: Sequence[int]) -> Iterator[int]:
    """The queue of each of `size` entries: queue j has those from its predecessors' share of the table, rounded down,
    to its own share's end."""
    queue, reached = 0, weights[0]
    for entry in range(size):
        while entry >= size * reached // sum(weights):
            queue += 1
            reached += weights[queue]
        yield queue


def channels(state: NicState, count: int) -> list[Change]:
    """So many channels: combined ones where the NIC has them, else as many to receive as to send."""
    found = {key: state.settings.get(state.nic, f"channels.{key}") for key in ("combined", "rx", "tx")}
    present = {key: setting for key, setting in found.items() if setting and setting.maximum != 0}
    if "combined" in present:
        present = {"combined": present["combined"]}
    if not present:
        raise UsageError(f"{state.nic} does not let its number of channels change")
    for setting in present.values():
        if count < 1 or (setting.maximum is not None and count > setting.maximum):
            raise UsageError(f"{count} channels: {state.nic} can have 1 to {setting.maximum or 'so many'}")
    return [state.change(setting.key, str(count)) for setting in present.values()]


def _movable(state: NicState) -> list[tuple[str, Irq]]:
    """Every IRQ that may be moved, once, with the setting that moves it: named by the first queue it serves."""
    found: dict[int, tuple[str, Irq]] = {}
    managed = 0
    for queue in sorted(state.queues.queues, key=lambda one: (one.kind != "rx", one.index)):
        irq = state.queues.irq(queue.irq)
        key = f"queue.{queue.name}.irq_affinity"
        if irq is None or irq.number in found or not state.has(key):
            continue
        managed += irq.managed
        if not irq.managed:
            found[irq.number] = (key, irq)
    if not found and managed:
        raise UsageError(f"the IRQs of {state.nic} are managed by the kernel, which refuses other CPUs")
    if not found:
        raise _no_irqs(state)
    return list(found.values())


def _queue_of(state: NicState, irq: Irq) -> Queue:
    return min((queue for queue in state.queues.queues if queue.irq == irq.number), key=lambda queue: queue.index)


def _no_irqs(state: NicState, queue: str = "") -> UsageError:
    below = state.facts.below(state.nic)
    hint = f"its packets come through {', '.join(below)}: see the IRQs there" if below else ""
    return UsageError(f"no IRQ of {queue or state.nic} is known", hint)


def _ban(state: NicState, ban: bool) -> list[Change]:
    """Nothing where irqbalance does not run: the host then has no such setting."""
    known = state.settings.get(state.nic, "irqbalance.ban")
    return [state.change("irqbalance.ban", BAN_ALL)] if ban and known and known.value != BAN_ALL else []


def _masks(state: NicState, kind: str, how: Spread) -> list[str]:
    count = len(state.queues.of_kind(kind))
    if how is Spread.OFF:
        return [NONE] * count
    if how is Spread.NODE_LOCAL:
        return [format_cpu_list(cpus_of_nic(state.facts, state.nic, state.queues.pcie))] * count
    cpus = in_order(state.facts, usable_cpus(state.facts), _node(state))
    return [str(cpus[index % len(cpus)]) for index in range(count)]


def _one_queue_per_cpu(state: NicState) -> list[str]:
    """Every online CPU, isolated ones as well since programs on them send too, on one queue."""
    queues = state.queues.of_kind("tx")
    online = [cpu.index for cpu in state.facts.cpus if cpu.online]
    mine: dict[str, list[int]] = {queue.name: [] for queue in queues}
    left = in_order(state.facts, online, _node(state))
    for queue in queues:
        irq = state.queues.irq(queue.irq)
        served = (irq.effective or irq.wanted) if irq else ()
        if len(served) == 1 and served[0] in left:
            mine[queue.name].append(served[0])
            left.remove(served[0])
    for cpu in left:
        min(mine.values(), key=len).append(cpu)
    return [format_cpu_list(mine[queue.name]) for queue in queues]


def _node(state: NicState) -> int | None:
    nic = state.facts.nic(state.nic)
    return nic.node if nic else None


def _per_queue(state: NicState, kind: str, key: str, values: Iterable[str]) -> list[Change]:
    queues = state.queues.of_kind(kind)
    keys = [f"queue.{queue.name}.{key}" for queue in queues]
    if not any(state.has(name) for name in keys):
        raise UsageError(f"{state.nic} has no {kind} queues with {key}")
    return [state.change(name, value) for name, value in zip(keys, values, strict=True) if state.has(name)]


def _flow_table(state: NicState) -> list[Change]:
    """The host's table of flows, if it is too small. Where it cannot be written a smaller one serves, an empty one
    does not."""
    setting = state.settings.get(MACHINE, FLOW_TABLE)
    if setting is None:
        return [state.change(FLOW_TABLE, str(FLOWS), MACHINE)]
    now = int(setting.value) if setting.value.isdecimal() else 0
    if now >= FLOWS or (now and not setting.writable):
        return []
    if not setting.writable:
        raise UsageError(f"RFS needs net.core.rps_sock_flow_entries, which is 0 here: {setting.refusal}")
    return [state.change(FLOW_TABLE, str(FLOWS), MACHINE)]


def _table_size(state: NicState) -> int:
    if state.queues.rss is None or not state.queues.rss.indirection:
        raise UsageError(f"{state.nic} has no RSS indirection table")
    return len(state.queues.rss.indirection)


def _require_rings(state: NicState, rings: int) -> None:
    most = state.queues.rss.rings if state.queues.rss else 0
    if rings < 1 or (most and rings > most):
        raise UsageError(f"{rings} receive queues: the table of {state.nic} may name 1 to {most or 'so many'}")


def _table(state: NicState, entries: Sequence[int]) -> Change:
    return state.change("rss.indirection", table_text(entries))


def _require_choice(state: NicState) -> None:
    if len(state.queues.of_kind("tx")) < 2:
        raise UsageError(f"{state.nic} has one transmit queue: XPS has nothing to choose from")


def _require_online(facts: HostFacts, cpus: Sequence[int]) -> None:
    if not cpus:
        raise UsageError("no CPU is named", "a list such as 0-3,8")
    online = {cpu.index for cpu in facts.cpus if cpu.online}
    if missing := [cpu for cpu in cpus if cpu not in online]:
        raise UsageError(f"CPU {format_cpu_list(missing)} is not online", f"online: {format_cpu_list(online)}")
