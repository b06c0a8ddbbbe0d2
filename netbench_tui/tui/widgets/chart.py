"""The time chart: braille line over a dotted grid, zero always in view, on a scale that only grows within a run.

Used by the Run view for throughput and, in a short form, for what lies under it.
"""

import math
from collections.abc import Sequence

from netbench_tui.tui.look import Look
from netbench_tui.tui.series import ChartData, Span
from netbench_tui.tui.widgets.braille import DotCanvas
from netbench_tui.tui.widgets.line import Line, width_of
from netbench_tui.tui.widgets.panel import Panel, Piece

# The tops of a scale, times a power of ten: each gives four even grid steps without odd fractions.
_NICE_TOPS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
_TIME_STEPS = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600)
# Columns between two labels of the time axis, at least.
_LABEL_COLUMNS = 12
# Columns of the value labels: three digits, a space and the point of `0.25`.
_GUTTER = 5


def nice_top(value: float) -> float:
    """The smallest top of a scale that is not below `value`; 1 where there is nothing to show."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    # The factor absorbs rounding of the division, so that 60 stays 60.
    return next(top * power for top in _NICE_TOPS if value <= top * power * (1 + 1e-9))


def grid_steps(rows: int) -> int:
    """Into how many even steps whole rows divide the plot: 4, 2 or 1."""
    return next(steps for steps in (4, 2, 1) if rows > 1 and (rows - 1) % steps == 0) if rows > 1 else 1


def dot_of(value: float, top: float, rows: int) -> int:
    """The dot row of a value: 0 lies at the third dot of the last row, `top` at the third dot of the first."""
    span = 4 * (rows - 1)
    return 4 * rows - 2 - round(min(max(value / top, 0.0), 1.0) * span)


def resample(spans: Sequence[Span], start: float, end: float, columns: int) -> list[float | None]:
    """The time-weighted mean of the spans in each of `columns` equal parts of start..end; None where there is none."""
    step = (end - start) / columns if columns else 1.0
    weight = [0.0] * columns
    total = [0.0] * columns
    for span in spans:
        if step <= 0 or span.end <= start or span.start >= end:
            continue
        first = max(0, int((span.start - start) / step))
        last = min(columns - 1, int((span.end - start) / step))
        for x in range(first, last + 1):
            shared = min(span.end, start + (x + 1) * step) - max(span.start, start + x * step)
            # A sliver left by rounding at a border must not draw a column of its own.
            if shared > step * 1e-6:
                weight[x] += shared
                total[x] += shared * span.value
    return [t / w if w else None for t, w in zip(total, weight, strict=True)]


def draw_series(canvas: DotCanvas, values: Sequence[float | None], top: float, thick: bool) -> None:
    """Draws one value a dot column, neighbours joined; thick lines grow upwards, so that zero keeps its place."""
    before: int | None = None
    for x, value in enumerate(values):
        if value is None:
            before = None
            continue
        y = dot_of(value, top, canvas.rows)
        canvas.dot(x, y)
        if thick:
            canvas.dot(x, y - 1)
        if before is not None and abs(before - y) > 1:
            canvas.column(x, before, y)
        before = y


class TimeChart(Panel):
    """A chart with its title. Set `data` and the title's values through `show`; `unit` stands in the title."""

    title = "Throughput"
    unit = "Gbit/s"
    help_text = (
        "Goodput as the receiver's traffic generator reports it. The scale starts at zero and only grows within a run. "
        "A dotted line marks an event, its words stand beside it."
    )

    def __init__(self, *, id: str | None = None, compact: bool = False) -> None:
        super().__init__(id=id)
        self.compact = compact
        self.data = ChartData()
        self.right: tuple[Piece, ...] = ()
        self.remark = ""
        self.top = 1.0

    def show(self, data: ChartData, right: Sequence[Piece] = (), remark: str = "", floor: float = 0.0) -> None:
        """`floor` is a value the scale has to reach, e.g. the link's limit."""
        self.data, self.right, self.remark = data, tuple(right), remark
        highest = max((span.value for series in data.series for span in series.spans), default=0.0)
        self.top = max(self.top, nice_top(max(highest, floor)))
        self.update_rows()

    def reset_scale(self) -> None:
        """A new run begins: the scale may start small again."""
        self.top = 1.0

    def paint(self, width: int, height: int) -> Sequence[Line]:
        title = self.titled_rule(self.title, self.remark or self.unit, self.right)
        plot_rows = height - (1 if self.compact else 2)
        if plot_rows < 1 or width <= _GUTTER + 4:
            return [title]
        rows = plot(self.look, self.data, self.top, width, plot_rows)
        if not self.compact:
            rows.append(time_axis(self.look, self.data, width))
        return [title, *rows]


def plot(look: Look, data: ChartData, top: float, width: int, rows: int) -> list[Line]:
    """The rows of a chart without title and time axis, value labels at the left."""
    lines = [Line(width, look.style()) for _ in range(rows)]
    columns = width - _GUTTER
    _draw_grid(look, lines, top, columns)
    mark_columns = _draw_marks(look, lines, data, columns)
    # One canvas for all: where lines share a cell all their dots show, in the ink of the last.
    canvas = DotCanvas(columns, rows)
    for series in data.series:
        own = DotCanvas(columns, rows)
        draw_series(own, resample(series.spans, data.start, data.end, own.width), top, series.thick)
        _put_dots(look, lines, own, canvas, series.ink)
    _write_marks(look, lines, data, mark_columns)
    return lines


def _put_dots(look: Look, lines: list[Line], own: DotCanvas, canvas: DotCanvas, ink: str) -> None:
    style = look.style(ink)
    for row, line in enumerate(lines):
        for column in range(own.columns):
            if own.bits[row][column]:
                canvas.bits[row][column] |= own.bits[row][column]
                line.put(_GUTTER + column, canvas.character(column, row, look.ascii_only), style)


def _draw_grid(look: Look, lines: list[Line], top: float, columns: int) -> None:
    rows, steps = len(lines), grid_steps(len(lines))
    rule, faint = look.style("rule"), look.style("faint")
    dot = "." if look.ascii_only else "⠄"
    for step in range(steps + 1):
        row = step * (rows - 1) // steps if rows > 1 else 0
        value = top * (steps - step) / steps
        lines[row].put_right(_GUTTER - 1, f"{value:g}", faint)
        if step < steps:
            for column in range(0, columns, 2):
                lines[row].put(_GUTTER + column, dot, rule)
        if rows == 1:
            break


def _column_of(time: float, data: ChartData, columns: int) -> int | None:
    if not data.start <= time <= data.end or data.end <= data.start:
        return None
    return min(columns - 1, int((time - data.start) / (data.end - data.start) * columns))


def _draw_marks(look: Look, lines: list[Line], data: ChartData, columns: int) -> list[int | None]:
    found = [_column_of(mark.time, data, columns) for mark in data.marks]
    for column in found:
        if column is not None:
            for line in lines:
                line.put(_GUTTER + column, look.glyph("event"), look.style("faint"))
    return found


def _write_marks(look: Look, lines: list[Line], data: ChartData, columns: Sequence[int | None]) -> None:
    """The words go to the first row from the third on that has room beside the mark, right of it where they fit."""
    for mark, column in zip(data.marks, columns, strict=True):
        if column is None or len(lines) < 3:
            continue
        size = width_of(mark.text)
        left = _GUTTER + column + 2
        if left + size > lines[0].width:
            left = _GUTTER + column - size - 1
        for line in lines[2:-1]:
            around = line.cells[max(0, left - 1) : left + size + 1]
            if left >= _GUTTER and all(cell in " ⠄." for cell in around):
                line.fill(left - 1, left + size + 1, " ", look.style())
                line.put(left, mark.text, look.style("strong"))
                break


def time_axis(look: Look, data: ChartData, width: int) -> Line:
    """Labels under the plot: seconds since the start, or before now; a mark's foot stands between them."""
    line = Line(width, look.style())
    columns, span = width - _GUTTER, data.end - data.start
    if span <= 0 or columns <= 0:
        return line
    step = next((s for s in _TIME_STEPS if columns * s / span >= _LABEL_COLUMNS), _TIME_STEPS[-1])
    faint = look.style("faint")
    offset = data.end if data.rolling else 0.0
    feet = [_column_of(mark.time, data, columns) for mark in data.marks]
    taken = {_GUTTER + at for at in feet if at is not None}
    tick = math.ceil((data.start - offset) / step - 1e-9) * step
    while tick <= data.end - offset + 1e-9:
        position = (tick + offset - data.start) / span
        text = look.words(_time_label(tick, data.rolling))
        column = _GUTTER + round(position * columns) - len(text) // 2
        column = max(_GUTTER, min(column, width - len(text)))
        if taken.isdisjoint(range(column - 1, column + len(text) + 1)):
            line.put(column, text, faint)
        tick += step
    for column in taken:
        line.put(column, look.glyph("foot"), look.style("strong"))
    return line


def _time_label(seconds: float, rolling: bool) -> str:
    if rolling and abs(seconds) < 1e-9:
        return "now"
    size = abs(seconds)
    text = f"{size / 60:g} min" if size >= 120 and size % 30 == 0 else f"{size:g} s"
    return f"−{text}" if seconds < -1e-9 else text
