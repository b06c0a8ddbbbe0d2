"""What the titles and the legend of the sockets say. Used by sockets.py."""

from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.tui.widgets.heat_plan import Fold
from netbench_tui.tui.widgets.placed import Placed
from netbench_tui.tui.widgets.socket_groups import SectionGroup
from netbench_tui.tui.widgets.socket_plan import SocketPlan


def section_name(section: SectionGroup) -> str:
    if not section.sockets:
        return "cpus" if section.cpus else "memory only"
    return f"socket{'s' * (len(section.sockets) > 1)} {format_cpu_list(section.sockets)}"


def section_words(section: SectionGroup, placed: Placed, fold: Fold, first: bool) -> list[str]:
    """`48 cores, 96 threads, 4 nodes`, and in the first title what a cell is where it is not a thread."""
    words = []
    threads, cores = len(section.cpus), section.cores
    wanted = set(section.cpus)
    if any(cpu.core is not None for cpu in placed.facts.cpus if cpu.index in wanted):
        words.append(_several(cores, "core"))
    if threads and (threads != cores or not words):
        words.append(_several(threads, "thread" if words else "CPU"))
    nodes = [node for node in section.nodes if node.index is not None]
    if nodes:
        words.append(_several(len(nodes), "node"))
    elif first:
        words.append("no NUMA information")
    if fold is not Fold.CPU and first:
        words.append(f"busiest of each {fold.value}")
    return words


def _several(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def cell_words(plan: SocketPlan, placed: Placed) -> str:
    """What one cell is, in a sentence."""
    if plan.fold is not Fold.CPU:
        words = f"one cell is the busiest thread of a {plan.fold.value}"
    else:
        words = "one cell is one thread"
        words += ", its sibling below it" if any(cpu.sibling for cpu in placed.facts.cpus) else ""
    if plan.fold in (Fold.CPU, Fold.CORE) and any(len(node.caches) > 1 for node in plan.nodes):
        words += "; a gap ends an L3"
    return words
