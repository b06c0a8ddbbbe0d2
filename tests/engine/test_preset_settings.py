"""What a preset's settings mean on a host, and what a host makes of values that it takes in a form of its own."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from netbench_tui.engine.changes import Changes
from netbench_tui.engine.preset_settings import PresetSettings, changes_of
from netbench_tui.errors import RunFailed
from netbench_tui.model.change import Applied, Change, ChangeKind, OnRefusal, Outcome
from netbench_tui.model.host import Clock, HostFacts, Privilege, Role
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.session import HostView, Reach
from netbench_tui.model.setting import HostSettings, Setting

SENDER = Role.SENDER
KNOWN = HostSettings(
    (
        Setting("eth1", "feature.tx-tcp-segmentation", "on"),
        Setting("eth1", "feature.tx-tcp6-segmentation", "on", fixed=True),
        Setting("eth1", "feature.rx-lro", "off", fixed=True),
        Setting("eth1", "ring.rx", "256"),
        Setting("eth1", "qdisc.root", "fq maxrate 1Gbit"),
        *(Setting("eth1", f"queue.rx-{number}.rps_cpus", "none") for number in range(4)),
        Setting("machine", "sysctl.net.ipv4.tcp_sack", "1"),
    )
)


def meant(*settings: PresetSetting) -> dict[tuple[str, str], str]:
    found = changes_of(SENDER, KNOWN, "eth1", "alpha", settings)
    return {(change.scope, change.key): change.value for change in found}


def test_a_short_name_stands_for_what_can_be_switched() -> None:
    assert meant(PresetSetting(None, "tso", "off")) == {("eth1", "feature.tx-tcp-segmentation"): "off"}
    assert meant(PresetSetting(None, "lro", "on")) == {("eth1", "feature.rx-lro"): "on"}, (
        "the host says that it is fixed"
    )
    with pytest.raises(RunFailed, match="alpha: eth1 has no setting ntuple"):
        meant(PresetSetting(None, "ntuple", "on"))


def test_a_pattern_stands_for_what_there_is() -> None:
    assert len(meant(PresetSetting(None, "queue.rx-*.rps_cpus", "0"))) == 4
    assert meant(PresetSetting(None, "queue.rx-7.rps_cpus", "0")) == {("eth1", "queue.rx-7.rps_cpus"): "0"}
    with pytest.raises(RunFailed, match=r"the machine has no setting sysctl\.vm"):
        meant(PresetSetting(None, "sysctl.vm.*", "0"))


def test_what_is_named_outright_and_what_is_for_one_host_comes_last() -> None:
    outright = PresetSetting(None, "feature.tx-tcp-segmentation", "on")
    assert meant(outright, PresetSetting(None, "tso", "off")) == {("eth1", "feature.tx-tcp-segmentation"): "on"}
    assert meant(PresetSetting(SENDER, "tso", "off"), outright) == {("eth1", "feature.tx-tcp-segmentation"): "off"}
    assert meant(PresetSetting(Role.RECEIVER, "tso", "off")) == {}


def test_the_machines_settings_are_not_the_nics() -> None:
    assert meant(PresetSetting(None, "sysctl.net.ipv4.tcp_sack", "0")) == {("machine", "sysctl.net.ipv4.tcp_sack"): "0"}


# --- a host on paper -------------------------------------------------------------------------------------------------


@dataclass
class PaperHost:
    """Holds KNOWN; `rounds` is what it makes of values that it takes, `moves` what else moves then, once."""

    rounds: Mapping[str, str] = field(default_factory=dict)
    moves: dict[str, tuple[str, str]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=lambda: {each.key: each.value for each in KNOWN.settings})
    asked: list[list[str]] = field(default_factory=list)

    async def read_settings(self, nics: Sequence[str], machine: bool) -> HostSettings:
        return HostSettings(tuple(Setting(each.scope, each.key, self.values[each.key]) for each in KNOWN.settings))

    async def read_one(self, places: Sequence[tuple[str, str]]) -> HostSettings:
        return HostSettings(tuple(Setting(scope, key, self.values[key]) for scope, key in places))

    def apply(self, changes: Sequence[Change]) -> Applied:
        self.asked.append([change.key for change in changes])
        outcomes = []
        for change in changes:
            old = self.values[change.key]
            now = self.values[change.key] = self.rounds.get(change.value, change.value)
            outcomes.append(Outcome(SENDER, change.scope, change.key, old, change.value, now))
            if change.key in self.moves:
                key, value = self.moves.pop(change.key)
                outcomes.append(Outcome(SENDER, change.scope, key, self.values[key], None, value))
                self.values[key] = value
        return Applied(1, 0.0, ChangeKind.LEASE, tuple(outcomes))


class PaperChanges:
    """As much of Changes as a run's settings need."""

    lost: Mapping[Role, Exception] = {Role.RECEIVER: RuntimeError()}

    def __init__(self, host: PaperHost) -> None:
        self._host, self.journal = host, self

    def host(self, role: Role) -> PaperHost:
        return self._host

    def held(self, role: Role) -> tuple[Any, ...]:
        return ()

    async def apply_for_run(self, changes: Sequence[Change], on_refusal: OnRefusal) -> Applied:
        return self._host.apply(changes)


@pytest.fixture
def carried_out() -> Callable[..., PresetSettings]:
    view = HostView(SENDER, "alpha", Reach.SSH, HostFacts("alpha"), Privilege.ROOT, Clock(0, 0, 0), "eth1")

    def carry_out(host: PaperHost, *settings: PresetSetting) -> PresetSettings:
        asked = PresetSettings(cast(Changes, PaperChanges(host)), {SENDER: view}, settings)
        asyncio.run(asked.apply())
        return asked

    return carry_out


def test_a_value_that_the_host_rounds_is_taken(carried_out: Callable[..., PresetSettings]) -> None:
    host = PaperHost(rounds={"1000": "1024"})
    done = carried_out(host, PresetSetting(SENDER, "ring.rx", "1000"))
    assert [(each.asked, each.now) for each in done.outcomes] == [("1000", "1024")]
    assert asyncio.run(done.take_back()) == () and host.values["ring.rx"] == "256"


def test_a_feature_that_stays_off_is_not(carried_out: Callable[..., PresetSettings]) -> None:
    with pytest.raises(RunFailed, match=r"alpha: eth1 feature.tx-tcp-segmentation=off: it reads on"):
        carried_out(PaperHost(rounds={"off": "on"}), PresetSetting(SENDER, "tso", "off"))


def test_what_was_in_place_and_moved_is_set_again(carried_out: Callable[..., PresetSettings]) -> None:
    host = PaperHost(moves={"ring.rx": ("queue.rx-0.rps_cpus", "0-3")})
    done = carried_out(
        host, PresetSetting(SENDER, "ring.rx", "512"), PresetSetting(SENDER, "queue.rx-0.rps_cpus", "none")
    )
    assert host.asked == [["ring.rx"], ["queue.rx-0.rps_cpus"]]
    again = next(each for each in done.outcomes if each.key == "queue.rx-0.rps_cpus")
    assert (again.old, again.asked, again.now, again.took) == ("none", "none", "none", True)


def test_what_somebody_else_changed_is_not_taken_back(carried_out: Callable[..., PresetSettings]) -> None:
    host = PaperHost()
    done = carried_out(host, PresetSetting(SENDER, "ring.rx", "512"), PresetSetting(SENDER, "tso", "off"))
    host.values["ring.rx"] = "2048"
    asyncio.run(done.take_back())
    assert (host.values["ring.rx"], host.values["feature.tx-tcp-segmentation"]) == ("2048", "on")
