"""The metrics table: local and remote side by side in two or three groups, decimals never moving. Used by Run."""

from collections.abc import Sequence

from netbench_tui.model.host import Role
from netbench_tui.tui.figures import GROUPS, Figures, Row, value_text
from netbench_tui.tui.widgets.line import Line
from netbench_tui.tui.widgets.panel import Panel

# Columns of the local and of the remote value, each with the gap before it; the heads are the widest.
_LOCAL, _REMOTE = 8, 9
_LABEL_TIGHT, _LABEL = 12, 17
# From these widths on two and three groups stand side by side.
_TWO_GROUPS, _THREE_GROUPS = 72, 150
# Below these the heads stand in the rule, and names are short.
_ROOMY_ROWS, _ROOMY_COLUMNS = 6, 96


def groups_at(width: int) -> int:
    return 3 if width >= _THREE_GROUPS else 2 if width >= _TWO_GROUPS else 1


class MetricsPanel(Panel):
    """`remark` says over what the figures are: the last second, or the measured window."""

    title = "Metrics"
    help_text = (
        "Local is the sender, remote the receiver. Busy is all CPU time but idle and I/O wait, in cores. Efficiency is "
        "throughput per busy core; service demand is CPU time per KiB carried. Counts are of the time the title names."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.figures: Figures = {}
        self.remark = ""

    def show(self, figures: Figures, remark: str) -> None:
        self.figures, self.remark = figures, remark
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        groups = GROUPS[: groups_at(width)]
        tight = height < _ROOMY_ROWS
        label = _LABEL_TIGHT if width < _ROOMY_COLUMNS else _LABEL
        groups = tuple(group[: height - (1 if tight else 2)] for group in groups)
        lefts = self._lefts(groups, label, width)
        head = self.titled_rule(self.title, "" if tight and width < _THREE_GROUPS else self.remark)
        lines = [head] if tight else [head, self.line()]
        for left in lefts:
            self._heads(lines[-1], left + label, tight)
        for index in range(height - len(lines)):
            line = self.line()
            for left, group in zip(lefts, groups, strict=True):
                if index < len(group):
                    self._row(line, left, label, group[index])
            lines.append(line)
        return lines

    def _lefts(self, groups: Sequence[Sequence[Row]], label: int, width: int) -> list[int]:
        """First columns: equal shares of the width, or as tight as the units allow where that is too narrow."""
        share = (width + 3) // len(groups)
        sizes = [label + _LOCAL + _REMOTE + 1 + max((len(row.unit) for row in group), default=0) for group in groups]
        if max(sizes) <= share:
            return [index * share for index in range(len(groups))]
        return [sum(sizes[:index]) + index for index in range(len(groups))]

    def _heads(self, line: Line, left: int, in_rule: bool) -> None:
        for end, role, word in ((_LOCAL, Role.SENDER, "local"), (_LOCAL + _REMOTE, Role.RECEIVER, "remote")):
            text = f"{self.look.mark(role)} {word}"
            style = self.look.style(self.look.hue(role))
            start = line.put_right(left + end, text, style)
            if in_rule:
                line.fill(start - 1, start, " ", style)
                line.fill(left + end, left + end + 1, " ", style)

    def _row(self, line: Line, left: int, label: int, row: Row) -> None:
        look = self.look
        name = row.label if len(row.label) < label else row.short
        line.put(left, look.words(name), look.style("dim"))
        for end, role in ((_LOCAL, Role.SENDER), (_LOCAL + _REMOTE, Role.RECEIVER)):
            text = look.words(value_text(row, self.figures, role))
            line.put_right(left + label + end, text, look.style("strong"))
        line.put(left + label + _LOCAL + _REMOTE + 1, look.words(row.unit), look.style("faint"))
