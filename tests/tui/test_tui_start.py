"""The first screen stands before the engine is asked for anything, and the collector comes back after it."""

import gc
from collections.abc import Callable
from typing import Any

from netbench_tui.engine import events
from netbench_tui.tui.app import WorkbenchApp


async def test_the_engine_is_asked_after_the_first_refresh(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    asked: list[tuple[str, bool]] = []
    painted: list[bool] = []
    refreshed = app._after_first_paint

    def noted(name: str) -> Callable[..., Any]:
        real = getattr(engine, name)

        def call(*given: Any, **named: Any) -> Any:
            asked.append((name, bool(painted)))
            return real(*given, **named)

        return call

    for name in ("subscribe", "presets", "known_hosts", "recent_pairs"):
        setattr(engine, name, noted(name))

    def first() -> None:
        painted.append("not connected" in fake.screen_text(app))
        refreshed()

    app._after_first_paint = first  # type: ignore[method-assign]
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, lambda: "rack3-n1" in fake.screen_text(app))
    assert painted == [True]
    assert {name for name, _ in asked} == {"subscribe", "presets", "known_hosts", "recent_pairs"}
    assert all(after for _, after in asked)


async def test_a_collector_that_was_held_back_is_let_go(fake: Any) -> None:
    app = WorkbenchApp(fake.FakeEngine(), fake.pair())
    gc.disable()
    try:
        async with app.run_test(size=(80, 24)) as pilot:
            await fake.until(pilot, gc.isenabled)
            assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.unfreeze()


async def test_a_collector_at_work_is_left_alone(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        await fake.until(pilot, lambda: "The path between them" in fake.screen_text(app))
        assert gc.get_freeze_count() == 0
        engine.deliver(events.Disconnected())
        await fake.until(pilot, lambda: "not connected" in fake.screen_text(app))
