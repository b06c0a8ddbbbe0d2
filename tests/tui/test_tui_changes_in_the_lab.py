"""The Features area over the real engine and the lab: a feature of a real NIC is switched off, kept, and put back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine.engine import Engine
from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget
from netbench_tui.tui.app import WorkbenchApp
from netbench_tui.tui.screens.changes_quit import ConfirmChanges
from netbench_tui.tui.screens.features_list import FeatureList

TSO = "feature.tx-tcp-segmentation"
SECONDS = 40.0


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "history.db")
    made.start()
    yield made
    made.close()


def value(engine: Engine, key: str) -> str:
    """As the sender has it now, read anew."""
    setting = engine.read_settings(Role.SENDER).result(SECONDS).get("nic0", key)
    assert setting is not None
    return setting.in_force


async def test_switch_off_keep_and_quit(fake: Any, engine: Engine) -> None:
    app = WorkbenchApp(engine, LabTarget())
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, lambda: "The path between them" in fake.screen_text(app), SECONDS)
        await pilot.press("2")
        await fake.until(pilot, lambda: "tx-tcp-segmentation" in fake.screen_text(app), SECONDS)
        await fake.until(pilot, lambda: isinstance(app.focused, FeatureList))
        listed = app.query_one(FeatureList)
        listed.move_to([row.key for row in listed.items].index(TSO))
        assert value(engine, TSO) == "on"
        await pilot.press("space", "a")
        await fake.until(pilot, lambda: "1 took" in fake.screen_text(app), SECONDS)
        assert value(engine, TSO) == "off"
        await fake.until(pilot, lambda: "enter keep" in fake.screen_text(app))
        await pilot.press("enter")
        await fake.until(pilot, lambda: app.bench.trial is None, SECONDS)
        assert "◆ 1 changed" in fake.screen_text(app)
        await pilot.press("q")
        await fake.until(pilot, lambda: isinstance(app.screen, ConfirmChanges))
        await pilot.press("enter")
        await fake.until(pilot, lambda: app.return_code == 0, SECONDS)
        assert value(engine, TSO) == "on"
