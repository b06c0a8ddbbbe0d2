"""Indirection tables as text: what the agent writes is what the workbench writes, and both read it back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.agent.settings import rss as on_the_host
from netbench_tui.model.rss import parse_runs, table_text


@given(st.lists(st.integers(0, 6), min_size=1, max_size=128))
def test_both_sides_write_the_same_and_it_reads_back(table):
    text = table_text(table)
    assert text == on_the_host.table_text(table)
    assert on_the_host.parse_table(text, len(table)) == table
    if not text.startswith("equal"):
        assert parse_runs(text) == table


@pytest.mark.parametrize("text", ["", "equal 4", "0*", "a", "1*99999999", "0,,1", "-1"])
def test_what_is_no_run_is_refused(text):
    with pytest.raises(ValueError, match="no table"):
        parse_runs(text)
