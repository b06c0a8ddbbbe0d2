"""What to know about a host's queues, in words: IRQs that are not where they should be, CPUs that cannot keep up.

Pure; used by the Queues area. The worst stands first.
"""

from collections.abc import Iterator, Sequence

from netbench_tui.analysis.queue_rates import RollingQueues
from netbench_tui.model.cpulist import format_cpu_list, parse_cpu_list
from netbench_tui.model.host import Privilege, Role
from netbench_tui.model.session import HostView
from netbench_tui.model.setting import HostSettings
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.notes import Note
from netbench_tui.tui.widgets.queue_data import QueueRow, QueueTable, nic_node, ours_of
from netbench_tui.tui.widgets.rate_rows import rate_text

# Queues that are named one by one; of more only the number is said.
_NAMED = 4
_BAN = "irqbalance.ban"
# Squeezes of less than this per second cost nothing that could be measured.
_SQUEEZES_WORTH_SAYING = 1.0


def queue_notes(bench: Workbench, tables: Sequence[QueueTable]) -> list[Note]:
    """Of these tables, what wants action before what does not. Text of hosts is passed on as it came."""
    found: list[Note] = []
    for role in Role:
        view = bench.views.get(role)
        own = [table for table in tables if table.role is role]
        if view is not None and own:
            found += _of_host(bench, view, own)
    return sorted(found, key=lambda note: not note.wants_action)


def _of_host(bench: Workbench, view: HostView, tables: Sequence[QueueTable]) -> Iterator[Note]:
    role = view.role
    settings = bench.settings.get(role)
    yield from _said(view, _softnet(bench.queue_rates.get(role)))
    for table in tables:
        yield from _said(view, _astray(bench, view, table, settings))
        yield from _said(view, _far(view, table))
        yield from _said(view, _crowded(view, table))
    yield from _said(view, _will_move(bench, view, settings))
    if view.privilege is Privilege.NONE:
        yield Note("read-only: nothing of this can be changed", "", role, view.name, wants_action=True)
    if irqbalance_runs(settings, view.queue_nic):
        does = "leaves this NIC's IRQs alone" if _banned(settings, view.queue_nic) else "moves IRQs as it sees fit"
        yield Note(f"irqbalance is running and {does}", "i irqbalance", role, view.name)
    queues = bench.queues.get(role)
    for text in queues.notes if queues is not None else ():
        yield Note(text, role=role, host=view.name)


def _said(view: HostView, notes: Iterator[tuple[str, str]]) -> Iterator[Note]:
    return (Note(text, remedy, view.role, view.name, wants_action=True) for text, remedy in notes)


def irqbalance_runs(settings: HostSettings | None, nic: str) -> bool:
    """The host has the ban list only while irqbalance runs."""
    return settings is not None and settings.get(nic, _BAN) is not None


def _banned(settings: HostSettings | None, nic: str) -> bool:
    found = settings.get(nic, _BAN) if settings is not None else None
    return found is not None and found.value == "all"


def _astray(
    bench: Workbench, view: HostView, table: QueueTable, settings: HostSettings | None
) -> Iterator[tuple[str, str]]:
    """IRQs that are not where we put them, or not where the kernel was told to send them."""
    ours = {entry.key: entry.ours for entry in ours_of(bench, table.role, view.queue_nic)}
    balanced = irqbalance_runs(settings, view.queue_nic) and not _banned(settings, view.queue_nic)
    for row in table.rows:
        pinned = ours.get(f"queue.{row.queue.name}.irq_affinity")
        if row.irq is None or not row.is_on:
            continue
        here = f"IRQ {row.irq.number} of {row.queue.name}"
        if pinned and not set(row.is_on) <= set(parse_cpu_list(pinned)):
            why = ": irqbalance is running" if balanced else ""
            remedy = "i ban this NIC's IRQs" if balanced else "e pin it again"
            yield f"{here} left cpu {pinned} for {format_cpu_list(row.is_on)}{why}", remedy
        elif row.astray:
            wanted = format_cpu_list(row.wanted)
            yield f"{here} is sent to cpu {format_cpu_list(row.is_on)}, wanted is {wanted}", "e pin it"


def _far(view: HostView, table: QueueTable) -> Iterator[tuple[str, str]]:
    far = [row for row in table.rows if row.far]
    if not far:
        return
    nodes = format_cpu_list({node for row in far for node in row.nodes if node != nic_node(view)})
    verb = "goes" if len(far) == 1 else "go"
    text = f"{_irqs(far)} {verb} to node {nodes}, the NIC is on node {nic_node(view)}"
    yield text, f"n spread on node {nic_node(view)}"


def _crowded(view: HostView, table: QueueTable) -> Iterator[tuple[str, str]]:
    """Several IRQs on one CPU while another CPU of the NIC's node has none."""
    held: dict[int, list[QueueRow]] = {}
    for row in table.rows:
        if row.irq is not None and len(row.is_on) == 1:
            held.setdefault(row.is_on[0], []).append(row)
    home = nic_node(view)
    own = [cpu.index for cpu in view.facts.cpus if cpu.online and (home is None or cpu.node == home)]
    crowded = {cpu: rows for cpu, rows in held.items() if len(rows) > 1}
    if not crowded or set(own) <= set(held):
        return
    cpu, rows = max(crowded.items(), key=lambda item: (len(item[1]), -item[0]))
    number = sum(len(rows) for rows in crowded.values())
    if len(crowded) > 1:
        yield f"{number} queues share {len(crowded)} CPUs, {len(rows)} of them cpu {cpu}", "s spread the IRQs"
    else:
        yield f"{_queues(rows)} share cpu {cpu}", "s spread the IRQs"


def _softnet(rates: RollingQueues | None) -> Iterator[tuple[str, str]]:
    softnet = rates.softnet() if rates is not None else {}
    drops = {cpu: rate.dropped for cpu, rate in softnet.items() if rate.dropped > 0}
    if drops:
        cpu = max(drops, key=lambda cpu: drops[cpu])
        words = f"cpu {cpu} drops {rate_text(drops[cpu])} packets/s: its backlog is full"
        yield words + _others(len(drops)), "p RPS over more CPUs"
    limited = sum(rate.limited for rate in softnet.values())
    if limited > 0:
        yield f"the flow limit drops {rate_text(limited)} packets/s", "v softnet by CPU"
    squeezed = {cpu: rate.squeezed for cpu, rate in softnet.items() if rate.squeezed >= _SQUEEZES_WORTH_SAYING}
    if squeezed:
        cpu = max(squeezed, key=lambda cpu: squeezed[cpu])
        words = f"cpu {cpu} ran out of its budget {rate_text(squeezed[cpu])} times/s with packets left"
        yield words + _others(len(squeezed)), "v softnet by CPU"


def _others(number: int) -> str:
    return f", {number - 1} other CPUs as well" if number > 2 else ", 1 other CPU as well" if number == 2 else ""


def _will_move(bench: Workbench, view: HostView, settings: HostSettings | None) -> Iterator[tuple[str, str]]:
    pinned = [entry for entry in ours_of(bench, view.role, view.queue_nic) if entry.key.endswith(".irq_affinity")]
    if pinned and irqbalance_runs(settings, view.queue_nic) and not _banned(settings, view.queue_nic):
        number = f"the {len(pinned)} IRQs" if len(pinned) > 1 else "the IRQ"
        yield f"irqbalance is running and will move {number} you pinned", "i ban this NIC's IRQs"


def _irqs(rows: Sequence[QueueRow]) -> str:
    if len(rows) > _NAMED:
        return f"the IRQs of {len(rows)} queues"
    names = ", ".join(row.queue.name for row in rows)
    return f"the IRQ of {names}" if len(rows) == 1 else f"the IRQs of {names}"


def _queues(rows: Sequence[QueueRow]) -> str:
    return f"{len(rows)} queues" if len(rows) > _NAMED else ", ".join(row.queue.name for row in rows)
