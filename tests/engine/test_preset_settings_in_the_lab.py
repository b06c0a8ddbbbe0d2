"""A preset's settings hold while its run lasts and are taken back after it, whatever comes of it."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.model.change import Change, ChangeKind
from netbench_tui.model.host import Role
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.run import RunResult, RunState, TrafficTest
from netbench_tui.model.session import LabTarget, StoredRun

TSO = "feature.tx-tcp-segmentation"
SHORT = TrafficTest(seconds=1, generator="builtin")
LONG = TrafficTest(seconds=60, generator="builtin")
SENDER_TSO_OFF = (PresetSetting(Role.SENDER, "tso", "off"),)
SECONDS = 20.0

Eventually = Callable[..., Any]


class Hosts:
    """The lab's hosts as ethtool inside sees them."""

    def __init__(self, bench: Any) -> None:
        self.session = bench.engine._session
        self.lab = self.session._reached.lab

    def nic(self, role: Role) -> str:
        return str(self.lab.hosts[role].nic)

    def run(self, role: Role, *argv: str) -> str:
        words = [*self.lab.hosts[role].enter, *argv]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=10).stdout

    def features(self, role: Role) -> dict[str, str]:
        lines = self.run(role, "ethtool", "-k", self.nic(role)).splitlines()[1:]
        return {line.split(":")[0].strip(): line.split()[1] for line in lines}

    def tso(self) -> list[str]:
        return [self.features(role)["tx-tcp-segmentation"] for role in Role]

    def everything(self) -> list[str]:
        shown = [("ethtool", "-k"), ("ip", "-d", "link", "show"), ("tc", "qdisc", "show", "dev")]
        return [self.run(role, *argv, self.nic(role)) for role in Role for argv in shown]


@pytest.fixture
def hosts(lab_bench: Any) -> Iterator[Hosts]:
    """Both hosts as they were, after the test too, without restoring anything here."""
    seen = Hosts(lab_bench)
    before = seen.everything()
    lab_bench.seen.clear()
    yield seen
    lab_bench.engine.stop_run().result(SECONDS)
    assert lab_bench.engine.journal().result(5) == ()
    assert seen.everything() == before


def run(bench: Any, settings: Sequence[PresetSetting], test: TrafficTest = SHORT) -> tuple[RunResult, StoredRun]:
    result = bench.engine.run("by hand", test, settings).result(60)
    return result, bench.engine.stored_run(bench.of(events.RunEnded)[-1].run_id).result(10)


def test_they_hold_during_the_run_and_are_taken_back_after_it(lab_bench: Any, hosts: Hosts) -> None:
    going = lab_bench.engine.run("by hand", TrafficTest(seconds=2, generator="builtin"), SENDER_TSO_OFF)
    lab_bench.wait_running()
    during = {name: word for name, word in hosts.features(Role.SENDER).items() if name.startswith("tx-tcp")}
    assert len(during) >= 4 and set(during.values()) == {"off"}, "the short name stands for all of them"
    assert hosts.tso() == ["off", "on"]
    assert {entry.kind for entry in lab_bench.engine.journal().result(5)} == {ChangeKind.LEASE}
    result = going.result(60)
    assert result.state is RunState.FINISHED, result.reason
    assert hosts.tso() == ["on", "on"]
    assert [(each.role, each.old, each.asked, each.now) for each in result.settings if each.key == TSO] == [
        (Role.SENDER, "on", "off", "off")
    ]
    assert not result.events, "what belongs to the run leaves no marks in it"
    stored = lab_bench.engine.stored_run(lab_bench.of(events.RunEnded)[-1].run_id).result(10)
    assert stored.result.settings == result.settings
    assert lab_bench.engine.undo().result(SECONDS) is None, "it was no step of the person's"


def test_settings_of_several_kinds_and_of_both_hosts(lab_bench: Any, hosts: Hosts) -> None:
    wishes = (
        PresetSetting(None, "mtu", "1400"),
        PresetSetting(None, "sysctl.net.ipv4.tcp_sack", "0"),
        PresetSetting(None, "gso", "off"),
        PresetSetting(Role.RECEIVER, "mtu", "1450"),
        PresetSetting(Role.SENDER, "feature.tx-generic-segmentation", "on"),
        PresetSetting(Role.SENDER, "channels.rx", "2"),
        PresetSetting(Role.SENDER, "queue.rx-[01].rps_flow_cnt", "64"),
        PresetSetting(Role.SENDER, "txqueuelen", "500"),
    )
    result, stored = run(lab_bench, wishes)
    assert result.state is RunState.FINISHED, result.reason
    asked = {(each.role, each.key): each for each in stored.result.settings if not each.moved_along}
    assert all(each.took for each in asked.values())
    mtu = [asked[role, "mtu"].now for role in Role]
    assert mtu == ["1400", "1450"], "what is for one host beats what is for both"
    gso = [asked[role, "feature.tx-generic-segmentation"].now for role in Role]
    assert gso == ["on", "off"]
    assert asked[Role.SENDER, "queue.rx-1.rps_flow_cnt"].now == "64"
    along = {each.key for each in stored.result.settings if each.moved_along}
    assert "queue.rx-3.rps_cpus" in along, "what went away with the channels is recorded too"


def test_what_is_in_place_is_no_change(lab_bench: Any, hosts: Hosts) -> None:
    result, stored = run(lab_bench, (PresetSetting(None, "feature.tx-tcp-segmentation", "on"),))
    assert result.state is RunState.FINISHED, result.reason
    assert [(each.old, each.now, each.took) for each in stored.result.settings] == [("on", "on", True)] * 2
    assert not lab_bench.of(events.JournalChanged), "nothing was written"


def test_what_the_session_held_stays_held(lab_bench: Any, hosts: Hosts) -> None:
    engine, nic = lab_bench.engine, hosts.nic(Role.SENDER)
    engine.apply([Change(Role.SENDER, nic, TSO, "off")], ChangeKind.LEASE).result(SECONDS)
    result, _ = run(lab_bench, (PresetSetting(None, TSO, "on"), PresetSetting(None, "gro", "on")))
    assert result.state is RunState.FINISHED, result.reason
    assert hosts.tso() == ["off", "on"]
    (held,) = engine.journal().result(5)
    assert (held.role, held.key, held.found, held.ours) == (Role.SENDER, TSO, "on", "off")
    result, _ = run(lab_bench, SENDER_TSO_OFF)
    assert hosts.tso() == ["off", "on"], "in place before, in place after"
    engine.undo().result(SECONDS)
    assert hosts.tso() == ["on", "on"]


def test_a_refusal_fails_the_run_with_the_hosts_words(lab_bench: Any, hosts: Hosts) -> None:
    wishes = (PresetSetting(None, "tso", "off"), PresetSetting(Role.RECEIVER, "feature.vlan-challenged", "on"))
    result, stored = run(lab_bench, wishes)
    nic = hosts.nic(Role.RECEIVER)
    assert (result.state, stored.summary.state) == (RunState.FAILED, RunState.FAILED)
    assert result.reason == f"beta: {nic} feature.vlan-challenged=on: fixed by the driver (EOPNOTSUPP)"
    assert stored.result.reason == result.reason and not result.outputs, "no traffic was sent"
    (refused,) = [each for each in stored.result.settings if each.code]
    assert (refused.role, refused.key, refused.error) == (
        Role.RECEIVER,
        "feature.vlan-challenged",
        "fixed by the driver",
    )
    assert all(each.old == each.now for each in stored.result.settings), "the other host went back"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (PresetSetting(Role.SENDER, "mtu", "1000000"), "alpha: .* mtu=1000000: .*EINVAL"),
        (PresetSetting(Role.SENDER, "ring.rx", "64"), "alpha: .* ring.rx=64: there is no such setting"),
        (PresetSetting(None, "sysctl.net.core.rmem_max", "1"), "alpha: sysctl.net.core.rmem_max=1: .*machine-wide"),
        (PresetSetting(None, "queue.rx-9*.rps_cpus", "0"), "alpha: .* has no setting queue.rx-9"),
    ],
)
def test_what_cannot_be_is_said(lab_bench: Any, hosts: Hosts, setting: PresetSetting, words: str) -> None:
    result, _ = run(lab_bench, (setting,))
    assert result.state is RunState.FAILED
    assert re.match(words, result.reason), result.reason


def test_a_trial_of_the_same_setting_is_in_the_way(lab_bench: Any, hosts: Hosts) -> None:
    engine, nic = lab_bench.engine, hosts.nic(Role.SENDER)
    engine.apply([Change(Role.SENDER, nic, TSO, "off")], seconds=600).result(SECONDS)
    result, _ = run(lab_bench, SENDER_TSO_OFF)
    assert (result.state, result.reason) == (RunState.FAILED, f"alpha: {nic} {TSO} is on trial")
    engine.undo().result(SECONDS)


def test_stop_takes_them_back(lab_bench: Any, hosts: Hosts) -> None:
    going = lab_bench.engine.run("by hand", LONG, SENDER_TSO_OFF)
    lab_bench.wait_running()
    assert hosts.tso() == ["off", "on"]
    lab_bench.engine.stop_run().result(SECONDS)
    assert hosts.tso() == ["on", "on"], "before the stop is answered"
    assert going.result(0).state is RunState.STOPPED


def test_what_was_changed_by_hand_meanwhile_is_left_alone(lab_bench: Any, hosts: Hosts) -> None:
    engine = lab_bench.engine
    going = engine.run("by hand", LONG, (PresetSetting(Role.SENDER, "mtu", "1400"),))
    lab_bench.wait_running()
    engine.apply([Change(Role.SENDER, hosts.nic(Role.SENDER), "mtu", "1450")], ChangeKind.LEASE).result(SECONDS)
    engine.stop_run().result(SECONDS)
    assert going.result(0).state is RunState.STOPPED
    (held,) = engine.journal().result(5)
    assert (held.key, held.found, held.ours) == ("mtu", "1500", "1450")
    engine.restore().result(SECONDS)


def test_a_lost_host_takes_them_back_by_itself(bench: Any, eventually: Eventually) -> None:
    bench.connect(LabTarget())
    hosts = Hosts(bench)
    going = bench.engine.run("by hand", LONG, (PresetSetting(None, "tso", "off"),))
    bench.wait_running()
    assert hosts.tso() == ["off", "off"]
    os.kill(hosts.session.hosts[Role.RECEIVER].client.hello["pid"], signal.SIGKILL)
    assert going.result(SECONDS).state is RunState.INTERRUPTED
    assert hosts.tso()[0] == "on", "the host that is there"
    eventually(lambda: hosts.tso() == ["on", "on"], "the guardian put it back")
    eventually(lambda: bench.engine.journal().result(5) == (), "nothing is held")
