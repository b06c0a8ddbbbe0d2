"""Losing hosts and getting them back, giving up, choosing the data path, rights and round trips."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.errors import UsageError
from netbench_tui.model.host import Clock, Privilege, Role
from netbench_tui.model.run import Interval, RunResult, RunState, TrafficTest
from netbench_tui.model.session import LabTarget, RecentPair
from netbench_tui.tui.app import WorkbenchApp
from netbench_tui.tui.look import Look
from netbench_tui.tui.screens.paths import NicList, nic_rows
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.status import ordinal, status


def shows(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in fake.screen_text(pilot.app) for word in words)


def lost(attempt: int, wait: float) -> list[events.Event]:
    words = "the connection to beta broke"
    return [
        events.HostFailed(Role.RECEIVER, "beta", words, "it is tried again", 16, was_connected=True),
        events.Reconnecting(Role.RECEIVER, "beta", attempt, wait),
    ]


@pytest.fixture
def bench(fake: Any) -> Workbench:
    bench = Workbench(clock=lambda: 50.0)
    views = {role: fake.make_view(role) for role in Role}
    bench.apply(events.PairConnected(fake.pair(), views[Role.SENDER], views[Role.RECEIVER]))
    return bench


def words(bench: Workbench, variant: int = 0) -> str:
    return "".join(text for text, _ in status(Look(), bench)[variant])


def test_a_lost_host_counts_from_its_first_loss(bench: Workbench) -> None:
    for event in lost(2, 4.0):
        bench.apply(event)
    bench.clock = lambda: 60.0
    for event in lost(3, 4.0):
        bench.apply(event)
    bench.clock = lambda: 61.0
    assert words(bench) == "! ▼ beta lost 11 s, trying again in 3 s (3rd)"
    bench.clock = lambda: 70.0
    assert words(bench) == "! ▼ beta lost 20 s, trying again now (3rd)"
    bench.apply(events.HostFailed(Role.SENDER, "alpha", "gone too", "", 16, was_connected=True))
    assert words(bench, -1) == "! ▼ beta lost 20 s   ▲ alpha lost 0 s"


def test_a_return_clears_the_loss_and_keeps_the_run(bench: Workbench, fake: Any) -> None:
    bench.apply(events.RunStarted(7, "quick-tcp", TrafficTest(), "iperf3", 100.0))
    bench.apply(events.IntervalSeen(7, Interval(0, 1, 1e9), 101.0))
    for event in lost(1, 1.0):
        bench.apply(event)
    bench.apply(events.RunEnded(7, "quick-tcp", RunResult(RunState.INTERRUPTED, TrafficTest(), "iperf3")))
    fresh = replace(fake.make_view(Role.RECEIVER), clock=Clock(1.0, 0.1, 0.2))
    bench.apply(events.HostReturned(fresh, "▼ beta was rebooted while it was away"))
    assert bench.whole
    assert not bench.failures
    assert not bench.retries
    assert bench.views[Role.RECEIVER] is fresh
    assert bench.trace is not None
    assert [span.value for span in bench.trace.spans] == [8.0]
    assert bench.returned == {Role.RECEIVER: "▼ beta was rebooted while it was away"}
    bench.apply(events.RunStarted(8, "quick-tcp", TrafficTest(), "iperf3", 200.0))
    assert not bench.returned, "the next act ends the remark"


def test_a_new_path_of_the_same_pair_keeps_the_run(bench: Workbench, fake: Any) -> None:
    bench.apply(events.RunStarted(7, "quick-tcp", TrafficTest(), "iperf3", 100.0))
    bench.apply(events.RunEnded(7, "quick-tcp", RunResult(RunState.FINISHED, TrafficTest(), "iperf3")))
    views = [fake.make_view(role) for role in Role]
    bench.apply(events.PairConnected(fake.pair(), *views, "carries SSH"))
    assert bench.trace is not None
    assert bench.warning == "carries SSH"
    bench.apply(events.PairConnected(LabTarget(), *views))
    assert bench.trace is None


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd")]
)
def test_ordinals(number: int, text: str) -> None:
    assert ordinal(number) == text


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_lost_and_back_on_the_screen(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=size) as pilot:
        await fake.until(pilot, shows(fake, pilot, "The path between them", "▲ 0.18 ms"))
        for event in lost(3, 9.0):
            engine.deliver(event)
        await fake.until(pilot, shows(fake, pilot, "▼ beta lost", "trying again in", "(3rd)", "AMD EPYC 7413"))
        assert "r run" not in fake.screen_text(app)
        engine.deliver(events.HostReturned(engine.views[Role.RECEIVER], "▼ beta was rebooted while it was away"))
        await fake.until(pilot, shows(fake, pilot, "▼ beta  was rebooted while it was away", "r run"))
        assert "lost" not in fake.screen_text(app)


async def test_round_trips_follow_the_clock(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(200, 60)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "▲ 0.18 ms, clock 3.20 ±0.04", "sudo"))
        engine.deliver(events.ClockMeasured(Role.SENDER, Clock(90_000.0, 0.0001, 0.00042)))
        await fake.until(pilot, shows(fake, pilot, "▲ 0.42 ms, clock ±0.10", "▼ 0.18 ms"))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_read_only_stands_in_header_and_page(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    engine.views[Role.RECEIVER] = replace(
        engine.views[Role.RECEIVER], privilege=Privilege.NONE, privilege_note="sudo refused the password three times"
    )
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=size) as pilot:
        await fake.until(pilot, shows(fake, pilot, "! ▼ read-only", "sudo refused the password three times"))
        top = app.screen._compositor.render_strips()[0]
        styles = [segment.style for segment in top if "read-only" in segment.text]
        assert styles[0] is not None
        assert styles[0].color is not None
        assert styles[0].color.name == app.look.palette.bad


async def test_escape_gives_up_connecting(fake: Any) -> None:
    engine = fake.FakeEngine()
    engine.hold_connect = Future()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "connecting ...", "reading the host", "esc cancel"))
        await pilot.press("escape")
        await fake.until(pilot, shows(fake, pilot, "the connection was given up", "not connected"))
        assert ("disconnect",) in engine.calls
        assert "esc cancel" not in fake.screen_text(app)


async def test_recent_pairs_are_read_when_connect_is_shown(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "The path between them"))
        engine.recent = [RecentPair(fake.pair(), 0.0, 41)]
        await pilot.press("c")
        await fake.until(pilot, shows(fake, pilot, "Recent pairs", "41 runs"))


def test_rows_say_why_a_nic_cannot_be_taken(fake: Any) -> None:
    view = fake.with_more_nics(fake.make_view(Role.RECEIVER))
    rows = {row.nic.name: row for row in nic_rows(view, "ens2f0np0", same_machine=False)}
    assert {name: row.barred for name, row in rows.items()} == {
        "eno1": "", "ens2f0np0": "", "ens2f1np1": "", "lo": "stays on its host", "eno2": "down", "virbr0": "no address",
    }  # fmt: skip
    assert rows["ens2f0np0"].taken
    assert rows["eno1"].ssh
    assert not nic_rows(view, "", same_machine=True)[0].barred, "two agents on one machine may use loopback"
    mine = fake.with_more_nics(fake.make_view(Role.SENDER)).facts.nic("ens2f1np1")
    beside = {row.nic.name: row.barred for row in nic_rows(view, "", same_machine=False, other=mine)}
    assert beside["ens2f1np1"] == ""
    assert beside["eno1"] == beside["ens2f0np0"] == "no subnet with ens2f1np1"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_data_path_is_chosen(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    engine.views = {role: fake.with_more_nics(view) for role, view in engine.views.items()}
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=size) as pilot:
        await fake.until(pilot, shows(fake, pilot, "The path between them"))
        await pilot.press("n")
        await fake.until(pilot, shows(fake, pilot, "● ens2f0np0", "⊘ eno2", "192.0.2.1/24", "esc goes back"))
        engine.fail_path = UsageError("ens2f0np0 of beta went down", "take another")
        await pilot.press("enter")
        await fake.until(pilot, lambda: isinstance(app.focused, NicList) and app.focused.id == "nics-receiver")
        await pilot.press("enter")
        await fake.until(pilot, shows(fake, pilot, "× ens2f0np0 of beta went down", "take another"))
        engine.fail_path = None
        await pilot.press("shift+tab", "g", "enter")
        await fake.until(pilot, shows(fake, pilot, "The sender's NIC is eno1", "no subnet with eno1"))
        await pilot.press("enter")
        await fake.until(pilot, shows(fake, pilot, "! the path carries the SSH connections: runs disturb them"))
        assert engine.calls[-1] == ("choose_path", "eno1", "eno1")
        assert len(app.screen_stack) == 1


async def test_nothing_stumbles_over_what_comes_after_the_end(fake: Any) -> None:
    """Timers and callbacks may fire while the screens are taken down."""
    app = WorkbenchApp(fake.FakeEngine(), fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "The path between them"))
        area = app.current_area
        assert area is not None
    assert app.screen_stack == []
    app._focus_in(area, "#host-sender")
    app.on_descendant_focus()
    await app._take_events()
    app.paint()
    app.refresh_footer()
