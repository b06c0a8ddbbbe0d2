"""What the keys of Queues stage: the plans of analysis.steering, bound to what was last read of a host. No Textual.

A `Plan` makes changes or raises UsageError; a `Question` asks for one line first; a `Menu` offers plans to choose from.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from netbench_tui.analysis import steering
from netbench_tui.analysis.cpu_order import cpus_of_nic
from netbench_tui.analysis.steering import NicState, Spread
from netbench_tui.errors import UsageError
from netbench_tui.model.change import Change
from netbench_tui.model.cpulist import format_cpu_list, parse_cpu_list
from netbench_tui.model.host import Role
from netbench_tui.model.setting import MACHINE, HostSettings
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.queue_data import QueueRow

Plan = Callable[[], list[Change]]
_BAN, _SERVICE = "irqbalance.ban", "service.irqbalance"


@dataclass(frozen=True, slots=True)
class Choice:
    """One plan of a menu: `name` and what it does, in words."""

    name: str
    words: str
    plan: Plan

    def preview(self) -> tuple[str, bool]:
        """What would be staged, or why nothing can be; and whether it can."""
        try:
            number = len(self.plan())
        except UsageError as error:
            return f"{error.message}{'. ' + error.hint if error.hint else ''}", False
        return ("1 change" if number == 1 else f"{number} changes") if number else "it is so already", bool(number)


@dataclass(frozen=True, slots=True)
class Menu:
    """Plans to choose from."""

    title: str
    remark: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One line to be typed: `label` before the field, `text` in it at first, `take` makes changes of it."""

    label: str
    text: str
    take: Callable[[str], list[Change]]


def nic_state(bench: Workbench, role: Role) -> NicState:
    """What the plans are made of. UsageError where the queues have not been read."""
    view, queues = bench.views.get(role), bench.queues.get(role)
    if view is None or queues is None:
        raise UsageError("the queues of this host have not been read yet")
    return NicState(role, view.facts, queues, bench.settings.get(role) or HostSettings())


def cpu_list(text: str) -> tuple[int, ...]:
    try:
        return parse_cpu_list(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def whole_number(text: str) -> int:
    if not text.strip().isdecimal() or len(text.strip()) > 9:
        raise UsageError(f"{text.strip()!r} is no whole number")
    return int(text)


def ask_spread(state: NicState) -> Question:
    """The CPUs of the NIC's node stand there at first, or all that are online."""
    try:
        cpus: Sequence[int] = cpus_of_nic(state.facts, state.nic, state.queues.pcie)
    except UsageError:
        cpus = [cpu.index for cpu in state.facts.cpus if cpu.online]
    steering.spread_irqs(state, cpus)
    return Question(
        f"spread the IRQs of {state.nic} over CPUs",
        format_cpu_list(cpus),
        lambda text: steering.spread_irqs(state, cpu_list(text)),
    )


def ask_pin(state: NicState, row: QueueRow | None) -> Question:
    if row is None:
        raise UsageError("no queue is chosen")
    if row.irq is None:
        steering.pin_irq(state, row.queue.name, [cpu.index for cpu in state.facts.cpus if cpu.online][:1])
        raise UsageError(f"no IRQ of {row.queue.name} is known")
    name = _named_by(state, row)
    return Question(
        f"pin IRQ {row.irq.number} of {row.queue.name} to CPUs",
        format_cpu_list(row.is_on or row.wanted),
        lambda text: steering.pin_irq(state, name, cpu_list(text)),
    )


def _named_by(state: NicState, row: QueueRow) -> str:
    """The queue whose name the IRQ's setting bears: the first of those that it serves, receive queues first."""
    sharing = [queue for queue in state.queues.queues if queue.irq == row.queue.irq]
    return min(sharing, key=lambda queue: (queue.kind != "rx", queue.index)).name


def ask_channels(state: NicState) -> Question:
    found = [state.settings.get(state.nic, f"channels.{key}") for key in ("combined", "rx", "tx")]
    present = [setting for setting in found if setting is not None and setting.maximum != 0]
    if not present:
        steering.channels(state, 1)
    most = f", at most {present[0].maximum}" if present and present[0].maximum else ""
    return Question(
        f"channels of {state.nic}{most}; the link goes down for a moment",
        present[0].value if present else "",
        lambda text: steering.channels(state, whole_number(text)),
    )


def ask_weights(state: NicState) -> Question:
    """`4` spreads evenly over four queues, `3 1 1 1` by weight."""
    steering.rss_equal(state, 1)
    rings = state.queues.rss.rings if state.queues.rss else 0
    most = f" of {rings}" if rings else ""
    return Question(
        f"RSS: number of queues{most}, or a weight for each",
        str(len(state.queues.rss.weights)) if state.queues.rss else "",
        partial(_weights, state),
    )


def _weights(state: NicState, text: str) -> list[Change]:
    words = text.replace(",", " ").split()
    if len(words) == 1:
        return steering.rss_equal(state, whole_number(words[0]))
    return steering.rss_weights(state, [whole_number(word) for word in words])


def steering_menu(state: NicState, kind: str) -> Menu:
    """RPS for receive queues, XPS for transmit queues; both stand there, those of the shown kind first."""
    receive = [
        Choice("RPS one-to-one", "each receive queue to one CPU, the NIC's node first", _rps(state, Spread.ONE_TO_ONE)),
        Choice("RPS node-local", "each to all CPUs of the NIC's node", _rps(state, Spread.NODE_LOCAL)),
        Choice("RPS off", "packets stay on the CPU that the IRQ chose", _rps(state, Spread.OFF)),
    ]
    transmit = [
        Choice("XPS one-to-one", "each CPU sends through one queue", _xps(state, Spread.ONE_TO_ONE)),
        Choice("XPS node-local", "queues belong to the CPUs of the NIC's node", _xps(state, Spread.NODE_LOCAL)),
        Choice("XPS by receive queue", "out through the queue that it came in on", partial(_xps_rxqs, state, True)),
        Choice("XPS off", "the stack picks the queue by hash", partial(_xps_off, state)),
    ]
    ordered = receive + transmit if kind == "rx" else transmit + receive
    return Menu("RPS and XPS", state.nic, tuple(ordered))


def _rps(state: NicState, how: Spread) -> Plan:
    return lambda: _news(state, steering.rps(state, how))


def _xps(state: NicState, how: Spread) -> Plan:
    return lambda: _news(state, steering.xps(state, how))


def _xps_rxqs(state: NicState, on: bool) -> list[Change]:
    return _news(state, steering.xps_by_receive_queue(state, on))


def _xps_off(state: NicState) -> list[Change]:
    """Both maps; a kernel that has no receive-queue map needs none taken away."""
    changes = steering.xps(state, Spread.OFF)
    with contextlib.suppress(UsageError):
        changes += steering.xps_by_receive_queue(state, False)
    return _news(state, changes)


def flows_menu(state: NicState) -> Menu:
    def rfs(on: bool, accelerated: bool = False) -> Plan:
        return lambda: _news(state, steering.rfs(state, on, accelerated))

    return Menu(
        "RFS",
        state.nic,
        (
            Choice("RFS on", "packets go to the CPU where their application runs, 32768 flows", rfs(True)),
            Choice("RFS in the NIC", "the same by the NIC's own rules (accelerated RFS)", rfs(True, accelerated=True)),
            Choice("RFS off", "no flows for this NIC", rfs(False)),
        ),
    )


def irqbalance_menu(state: NicState) -> Menu:
    """What the host has of irqbalance: its ban list while it runs, and the service itself."""
    ban = state.settings.get(state.nic, _BAN)
    service = state.settings.get(MACHINE, _SERVICE)
    if ban is None and service is None:
        raise UsageError(f"irqbalance does not run on this host, and is not installed there: {state.nic} is left alone")
    choices: list[Choice] = []
    if ban is not None:
        choices.append(
            Choice("ban this NIC's IRQs", "irqbalance leaves them where they are", _set(state, _BAN, steering.BAN_ALL))
        )
        choices.append(Choice("lift the ban", "irqbalance may move them again", _set(state, _BAN, "none")))
    if service is not None:
        words = {"stopped": "no IRQ of the host is moved", "running": "IRQs of the whole host are moved by load"}
        for word in reversed(service.choices):
            choices.append(Choice(f"service {word}", words.get(word, ""), _set(state, _SERVICE, word, MACHINE)))
    remark = f"service {service.value}" if service is not None else "runs"
    return Menu("irqbalance", remark, tuple(choices))


def _set(state: NicState, key: str, value: str, scope: str = "") -> Plan:
    def plan() -> list[Change]:
        found = state.settings.get(scope or state.nic, key)
        if found is not None and not found.writable:
            raise UsageError(found.refusal or f"{key} cannot be changed")
        return _news(state, [state.change(key, value, scope)])

    return plan


def _news(state: NicState, changes: Sequence[Change]) -> list[Change]:
    """Those that ask for something else than what is set."""
    found = [(change, state.settings.get(change.scope, change.key)) for change in changes]
    return [change for change, setting in found if setting is None or setting.value != change.value]
