"""Which columns the queue rows have at a width, and what stands in them. Pure texts; used by the queue rows."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.units import ABSENT, count, fixed
from netbench_tui.tui.widgets.line import cut
from netbench_tui.tui.widgets.queue_data import RECEIVE, QueueRow, QueueTable

# Screen columns of the panel from which NAPI, then the share of each queue have room beside the matrix.
_NAPI_FROM, _SHARE_FROM = 90, 112
# From here on packets are counted in millions, and below there in thousands again: apart, so that a rate near one of
# them does not change the unit all the time.
MILLIONS_FROM, THOUSANDS_BELOW = 1e6, 2e5
_GAP = 1
_LEFT = 2


class Place(NamedTuple):
    """A column: name, head, first cell, width."""

    name: str
    head: str
    x: int
    width: int


class Cell(NamedTuple):
    """Text, already cut to its column, and its ink."""

    text: str
    ink: str = "text"


def places(table: QueueTable, width: int, millions: bool) -> tuple[tuple[Place, ...], int]:
    """The columns and the cell where the matrix begins."""
    wanted: list[tuple[str, str, int]] = [("queue", "queue", 6)]
    if table.has_napi and width >= _NAPI_FROM:
        wanted.append(("napi", "NAPI", 6))
    if table.has_irqs:
        wanted += [("irq", "IRQ", 5), ("wanted", "wanted", 9 if width >= _NAPI_FROM else 7), ("is_on", "is on", 7)]
        wanted.append(("node", "node", 4))
    else:
        wanted.append(("steered", "RPS CPUs" if table.kind == RECEIVE else "XPS CPUs", 14))
    wanted += [("packets", "Mpkt/s" if millions else "kpkt/s", 6), ("bits", "Gbit/s", 6)]
    if table.has_irqs:
        wanted.append(("interrupts", "irq/s", 7))
    if width >= _SHARE_FROM or not table.has_irqs:
        wanted.append(("share", "share", 7))
    found, x = [], _LEFT
    for name, head, size in wanted:
        found.append(Place(name, head, x, size))
        x += size + _GAP
    return tuple(found), x + _GAP


def cell(row: QueueRow, place: Place, millions: bool) -> Cell:
    """What stands in a column of a queue's row; `share` is painted and has no text."""
    make = _CELLS.get(place.name)
    return make(row, place.width) if make is not None else _rate(row, place.name, millions)


def _queue(row: QueueRow, width: int) -> Cell:
    return Cell(cut(row.queue.name, width))


def _napi(row: QueueRow, width: int) -> Cell:
    return Cell(ABSENT, "faint") if row.queue.napi is None else Cell(cut(str(row.queue.napi), width), "dim")


def _irq(row: QueueRow, width: int) -> Cell:
    return Cell(ABSENT, "faint") if row.queue.irq is None else Cell(cut(str(row.queue.irq), width), "dim")


def _wanted(row: QueueRow, width: int) -> Cell:
    staged = row.staged.get("irq_affinity")
    if staged is not None:
        return Cell(cut(staged, width - 2), "accent")
    return _list(row.wanted, width, "dim")


def _is_on(row: QueueRow, width: int) -> Cell:
    return _list(row.is_on, width, "bad" if row.astray else "text")


def _steered(row: QueueRow, width: int) -> Cell:
    staged = row.staged.get("rps_cpus" if row.queue.kind == RECEIVE else "xps_cpus")
    if staged is not None:
        return Cell(cut(staged, width - 2), "accent")
    if row.steered is None:
        return Cell(ABSENT, "faint")
    return Cell("off", "faint") if not row.steered else _list(row.steered, width, "text")


def _node(row: QueueRow, width: int) -> Cell:
    if not row.nodes:
        return Cell(ABSENT, "faint")
    return Cell(cut(format_cpu_list(row.nodes), width), "bad" if row.far else "text")


def _list(cpus: tuple[int, ...], width: int, ink: str) -> Cell:
    return Cell(cut(format_cpu_list(cpus), width), ink) if cpus else Cell(ABSENT, "faint")


def _rate(row: QueueRow, name: str, millions: bool) -> Cell:
    return rate_cell(
        name,
        row.rate.packets if row.rate is not None else None,
        row.rate.bits if row.rate is not None else None,
        row.interrupts.total if row.interrupts is not None else None,
        millions,
    )


def rate_cell(name: str, packets: float | None, bits: float | None, interrupts: float | None, millions: bool) -> Cell:
    """A measured rate in its column's form; `–` where nothing was measured."""
    value = {"packets": packets, "bits": bits, "interrupts": interrupts}[name]
    if value is None:
        return Cell(ABSENT, "faint")
    if name == "packets":
        return Cell(fixed(value / (1e6 if millions else 1e3), 2 if millions else 1))
    if name == "bits":
        return Cell(fixed(value / 1e9, 2), "strong")
    return Cell(count(value), "text")


_CELLS: Mapping[str, Callable[[QueueRow, int], Cell]] = {
    "queue": _queue,
    "napi": _napi,
    "irq": _irq,
    "wanted": _wanted,
    "is_on": _is_on,
    "steered": _steered,
    "node": _node,
}
