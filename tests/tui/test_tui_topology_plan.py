"""Where sockets, nodes and cells stand, on machines of many shapes, and where the panels around them do."""

from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.model.host import Cpu, HostFacts, NumaNode, Role
from netbench_tui.tui.screens.topology_layout import Needs, topology_regions
from netbench_tui.tui.widgets.heat_plan import Fold
from netbench_tui.tui.widgets.socket_groups import sections_of, unplaced
from netbench_tui.tui.widgets.socket_plan import SocketPlan, plan_sockets

# The room that sockets have at 80 x 24, 120 x 40, and for one of two hosts at 200 x 60.
ROOMS = [(78, 8), (118, 17), (97, 34)]


def facts_of(cpus: tuple[Cpu, ...], more: tuple[NumaNode, ...] = ()) -> HostFacts:
    held: dict[int, list[int]] = {}
    for cpu in cpus:
        if cpu.node is not None:
            held.setdefault(cpu.node, []).append(cpu.index)
    nodes = [NumaNode(node, tuple(members)) for node, members in sorted(held.items())]
    return HostFacts("h", cpus=cpus, nodes=(*nodes, *more))


def two_of_a_vm() -> HostFacts:
    return facts_of(tuple(Cpu(i, True, None, 0, i, None, 0) for i in range(2)))


def interleaved() -> HostFacts:
    """Even CPUs on node 0 and socket 0, odd ones on node 1 and socket 1, siblings last."""
    return facts_of(tuple(Cpu(i, True, i % 2, i % 2, i % 24 // 2, i % 2, i // 24) for i in range(48)))


def gaps_and_memory_only() -> HostFacts:
    """Nodes 0 and 8 with CPUs, 252..255 with memory alone, eight threads a core."""
    cpus = tuple(Cpu(i, True, 8 * (i // 80), i // 80, i // 8, i // 8 * 8, i % 8) for i in range(160))
    return facts_of(cpus, tuple(NumaNode(index, (), 16 << 20) for index in range(252, 256)))


def a_socket_a_core(nodes: int | None) -> HostFacts:
    """24 virtual CPUs, each its own socket, on one node or on as many as `nodes`; on none where it is None."""
    return facts_of(tuple(Cpu(i, True, None if nodes is None else i % nodes, i, 0, None, 0) for i in range(24)))


def hybrid() -> HostFacts:
    """Eight cores of two threads, then eight of one: siblings stand below their own cores."""
    fast = [Cpu(2 * core + thread, True, 0, 0, core, 0, thread) for core in range(8) for thread in range(2)]
    return facts_of((*fast, *(Cpu(16 + i, True, 0, 0, 8 + i, 0, 0) for i in range(8))))


def shapes(fake: Any) -> dict[str, HostFacts]:
    return {
        "vm": two_of_a_vm(),
        "one socket": facts_of(fake.make_cpus(1, 1, 6, 2)),
        "interleaved": interleaved(),
        "gaps": gaps_and_memory_only(),
        "sockets on a node": a_socket_a_core(1),
        "sockets without nodes": a_socket_a_core(None),
        "sockets on nodes": a_socket_a_core(24),
        "hybrid": hybrid(),
        "2 x 48": facts_of(fake.make_cpus(8, 3, 4, 2, sockets=2)),
        "2 x 128": facts_of(fake.make_cpus(8, 2, 8, 2, sockets=2)),
        "one cache of 96": facts_of(fake.make_cpus(1, 1, 96, 2)),
        "512 of 16": facts_of(fake.make_cpus(16, 2, 8, 2, sockets=2)),
        "512 of 2": facts_of(fake.make_cpus(2, 16, 8, 2)),
        "1024 of 8": facts_of(fake.make_cpus(8, 8, 8, 2, sockets=8)),
    }


SHAPES = (
    "vm", "one socket", "interleaved", "gaps", "sockets on a node", "sockets without nodes", "sockets on nodes",
    "hybrid", "2 x 48", "2 x 128", "one cache of 96", "512 of 16", "512 of 2", "1024 of 8",
)  # fmt: skip


def drawn(plan: SocketPlan) -> list[tuple[int, int]]:
    """Every place that is taken: rules over the whole row, labels, memory rows, cells."""
    places = [(rule.row, column) for rule in plan.rules for column in range(max(1, plan.columns))]
    for box in plan.boxes:
        rows = {box.row, *([box.memory_row] if box.memory_row is not None else [])}
        places += [(row, box.column + i) for row in rows for i in range(box.width)]
    return places + [(cell.row, cell.column + i) for cell in plan.cells for i in range(cell.width)]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("room", ROOMS)
def test_everything_stands_once_and_fits(fake: Any, name: str, room: tuple[int, int]) -> None:
    facts = shapes(fake)[name]
    plan = plan_sockets(facts, *room)
    assert plan.columns <= room[0]
    assert plan.rows <= room[1]
    places = drawn(plan)
    assert len(places) == len(set(places)), "nothing stands on another thing"
    assert all(row < plan.rows for row, _ in places)
    shown = sorted(cpu for cell in plan.cells for cpu in cell.cpus)
    assert len(shown) == len(set(shown))
    opened = [rule.section for rule in plan.rules if rule.open]
    assert shown == sorted(cpu for section in opened for cpu in section.cpus)
    assert {cpu.index for cpu in facts.cpus} == {cpu for rule in plan.rules for cpu in rule.section.cpus}
    assert {box.node.index for box in plan.boxes} <= {None, *(node.index for node in facts.nodes)}


@pytest.mark.parametrize("name", SHAPES)
def test_every_node_can_be_brought_to_sight(fake: Any, name: str) -> None:
    """Also where one section is open at a time."""
    facts = shapes(fake)[name]
    for node in plan_sockets(facts, *ROOMS[0]).nodes:
        plan = plan_sockets(facts, *ROOMS[0], node.key)
        assert node.key in [box.node.key for box in plan.boxes]
        inside = [cell.cpus for cell in plan.cells]
        assert set(node.cpus) <= {cpu for cpus in inside for cpu in cpus}


def test_picture_of_the_look(fake: Any) -> None:
    """2 sockets of 4 nodes of 3 caches of 4 cores at 120 columns: four nodes in a row, cells of two columns."""
    plan = plan_sockets(shapes(fake)["2 x 48"], 118, 17)
    assert (plan.fold, [rule.row for rule in plan.rules]) == (Fold.CPU, [0, 8])
    assert {cell.width for cell in plan.cells} == {2}
    assert [box.column for box in plan.boxes[:4]] == [0, 29, 58, 87]
    assert [(head.cpu, head.column) for head in plan.heads[:4]] == [(0, 0), (4, 9), (8, 18), (12, 29)]
    first = next(cell for cell in plan.cells if cell.cpus == (5,))
    sibling = next(cell for cell in plan.cells if cell.cpus == (101,))
    assert (sibling.row, sibling.column) == (first.row + 1, first.column)
    assert all(box.memory_row == box.row + 4 for box in plan.boxes)


def test_cells_become_coarser_only_when_they_must(fake: Any) -> None:
    many = shapes(fake)
    assert plan_sockets(many["2 x 128"], *ROOMS[0]).fold is Fold.CPU
    assert plan_sockets(many["512 of 16"], *ROOMS[2]).fold is Fold.CPU
    assert plan_sockets(many["512 of 16"], 60, 6).fold is Fold.CACHE
    assert plan_sockets(many["512 of 2"], 60, 6).fold is Fold.CORE
    tiny = plan_sockets(many["1024 of 8"], 20, 2)
    assert tiny.fold is Fold.NODE, "degraded, never refused"


def test_small_screen_opens_the_chosen_socket(fake: Any) -> None:
    facts = shapes(fake)["512 of 16"]
    for node, opened in ((5, [True, False]), (12, [False, True])):
        plan = plan_sockets(facts, *ROOMS[0], (node, ()))
        assert [rule.open for rule in plan.rules] == opened
    assert len(plan.nodes) == 16


def test_sockets_that_share_a_node_are_one_section(fake: Any) -> None:
    one = sections_of(a_socket_a_core(1))
    assert [(len(s.sockets), len(s.nodes), s.cores) for s in one] == [(24, 1, 24)]
    none = sections_of(a_socket_a_core(None))
    assert [(len(s.sockets), [node.name for node in s.nodes], s.cores) for s in none] == [(24, ["cpus"], 24)]
    assert len(sections_of(a_socket_a_core(24))) == 24
    merged = plan_sockets(a_socket_a_core(24), 118, 17)
    assert (len(merged.rules), len(merged.boxes)) == (1, 24)
    assert [s.sockets for s in sections_of(interleaved())] == [(0,), (1,)]
    assert sections_of(interleaved())[1].nodes[0].cpus == tuple(range(1, 48, 2))


def test_siblings_stand_below_their_own_core() -> None:
    plan = plan_sockets(hybrid(), 78, 8)
    at = {cell.cpus[0]: (cell.row, cell.column) for cell in plan.cells}
    assert all(at[2 * core + 1] == (at[2 * core][0] + 1, at[2 * core][1]) for core in range(8))
    assert {at[16 + i][0] for i in range(8)} == {at[0][0]}


def test_memory_only_nodes_have_boxes_and_no_cells() -> None:
    plan = plan_sockets(gaps_and_memory_only(), 118, 34)
    last = plan.rules[-1].section
    assert (last.sockets, [node.index for node in last.nodes]) == ((), [252, 253, 254, 255])
    assert [box.node.cpus for box in plan.boxes if box.node.index == 252] == [()]
    closed = plan_sockets(gaps_and_memory_only(), 118, 17)
    assert [rule.open for rule in closed.rules] == [True, False, False], "eight threads a core: one at a time"


def test_offline_cpus_without_a_place_are_told_apart() -> None:
    facts = facts_of((Cpu(0, True, 0, 0, 0), Cpu(1, False), Cpu(2, False, 0, 0, 2)))
    assert unplaced(facts) == (1,)
    assert sections_of(facts)[0].cpus == (0, 2), "one that says its place keeps it"


def test_a_host_of_nothing_has_a_plan() -> None:
    plan = plan_sockets(HostFacts("h"), 78, 8)
    assert (plan.cells, plan.boxes, plan.rules) == ((), (), ())


def test_order_of_cpus_does_not_matter(fake: Any) -> None:
    facts = shapes(fake)["2 x 48"]
    turned = replace(facts, cpus=tuple(reversed(facts.cpus)))
    assert plan_sockets(turned, *ROOMS[1]).cells == plan_sockets(facts, *ROOMS[1]).cells


@pytest.mark.parametrize("size", [(200, 57), (120, 37), (100, 30), (80, 21), (60, 13), (40, 7), (20, 2)])
@pytest.mark.parametrize("matrix", [(0, 0), (30, 6), (39, 12), (71, 20)])
@pytest.mark.parametrize("wanted", [3, 17, 60])
def test_panels_never_overlap_or_leave_the_screen(size: tuple[int, int], matrix: tuple[int, int], wanted: int) -> None:
    width, height = size
    roles = list(Role) if width >= 170 else [Role.RECEIVER]
    needs = [Needs(role, lambda _, limit: min(wanted, limit), matrix) for role in roles]
    regions = topology_regions(width, height, needs)
    assert all(f"sockets-{role}" in regions for role in roles)
    for name, region in regions.items():
        assert region.x >= 0
        assert region.right <= width
        assert region.y >= 0
        assert region.bottom <= height
        assert region.width > 0
        assert region.height > 0
        for other, theirs in regions.items():
            assert name == other or not region.overlaps(theirs), (name, other)


def test_both_hosts_stand_at_the_same_rows() -> None:
    needs = [Needs(Role.SENDER, lambda _, __: 10), Needs(Role.RECEIVER, lambda _, __: 25)]
    regions = topology_regions(200, 57, needs)
    for name in ("sockets", "placement", "node"):
        left, right = regions[f"{name}-sender"], regions[f"{name}-receiver"]
        assert (left.y, left.height, left.width) == (right.y, right.height, right.width)
