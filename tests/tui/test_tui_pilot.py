"""The whole workbench against the paper engine: from Connect to History, at three sizes, by key and by mouse."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Input

from netbench_tui.engine import events
from netbench_tui.errors import TrafficImpossible
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, RunState, TrafficTest
from netbench_tui.model.session import LabTarget, PairTarget
from netbench_tui.tui.app import WorkbenchApp
from netbench_tui.tui.widgets.bands import FooterBand
from netbench_tui.tui.widgets.chart import TimeChart
from netbench_tui.tui.widgets.heat import HeatPanel
from netbench_tui.tui.widgets.panel import Panel

SIZES = [(80, 24), (120, 40), (200, 60)]


def shows(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in fake.screen_text(pilot.app) for word in words)


async def start_run(fake: Any, pilot: Any, engine: Any, seconds: float = 5.0) -> None:
    """Presses r and lets the paper engine say that the run began and half of it passed."""
    await pilot.press("r")
    await fake.until(pilot, lambda: any(call[0] == "run" for call in engine.calls))
    engine.deliver(events.RunStarted(7, "quick-tcp", TrafficTest(seconds=seconds), "iperf3", 100.0))
    for i in range(25):
        engine.deliver(events.IntervalSeen(7, Interval(i / 10, (i + 1) / 10, 4e9 / 80), 100.2 + (i + 1) / 10))
        for role in Role:
            engine.deliver(events.SampleTaken(role, fake.make_sample(engine.views[role], 100.3 + i / 10, 0.8, seed=i)))
    await fake.until(pilot, shows(fake, pilot, "second 3 of 5"))


@pytest.mark.parametrize("size", SIZES)
async def test_connect_run_history(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=size) as pilot:
        await fake.until(pilot, shows(fake, pilot, "not connected", "Sender", "Receiver", "alpha", "Connect"))
        await pilot.press("L")
        await fake.until(pilot, shows(fake, pilot, "▲ alpha", "▼ beta", "AMD EPYC 7413", "The path between them"))
        assert ("connect", LabTarget()) in engine.calls
        await start_run(fake, pilot, engine)
        await fake.until(pilot, shows(fake, pilot, "Throughput", "4.00", "● run 7", "esc stop", "0:02 left"))
        line = [character for character in fake.screen_text(app) if "⠀" < character <= "⣿" and character != "⠄"]
        assert len(line) > 20, "a line stands on the chart"
        stored = fake.make_stored(7, views=engine.views)
        engine.stored[7] = stored
        engine.deliver(events.RunEnded(7, "quick-tcp", stored.result))
        await fake.until(pilot, shows(fake, pilot, "run 7", "finished", "78.83", "14.35"))
        await pilot.press("6")
        await fake.until(pilot, shows(fake, pilot, "History", "1 run", "finished", "quick-tcp", "78.83"))
        await pilot.press("enter")
        await fake.until(pilot, shows(fake, pilot, "run 7, stored", "tso off", "0.825"))
        await pilot.press("escape")
        await fake.until(pilot, shows(fake, pilot, "1 run", "Gbit/s"))


async def test_failure_shows_in_place_and_the_fields_try_again(fake: Any) -> None:
    engine = fake.FakeEngine()
    engine.fail_connect = events.HostFailed(Role.RECEIVER, "beta", "beta refused port 22", "is sshd running there?", 10)
    app = WorkbenchApp(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, lambda: len(app.query(Input)) == 2)
        await pilot.press("tab", *"alpha", "enter", *"beta", "enter")
        await fake.until(
            pilot, shows(fake, pilot, "beta refused port 22", "is sshd running there?", "× reading the host")
        )
        target = engine.calls[-1][1]
        assert isinstance(target, PairTarget)
        assert (target.sender.name, target.receiver.name) == ("alpha", "beta")
        await fake.until(pilot, shows(fake, pilot, "not connected"))
        engine.fail_connect = None
        await pilot.press("enter")
        await fake.until(pilot, shows(fake, pilot, "The path between them"))


async def test_enter_on_a_host_fills_the_waiting_field(fake: Any) -> None:
    app = WorkbenchApp(fake.FakeEngine())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "rack3-n2"))
        await pilot.press("G", "enter")
        await fake.until(pilot, lambda: app.query_one("#sender", Input).value == "rack3-n2")
        assert app.focused is app.query_one("#receiver", Input)


async def test_host_text_is_never_markup(fake: Any) -> None:
    engine = fake.FakeEngine()
    for role in Role:
        facts = fake.make_facts("h", cpu_model="EPYC [b]bold[/b]")
        nic = replace(facts.nics[0], name="[red]x")
        engine.views[role] = fake.make_view(role, replace(facts, nics=(nic,)), data_nic="[red]x", name="[blink]a")
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "[red]x  mlx5_core", "EPYC [b]bold[/b]", "▲ [blink]a"))
        await pilot.press("5")
        await fake.until(pilot, shows(fake, pilot, "▼ [blink]a"))
        await pilot.press("question_mark")
        await fake.until(pilot, shows(fake, pilot, "Goodput as the receiver"))


async def test_run_that_cannot_begin_and_run_that_fails(fake: Any) -> None:
    engine = fake.FakeEngine()
    engine.fail_run = TrafficImpossible("neither host has a generator for this", "install iperf3")
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await pilot.press("r")
        await fake.until(pilot, shows(fake, pilot, "! neither host has a generator", "install iperf3"))
        engine.fail_run = None
        await start_run(fake, pilot, engine)
        assert "neither host" not in fake.screen_text(app)
        failed = RunResult(RunState.FAILED, TrafficTest(), "iperf3", "iperf3 ended by signal 9", "see its output")
        engine.deliver(events.RunEnded(7, "quick-tcp", failed))
        await fake.until(pilot, shows(fake, pilot, "× run 7", "failed", "! iperf3 ended by signal 9", "see its output"))
        assert fake.screen_text(app).count("iperf3 ended by signal 9") == 1


async def test_escape_stops_and_quit_asks_only_during_a_run(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await start_run(fake, pilot, engine)
        await pilot.press("q")
        await fake.until(pilot, shows(fake, pilot, "Quit during run 7?"))
        await pilot.press("escape")
        await fake.until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("escape")
        await fake.until(pilot, lambda: ("stop_run",) in engine.calls)
        engine.deliver(events.RunEnded(7, "quick-tcp", fake.make_stored(7, state=RunState.STOPPED, seconds=2.5).result))
        await fake.until(pilot, shows(fake, pilot, "stopped"))
        await pilot.press("q")
        await fake.until(pilot, lambda: app.return_code == 0 and not app.is_running)


async def test_lost_host_stays_with_its_age(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "The path between them"))
        engine.deliver(events.HostFailed(Role.RECEIVER, "beta", "beta is gone", "look at its link", 16, True))
        await fake.until(pilot, shows(fake, pilot, "beta lost", "s old", "! ▼ beta  beta is gone", "look at its link"))
        await fake.until(pilot, lambda: "r run" not in fake.screen_text(app))


async def test_resize_keeps_focus_and_nothing_is_too_small(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(200, 60)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await start_run(fake, pilot, engine)
        focused = app.query_one("#heat-receiver", HeatPanel)
        for _ in range(10):
            if app.focused is not focused:
                await pilot.press("tab")
        assert app.focused is focused
        for size in ((120, 40), (80, 24), (60, 16), (40, 10), (20, 5), (120, 40)):
            await pilot.resize_terminal(*size)
            await fake.until(pilot, shows(fake, pilot, "netbench"))
            assert app.focused is focused
        await fake.until(pilot, shows(fake, pilot, "Throughput", "▲ alpha", "Metrics"))


async def test_footer_shows_only_keys_that_work(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "? help"))
        footer = app.query_one(FooterBand)
        await fake.until(pilot, lambda: "enter" in [key.key for key in footer.keys] and len(app.query(Input)) == 2)
        assert "r" not in [key.key for key in footer.keys], "there is nothing to run yet"
        await pilot.press("tab")
        await fake.until(pilot, lambda: footer.subject[0] == "Sender")
        assert "s" not in [key.key for key in footer.keys], "letters go into the field"
        assert fake.screen_text(app).splitlines()[-1].rstrip().endswith("f1 help")
        await pilot.press("f1")
        await fake.until(pilot, shows(fake, pilot, "A host of ~/.ssh/config"))


async def test_mouse_reaches_areas_rows_and_keys(fake: Any) -> None:
    engine = fake.FakeEngine()
    engine.stored = {number: fake.make_stored(number) for number in (1, 2, 3)}
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "The path between them"))
        tabs = fake.screen_text(app).splitlines()[1]
        await pilot.click("#tabs", offset=(tabs.index("History"), 0))
        await fake.until(pilot, shows(fake, pilot, "3 runs"))
        await pilot.click("#runs", offset=(20, 4), times=2)
        await fake.until(pilot, shows(fake, pilot, "run 1, stored"))
        row = fake.screen_text(app).splitlines()[-1]
        await pilot.click("#footer", offset=(row.index("esc"), 0))
        await fake.until(pilot, shows(fake, pilot, "3 runs"))


async def test_filter_asks_the_engine(fake: Any) -> None:
    engine = fake.FakeEngine()
    engine.stored = {1: fake.make_stored(1), 2: fake.make_stored(2, preset="long-tcp")}
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "The path between them"))
        await pilot.press("6")
        await fake.until(pilot, shows(fake, pilot, "2 runs"))
        await pilot.press("slash", *"long")
        await fake.until(pilot, shows(fake, pilot, "1 run", "long-tcp"))
        assert "quick-tcp" not in fake.screen_text(app)
        await pilot.press("enter", "escape")
        await fake.until(pilot, shows(fake, pilot, "2 runs", "quick-tcp"))


async def test_palette_finds_actions_presets_and_themes(fake: Any) -> None:
    app = WorkbenchApp(fake.FakeEngine(), fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await pilot.press("ctrl+p")
        await fake.until(pilot, shows(fake, pilot, "Go to History", "Take preset long-tcp"))
        await pilot.press(*"theme okabe")
        await fake.until(pilot, lambda: "Go to History" not in fake.screen_text(app) and shows(fake, pilot, "okabe")())
        await pilot.press("enter")
        await fake.until(pilot, lambda: app.theme == "netbench-okabe")
        assert app.look.palette.name == "okabe"


async def test_preset_is_chosen_and_run(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await pilot.press("5")
        await fake.until(pilot, shows(fake, pilot, "p preset"))
        await pilot.press("p")
        await fake.until(pilot, shows(fake, pilot, "Presets", "quick-tcp-16"))
        await pilot.press("j", "enter")
        await fake.until(pilot, shows(fake, pilot, "r run quick-tcp-16"))
        await pilot.press("r")
        await fake.until(pilot, lambda: ("run", "quick-tcp-16", engine.presets()[1].test) in engine.calls)


async def test_only_changed_rows_are_sent_again(fake: Any) -> None:
    """The cost of a frame by structure: the same data refreshes nothing, one new value only its rows."""
    app = WorkbenchApp(fake.FakeEngine(), fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await pilot.press("5")
        await fake.until(pilot, shows(fake, pilot, "Metrics"))
        refreshed: list[Any] = []
        for panel in app.query(Panel):
            panel.refresh = lambda *regions, **_: refreshed.extend(regions)  # type: ignore[method-assign]
        app.paint()
        assert refreshed == []
        chart = app.query_one("#chart", TimeChart)
        chart.show(chart.data, (("now 1.00", "strong"),), chart.remark)
        assert [(region.y, region.height) for region in refreshed] == [(0, 1)]
        assert all(len(list(strip)) < 60 for panel in app.query(Panel) for strip in panel._strips)


async def test_ascii_terminal_gets_only_ascii(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setenv("NO_COLOR", "1")
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await start_run(fake, pilot, engine)
        text = fake.screen_text(app)
        assert text.isascii(), sorted({character for character in text if not character.isascii()})
        heat = app.query_one("#heat-receiver", HeatPanel)
        cells = "".join(strip.text[8:] for strip in heat._strips[1:-1])
        assert any(digit in cells for digit in "3456789#"), "heat without colour prints its tens digit"


async def test_events_under_an_overlay_reach_the_screen_below(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await start_run(fake, pilot, engine)
        await pilot.press("question_mark")
        await fake.until(pilot, shows(fake, pilot, "esc close"))
        engine.deliver(events.RunEnded(7, "quick-tcp", fake.make_stored(7).result))
        await fake.until(pilot, lambda: not app.bench.running)
        await pilot.press("escape")
        await fake.until(pilot, shows(fake, pilot, "run 7", "finished", "78.83", "r run"))
        assert "esc stop" not in fake.screen_text(app)


async def test_a_terminal_that_does_not_read_costs_the_engine_nothing(fake: Any) -> None:
    """The app's loop stands still; 400 deliveries return at once, and afterwards the whole run is on the chart."""
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "r run"))
        await pilot.press("5")
        engine.deliver(events.RunStarted(9, "quick-tcp", TrafficTest(seconds=60), "iperf3", 100.0))
        posted: list[Any] = []
        post, app.post_message = app.post_message, lambda message: bool(posted.append(message)) or True  # type: ignore[method-assign]
        for i in range(400):
            engine.deliver(events.IntervalSeen(9, Interval(i / 10, (i + 1) / 10, 1e8), 100.2 + (i + 1) / 10))
        app.post_message = post  # type: ignore[method-assign]
        assert len(posted) <= 1
        for message in posted:
            app.post_message(message)
        await fake.until(pilot, lambda: app.bench.trace is not None and len(app.bench.trace.spans) == 400)
        assert app._bridge.lost == 0
