"""The queues of one host: a row each with its IRQ, CPUs and rates, and behind it on the same row the CPUs that took its
interrupts. Below them the total and the CPUs' load. Used by the Queues area, one panel per host.
"""

from collections.abc import Mapping, Sequence

from textual.message import Message

from netbench_tui.model.host import Role
from netbench_tui.model.session import HostView
from netbench_tui.tui.loads import HostLoad
from netbench_tui.tui.widgets.heat_plan import Fold
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.matrix import MatrixPainter
from netbench_tui.tui.widgets.matrix_plan import MatrixPlan, plan_matrix
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.queue_columns import MILLIONS_FROM, THOUSANDS_BELOW, Place, cell, places, rate_cell
from netbench_tui.tui.widgets.queue_data import RECEIVE, STEERING, QueueRow, QueueTable, cpus_of, nic_node
from netbench_tui.tui.widgets.rows import RowList

# Title, what the matrix shows, heads (without the middle one where rows are scarce); below the queues a blank row and
# the total, and packets by CPU.
_HEAD_ROWS, _FOOT_ROWS = 3, 2
_FOLDS = {Fold.CPU: "CPU", Fold.CORE: "core", Fold.CACHE: "L3", Fold.NODE: "node"}
_KINDS = {"rx": "receive queues", "tx": "transmit queues"}


class QueueRows(RowList[QueueRow]):
    """One host's queues of one kind."""

    help_text = (
        "A row is a queue: its NAPI instance, its IRQ, the CPUs that the IRQ may go to (wanted; a barred sign if the "
        "kernel manages it itself) and those where it really goes (is on; a red sign where that is not among the "
        "wanted), their node (red where it is not the NIC's), packets, bits and interrupts of the last second. Behind "
        "it each CPU's share of the queue's interrupts; a mark stands where the IRQ goes while nothing comes. A dash "
        "stands where the driver does not count by queue. CPU busy below is the load of the same CPUs."
    )

    class Moved(Message):
        """The cursor is on another queue."""

    def __init__(self, role: Role, kind: str, *, id: str | None = None) -> None:
        super().__init__("", id=id)
        self.role, self.kind = role, kind
        self.table = QueueTable(role, kind)
        self.view: HostView | None = None
        self.load: HostLoad | None = None
        self.processed: Mapping[int, float] = {}
        """Each CPU's share of the packets that the host's CPUs processed, per cent."""
        self.compact = False
        self.title_rows = _HEAD_ROWS
        self._age = ""
        self._millions = False
        self._plan: tuple[object, object, MatrixPlan] | None = None
        self._places: tuple[Place, ...] = ()
        self._matrix: MatrixPainter | None = None

    @property
    def name_in_footer(self) -> str:
        return "Queues"

    def show_table(
        self, table: QueueTable, view: HostView | None, load: HostLoad | None, processed: Mapping[int, float], age: str
    ) -> None:
        """Takes what there is now; `age` says how old it is where the host is lost."""
        if (table.role, table.kind) != (self.table.role, self.table.kind):
            self._millions = False
        self.table, self.view, self.load, self.processed = table, view, load, processed
        self._millions = (table.packets or 0.0) >= (THOUSANDS_BELOW if self._millions else MILLIONS_FROM)
        name = cut(view.name, 24) if view is not None else self.role.value
        if view is not None and view.queue_nic != view.data_nic:
            name += f"  {cut(view.queue_nic, 15)}"
        self.heading, self.heading_ink = f"{self.look.mark(self.role)} {name}", self.look.hue(self.role)
        self._age = age
        empty = "the queues have not been read yet" if view is not None else ""
        self.show(table.rows, self.right, empty)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to open: the panels below follow the cursor."""
        return False if action == "open" else super().check_action(action, parameters)

    def rows_wanted(self) -> int:
        return self.title_rows + max(1, len(self.table.rows)) + self.foot_rows

    def set_compact(self, compact: bool) -> None:
        self.compact = compact
        self.title_rows = _HEAD_ROWS - compact

    @property
    def foot_rows(self) -> int:
        return _FOOT_ROWS - self.compact + (not self.table.has_irqs)

    def paint(self, width: int, height: int) -> Sequence[Line]:
        self._places, left = places(self.table, width, self._millions)
        self._matrix = None
        if self.view is not None:
            plan = self._planned(width - left)
            if plan.width <= width - left:
                self._matrix = MatrixPainter(self.look, self.role, plan, left)
        foot = self._foot(width, left)
        lines = list(super().paint(width, max(self.title_rows + 1, height - len(foot))))
        lines[0] = self._title(len(lines) - self.title_rows)
        return [*lines, *foot]

    def _planned(self, width: int) -> MatrixPlan:
        assert self.view is not None
        cpus, home = self.view.facts.cpus, nic_node(self.view)
        known = self._plan
        if known is None or known[0] is not cpus or known[1] != (home, width, self.compact):
            known = (cpus, (home, width, self.compact), plan_matrix(self.view.facts, home, width, self.compact))
            self._plan = known
        return known[2]

    def _title(self, shown: int) -> Line:
        """Kind and number, and which of them stand there where not all do."""
        number, first = len(self.table.rows), self.offset_row
        part = f"{first + 1}-{first + shown} of " if shown < number else ""
        self.remark = f"{_KINDS[self.table.kind]}  {part}{number}{self._age}"
        return self.titled_rule(self.heading, self.remark, self.right, self.heading_ink)

    def move_to(self, index: int, step: int = 1) -> None:
        super().move_to(index, step)
        self.post_message(self.Moved())

    # --- heads ---------------------------------------------------------------------------------------------------

    def paint_heads(self) -> Sequence[Line]:
        about, heads = self.line(), self.line()
        for place in self._places:
            style = self.look.style("faint")
            if place.name in ("queue", "share"):
                heads.put(place.x, place.head, style)
            else:
                heads.put_right(place.x + place.width, place.head, style)
        if self._matrix is not None:
            self._matrix.heads(heads)
            words = self._matrix_words(self._matrix.plan)
            left = self._matrix_left
            about.put(left, cut(self.look.words(words), about.width - left), self.look.style("faint"))
        return [heads] if self.compact else [about, heads]

    @property
    def _matrix_left(self) -> int:
        return self._places[-1].x + self._places[-1].width + 2 if self._places else 0

    def _matrix_words(self, plan: MatrixPlan) -> str:
        if not self.table.has_irqs:
            words = f"no IRQs: CPUs that {'RPS' if self.kind == RECEIVE else 'XPS'} names"
        else:
            words = f"% of its interrupts by {_FOLDS[plan.fold]}"
        shared = self.view is not None and self.view.shares_cpus
        return f"{words}; both hosts share them" if shared else words

    # --- rows ----------------------------------------------------------------------------------------------------

    def paint_item(self, item: QueueRow, line: Line, row: int, paper: str) -> None:
        for place in self._places:
            if place.name == "share":
                self._share(item, line, place, paper)
            else:
                self._text(item, line, place, paper)
        if self._matrix is not None:
            shares = item.interrupts.shares if item.interrupts is not None else {}
            lands = item.is_on if item.irq is not None else item.steered or ()
            staged = item.staged.get("irq_affinity" if item.irq is not None else STEERING[item.queue.kind])
            self._matrix.shares(line, shares, lands, cpus_of(staged or ""))

    def _text(self, item: QueueRow, line: Line, place: Place, paper: str) -> None:
        found = cell(item, place, self._millions)
        ink = "dim" if found.ink == "faint" and paper != "background" else found.ink
        bold = place.name == "queue" and paper != "background"
        style = self.look.style("strong" if bold else ink, paper, bold=ink in ("bad", "accent"))
        end = place.x + place.width
        start = line.put_right(end, self.look.words(found.text), style)
        if place.name in ("wanted", "steered") and found.ink == "accent":
            line.put(start - 2, self.look.glyph("staged"), self.look.style("accent", paper))
        elif place.name in ("wanted", "steered") and self._changed(item, place.name):
            line.put(max(place.x - 1, start - 2), self.look.glyph("changed"), self.look.style("strong", paper))
        elif place.name == "wanted" and item.irq is not None and item.irq.managed:
            line.put(max(place.x - 1, start - 2), self.look.glyph("barred"), self.look.style("dim", paper))
        if place.name == "is_on" and item.astray:
            line.put(max(place.x, start - 2), self.look.glyph("differs"), self.look.style("bad", paper, bold=True))

    @staticmethod
    def _changed(item: QueueRow, name: str) -> bool:
        words = ("irq_affinity",) if name == "wanted" else ("rps_cpus", "xps_cpus")
        return any(word in item.changed for word in words)

    def _share(self, item: QueueRow, line: Line, place: Place, paper: str) -> None:
        """The bar's middle is an equal share: what stands beyond it is more than that."""
        look, half = self.look, place.width // 2
        if item.share is None:
            line.put(place.x, look.glyph("absent"), look.style("dim" if paper != "background" else "faint", paper))
            return
        line.fill(place.x, place.x + place.width, look.glyph("light"), look.style("rule", paper))
        cells = min(place.width, round(item.share / self.table.fair_share * half))
        line.fill(place.x, place.x + cells, look.glyph("heavy"), look.style(look.hue(self.role), paper))
        line.put(place.x + half, "│" if not look.ascii_only else "|", look.style("dim", paper))

    # --- below the queues ----------------------------------------------------------------------------------------

    def _foot(self, width: int, left: int) -> list[Line]:
        total = self.line()
        lines = [total] if self.compact else [self.line(), total]
        if self._matrix is not None and not self.compact:
            self._matrix.legend(lines[0])
        total.put(2, "all", self.look.style("dim"))
        table = self.table
        for place in self._places:
            if place.name in ("packets", "bits", "interrupts"):
                found = rate_cell(place.name, table.packets, table.bits, table.interrupts, self._millions)
                total.put_right(place.x + place.width, found.text, self.look.style(found.ink))
        self._label(total, left, "CPU busy")
        loads = {cpu: load.busy for cpu, load in self.load.cpus.items()} if self.load is not None else {}
        if self._matrix is not None:
            self._matrix.loads(total, loads)
        if not table.has_irqs:
            lines.append(self.line())
            self._label(lines[-1], left, "% of packets")
            if self._matrix is not None:
                self._matrix.loads(lines[-1], self.processed)
        return lines

    def _label(self, line: Line, left: int, words: str) -> None:
        """Before the matrix, where the share column or a blank is; else before the rates."""
        end = left - 1
        if any(sign != " " for sign in line.cells[end - len(words) - 1 : end]):
            end = next((place.x - 1 for place in self._places if place.name == "packets"), end)
            words = f"{words} {self.look.glyph('arrow')}"
        line.put_right(end, words, self.look.style("dim"))

    def set_keys(self, other: HostView | None, both: bool) -> None:
        """What stands at the right end of the rule: the keys that show the rest."""
        kind = "transmit" if self.kind == "rx" else "receive"
        pieces: list[Piece] = []
        if other is not None and not both:
            name = f" {self.look.mark(other.role)} {cut(other.name, 16)}   "
            pieces += [("o", "strong"), (name, "dim")]
        pieces += [("t", "strong"), (f" {kind}", "dim")]
        self.right = tuple(pieces)
