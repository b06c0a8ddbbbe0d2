"""The Queues area against the paper engine: what it shows at each size, and what its keys stage."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.model.host import Role
from netbench_tui.model.sample import HostSample, QueueCounts
from netbench_tui.model.setting import QueueMap
from netbench_tui.tui.app import WorkbenchApp

SIZES = [(80, 24), (120, 40), (200, 60)]
NIC = "ens2f0np0"


def shows(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in fake.screen_text(pilot.app) for word in words)


def lacks(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: not any(word in fake.screen_text(pilot.app) for word in words)


async def open_area(fake: Any, pilot: Any) -> None:
    await fake.until(pilot, shows(fake, pilot, "The path between them"))
    await pilot.press("3")


async def open_queues(fake: Any, pilot: Any) -> None:
    await open_area(fake, pilot)
    await fake.until(pilot, shows(fake, pilot, "receive queues", "rx-0", "IRQ"))


def feed(fake: Any, engine: Any, start: float = 100.0, **fields: Any) -> None:
    """A full second of looks that are all alike, of the receiver."""
    for index in range(11):
        sample = fake.make_sample(engine.views[Role.RECEIVER], start + index / 10, 0.8, seed=index)
        engine.deliver(events.SampleTaken(Role.RECEIVER, replace(sample, **fields)))


def staged(app: WorkbenchApp) -> dict[str, str]:
    return {change.key: change.value for change in app.bench.staged}


@pytest.mark.parametrize("size", SIZES)
async def test_queues_irqs_and_rates(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=size) as pilot:
        await open_queues(fake, pilot)
        assert ("watch", True, False) in engine.calls
        counts = {f"rx-{index}": QueueCounts(1000 * (16 - index), 1_000_000 * (16 - index)) for index in range(16)}
        feed(fake, engine, queues=counts, irqs={140: {12: 40}, 145: {17: 9, 3: 1}})
        # 16,000 packets and 16 MB in each look of 0.1 s; 136 MB of all queues.
        await fake.until(pilot, shows(fake, pilot, "0.16", "1.28", "1.36", "10.88", "400", "≠ 17", "145"))
        await fake.until(pilot, shows(fake, pilot, "from the wire to the application", "32 of 512", "wanted 12"))
        await fake.until(pilot, shows(fake, pilot, "IRQ 145 of rx-5 is sent to cpu 17, wanted is 47"))
        await fake.until(pilot, shows(fake, pilot, "RSS  toeplitz, 512 entries", "bytes %", "11.8"))
        await pilot.press("down", "down", "down", "down", "down")
        await fake.until(pilot, shows(fake, pilot, "rx-5  from the wire", "NAPI 8198"))


async def test_host_and_kind_are_chosen_by_key(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await fake.until(pilot, shows(fake, pilot, "▼ beta  receive queues", "o ▲ alpha", "t transmit"))
        await pilot.press("t")
        await fake.until(pilot, shows(fake, pilot, "▼ beta  transmit queues", "tx-15", "t receive", "XPS"))
        await pilot.press("o")
        await fake.until(pilot, shows(fake, pilot, "▲ alpha  transmit queues", "o ▼ beta"))
        await pilot.press("s")
        await fake.until(pilot, shows(fake, pilot, "spread the IRQs of ens2f0np0 over CPUs", "0-11,24-35"))


async def test_both_hosts_stand_side_by_side_where_there_is_room(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(200, 60)) as pilot:
        await open_queues(fake, pilot)
        await fake.until(
            pilot, shows(fake, pilot, "▲ alpha  transmit queues", "▼ beta  receive queues", "tx-15", "rx-15")
        )
        await fake.until(pilot, shows(fake, pilot, "RSS  toeplitz", "Steering", "v softnet"))
        await pilot.press("o", "e")
        await fake.until(pilot, shows(fake, pilot, "pin IRQ 140 of tx-0 to CPUs"))
        await pilot.press(*"\b\b\b", "7", "enter")
        await fake.until(pilot, lambda: bool(staged(app)))
        assert [change.role for change in app.bench.staged] == [Role.SENDER]


async def test_views_go_round_and_statistics_are_asked_for_only_while_shown(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await pilot.press("v")
        await fake.until(pilot, shows(fake, pilot, "Steering", "RFS entries of the machine 0", "XPS rx queues"))
        await pilot.press("v")
        await fake.until(pilot, shows(fake, pilot, "softnet", "squeezed", "v ethtool -S"))
        assert ("watch", True, True) not in engine.calls
        await pilot.press("v")
        await fake.until(pilot, shows(fake, pilot, "ethtool -S", "no counter has moved"))
        assert ("watch", True, True) in engine.calls
        name = "rx[red]_\x1b[2Jdrops"
        feed(fake, engine, statistics={name: 5, "rx_out_of_buffer": 2})
        await fake.until(pilot, shows(fake, pilot, "rx[red]_?[2Jdrops", "rx_out_of_buffer", "50", "2 counters"))
        await pilot.press("slash", *"BUFFER")
        await fake.until(pilot, shows(fake, pilot, "those that hold BUFFER", "rx_out_of_buffer"))
        await fake.until(pilot, lacks(fake, pilot, "[2Jdrops"))
        await pilot.press("escape")
        await fake.until(pilot, shows(fake, pilot, "[2Jdrops"))
        await pilot.press("V")
        await fake.until(pilot, shows(fake, pilot, "softnet", "v ethtool -S"))
        assert engine.calls[-1] == ("watch", True, False)


async def test_spread_pin_and_what_cannot_be(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await pilot.press("s", *"12-13,nine", "enter")
        await fake.until(pilot, shows(fake, pilot, "is not a CPU list"))
        assert not staged(app)
        await pilot.press("ctrl+u", *"12-13,99", "enter")
        await fake.until(pilot, shows(fake, pilot, "CPU 99 is not online"))
        await pilot.press("ctrl+u", *"12,13", "enter")
        await fake.until(pilot, shows(fake, pilot, "Staged", "◇ 13"))
        assert staged(app)["queue.rx-2.irq_affinity"] == "12"
        assert "queue.rx-0.irq_affinity" not in staged(app), "it is on cpu 12 already"
        assert not any(call[0] == "apply" for call in engine.calls), "nothing is written by staging"
        await pilot.press("down", "down", "e", "ctrl+u", *"14", "enter")
        await fake.until(pilot, lambda: "queue.rx-2.irq_affinity" not in staged(app))


async def test_menus_say_what_they_stage_or_why_not(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await pilot.press("p")
        await fake.until(pilot, shows(fake, pilot, "RPS one-to-one", "16 changes", "RPS off", "it is so already"))
        await pilot.press("down", "down", "enter")
        assert not staged(app), "a plan that comes to nothing is not taken"
        await pilot.press("up", "enter")
        await fake.until(pilot, lambda: len(staged(app)) == 16)
        assert staged(app)["queue.rx-0.rps_cpus"] == "12-23,36-47"
        await pilot.press("F")
        await fake.until(pilot, shows(fake, pilot, "RFS on", "17 changes"))
        await pilot.press("escape", "i")
        await fake.until(pilot, shows(fake, pilot, "irqbalance", "ban this NIC's IRQs", "service stopped"))
        await pilot.press("enter")
        await fake.until(pilot, lambda: staged(app).get("irqbalance.ban") == "all")


async def test_weights_and_channels(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await pilot.press("w", "ctrl+u", *"3 1", "enter")
        await fake.until(pilot, shows(fake, pilot, "staged: weights 384 128"))
        await pilot.press("w", "ctrl+u", *"17", "enter")
        await fake.until(pilot, shows(fake, pilot, "may name 1 to 16"))
        await pilot.press("escape", "C", "ctrl+u", *"8", "enter")
        await fake.until(pilot, lambda: staged(app).get("channels.combined") == "8")


async def test_a_nic_without_irqs_or_rss(fake: Any) -> None:
    """A veth pair in the lab: queues, steering, and nothing below them."""
    engine = fake.FakeEngine()
    for role in Role:
        found = fake.make_queue_map(engine.views[role].facts, queues=4)
        bare = tuple(replace(queue, napi=None, irq=None, irq_by="") for queue in found.queues)
        engine.queue_maps[role] = QueueMap(found.nic, bare)
        engine.settings[role] = fake.make_settings(engine.queue_maps[role])
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_area(fake, pilot)
        await fake.until(pilot, shows(fake, pilot, "rx-3", "RPS CPUs", "no IRQs: CPUs that RPS names", "Steering"))
        await fake.until(pilot, lacks(fake, pilot, "is on", "irq/s", "NAPI"))
        feed(fake, engine)
        await fake.until(pilot, shows(fake, pilot, "46.72"))
        await pilot.press("e")
        await fake.until(pilot, shows(fake, pilot, "no IRQ of rx-0 is known"))
        await pilot.press("w")
        await fake.until(pilot, shows(fake, pilot, "has no RSS indirection table"))
        await pilot.press("s")
        await fake.until(pilot, shows(fake, pilot, f"no IRQ of {NIC} is known"))


async def test_interrupts_where_they_were_not_expected_are_looked_into(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        before = engine.calls.count(("read_queues", Role.RECEIVER))
        feed(fake, engine, irqs={140: {12: 40}})
        await fake.until(pilot, shows(fake, pilot, "400"))
        assert engine.calls.count(("read_queues", Role.RECEIVER)) == before
        feed(fake, engine, 110.0, irqs={140: {5: 40}})
        await fake.until(pilot, lambda: engine.calls.count(("read_queues", Role.RECEIVER)) > before)


async def test_watching_ends_when_the_area_is_left(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await pilot.press("6")
        await fake.until(pilot, lambda: ("watch", False, False) in engine.calls)
        await pilot.press("3")
        await fake.until(pilot, lambda: engine.calls[-1] == ("watch", True, False))


async def test_odd_names_are_data(fake: Any) -> None:
    engine = fake.FakeEngine()
    name = "[red]é@:0"
    for role in Role:
        view = engine.views[role]
        facts = replace(view.facts, nics=(replace(view.facts.nics[0], name=name),))
        engine.views[role] = replace(view, facts=facts, data_nic=name)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await pilot.press("s")
        await fake.until(pilot, shows(fake, pilot, f"spread the IRQs of {name} over CPUs"))
        await pilot.press("escape", "p")
        await fake.until(pilot, shows(fake, pilot, f"RPS and XPS  {name}"))


async def test_samples_before_the_queues_are_known_do_no_harm(fake: Any) -> None:
    engine = fake.FakeEngine()
    engine.read_queues = lambda role: fake.answered()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        await open_area(fake, pilot)
        engine.deliver(events.SampleTaken(Role.RECEIVER, HostSample(1.0, 1.0, irqs={1: {0: 5}})))
        await fake.until(pilot, shows(fake, pilot, "receive queues", "not been read yet"))
        await pilot.press("n")
        await fake.until(pilot, shows(fake, pilot, "the queues of this host have not been read yet"))


async def test_a_vlan_has_the_queues_of_the_nic_below(fake: Any) -> None:
    engine = fake.FakeEngine()
    for role, view in list(engine.views.items()):
        below = view.nic
        assert below is not None
        vlan = replace(below, name="vlan7", kind="vlan", node=None, lower=(NIC,))
        facts = replace(view.facts, nics=(*view.facts.nics, vlan))
        engine.views[role] = replace(view, facts=facts, data_nic="vlan7")
        engine.queue_maps[role] = fake.make_queue_map(facts, NIC)
        engine.settings[role] = fake.make_settings(engine.queue_maps[role])
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_queues(fake, pilot)
        await fake.until(pilot, shows(fake, pilot, f"beta  {NIC}  receive queues  16", "node 1"))
        await pilot.press("s", *"12,13", "enter")
        await fake.until(pilot, lambda: bool(staged(app)))
        assert {change.scope for change in app.bench.staged} == {NIC}
        await pilot.press("4")
        await fake.until(pilot, shows(fake, pilot, NIC, "node 1", "IRQs"))
