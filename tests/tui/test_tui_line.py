"""Rows: data is never markup, wide signs take two cells, few segments."""

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from netbench_tui.tui.widgets.line import Line, cut, width_of

A = Style(color="#ffffff", bgcolor="#000000")
B = Style(color="#ff0000", bgcolor="#000000")
C = Style(color="#ffffff", bgcolor="#333333")


@given(st.text(max_size=30), st.integers(-5, 25))
def test_a_line_always_has_its_width(text: str, column: int) -> None:
    line = Line(20, A)
    line.put(column, text, B)
    strip = line.strip()
    assert width_of(strip.text) == strip.cell_length == 20
    assert strip.text.isprintable()


def test_brackets_are_text() -> None:
    line = Line(20, A)
    line.put(0, "[red]x[/red]", B)
    assert line.strip().text.startswith("[red]x[/red]")


def test_control_characters_do_not_reach_the_terminal() -> None:
    line = Line(20, A)
    line.put(0, "a\x1b[31mb\u202ec", A)
    assert line.strip().text.startswith("a?[31mb?c")


def test_blanks_join_the_run_before_them_but_not_across_papers() -> None:
    line = Line(12, A)
    line.put(0, "ab", B)
    line.put(4, "cd", B)
    assert [segment.text for segment in line.strip()] == ["ab  cd      "]
    line.put(8, "  ", C)
    assert [segment.text for segment in line.strip()] == ["ab  cd  ", "  ", "  "]


@given(st.text(max_size=30), st.integers(0, 12))
def test_cut_never_exceeds(text: str, width: int) -> None:
    assert width_of(cut(text, width)) <= max(width, 0)
    if width_of(text) <= width:
        assert cut(text, width) == text
