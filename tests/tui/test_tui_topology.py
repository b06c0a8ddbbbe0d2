"""The Topology area against the paper engine: what it shows of a host, and what its keys do."""

import importlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.model.host import Cpu, HostFacts, NumaNode, Role
from netbench_tui.model.run import TrafficTest
from netbench_tui.model.sample import CpuTicks, HostSample
from netbench_tui.model.setting import Irq, Pcie, Queue, QueueMap
from netbench_tui.tui.app import WorkbenchApp
from netbench_tui.tui.screens.topology import TopologyArea
from netbench_tui.tui.screens.topology_texts import is_slow, pcie_words
from netbench_tui.tui.widgets.distances import DistancesPanel
from netbench_tui.tui.widgets.node_card import NodePanel
from netbench_tui.tui.widgets.placed import distance
from netbench_tui.tui.widgets.sockets import SocketsPanel
from netbench_tui.tui.widgets.threads import ThreadList

SIZES = [(80, 24), (120, 40), (200, 60)]


def shows(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in fake.screen_text(pilot.app) for word in words)


def engine_of(fake: Any, facts: HostFacts | None = None, node: int | None = 1, name: str = "ens2f0np0") -> Any:
    """A paper engine whose hosts are both like `facts`, their NIC on `node`."""
    engine = fake.FakeEngine()
    for role in Role:
        own = facts or fake.make_facts(engine.views[role].name, fake.make_cpus(8, 3, 4, 2, sockets=2))
        nic = replace(own.nics[0] if own.nics else fake.make_facts("x").nics[0], node=node, name=name)
        own = replace(own, name=engine.views[role].name, nics=(nic,))
        engine.views[role] = fake.make_view(role, own, data_nic=name)
    return engine


async def opened(fake: Any, pilot: Any) -> TopologyArea:
    app = pilot.app
    await fake.until(pilot, shows(fake, pilot, "The path between them", "? help"))
    await pilot.press("4")
    await fake.until(pilot, lambda: len(app.query(TopologyArea)) == 1 and len(app.bench.queues) == 2)
    await fake.until(pilot, shows(fake, pilot, "Placement"))
    area: TopologyArea = app.query_one(TopologyArea)
    return area


def busy(view: Any, loads: dict[int, int], soft: float = 0.8) -> HostSample:
    """A second in which these CPUs were busy by so many per cent."""
    ticks = {}
    for cpu in view.facts.cpus:
        spent = loads.get(cpu.index, 0)
        softirq = round(spent * soft)
        ticks[cpu.index] = CpuTicks(system=spent - softirq, softirq=softirq, idle=100 - spent)
    return HostSample(100.0, 1.0, cpus=ticks)


def panel_text(panel: Any) -> str:
    return "\n".join(strip.text for strip in panel._strips)


@pytest.mark.parametrize("size", SIZES)
async def test_one_host_or_both_with_all_their_parts(fake: Any, size: tuple[int, int]) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=size) as pilot:
        area = await opened(fake, pilot)
        words = ("socket 0", "socket 1", "48 cores, 96 threads, 4 nodes", "node 7", "16 receive IRQs", "0000:41:00.0")
        await fake.until(pilot, shows(fake, pilot, *words, "PCIe 4.0 x8 of x16", "one cell is one thread", "▪ ens2"))
        both = size[0] == 200
        assert [panel.display for panel in area.query(SocketsPanel)] == [True, both]
        assert ("o ▼ beta" in fake.screen_text(app)) is not both
        await pilot.press("o")
        await fake.until(pilot, lambda: app.focused is area.query_one("#sockets-receiver"))
        assert [panel.display for panel in area.query(SocketsPanel)] == [both, True]
        assert fake.screen_text(app).splitlines()[-1].startswith(" ▼ beta")


async def test_heat_numbers_and_marks(fake: Any) -> None:
    """A hot CPU shows its number, others the IRQs that land on them; the remark says who is idle."""
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        engine.deliver(events.SampleTaken(Role.SENDER, busy(engine.views[Role.SENDER], {27: 97, 25: 40, 120: 12})))
        words = "cpu 27 is 97 % busy, 78 of it softirq; node 2 has 21 idle threads"
        await fake.until(pilot, shows(fake, pilot, words, "i  spread IRQs on node 2"))
        plan = area.query_one("#sockets-sender", SocketsPanel).plan
        assert plan is not None
        lines = panel_text(area.query_one("#sockets-sender")).splitlines()
        at = {cell.cpus[0]: (cell.row, cell.column + 1) for cell in plan.cells}

        def cell(cpu: int) -> str:
            row, column = at[cpu]
            return lines[row][column : column + 2]

        assert (cell(27), cell(25), cell(24)) == ("97", "▾ ", "▾ ")
        assert cell(0) == "  "
        node = panel_text(area.query_one("#node-sender"))
        assert "L3         cpu 24-27,120-123" in node
        assert "19 %" in node, "(97 + 40 + 12) / 8"


async def test_nothing_moves_when_values_do(fake: Any) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        panel = area.query_one("#sockets-sender", SocketsPanel)
        before, regions = panel.plan, area.regions(*area.size)
        engine.deliver(events.SampleTaken(Role.SENDER, busy(engine.views[Role.SENDER], dict.fromkeys(range(192), 100))))
        moved = app.bench.queues[Role.SENDER]
        irqs = tuple(replace(irq, effective=(60,)) for irq in moved.irqs)
        engine.deliver(events.QueuesRead(Role.SENDER, replace(moved, irqs=irqs)))
        await fake.until(pilot, shows(fake, pilot, "16 of 16 IRQs land on node 5, the NIC sits on node 2"))
        assert panel.plan == before
        assert area.regions(*area.size) == regions


async def test_arrows_choose_and_enter_opens_threads(fake: Any) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        panel, card = area.query_one("#sockets-sender", SocketsPanel), area.query_one("#node-sender", NodePanel)
        await fake.until(pilot, lambda: app.focused is panel)

        def chosen() -> int | None:
            assert panel.chosen is card.node
            return panel.chosen.index if panel.chosen else None

        assert chosen() == 2, "at first the NIC's"
        for key, node in (("right", 3), ("down", 7), ("left", 6), ("up", 2), ("h", 1), ("j", 5), ("l", 6), ("k", 2)):
            await pilot.press(key)
            await fake.until(pilot, lambda node=node: chosen() == node)
        await fake.until(pilot, shows(fake, pilot, "Node 2  chosen, distance 10 to the NIC"))
        await pilot.press("enter")
        await fake.until(
            pilot, shows(fake, pilot, "Node 2  threads", "sibling", "rx-0 tx-0 (140)", "▾ rx-12 tx-12 (152)")
        )
        rows = area.query_one(ThreadList).items
        assert [row.cpu.index for row in rows[:4]] == [24, 120, 25, 121]
        assert rows[0].siblings == (120,)
        await pilot.press("right")
        await fake.until(pilot, shows(fake, pilot, "Node 3  threads"))
        assert "enter" not in fake.screen_text(app).splitlines()[-1]
        await pilot.press("escape")
        await fake.until(pilot, lambda: app.focused is panel and panel.display)


async def test_mouse_chooses_a_node(fake: Any) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        panel = area.query_one("#sockets-sender", SocketsPanel)
        assert panel.plan is not None
        box = next(box for box in panel.plan.boxes if box.node.index == 5)
        await pilot.click("#sockets-sender", offset=(box.column + 3, box.row + 1))
        await fake.until(pilot, shows(fake, pilot, "Node 5  chosen, distance 32 to the NIC"))


async def test_spreading_stages_and_writes_nothing(fake: Any) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(fake, pilot)
        await fake.until(pilot, lambda: len(app.bench.settings) == 2)
        await pilot.press("right", "i")
        await fake.until(pilot, lambda: len(app.bench.staged) >= 15)
        staged = {change.key: change for change in app.bench.staged if change.key.endswith("irq_affinity")}
        assert all(change.role is Role.SENDER and change.scope == "ens2f0np0" for change in staged.values())
        assert staged["queue.rx-0.irq_affinity"].value == "36"
        assert staged["queue.rx-12.irq_affinity"].value == "132", "second threads after all cores"
        assert not [call for call in engine.calls if call[0] == "apply"]


async def test_traffic_processes_are_marked_during_a_run(fake: Any) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        assert "no run in progress" in fake.screen_text(app)
        assert "•" not in "".join(line for line in panel_text(area.query_one("#sockets-sender")).splitlines()[:-1])
        test = TrafficTest(streams=4, sender_cpus=(36, 37, 38, 39))
        engine.deliver(events.RunStarted(7, "pinned", test, "iperf3", 100.0))
        engine.deliver(events.SampleTaken(Role.SENDER, busy(engine.views[Role.SENDER], {})))
        await fake.until(pilot, shows(fake, pilot, "• • • •", "cpu 36-39"))
        row = next(line for line in panel_text(area.query_one("#placement-sender")).splitlines() if "traffic" in line)
        assert row.split()[-2:] == ["3", "12"]


async def test_a_virtual_machine_says_little_and_shows_it(fake: Any) -> None:
    """No nodes, no caches, a NIC on no known node whose name looks like markup."""
    facts = HostFacts("vm", cpus=tuple(Cpu(i, True, None, 0, i) for i in range(2)))
    engine = engine_of(fake, facts, None, "[red]x")
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(fake, pilot)
        await fake.until(pilot, shows(fake, pilot, "socket 0  2 cores, no NUMA information", "▪ [red]x", "unknown"))
        assert "node to node" not in fake.screen_text(app)
        assert "memory" not in fake.screen_text(app)


async def test_special_cpus_have_shapes_and_words(fake: Any) -> None:
    cpus = [
        replace(cpu, isolated=cpu.index in (8, 9), nohz_full=cpu.index in (9, 10), online=cpu.index != 15)
        for cpu in fake.make_cpus(4, 1, 8, 1, sockets=2)
    ]
    facts = fake.make_facts("alpha", (*cpus, Cpu(32, False), Cpu(33, False)))
    memory = NumaNode(9, (), 64 << 20, (), 48 << 20)
    nodes = tuple(replace(node, memory_free_kib=(node.memory_kib or 0) // 2) for node in facts.nodes)
    engine = engine_of(fake, replace(facts, nodes=(*nodes, memory)), 0)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        loads = {cpu.index: 0 for cpu in facts.cpus if cpu.online}
        sample = busy(engine.views[Role.SENDER], {})
        sample = replace(sample, cpus={cpu: ticks for cpu, ticks in sample.cpus.items() if cpu in loads})
        engine.deliver(events.SampleTaken(Role.SENDER, sample))
        await pilot.press("right")
        await fake.until(pilot, shows(fake, pilot, "isolated   cpu 8-9", "nohz_full  cpu 9-10", "offline    cpu 15"))
        await fake.until(pilot, shows(fake, pilot, "2 CPUs, on no known node: 32-33", "□ isolated", "◌ nohz_full"))
        await fake.until(pilot, shows(fake, pilot, "memory only  1 node", "16.0 of 64 GiB", "62.5 of 125 GiB used"))
        cells = "".join(panel_text(area.query_one("#sockets-sender")).splitlines()[:-1])
        assert (cells.count("□"), cells.count("◌")) == (2, 1)


async def test_ascii_terminal_gets_only_ascii(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setenv("NO_COLOR", "1")
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        engine.deliver(events.SampleTaken(Role.SENDER, busy(engine.views[Role.SENDER], {24: 55, 25: 99})))
        await fake.until(pilot, lambda: "5" in panel_text(area.query_one("#sockets-sender")))
        await pilot.press("enter")
        await fake.until(pilot, shows(fake, pilot, "threads"))
        await pilot.press("escape")
        await fake.until(pilot, shows(fake, pilot, "Placement"))
        text = fake.screen_text(app)
        assert text.isascii(), sorted({character for character in text if not character.isascii()})


async def test_focus_survives_every_size(fake: Any) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        panel = area.query_one("#sockets-sender", SocketsPanel)
        await fake.until(pilot, lambda: app.focused is panel)
        for size in ((80, 24), (60, 16), (200, 60), (30, 8), (120, 40)):
            await pilot.resize_terminal(*size)
            await fake.until(pilot, lambda size=size: area.size.width == size[0])
            assert app.focused is panel
            assert panel.chosen is not None
            assert panel.chosen.index == 2


async def test_a_frame_of_512_cpus_on_both_hosts(fake: Any) -> None:
    """1024 CPUs at 200 x 60: the median frame's own time; the limit is the issue's."""
    facts = fake.make_facts("alpha", fake.make_cpus(16, 2, 8, 2, sockets=2))
    engine = engine_of(fake, facts, 5)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(200, 60)) as pilot:
        area = await opened(fake, pilot)
        spent = []
        for turn in range(9):
            for role in Role:
                loads = {cpu: (cpu * 7 + turn * 13) % 101 for cpu in range(512)}
                app.bench.apply(events.SampleTaken(role, replace(busy(engine.views[role], loads), time=100.0 + turn)))
            start = time.process_time()
            area.update_area()
            spent.append(time.process_time() - start)
        assert sorted(spent)[4] < 0.1


# --- words and figures without a screen ----------------------------------------------------------------------------


def test_pcie_words() -> None:
    assert pcie_words(Pcie("a", speed=16.0, width=16, max_speed=16.0, max_width=16)) == "PCIe 4.0 x16"
    assert pcie_words(Pcie("a", speed=8.0, width=8, max_speed=16.0, max_width=16)) == "PCIe 3.0 x8 of 4.0 x16"
    assert pcie_words(Pcie("a", speed=8.0, width=8, max_speed=16.0, max_width=8)) == "PCIe 3.0 x8 of 4.0"
    assert pcie_words(Pcie("a", width=4)) == "PCIe x4"
    assert pcie_words(Pcie("a")) == pcie_words(None) == ""
    assert is_slow(Pcie("a", speed=8.0, max_speed=16.0))
    assert not is_slow(Pcie("a", speed=16.0, width=16, max_speed=8.0, max_width=None))


def test_distances_go_by_place_and_not_by_number() -> None:
    """Nodes 0 and 8: the second figure of a row is node 8's."""
    nodes = (NumaNode(0, (0,), None, (10, 40)), NumaNode(8, (1,), None, (40, 10)), NumaNode(9, (), None, (80,)))
    facts = HostFacts("h", nodes=nodes)
    assert distance(facts, 0, 8) == 40
    assert distance(facts, 8, 8) == 10
    assert distance(facts, 9, 8) is None
    assert distance(facts, 0, 3) is None
    assert distance(facts, None, 0) is None


async def test_irqs_without_an_effective_cpu_stand_where_they_are_wanted(fake: Any) -> None:
    engine = engine_of(fake, node=2)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        area = await opened(fake, pilot)
        queues = QueueMap("ens2f0np0", (Queue("rx-0", "rx", 0, None, 50, "name"),), (Irq(50, ("x",), wanted=(26,)),))
        engine.deliver(events.QueuesRead(Role.SENDER, queues))
        await fake.until(pilot, shows(fake, pilot, "1 receive IRQ ", "cpu 26", "none is known"))
        body = "".join(panel_text(area.query_one("#sockets-sender")).splitlines()[:-1])
        assert body.count("▾") == 1
        matrix = area.query_one("#distances-sender", DistancesPanel)
        assert "10 local   12 same socket   32 other" in panel_text(matrix)


def test_area_is_known_to_the_app() -> None:
    from netbench_tui.tui.screens.areas import area_of

    name, make = area_of("topology", True)
    assert isinstance(make(), importlib.import_module("netbench_tui.tui.screens.topology").TopologyArea)
    assert name == "area-topology"
