"""The chart: exact dots, scale, resampling, marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.tui.look import Look
from netbench_tui.tui.series import ChartData, Mark, Series, Span
from netbench_tui.tui.widgets.braille import DotCanvas
from netbench_tui.tui.widgets.chart import dot_of, draw_series, grid_steps, nice_top, plot, resample, time_axis


def dots(canvas: DotCanvas) -> set[tuple[int, int]]:
    return {(x, y) for x in range(canvas.width) for y in range(canvas.height) if canvas.has(x, y)}


def test_a_dot_is_the_right_bit_of_the_right_cell() -> None:
    canvas = DotCanvas(2, 2)
    canvas.dot(0, 0)
    canvas.dot(3, 7)
    canvas.dot(4, 0)
    canvas.dot(-1, 0)
    assert [canvas.character(c, r) for r in (0, 1) for c in (0, 1)] == ["\u2801", " ", " ", "\u2880"]


def test_thick_line_is_two_dots_high_and_joined() -> None:
    canvas = DotCanvas(2, 5)
    draw_series(canvas, [0.0, 0.0, 100.0, None], 100.0, thick=True)
    zero, full = dot_of(0, 100, 5), dot_of(100, 100, 5)
    assert (zero, full) == (18, 2)
    flat = {(0, 18), (0, 17), (1, 18), (1, 17)}
    assert dots(canvas) == flat | {(2, y) for y in range(1, 19)}


def test_thin_line_is_one_dot_and_a_gap_stays_a_gap() -> None:
    canvas = DotCanvas(3, 5)
    draw_series(canvas, [50.0, 50.0, None, 50.0, 50.0, 50.0], 100.0, thick=False)
    assert dots(canvas) == {(x, 10) for x in (0, 1, 3, 4, 5)}


def test_grid_lines_and_labels_meet_the_values() -> None:
    lines = plot(Look(), ChartData((Series((Span(0, 1, 50.0),), thick=False),), 0, 1), 100.0, 45, 13)
    labels = [line.text[:4].strip() for line in lines]
    assert [labels[row] for row in (0, 3, 6, 9, 12)] == ["100", "75", "50", "25", "0"]
    assert set(lines[6].text[5:]) == {"\u2824"}, "the value 50 lies on the row labelled 50"


@pytest.mark.parametrize(("rows", "steps"), [(13, 4), (7, 2), (9, 4), (4, 1), (2, 1), (1, 1)])
def test_grid_divides_whole_rows(rows: int, steps: int) -> None:
    assert grid_steps(rows) == steps


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_nice_top_reaches_the_value_and_is_not_far_above(value: float) -> None:
    top = nice_top(value)
    assert value <= top * (1 + 1e-6)
    assert top <= 2.01 * value


def test_nice_top_of_nothing() -> None:
    assert nice_top(0) == nice_top(float("nan")) == 1.0


def test_resample_weighs_by_time() -> None:
    spans = [Span(0.0, 0.75, 10.0), Span(0.75, 1.0, 50.0), Span(1.5, 2.0, 8.0)]
    assert resample(spans, 0.0, 3.0, 3) == [20.0, 8.0, None]


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=40), st.integers(1, 200))
def test_resample_never_leaves_the_range_of_the_data(values: list[float], columns: int) -> None:
    spans = [Span(i / 10, (i + 1) / 10, value) for i, value in enumerate(values)]
    seen = [value for value in resample(spans, 0.0, len(values) / 10, columns) if value is not None]
    assert seen
    assert min(values) - 1e-6 <= min(seen) <= max(seen) <= max(values) + 1e-6


def test_event_has_a_line_words_and_a_foot() -> None:
    data = ChartData((Series((Span(0, 10, 90.0),)),), 0, 10, marks=(Mark(5.0, "tso off"),))
    lines = plot(Look(), data, 100.0, 85, 13)
    column = 5 + 40
    assert lines[8].text[column] == "┊"
    assert any(line.text[column + 2 :].startswith("tso off") for line in lines)
    axis = time_axis(Look(), data, 85)
    assert axis.text[column] == "▴"


def test_time_axis_since_start_and_before_now() -> None:
    assert time_axis(Look(), ChartData(end=5.0), 115).text.split() == [word for n in range(6) for word in (str(n), "s")]
    rolling = time_axis(Look(), ChartData(start=30.0, end=90.0, rolling=True), 115).text
    assert rolling.split()[:2] == ["−60", "s"]
    assert rolling.rstrip().endswith("now")


def test_ascii_chart_is_ascii() -> None:
    data = ChartData((Series((Span(0, 10, 90.0),)),), 0, 10, marks=(Mark(5.0, "tso off"),))
    look = Look(ascii_only=True)
    for line in [*plot(look, data, 100.0, 60, 7), time_axis(look, data, 60)]:
        assert line.text.isascii()
