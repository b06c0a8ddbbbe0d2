"""Where heat cells stand, and how hosts with many CPUs fold."""

from typing import Any

import pytest

from netbench_tui.model.host import Cpu, HostFacts
from netbench_tui.tui.widgets.heat_plan import Fold, HeatPlan, plan_heat


def cpus_of(plan: HeatPlan) -> list[int]:
    return sorted(cpu for cell in plan.cells for cpu in cell.cpus)


def no_overlap(plan: HeatPlan) -> bool:
    taken = [(cell.row, cell.column + i) for cell in plan.cells for i in range(cell.width)]
    return len(taken) == len(set(taken))


def test_picture_of_the_look(fake: Any) -> None:
    """96 CPUs: 2 nodes of 3 caches of 8 cores of 2 threads fill 50 columns with two-column cells."""
    plan = plan_heat(HostFacts("h", cpus=fake.make_cpus(2, 3, 8, 2)), 50, 5)
    assert (plan.fold, plan.columns, plan.rows) == (Fold.CPU, 50, 5)
    assert {cell.width for cell in plan.cells} == {2}
    assert [block.row for block in plan.blocks] == [0, 3]
    first = next(cell for cell in plan.cells if cell.cpus == (0,))
    sibling = next(cell for cell in plan.cells if cell.cpus == (48,))
    assert (first.row, first.column) == (0, 0)
    assert (sibling.row, sibling.column) == (1, 0), "a core's second thread stands below its first"
    assert next(cell for cell in plan.cells if cell.cpus == (8,)).column == 17, "a blank column between caches"


@pytest.mark.parametrize("size", [(50, 5), (50, 12), (74, 8), (30, 4)])
def test_256_cpus_fold_and_lose_none(fake: Any, size: tuple[int, int]) -> None:
    plan = plan_heat(HostFacts("h", cpus=fake.make_cpus(2, 16, 4, 2)), *size)
    assert plan.fold is not Fold.CPU
    assert plan.columns <= size[0]
    assert plan.rows <= size[1]
    assert cpus_of(plan) == list(range(256))
    assert no_overlap(plan)


def test_256_cpus_in_a_small_terminal_are_one_row_a_node(fake: Any) -> None:
    plan = plan_heat(HostFacts("h", cpus=fake.make_cpus(2, 16, 4, 2)), 53, 2, compact=True)
    assert plan.fold is Fold.CACHE
    assert (plan.rows, len(plan.cells)) == (2, 32)


def test_one_node_without_caches_wraps(fake: Any) -> None:
    cpus = tuple(Cpu(index) for index in range(100))
    plan = plan_heat(HostFacts("h", cpus=cpus), 50, 4)
    assert (plan.fold, plan.columns <= 50, cpus_of(plan)) == (Fold.CPU, True, list(range(100)))
    assert no_overlap(plan)


def test_offline_cpus_have_no_cell_and_nothing_fits_nowhere() -> None:
    cpus = (Cpu(0, node=0), Cpu(1, online=False, node=0), Cpu(2, node=1))
    assert cpus_of(plan_heat(HostFacts("h", cpus=cpus), 50, 5)) == [0, 2]
    assert plan_heat(HostFacts("h", cpus=cpus), 0, 0).fold is Fold.NODE
    assert plan_heat(HostFacts("h"), 50, 5).cells == ()
