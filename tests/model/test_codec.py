"""Plain values to dataclasses: what does not fit is a ValueError that names its place."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.model.codec import from_plain, to_plain
from netbench_tui.model.cpulist import CpuSet, format_cpu_list


class Colour(enum.StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Leaf:
    name: str
    size: int = 0
    weight: float | None = None
    cpus: CpuSet = ()
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, str] = (0, "")
    by_number: Mapping[int, Leaf] = field(default_factory=dict)
    anything: Any = None


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (5, "tree: expected an object, got int"),
        ({"leaves": 5}, "tree.leaves: expected a list, got int"),
        ({"leaves": [{"name": "a"}, {}]}, "tree.leaves[1]: name is missing"),
        ({"leaves": [{"name": 5}]}, "tree.leaves[0].name: expected str, got int"),
        ({"leaves": [{"name": "a", "size": True}]}, "tree.leaves[0].size: expected int, got bool"),
        ({"leaves": [{"name": "a", "weight": "1"}]}, "tree.leaves[0].weight: expected float, got str"),
        ({"leaves": [{"name": "a", "colour": "blue"}]}, "tree.leaves[0].colour: 'blue' is not a valid Colour"),
        ({"leaves": [{"name": "a", "cpus": [0, "1"]}]}, "tree.leaves[0].cpus[1]: expected int, got str"),
        ({"leaves": [{"name": "a", "cpus": "x"}]}, "tree.leaves[0].cpus: 'x' is not a CPU list such as 0-3,8"),
        ({"pair": [1]}, "tree.pair: expected 2 items, got 1"),
        ({"pair": [1, 2]}, "tree.pair[1]: expected str, got int"),
        ({"by_number": {"x": {"name": "a"}}}, "tree.by_number: bad key 'x'"),
        ({"by_number": {"7": {"name": None}}}, "tree.by_number.7.name: expected str, got NoneType"),
    ],
)
def test_what_does_not_fit_is_named(data: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_plain(Tree, data, "tree")
    assert str(caught.value) == sentence


def test_there_and_back() -> None:
    leaf = Leaf("a", 3, 1.5, (0, 1, 2, 8))
    tree = Tree((leaf, Leaf("b")), (1, "x"), {7: leaf}, [1, {"deep": None}])
    assert from_plain(Tree, to_plain(tree)) == tree
    assert from_plain(Tree, {"leaves": [{"name": "a", "weight": 2, "unknown": 5}]}).leaves[0].weight == 2.0


@given(st.sets(st.integers(0, 600)))
def test_a_cpu_set_reads_the_same_from_text_and_from_numbers(cpus: set[int]) -> None:
    numbers = from_plain(Leaf, {"name": "a", "cpus": sorted(cpus)})
    assert from_plain(Leaf, {"name": "a", "cpus": format_cpu_list(cpus)}) == numbers
    assert numbers.cpus == tuple(sorted(cpus))
