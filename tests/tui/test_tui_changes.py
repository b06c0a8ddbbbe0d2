"""The Changes overlay, the script and quitting with held changes, against the paper engine; and what is typed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.model.change import Change, ChangeKind, Held, JournalEntry, Restored
from netbench_tui.model.host import Role
from netbench_tui.model.setting import Setting
from netbench_tui.tui.app import WorkbenchApp
from netbench_tui.tui.screens.changes import ChangesScreen
from netbench_tui.tui.screens.changes_quit import ConfirmChanges
from netbench_tui.tui.screens.changes_script import ScriptScreen
from netbench_tui.tui.screens.features_edit import bounds_words, canonical
from netbench_tui.tui.widgets.change_bar import ChangeBar
from netbench_tui.tui.widgets.staged import warnings

NIC = "ens2f0np0"
TSO = "feature.tx-tcp-segmentation"


def shows(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in fake.screen_text(pilot.app) for word in words)


async def changed(fake: Any, pilot: Any, engine: Any, *keys: str) -> None:
    """Features with these features switched off on the sender, kept as a lease."""
    app = pilot.app
    await pilot.press("2")
    await fake.until(pilot, shows(fake, pilot, "rx-checksum"))
    app.stage([Change(Role.SENDER, NIC, key, "off") for key in keys])
    await pilot.press("a")
    await fake.until(pilot, shows(fake, pilot, "enter keep"))
    await pilot.press("enter")
    await fake.until(pilot, lambda: app.bench.trial is None and len(app.bench.journal))


async def test_the_journal_undoes_one_and_all(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await changed(fake, pilot, engine, TSO, "feature.rx-hashing")
        await pilot.press("J")
        await fake.until(pilot, lambda: isinstance(app.screen, ChangesScreen))
        await fake.until(pilot, shows(fake, pilot, "3 settings", "until you leave", "rx-hashing", "U restore all"))
        await pilot.press("down", "u")
        await fake.until(pilot, shows(fake, pilot, "2 settings", "Put back", "1 of 1"))
        asked = next(call for call in engine.calls if call[0] == "restore")
        assert len(asked[1]) == 1 and asked[1][0].key == "feature.tx-tcp6-segmentation"
        await pilot.press("U")
        await fake.until(pilot, shows(fake, pilot, "both hosts are as the session found them"))
        assert engine.known_settings(Role.SENDER).get(NIC, TSO).value == "on"
        await pilot.press("escape")
        await fake.until(pilot, lambda: not isinstance(app.screen, ChangesScreen))


async def test_the_script_is_shown_and_written(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await changed(fake, pilot, engine, "feature.rx-hashing")
        app.stage([Change(Role.RECEIVER, NIC, "ring.rx", "8160")])
        await pilot.press("J")
        await fake.until(pilot, lambda: isinstance(app.screen, ChangesScreen))
        await pilot.press("S")
        await fake.until(pilot, lambda: isinstance(app.screen, ScriptScreen))
        await fake.until(pilot, shows(fake, pilot, f"ethtool -K {NIC} rx-hashing off", f"ethtool -G {NIC} rx 8160"))
        await pilot.press("w")
        await fake.until(pilot, shows(fake, pilot, "written to"))
        (written,) = tmp_path.iterdir()
        text = written.read_text(encoding="utf-8")
        assert text.startswith("#!/bin/sh") and f"ethtool -G {NIC} rx 8160" in text
        assert written.stat().st_mode & 0o100
        await pilot.press("w")
        await fake.until(pilot, shows(fake, pilot, "exists") if len(list(tmp_path.iterdir())) == 1 else lambda: True)


async def test_what_hosts_put_back_by_themselves_is_shown(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await changed(fake, pilot, engine, TSO)
        entry = JournalEntry(1, Role.SENDER, "alpha", NIC, TSO, "on", "off", ChangeKind.LEASE)
        foreign = replace(entry, state=Held.FOREIGN, note="now on by [b]someone[/b]")
        refused = replace(entry, key="ring.rx", found="512", ours="64", state=Held.REFUSED, note="EBUSY")
        restored = Restored(
            Role.SENDER, "the connection broke", (replace(entry, state=Held.RESTORED), foreign, refused)
        )
        engine.deliver(events.SettingsRestored(restored))
        await fake.until(pilot, shows(fake, pilot, "Put back", "the connection broke", "1 of 3"))
        await fake.until(pilot, shows(fake, pilot, "changed by someone else", "now on by [b]someone[/b]", "EBUSY"))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_quitting_with_held_changes_asks(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=size) as pilot:
        await changed(fake, pilot, engine, TSO)
        await pilot.press("q")
        await fake.until(pilot, lambda: isinstance(app.screen, ConfirmChanges))
        await fake.until(pilot, shows(fake, pilot, "Quit with changes", "2 settings differ", "put them back and quit"))
        await pilot.press("escape")
        await fake.until(pilot, lambda: not isinstance(app.screen, ConfirmChanges))
        await pilot.press("q")
        await fake.until(pilot, lambda: isinstance(app.screen, ConfirmChanges))
        await pilot.press("enter")
        await fake.until(pilot, lambda: app.return_code == 0)
    assert [len(call[1]) for call in engine.calls if call[0] == "restore"] == [2] and not engine.journal


async def test_quitting_stays_where_a_host_refuses_to_put_back(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await changed(fake, pilot, engine, TSO)
        engine.refusals[TSO] = ("EBUSY", "Device or resource busy")
        await pilot.press("q")
        await fake.until(pilot, lambda: isinstance(app.screen, ConfirmChanges))
        await pilot.press("enter")
        await fake.until(pilot, lambda: isinstance(app.screen, ChangesScreen))
        await fake.until(pilot, shows(fake, pilot, "refused: Device or resource busy", "1 of 2"))


async def test_quitting_does_not_wait_for_a_lost_host(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await changed(fake, pilot, engine, TSO)
        engine.deliver(events.HostFailed(Role.SENDER, "alpha", "lost", "", 16, was_connected=True))
        await fake.until(pilot, shows(fake, pilot, "s old"))
        await pilot.press("q")
        await fake.until(pilot, shows(fake, pilot, "▲ alpha is lost: it puts back what is its own by itself"))
        await pilot.press("enter")
        await fake.until(pilot, lambda: app.return_code == 0)
    assert not [call for call in engine.calls if call[0] == "restore"]


async def test_letting_the_pair_go_ends_what_was_on_trial(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await changed(fake, pilot, engine, TSO)
        app.stage([Change(Role.SENDER, NIC, "feature.rx-hashing", "off")])
        await pilot.press("a")
        await fake.until(pilot, shows(fake, pilot, "put back in"))
        engine.deliver(events.Disconnected())
        await fake.until(pilot, shows(fake, pilot, "not connected"))
        assert not app.main.query_one(ChangeBar).display and not app.bench.journal


async def test_quitting_can_keep_for_good(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await changed(fake, pilot, engine, TSO)
        await pilot.press("q")
        await fake.until(pilot, lambda: isinstance(app.screen, ConfirmChanges))
        await pilot.press("k")
        await fake.until(pilot, lambda: app.return_code == 0)
    assert ("keep", True) in engine.calls
    assert not [call for call in engine.calls if call[0] == "restore"]


def test_typed_values_are_checked_against_what_the_host_said() -> None:
    ring = Setting(NIC, "ring.rx", "512", minimum=64, maximum=4096)
    assert canonical(ring, " 0128 ") == "128" and bounds_words(ring) == "64..4096"
    for text, words in (("63", "less than 64"), ("4097", "more than 4096"), ("1.5", "whole number"), (" ", "nothing")):
        with pytest.raises(ValueError, match=words):
            canonical(ring, text)
    three = Setting("machine", "sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456")
    assert canonical(three, "4096  1,7") == "4096 1 7" and bounds_words(three) == "3 whole numbers"
    with pytest.raises(ValueError, match="3 whole numbers"):
        canonical(three, "4096 1")
    governor = Setting("machine", "cpu.governor", "schedutil", choices=("performance", "schedutil"))
    assert canonical(governor, "performance") == "performance"
    with pytest.raises(ValueError, match="not one of performance, schedutil"):
        canonical(governor, "fast")
    cpus = Setting(NIC, "queue.rx-0.rps_cpus", "none")
    assert canonical(cpus, "3,0-1") == "0-1,3" and canonical(cpus, "none") == "none"
    with pytest.raises(ValueError, match="not a CPU list"):
        canonical(cpus, "all")


async def test_a_change_of_the_management_nic_warns(fake: Any) -> None:
    engine = fake.FakeEngine()
    for role, view in engine.views.items():
        engine.views[role] = replace(view, management_nic=view.data_nic)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("2")
        await fake.until(pilot, shows(fake, pilot, "rx-checksum"))
        app.stage([Change(Role.RECEIVER, NIC, TSO, "off")])
        await fake.until(pilot, shows(fake, pilot, f"! ▼ beta: {NIC} carries the SSH connection"))
        assert [role for role, _ in warnings(app.bench)] == [Role.RECEIVER]
