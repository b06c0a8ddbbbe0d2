"""What the chosen node's CPUs do, cache by cache, and what is special about them. Used by Topology."""

from collections.abc import Sequence

from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.units import percent
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel, Piece
from netbench_tui.tui.widgets.placed import Placed, cpus_by_index, distance, memory_words, numa_node
from netbench_tui.tui.widgets.socket_groups import NodeGroup

# The right ends of busy, softirq and system, counted from the panel's right end.
_COLUMNS = (18, 9, 0)
_LABEL = 11


class NodePanel(Panel):
    """One node: a row for all of it, a row a last-level cache, then what is kept apart and its memory."""

    help_text = (
        "The chosen node: what all of its CPUs and those of each last-level cache do, per cent of their time over the "
        "last second, softirq with hard interrupts; then CPUs that are isolated, run without a tick, or are offline."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = True
        self.placed: Placed | None = None
        self.node: NodeGroup | None = None

    @property
    def name_in_footer(self) -> str:
        return self.node.name.capitalize() if self.node else "Node"

    def show(self, placed: Placed | None, node: NodeGroup | None) -> None:
        self.placed, self.node = placed, node
        self.update_rows()

    def rows_wanted(self, node: NodeGroup) -> int:
        return 3 + len(node.caches) + 4

    def paint(self, width: int, height: int) -> Sequence[Line]:
        placed, node = self.placed, self.node
        if placed is None or node is None:
            return []
        title = self._title(placed, node)
        traits = [self._trait(label, words) for label, words in node_traits(placed, node)]
        if not node.cpus:
            return [title, *traits]
        caches = [self._loads("L3", cpus) for cpus in cache_cpus(node)] if len(node.caches) > 1 else []
        rows = [self._loads("all", node.cpus), *caches]
        room = max(1, height - 1 - len(traits))
        if len(rows) > room:
            left = len(rows) - room + 1
            rows = [*rows[: room - 1], self._trait("", f"{left}{' more' * (room > 2)} L3")] if room > 1 else rows[:1]
        return [title, *rows, *traits]

    def _title(self, placed: Placed, node: NodeGroup) -> Line:
        far = distance(placed.facts, node.index, placed.nic_node)
        right: list[Piece] = [("busy", "dim"), ("  softirq", "dim"), ("   system", "dim")] if node.cpus else []
        remark = "chosen" if far is None else f"chosen, distance {far} to the NIC"
        if len(node.name) + len(remark) + sum(len(text) for text, _ in right) + 5 > self.size.width:
            remark = remark.removeprefix("chosen, distance ")
        return self.titled_rule(node.name.capitalize(), remark, right)

    def _loads(self, label: str, cpus: Sequence[int]) -> Line:
        line, look = self.line(), self.look
        line.put(0, label, look.style("text"))
        end = line.width - _COLUMNS[0] - 6
        line.put(_LABEL, look.words(cut(f"cpu {format_cpu_list(cpus)}", end - _LABEL)), look.style("dim"))
        mean = self.placed.load.mean(cpus) if self.placed and self.placed.load else None
        shares = (mean.busy, mean.softirq, mean.system) if mean else (None, None, None)
        for place, (share, back) in enumerate(zip(shares, _COLUMNS, strict=True)):
            style = look.style("text" if place else "strong")
            line.put_right(line.width - back - 2, look.words(percent(share)), style)
            line.put(line.width - back - 1, "%", look.style("faint"))
        return line

    def _trait(self, label: str, words: str) -> Line:
        line = self.line()
        line.put(0, label, self.look.style("dim"))
        line.put(_LABEL, self.look.words(cut(words, line.width - _LABEL)), self.look.style("text"))
        return line


def cache_cpus(node: NodeGroup) -> list[tuple[int, ...]]:
    """The CPUs of each last-level cache."""
    return [tuple(sorted(cpu for core in cores for cpu in core)) for cores in node.caches]


def node_traits(placed: Placed, node: NodeGroup) -> list[tuple[str, str]]:
    """What is special about a node, as label and words; only what there is."""
    known = cpus_by_index(placed.facts)
    members = [known[cpu] for cpu in node.cpus if cpu in known]
    sets = (
        ("isolated", [cpu.index for cpu in members if cpu.isolated]),
        ("nohz_full", [cpu.index for cpu in members if cpu.nohz_full]),
        ("offline", [cpu.index for cpu in members if not cpu.online]),
    )
    traits = [(label, f"cpu {format_cpu_list(cpus)}") for label, cpus in sets if cpus]
    used, total = memory_words(numa_node(placed.facts, node.index))
    if total:
        traits.append(("memory", f"{used} {total} used" if used else total))
    elif node.index is not None and not node.cpus:
        traits.append(("memory", "none"))
    return traits
