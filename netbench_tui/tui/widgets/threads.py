"""One node's threads, one in a row: core, sibling, what it does, which IRQs land there. Used by Topology."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from netbench_tui.analysis.live import CpuLoad
from netbench_tui.model.cpulist import NONE, format_cpu_list
from netbench_tui.model.host import Cpu
from netbench_tui.model.units import ABSENT, percent
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.placed import Placed, cpus_by_index, landing
from netbench_tui.tui.widgets.rows import RowList
from netbench_tui.tui.widgets.socket_groups import NodeGroup

# Right ends of the columns of numbers; words begin after the last. Narrow lists leave out the user's share.
_CPU, _CORE, _SIBLING = 6, 12, 22
_SHARES = (("busy", 29), ("user", 35), ("system", 43), ("softirq", 52), ("irq", 58))
_NARROW_SHARES = (("busy", 28), ("system", 36), ("softirq", 45), ("irq", 50))
_WIDE = 100


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """`load` is None where the CPU was not seen. `starts_cache`: a gap's first thread, as on the map."""

    cpu: Cpu
    siblings: tuple[int, ...]
    load: CpuLoad | None
    irqs: tuple[str, ...]
    traffic: bool
    cache: int
    starts_cache: bool


def thread_rows(
    placed: Placed, node: NodeGroup, names: Mapping[int, str], serving: Collection[int] = ()
) -> list[ThreadRow]:
    """Cache by cache, core by core, thread by thread. IRQs that are `serving` a queue come first in their row."""
    cpus = cpus_by_index(placed.facts)
    landed: dict[int, list[str]] = {}
    for irq in sorted(placed.irqs, key=lambda irq: irq.number not in serving):
        for cpu in landing(irq):
            landed.setdefault(cpu, []).append(f"{names.get(irq.number, '')} ({irq.number})")
    rows = []
    for number, cores in enumerate(node.caches):
        first = cores[0][0] if cores else None
        for core in cores:
            for index in core:
                rows.append(
                    ThreadRow(
                        cpus[index],
                        tuple(cpu for cpu in core if cpu != index),
                        placed.load.cpus.get(index) if placed.load else None,
                        tuple(landed.get(index, ())),
                        index in placed.process_cpus,
                        number,
                        index == first,
                    )
                )
    return rows


class ThreadList(RowList[ThreadRow]):
    """The threads of the chosen node."""

    title_rows = 2
    help_text = (
        "One row is one thread of the chosen node: its core, the threads that share it, per cent of its time over the "
        "last second, and after that the IRQs of the data NIC that land on it (with their numbers), traffic that is "
        "pinned to it, and whether it is isolated, runs without a tick, or is offline."
    )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A thread is all there is: nothing opens."""
        return action != "open"

    def paint_heads(self) -> list[Line]:
        line, faint = self.line(), self.look.style("faint")
        line.put_right(_CPU, "cpu", faint)
        line.put_right(_CORE, "core", faint)
        line.put_right(_SIBLING, "sibling", faint)
        for name, end in self._shares:
            line.put_right(end, name, faint)
        line.put(self._words, "what is there", faint)
        return [line]

    @property
    def _shares(self) -> tuple[tuple[str, int], ...]:
        return _SHARES if self.size.width >= _WIDE else _NARROW_SHARES

    @property
    def _words(self) -> int:
        """The column in which words begin."""
        return self._shares[-1][1] + 3

    def paint_item(self, item: ThreadRow, line: Line, row: int, paper: str) -> None:
        look, quiet = self.look, self.look.style("dim", paper)
        line.put_right(_CPU, str(item.cpu.index), look.style("strong", paper))
        line.put_right(_CORE, look.words(ABSENT) if item.cpu.core is None else str(item.cpu.core), quiet)
        siblings = format_cpu_list(item.siblings)
        line.put_right(_SIBLING, look.words(cut(ABSENT if siblings == NONE else siblings, 9)), quiet)
        for name, end in self._shares:
            style = look.style("strong" if name == "busy" else "text", paper)
            line.put_right(end, look.words(percent(share_of(item.load, name))), style)
        column = self._words
        for sign, words in self._marks(item):
            room = line.width - column - 2
            if room > 0:
                line.put(column, look.glyph(sign), look.style("text", paper))
                column = line.put(column + 2, look.words(cut(words, room)), look.style("text", paper)) + 2

    def _marks(self, item: ThreadRow) -> list[tuple[str, str]]:
        """Glyph name and words, IRQs first."""
        marks = [("lands", ", ".join(item.irqs))] if item.irqs else []
        traits = (
            ("process", "traffic", item.traffic),
            ("isolated", "isolated", item.cpu.isolated),
            ("tickless", "nohz_full", item.cpu.nohz_full),
            ("absent", "offline", not item.cpu.online),
        )
        return marks + [(sign, words) for sign, words, there in traits if there]


def share_of(load: CpuLoad | None, name: str) -> float | None:
    """One column's share; softirq here without the hard interrupts, which have their own."""
    if load is None:
        return None
    if name == "softirq":
        return max(0.0, load.softirq - load.irq)
    return float(getattr(load, name))
