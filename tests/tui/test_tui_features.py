"""The Features area against the paper engine: listing, staging, typing, applying, keeping, undoing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Input

from netbench_tui.engine import events
from netbench_tui.model.change import ChangeKind, OnRefusal
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings, Setting
from netbench_tui.tui.app import WorkbenchApp
from netbench_tui.tui.screens.features_help import SettingHelp
from netbench_tui.tui.screens.features_list import FeatureList
from netbench_tui.tui.screens.features_rows import scope_of, settings_of
from netbench_tui.tui.widgets.change_bar import ChangeBar

SIZES = [(80, 24), (120, 40), (200, 60)]
NIC = "ens2f0np0"
TSO = "feature.tx-tcp-segmentation"


def shows(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in fake.screen_text(pilot.app) for word in words)


async def opened(fake: Any, pilot: Any) -> FeatureList:
    await pilot.press("2")
    await fake.until(pilot, shows(fake, pilot, "Checksums", "rx-checksum", "of 97"))
    await fake.until(pilot, lambda: isinstance(pilot.app.focused, FeatureList))
    listed = pilot.app.focused
    assert isinstance(listed, FeatureList)
    return listed


def go(listed: FeatureList, key: str) -> None:
    """Puts the cursor on a setting, or on the head of a group."""
    listed.move_to([row.key or row.group for row in listed.items].index(key))
    assert listed.current is not None and key in (listed.current.key, listed.current.group)


def line_with(fake: Any, app: Any, word: str) -> str:
    return next(line for line in fake.screen_text(app).splitlines() if word in line)


@pytest.mark.parametrize("size", SIZES)
async def test_both_hosts_stand_side_by_side(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=size) as pilot:
        listed = await opened(fake, pilot)
        assert [call for call in engine.calls if call[0] == "read_settings"] == [("read_settings", r) for r in Role]
        fixed = line_with(fake, app, "tx-checksum-fcoe-crc")
        assert fixed.count("⊘ off fixed") == 2
        assert app.query_one(SettingHelp).display == (size[0] >= 110)
        go(listed, "feature.rx-lro")
        await fake.until(pilot, shows(fake, pilot, "× off wanted on"))
        assert "≠" in line_with(fake, app, "× off wanted on"), "the hosts differ in it"


async def test_a_toggle_on_one_host_and_on_both(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        go(listed, TSO)
        await pilot.press("space")
        await fake.until(pilot, shows(fake, pilot, "1 change on 1 host", "a apply 1"))
        assert fake.screen_text(app).count("◇ on  → off") == 1
        await pilot.press("b")
        await fake.until(pilot, shows(fake, pilot, "2 changes on 2 hosts"))
        await pilot.press("b")
        assert not len(app.bench.staged), "once more takes it back on both"
        await pilot.press("b")
        assert {change.value for change in app.bench.staged} == {"off"} and len(app.bench.staged) == 2
        await pilot.press("x", "right", "space")
        assert [change.role for change in app.bench.staged] == [Role.RECEIVER]
        assert not [call for call in engine.calls if call[0] == "apply"], "nothing is written before it is applied"


async def test_what_cannot_be_changed_is_said_and_not_staged(fake: Any) -> None:
    engine = fake.FakeEngine()
    known = engine.known_settings(Role.SENDER)
    barred = Setting("machine", "cpu.governor", "schedutil", refusal="machine-wide: it is your own machine")
    engine.settings[Role.SENDER] = fake.with_values(known, {("machine", "cpu.governor"): barred})
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        go(listed, "cpu.governor")
        await pilot.press("space")
        await fake.until(pilot, shows(fake, pilot, "! cpu.governor: ▲ machine-wide: it is your own machine"))
        assert "⊘ schedutil" in fake.screen_text(app)
        go(listed, "feature.tx-gso-list")
        await pilot.press("b")
        await fake.until(pilot, shows(fake, pilot, "tx-gso-list: ▲ ▼ fixed by the driver"))
        assert not len(app.bench.staged)


async def test_a_short_name_is_several_features(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        go(listed, "segmentation")
        await pilot.press("space")
        await fake.until(pilot, shows(fake, pilot, "ethtool's short names", "tso", "all off", "tx-tcp6-segmentation"))
        await pilot.press("enter")
        await fake.until(pilot, shows(fake, pilot, "3 changes on 1 host"))
        staged = {(change.key, change.value) for change in app.bench.staged}
        names = ("tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp6-segmentation")
        assert staged == {(f"feature.{name}", "off") for name in names}
        assert "gso" not in {change.key for change in app.bench.staged}


async def test_a_number_is_checked_while_it_is_typed(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        go(listed, "ring.rx")
        await pilot.press("space")
        await fake.until(pilot, lambda: isinstance(app.focused, Input))
        await fake.until(pilot, shows(fake, pilot, "now 2048", "takes 64..8160"))
        await pilot.press("ctrl+u", *"9999")
        await fake.until(pilot, shows(fake, pilot, "! 9999 is more than 8160, the most it takes"))
        await pilot.press("enter")
        assert not len(app.bench.staged)
        await pilot.press("ctrl+u", *"4k", "enter")
        await fake.until(pilot, shows(fake, pilot, "4k is not a whole number"))
        await pilot.press("ctrl+u", *"4096", "enter")
        await fake.until(pilot, shows(fake, pilot, "◇ 2048 → 4096", "1 change on 1 host", "link down for a moment"))
        await fake.until(pilot, lambda: isinstance(app.focused, FeatureList))


async def test_filter_and_only_what_differs_or_was_changed(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        await pilot.press("slash", *"tso")
        await fake.until(pilot, shows(fake, pilot, "4 of 97", "tx-tcp6-segmentation"))
        assert "rx-checksum" not in [row.name for row in listed.items]
        await pilot.press("escape", "d")
        await fake.until(pilot, shows(fake, pilot, "3 of 97  only different", "ring.rx"))
        await pilot.press("d")
        go(listed, TSO)
        await pilot.press("space", "c")
        await fake.until(pilot, shows(fake, pilot, "1 of 97  only changed"))
        await pilot.press("escape")
        await fake.until(pilot, shows(fake, pilot, "97 of 97"))


async def test_apply_shows_what_took_what_moved_and_what_was_refused(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        for key in (TSO, "feature.rx-lro"):
            go(listed, key)
            await pilot.press("space")
        await pilot.press("a")
        await fake.until(pilot, shows(fake, pilot, "on trial, read back", "1 took, 1 refused", "put back in"))
        text = fake.screen_text(app)
        assert "refused: Operation not supported (EOPNOTSUPP)" in text and "on → off  moved with it" in text
        assert "◆ 2 changed" in text and "◆ off  was on" in text
        assert "1 change on trial ▲ " in text, "what moved along is not counted"
        call = next(call for call in engine.calls if call[0] == "apply")
        assert call[2:] == (ChangeKind.TRIAL, OnRefusal.REST)
        assert isinstance(app.focused, ChangeBar)
        await pilot.press("enter")
        await fake.until(pilot, lambda: not app.main.query_one(ChangeBar).display)
        assert ("keep", False) in engine.calls and isinstance(app.focused, FeatureList)
        await pilot.press("u")
        await fake.until(pilot, lambda: "changed" not in fake.screen_text(app).splitlines()[0])
        assert engine.known_settings(Role.SENDER).get(NIC, TSO).value == "on"


async def test_what_a_host_refused_stands_beside_the_setting_in_its_own_words(fake: Any) -> None:
    words = "Operation not supported: the firmware of this adapter keeps it for its own use and says so at length"
    engine = fake.FakeEngine()
    engine.refusals["feature.rx-lro"] = ("EOPNOTSUPP", words)
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        go(await opened(fake, pilot), "feature.rx-lro")
        await pilot.press("space", "a")
        await fake.until(pilot, shows(fake, pilot, "0 took, 1 refused", "says so at length (EOPNOTSUPP)"))
        assert " refused" in line_with(fake, app, "▌ rx-lro") and "×" in line_with(fake, app, "▌ rx-lro")
        assert "on trial" not in fake.screen_text(app), "nothing was written"
        await pilot.press("J")
        await fake.until(pilot, shows(fake, pilot, "Changed in this session", "says so at length ", " (EOPNOTSUPP)"))
        await pilot.press("escape")
        go(app.main.query_one(FeatureList), TSO)
        await pilot.press("space", "a")
        await fake.until(pilot, shows(fake, pilot, "put back in"))
        assert "refused" not in line_with(fake, app, " rx-lro")[:70], "the next transaction tells its own"


async def test_the_bar_fits_80_columns(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        go(await opened(fake, pilot), TSO)
        await pilot.press("b", "a")
        await fake.until(pilot, shows(fake, pilot, "2 changes on trial ▲ ▼", "enter keep", "P for good"))
        await pilot.press("escape")
        await fake.until(pilot, shows(fake, pilot, "tab to keep", "u undo", "P for good"))


async def test_the_whole_name_typed_as_a_filter_is_the_row_that_is_chosen(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        await pilot.press("G", "slash", *"mtu", "enter")
        await fake.until(pilot, lambda: app.focused is listed)
        assert listed.current.key == "mtu"


async def test_a_refusal_can_make_all_go_back(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        listed = await opened(fake, pilot)
        for key in (TSO, "feature.rx-lro"):
            go(listed, key)
            await pilot.press("space")
        await pilot.press("f")
        await fake.until(pilot, shows(fake, pilot, "refused: all goes back"))
        await pilot.press("a")
        await fake.until(pilot, lambda: any(call[0] == "apply" for call in engine.calls))
        await fake.until(pilot, lambda: app.bench.applied is not None)
        assert not app.main.query_one(ChangeBar).display, "nothing is on trial"
        assert len(app.bench.staged) == 2, "what went back is still staged: one can drop the refused one"
        assert engine.known_settings(Role.SENDER).get(NIC, TSO).value == "on"


async def test_a_trial_that_ends_says_what_was_put_back(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(80, 24)) as pilot:
        listed = await opened(fake, pilot)
        go(listed, TSO)
        await pilot.press("space", "a")
        await fake.until(pilot, shows(fake, pilot, "on trial ▲", "enter keep"))
        await pilot.press("down")
        await fake.until(pilot, lambda: app.focused is listed), "any key of the list goes back to it"
        engine.end_trial()
        await fake.until(pilot, shows(fake, pilot, "Put back", "the trial ended", "off → on"))
        assert not app.main.query_one(ChangeBar).display


async def test_reading_is_said_once_and_old_values_stay(fake: Any) -> None:
    engine = fake.FakeEngine()
    engine.hold_settings = fake.Future()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("2")
        await fake.until(pilot, shows(fake, pilot, "reading"))
        engine.hold_settings.set_result(HostSettings())
        engine.hold_settings = None
        await pilot.press("ctrl+r")
        await fake.until(pilot, shows(fake, pilot, "97 of 97"))
        held = engine.hold_settings = fake.Future()
        await pilot.press("ctrl+r")
        assert "97 of 97" in fake.screen_text(app), "the old values stay while they are read again"
        held.set_result(HostSettings())
        engine.hold_settings = None
        engine.calls.clear()
        engine.deliver(events.HostFailed(Role.RECEIVER, "beta", "lost", "", 16, was_connected=True))
        await fake.until(pilot, shows(fake, pilot, "s old"))
        engine.deliver(events.HostReturned(engine.views[Role.RECEIVER]))
        await fake.until(pilot, lambda: ("read_settings", Role.RECEIVER) in engine.calls)


async def test_names_of_hosts_are_text(fake: Any) -> None:
    engine = fake.FakeEngine()
    for role, view in engine.views.items():
        nic = replace(view.facts.nics[0], name="[red]@é:x")
        engine.views[role] = replace(view, facts=replace(view.facts, nics=(nic,)), data_nic=nic.name)
    odd = Setting("[red]@é:x", "feature.[b]new[/b]-offload", "on")
    known = engine.known_settings(Role.SENDER)
    engine.settings[Role.SENDER] = replace(known, settings=(odd, *known.settings))
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("2")
        await fake.until(pilot, shows(fake, pilot, "[red]@é:x", "of 98"))
        await pilot.press("slash", *"new", "enter")
        await fake.until(pilot, shows(fake, pilot, "[b]new[/b]-offload"))
        await pilot.press("j", "space")
        await fake.until(pilot, shows(fake, pilot, "1 change on 1 host"))
        assert next(iter(app.bench.staged)).scope == "[red]@é:x"


async def test_what_will_move_along_is_foretold(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 60)) as pilot:
        listed = await opened(fake, pilot)
        go(listed, "feature.tx-scatter-gather")
        await pilot.press("space")
        await fake.until(pilot, shows(fake, pilot, "1 change on 1 host", "↳ on  → off", "moves with it"))
        follows = {row.key for row in listed.items if row.key and row.cells[Role.SENDER].follows == "off"}
        assert {TSO, "feature.tx-generic-segmentation", "feature.tx-tcp6-segmentation"} <= follows
        assert not any(row.cells[Role.RECEIVER].touched for row in listed.items if row.key)
        await pilot.press("x")
        await fake.until(pilot, lambda: "↳ on" not in fake.screen_text(app))


async def test_a_vlan_shows_the_rings_of_the_nic_below(fake: Any) -> None:
    """What the data NIC has itself is set there; what only the NIC below has, is set below."""
    engine = fake.FakeEngine()
    for role, view in list(engine.views.items()):
        below = view.nic
        assert below is not None
        facts = replace(view.facts, nics=(*view.facts.nics, replace(below, name="vlan7", kind="vlan", lower=(NIC,))))
        engine.views[role] = replace(view, facts=facts, data_nic="vlan7")
        own = (Setting("vlan7", "mtu", "1400", minimum=68, maximum=1500), Setting("vlan7", TSO, "on"))
        under = fake.make_settings(fake.make_queue_map(facts, NIC))
        engine.settings[role] = HostSettings((*own, *under.settings))
    app = WorkbenchApp(engine, fake.pair())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("2")
        await fake.until(pilot, lambda: isinstance(pilot.app.focused, FeatureList) and bool(app.bench.settings))
        await fake.until(pilot, lambda: len(app.bench.settings) == len(Role))
        known = settings_of(app.bench, Role.SENDER)
        assert {key: known[key].scope for key in ("mtu", TSO, "ring.rx")} == {
            "mtu": "vlan7",
            TSO: "vlan7",
            "ring.rx": NIC,
        }
        scopes = {key: scope_of(app.bench, Role.SENDER, key) for key in ("mtu", "ring.rx", "sysctl.net.core.rmem_max")}
        assert scopes == {"mtu": "vlan7", "ring.rx": NIC, "sysctl.net.core.rmem_max": "machine"}
