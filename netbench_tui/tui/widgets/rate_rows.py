"""Live rates in rows: `softnet_stat` by CPU, and the driver's own counters by name. The third and the fourth view below
the queues. Used by the Queues area.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netbench_tui.analysis.queue_rates import SoftnetRate
from netbench_tui.model.units import count, fixed
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.rows import RowList

_SOFTNET = ("processed", "dropped", "squeezed", "steered", "limited")
# What must not happen is red where it does.
_BAD = ("dropped", "limited")
_WIDTH = 11
# A counter's name is cut to this, so that its rate stays near.
_NAME = 56


class SoftnetRow(NamedTuple):
    """One CPU; `node` is empty where the host has but one."""

    cpu: int
    node: str
    rate: SoftnetRate


class SoftnetPanel(RowList[SoftnetRow]):
    """Every CPU that was seen to process packets, by number."""

    help_text = (
        "What each CPU's softirq did in the last second, packets per second: processed; dropped because its backlog "
        "was full; squeezed, times that its budget of packets or time ran out with work left; steered, handed to it "
        "by RPS; limited, dropped by the flow limit. CPUs that have processed nothing are left out."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("softnet", id=id)
        self.title_rows = 2

    def show_rates(self, rows: Sequence[SoftnetRow], measured: bool, right: Sequence[Piece]) -> None:
        totals = [sum(getattr(row.rate, name) for row in rows) for name in _SOFTNET]
        words = f"per second, {len(rows)} CPUs" if len(rows) != 1 else "per second, 1 CPU"
        if rows:
            words += f", {count(totals[0])} processed, {count(totals[1])} dropped, {count(totals[2])} squeezed"
        self.remark = words if measured else ""
        self.show(rows, right, "no CPU has processed packets" if measured else "no samples yet")

    def paint_heads(self) -> Sequence[Line]:
        line, style = self.line(), self.look.style("faint")
        line.put(2, "cpu", style)
        line.put(8, "node", style)
        for place, name in enumerate(_SOFTNET):
            line.put_right(14 + (place + 1) * _WIDTH, name, style)
        return [line]

    def paint_item(self, item: SoftnetRow, line: Line, row: int, paper: str) -> None:
        line.put_right(5, str(item.cpu), self.look.style("text", paper))
        line.put_right(12, item.node, self.look.style("dim", paper))
        for place, name in enumerate(_SOFTNET):
            value = getattr(item.rate, name)
            ink = "strong" if name == "processed" else "text"
            if not value:
                ink = "faint" if paper == "background" else "dim"
            elif name in _BAD:
                ink = "bad"
            line.put_right(14 + (place + 1) * _WIDTH, rate_text(value), self.look.style(ink, paper))


class CounterRow(NamedTuple):
    """One counter of the driver: its name is the host's text. `moved` is all since the view was opened."""

    name: str
    rate: float
    moved: int


class CountersPanel(RowList[CounterRow]):
    """The counters of `ethtool -S` that moved since the view was opened, by name."""

    help_text = (
        "The driver's own counters, as ethtool -S names them: how fast each counts now, and how far it has moved since "
        "this view was opened. Counters that have not moved are left out. / shows only names that hold a text."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("ethtool -S", id=id)
        self.title_rows = 2

    def show_counters(
        self, rates: Mapping[str, float], moved: Mapping[str, int], text: str, right: Sequence[Piece]
    ) -> None:
        rows = [
            CounterRow(name, rate, moved.get(name, 0)) for name, rate in rates.items() if text.lower() in name.lower()
        ]
        rows.sort(key=lambda row: natural(row.name))
        held = f", of {len(rates)} that moved those that hold {text}" if text else " that moved"
        self.remark = f"{len(rows)} counters{held}" if rates else ""
        none = f"no counter that moved holds {text}" if rates else "no counter has moved since this view was opened"
        self.show(rows, right, none)

    def paint_heads(self) -> Sequence[Line]:
        line, style = self.line(), self.look.style("faint")
        rate, moved = self._ends(line.width)
        line.put(2, "counter", style)
        line.put_right(rate, "per second", style)
        line.put_right(moved, "since opened", style)
        return [line]

    @staticmethod
    def _ends(width: int) -> tuple[int, int]:
        name = max(12, min(_NAME, width - 32))
        return 2 + name + 12, 2 + name + 28

    def paint_item(self, item: CounterRow, line: Line, row: int, paper: str) -> None:
        rate, moved = self._ends(line.width)
        quiet = "faint" if paper == "background" else "dim"
        line.put(2, cut(item.name, rate - 14), self.look.style("text" if item.rate else "dim", paper))
        line.put_right(rate, rate_text(item.rate), self.look.style("strong" if item.rate else quiet, paper))
        line.put_right(moved, count(item.moved), self.look.style("dim", paper))


def rate_text(value: float) -> str:
    """A count per second: rare events keep a decimal, so that they do not read as none."""
    return fixed(value, 1) if 0.05 <= value < 10 and value != round(value) else count(value)


def natural(name: str) -> list[tuple[bool, int, str]]:
    """Sorts `rx_queue_2` before `rx_queue_10`."""
    parts: list[tuple[bool, int, str]] = []
    digits, word = "", ""
    for sign in name + "\0":
        if sign.isascii() and sign.isdigit():
            if word:
                parts, word = [*parts, (True, 0, word)], ""
            digits += sign
        else:
            if digits:
                parts, digits = [*parts, (False, int(digits), "")], ""
            word += sign
    return [*parts, (True, 0, word)]
