"""Software steering by queue: RPS and RFS of each receive queue, XPS of the transmit queue of the same number.

The second view below the queues. `steering_rows` is pure. Used by the Queues area.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netbench_tui.model.cpulist import NONE
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings, QueueMap
from netbench_tui.model.units import ABSENT
from netbench_tui.tui.staging import Staging
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.rows import RowList

# head, kind of queue, the setting's last word, least width, share of the rest
_COLUMNS = (
    ("RPS CPUs", "rx", "rps_cpus", 12, 3),
    ("RFS flows", "rx", "rps_flow_cnt", 9, 1),
    ("XPS CPUs", "tx", "xps_cpus", 12, 3),
    ("XPS rx queues", "tx", "xps_rxqs", 13, 2),
)
_FIRST = 10
_GAP = 3


@dataclass(frozen=True, slots=True)
class SteeringValue:
    """What is set, and what is staged in its place; `value` is None where there is no such setting."""

    value: str | None = None
    staged: str | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class SteeringRow:
    """Both queues of one number; `values` in the order of the columns."""

    index: int
    values: tuple[SteeringValue, ...]


def steering_rows(
    role: Role, queues: QueueMap | None, settings: HostSettings | None, staged: Staging
) -> tuple[SteeringRow, ...]:
    if queues is None:
        return ()
    names = {(queue.kind, queue.index): queue.name for queue in queues.queues}

    def value(kind: str, index: int, word: str) -> SteeringValue:
        name = names.get((kind, index))
        if name is None:
            return SteeringValue()
        key = f"queue.{name}.{word}"
        found = settings.get(queues.nic, key) if settings is not None else None
        waiting = staged.value(role, queues.nic, key)
        return SteeringValue(found.value if found else None, waiting, found.refusal if found else "")

    indexes = sorted({queue.index for queue in queues.queues})
    return tuple(
        SteeringRow(index, tuple(value(kind, index, word) for _, kind, word, _, _ in _COLUMNS)) for index in indexes
    )


class SteeringPanel(RowList[SteeringRow]):
    """A row a queue number."""

    help_text = (
        "RPS hands packets of a receive queue to these CPUs; RFS hands them to the CPU where their application runs, "
        "if both the queue and the machine have flow entries; XPS says which CPUs, or which receive queues, send "
        "through a transmit queue. A barred sign stands before what cannot be written. p stages RPS and XPS, F RFS."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Steering", id=id)
        self.title_rows = 2

    def show_steering(self, rows: Sequence[SteeringRow], flow_entries: str | None, right: Sequence[Piece]) -> None:
        """`flow_entries` are RFS's of the whole machine."""
        entries = flow_entries if flow_entries is not None else ABSENT
        self.remark = f"RFS entries of the machine {entries}"
        self.show(rows, right, "no queues have been read yet")

    def _places(self, width: int) -> list[tuple[int, int]]:
        """(first cell, width) of each column."""
        rest = width - _FIRST - sum(column[3] + _GAP for column in _COLUMNS)
        weight = sum(column[4] for column in _COLUMNS)
        found, x = [], _FIRST
        for _, _, _, least, share in _COLUMNS:
            size = least + max(0, min(24, rest * share // weight))
            found.append((x, size))
            x += size + _GAP
        return found

    def paint_heads(self) -> Sequence[Line]:
        line = self.line()
        style = self.look.style("faint")
        line.put(2, "queue", style)
        for (x, _), column in zip(self._places(line.width), _COLUMNS, strict=True):
            line.put(x, column[0], style)
        return [line]

    def paint_item(self, item: SteeringRow, line: Line, row: int, paper: str) -> None:
        line.put_right(7, str(item.index), self.look.style("text", paper))
        quiet = "faint" if paper == "background" else "dim"
        for (x, size), value, column in zip(self._places(line.width), item.values, _COLUMNS, strict=True):
            if value.staged is not None:
                line.put(x - 2, self.look.glyph("staged"), self.look.style("accent", paper))
                line.put(x, cut(value.staged, size), self.look.style("accent", paper))
            elif value.value is None:
                line.put(x, self.look.glyph("absent"), self.look.style(quiet, paper))
            else:
                if value.refusal:
                    line.put(x - 2, self.look.glyph("barred"), self.look.style(quiet, paper))
                off = value.value == ("0" if column[2] == "rps_flow_cnt" else NONE)
                line.put(x, cut("off" if off else value.value, size), self.look.style(quiet if off else "text", paper))
