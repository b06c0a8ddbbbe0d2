"""Ticks of the agent as samples: what is right is kept whole, what is wrong is a ValueError and nothing else."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netbench_tui.hosts.samples import read_tick
from netbench_tui.model.host import Clock
from netbench_tui.model.sample import CpuTicks, NicCounts, QueueCounts, SampleKind, SoftnetCounts

CLOCK = Clock(offset=100.0, error=0.001, round_trip=0.002)
BASE: dict[str, Any] = {"ev": "tick", "t": 105.0, "dt": 0.1, "kind": "period", "seq": 1}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def test_everything_in_its_place() -> None:
    sample = read_tick(
        BASE
        | {
            "cpu": [[2, 1, 0, 3, 4, -1, 0, 2, 0, 0]],
            "idle": [0, 10, 7, 9],
            "nic": {"nic0": [1, 2, 3, 4, 5, 6, 7, 8]},
            "softnet": [[2, 40, 1, 2], [3, 1, 0, 0, 7, 5]],
            "irq": [[24, 0, 10, 3, 2], [31]],
            "queue": {"rx-0": [5, 7000], "tx-1": [1, 60]},
            "stat": {"rx_drops": 4},
            "proto": {"Tcp.RetransSegs": 3},
            "skipped": 4,
        },
        CLOCK,
    )
    assert (sample.time, sample.span, sample.kind, sample.skipped) == (5.0, 0.1, SampleKind.PERIODIC, 4)
    assert sample.cpus == {2: CpuTicks(1, 0, 3, 4, -1, 0, 2), 0: CpuTicks(idle=10), 7: CpuTicks(idle=9)}
    assert sample.nics == {"nic0": NicCounts(1, 2, 3, 4, 5, 6, 7, 8)}
    assert sample.softnet == {2: SoftnetCounts(40, 1, 2), 3: SoftnetCounts(1, 0, 0, 7, 5)}
    assert sample.irqs == {24: {0: 10, 3: 2}, 31: {}}
    assert sample.queues == {"rx-0": QueueCounts(5, 7000), "tx-1": QueueCounts(1, 60)}
    assert sample.statistics == {"rx_drops": 4}
    assert sample.protocols == {"Tcp.RetransSegs": 3}


def test_cpu_rows_of_old_kernels_are_short() -> None:
    assert read_tick(BASE | {"cpu": [[0, 1, 2, 3, 4, 5, 6, 7]]}, CLOCK).cpus[0] == CpuTicks(1, 2, 3, 4, 5, 6, 7)


def test_a_counter_that_went_backwards_is_left_out() -> None:
    sample = read_tick(BASE | {"nic": {"a": [-5, 0, 0, 0, 0, 0, 0, 0]}, "proto": {"x": -1, "y": 1}}, CLOCK)
    assert sample.nics == {}
    assert sample.protocols == {"y": 1}
    anew = read_tick(BASE | {"queue": {"rx-0": [-1, 5]}, "irq": [[24, 0, -3, 1, 2]], "stat": {"x": -1}}, CLOCK)
    assert (anew.queues, anew.irqs, anew.statistics) == ({}, {24: {1: 2}}, {})


@pytest.mark.parametrize(
    "wrong",
    [
        {"t": None},
        {"t": "5"},
        {"dt": float("nan")},
        {"t": float("inf")},
        {"kind": "odd"},
        {"kind": []},
        {"cpu": 5},
        {"cpu": [[]]},
        {"cpu": [["0", 1]]},
        {"cpu": [[0, 1.5]]},
        {"cpu": [[0] * 11]},
        {"idle": [0]},
        {"idle": [0, "10"]},
        {"nic": [1]},
        {"nic": {"a": [1] * 9}},
        {"nic": {"a": None}},
        {"softnet": [[0, 1, 2, 3, 4, 5, 6]]},
        {"irq": [[24, 0]]},
        {"irq": [["24", 0, 1]]},
        {"queue": {"rx-0": [1, 2, 3]}},
        {"queue": {"rx-0": []}},
        {"queue": [1]},
        {"stat": {"x": "1"}},
        {"proto": {"x": "1"}},
        {"skipped": "many"},
        {"skipped": float("inf")},
    ],
)
def test_what_is_wrong_is_a_value_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read_tick(BASE | wrong, CLOCK)


@settings(deadline=None)  # other work on the machine is no failure
@given(st.fixed_dictionaries({}, optional=dict.fromkeys((*BASE, "cpu", "idle", "nic", "softnet", "proto"), JSON)))
def test_no_tick_is_anything_but_a_sample_or_a_value_error(fields: dict[str, Any]) -> None:
    try:
        sample = read_tick(BASE | fields, CLOCK)
    except ValueError:
        return
    assert all(isinstance(value, int) for ticks in sample.cpus.values() for value in ticks)
