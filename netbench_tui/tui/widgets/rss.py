"""Receive-side scaling of one NIC: how many entries of the table each queue has, and what share of the bytes it got.

The first view below the queues. Used by the Queues area.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netbench_tui.model.setting import RssTable
from netbench_tui.model.units import ABSENT, fixed
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.rows import RowList

_LABEL, _CELL = 13, 6
# Half a row of sixteen: a blank cell parts the halves, as on the drawing.
_HALF = 8
# A queue's share of the bytes is marked where it is this much more or less than its share of the entries.
_MUCH_MORE, _MUCH_LESS = 1.3, 0.6
# Bytes of the hash key that stand in the title; the whole key is 40 bytes and more.
_KEY_BYTES = 4


class RssBlock(NamedTuple):
    """Some neighbouring queues: what four rows show."""

    queues: tuple[int, ...]


class RssPanel(RowList[RssBlock]):
    """Blocks of as many queues as fit side by side, four rows each."""

    help_text = (
        "The RSS table: the hash of a packet picks an entry, and the entry names the queue. weight is the number of "
        "entries of each queue, entries % its share of the table, bytes % its share of the bytes that came in the "
        "last second; an arrow marks a queue that got much more or less than its entries say. w stages other weights."
    )
    rows_each = 4

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("RSS", id=id)
        self.table: RssTable | None = None
        self.bytes_shares: Mapping[int, float] = {}
        self.staged: str = ""
        self.why_none = ""
        self._queues: tuple[int, ...] = ()

    def show_rss(
        self,
        table: RssTable | None,
        bytes_shares: Mapping[int, float],
        staged: str,
        why_none: str,
        right: Sequence[Piece],
    ) -> None:
        """`bytes_shares` are of 1 by queue; `staged` is what is staged for the table, in words."""
        self.table, self.bytes_shares, self.staged, self.why_none = table, bytes_shares, staged, why_none
        self.remark = self._about()
        named = set(table.weights) | set(range(table.rings)) if table is not None else set()
        self._queues = tuple(sorted(named))
        self.show(self._blocks(self.size.width), (*self._summary(), *right), why_none)

    def on_resize(self) -> None:
        self.items = self._blocks(self.size.width)
        super().on_resize()

    def _blocks(self, width: int) -> list[RssBlock]:
        each = max(1, (width - _LABEL - _CELL) // _CELL)
        if each >= _HALF:
            each -= each % _HALF
        queues = self._queues
        return [RssBlock(queues[at : at + each]) for at in range(0, len(queues), each)]

    def _about(self) -> str:
        table = self.table
        if table is None:
            return ""
        parts = [table.hash_function] if table.hash_function else []
        parts.append(f"{len(table.indirection)} entries")
        parts.append(f"{len(table.weights)} of {table.rings} queues" if table.rings else f"{len(table.weights)} queues")
        if table.key:
            parts.append(f"key {_short_key(table.key)}")
        return ", ".join(parts)

    def _summary(self) -> list[Piece]:
        if self.staged:
            return [(f"{self.look.glyph('staged')} {self.staged}   ", "accent")]
        if self.table is None or not self.table.indirection:
            return []
        weights = set(self.table.weights.values())
        even = max(weights) - min(weights) <= 1
        return [("weights are equal   " if even else "weights differ   ", "dim")]

    def selectable(self, item: RssBlock) -> bool:
        """One block is all there is: no cursor on it."""
        return len(self.items) > 1

    def paint_item(self, item: RssBlock, line: Line, row: int, paper: str) -> None:
        assert self.table is not None
        label = ("queue", "weight", "entries %", "bytes %")[row]
        quiet = "faint" if paper == "background" else "dim"
        line.put(1, label, self.look.style(quiet if row == 0 else "dim", paper))
        weights, entries = self.table.weights, max(1, len(self.table.indirection))
        x = _LABEL
        for place, queue in enumerate(item.queues):
            if place and place % _HALF == 0:
                x += _CELL // 2
            weight = weights.get(queue, 0)
            text, ink, mark = self._cell(row, queue, weight, weight / entries)
            line.put_right(x + _CELL - 1, text, self.look.style(quiet if ink == "faint" else ink, paper))
            line.put(x + _CELL - 1, mark, self.look.style("dim", paper))
            x += _CELL

    def _cell(self, row: int, queue: int, weight: int, share: float) -> tuple[str, str, str]:
        """Text, ink and the mark behind it."""
        if row == 0:
            return str(queue), "faint", ""
        if row == 1:
            return str(weight), "text" if weight else "faint", ""
        if row == 2:
            return fixed(100 * share, 1), "dim", ""
        got = self.bytes_shares.get(queue)
        if got is None:
            return ABSENT, "faint", ""
        if got > share * _MUCH_MORE and got > 0.001:
            return fixed(100 * got, 1), "strong", self.look.words("↑")
        if got < share * _MUCH_LESS:
            return fixed(100 * got, 1), "strong", self.look.words("↓")
        return fixed(100 * got, 1), "text", ""


def _short_key(key: str) -> str:
    parts = key.split(":")
    return cut(key, 3 * _KEY_BYTES) if len(parts) <= _KEY_BYTES else ":".join(parts[:_KEY_BYTES]) + ":…"
