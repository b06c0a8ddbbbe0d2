"""A chosen queue's way from the wire to the application, step by step, with what decides each. Used by the Queues area.

`path_steps` is pure; the panel only places the steps.
"""

from collections.abc import Sequence
from typing import NamedTuple

from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.session import HostView
from netbench_tui.model.setting import HostSettings, QueueMap
from netbench_tui.tui.widgets.line import Line, cut, width_of
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.queue_data import RECEIVE, QueueRow, cpus_of

# A step's texts are cut to this where the panel is narrow.
_NARROWEST_STEP = 9
_ARROW = 3
_RFS_ENTRIES = "sysctl.net.core.rps_sock_flow_entries"


class Step(NamedTuple):
    """`head` over `below`; `wrong` marks a step that is not as wanted. The shorter texts stand where room is scarce."""

    head: str
    below: str
    wrong: bool = False


def path_steps(row: QueueRow, view: HostView, queues: QueueMap, settings: HostSettings | None) -> list[Step]:
    """In the order in which a packet goes: from the NIC for a receive queue, to it for a transmit queue."""
    host = _Host(row, view, queues, settings)
    if row.queue.kind == RECEIVE:
        return [*host.nic(), *host.rss(), host.ring(), *host.napi(), *host.irq(), *host.steering(), *host.flows()]
    return [*host.steering(), host.ring(), *host.napi(), *host.irq(), *host.nic()]


class _Host:
    def __init__(self, row: QueueRow, view: HostView, queues: QueueMap, settings: HostSettings | None) -> None:
        self._row, self._view, self._queues, self._settings = row, view, queues, settings

    def _value(self, key: str, scope: str = "") -> str | None:
        found = self._settings.get(scope or self._queues.nic, key) if self._settings else None
        return found.value if found else None

    def nic(self) -> list[Step]:
        nic = self._view.carrier
        node = nic.node if nic is not None else None
        virtual = nic is not None and nic.kind == "virtual"
        return [Step("NIC", "no hardware" if virtual else "node unknown" if node is None else f"node {node}")]

    def rss(self) -> list[Step]:
        table = self._queues.rss
        if table is None or not table.indirection:
            return []
        own = table.weights.get(self._row.queue.index, 0)
        return [Step("RSS", f"{own} of {len(table.indirection)}", wrong=own == 0)]

    def ring(self) -> Step:
        size = self._value(f"ring.{self._row.queue.kind}")
        return Step(self._row.queue.name, f"ring {size}" if size else "ring –")

    def napi(self) -> list[Step]:
        napi = self._row.queue.napi
        threaded = self._value("napi.threaded") in ("on", "1")
        if napi is None and not threaded:
            return []
        return [Step(f"NAPI {'' if napi is None else napi}".rstrip(), "own thread" if threaded else "softirq")]

    def irq(self) -> list[Step]:
        irq, row = self._row.irq, self._row
        if irq is None:
            return []
        wanted = f"wanted {format_cpu_list(irq.wanted)}" if irq.wanted else "wanted –"
        if irq.managed:
            wanted += ", managed"
        nodes = f"node {format_cpu_list(row.nodes)}" if row.nodes else (self._view.facts.nodes and "node –") or ""
        caches = {cpu.cache for cpu in self._view.facts.cpus if cpu.index in row.is_on and cpu.cache is not None}
        place = f"{nodes}, L3 {caches.pop()}" if len(caches) == 1 and nodes else nodes or "effective"
        head = f"cpu {format_cpu_list(row.is_on)}" if row.is_on else "cpu –"
        return [Step(f"IRQ {irq.number}", wanted), Step(head, place, wrong=row.astray or row.far)]

    def steering(self) -> list[Step]:
        receive = self._row.queue.kind == RECEIVE
        if self._row.steered is None:
            return []
        cpus = format_cpu_list(self._row.steered)
        name = "RPS" if receive else "XPS"
        below = ("off" if receive else "any queue") if not self._row.steered else f"cpu {cpus}"
        return [Step(name, below)] if receive else [Step("app", "sends"), Step(name, below)]

    def flows(self) -> list[Step]:
        """RFS: works only with entries both of the machine and of the queue."""
        of_queue, of_machine = (
            self._value(f"queue.{self._row.queue.name}.rps_flow_cnt"),
            self._value(_RFS_ENTRIES, "machine"),
        )
        on = of_queue not in (None, "", "0") and of_machine not in (None, "", "0")
        steps = [Step("RFS", f"{of_queue} flows" if on else "off")] if of_queue is not None else []
        return [*steps, Step("app", "its cpu" if on else self._softirq_words())]

    def _softirq_words(self) -> str:
        cpus = self._row.steered or self._row.is_on or cpus_of("")
        return f"fed by cpu {format_cpu_list(cpus)}" if cpus else "any cpu"


class PathPanel(Panel):
    """The steps side by side, an arrow between each two."""

    title = "Path"
    help_text = (
        "The way of the chosen queue's packets: the NIC and its node, the entries of the RSS table that name the "
        "queue, its ring, its NAPI instance, its IRQ and where it is sent, and what RPS, RFS or XPS do with the "
        "packets. A red sign stands before what is not as wanted, or on another node than the NIC."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.queue = ""
        self.steps: Sequence[Step] = ()
        self.receives = True

    @property
    def name_in_footer(self) -> str:
        return self.queue or self.title

    def show(self, queue: str, steps: Sequence[Step], receives: bool) -> None:
        self.queue, self.steps, self.receives = queue, tuple(steps), receives
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        way = "from the wire to the application" if self.receives else "from the application to the wire"
        heads, below = self.line(), self.line()
        x = 0
        for place, size in enumerate(self._sizes(width)):
            step = self.steps[place]
            if place:
                sign, ink = ("differs", "bad") if step.wrong else ("arrow", "faint")
                heads.put(x - _ARROW + 1, self.look.glyph(sign), self.look.style(ink, bold=step.wrong))
            heads.put(x, cut(self.look.words(step.head), size), self.look.style("bad" if step.wrong else "strong"))
            below.put(x, cut(self.look.words(step.below), size), self.look.style("bad" if step.wrong else "dim"))
            x += size + _ARROW
        return [self.titled_rule(self.queue or "no queue", way if self.queue else ""), heads, below][:height]

    def _sizes(self, width: int) -> list[int]:
        """Each step as wide as its texts; where they do not fit, the widest give way. Spare room is shared."""
        sizes = [max(width_of(step.head), width_of(step.below)) for step in self.steps]
        room = width - _ARROW * max(0, len(sizes) - 1)
        while sum(sizes) > room and max(sizes) > _NARROWEST_STEP:
            sizes[sizes.index(max(sizes))] -= 1
        spare = max(0, min(8, (room - sum(sizes)) // max(1, len(sizes))))
        return [size + spare for size in sizes]
