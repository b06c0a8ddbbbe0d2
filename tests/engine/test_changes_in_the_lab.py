"""Settings of a connected lab: applied on both hosts, seen by ethtool inside, and put back."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events, session
from netbench_tui.errors import UsageError
from netbench_tui.model.change import Change, ChangeKind, Held, OnRefusal, Outcome
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState, TrafficTest
from netbench_tui.model.session import LabTarget

TSO = "feature.tx-tcp-segmentation"
GATHER = "feature.tx-scatter-gather"
SACK = "sysctl.net.ipv4.tcp_sack"
SECONDS = 20.0

Eventually = Callable[..., Any]


class Hosts:
    """The lab's hosts as other programs see them."""

    def __init__(self, bench: Any) -> None:
        self.session = bench.engine._session
        self.lab = self.session._reached.lab

    def nic(self, role: Role) -> str:
        return str(self.lab.hosts[role].nic)

    def run(self, role: Role, *argv: str) -> str:
        words = [*self.lab.hosts[role].enter, *argv]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=10).stdout

    def ethtool(self, role: Role, name: str) -> str:
        """What `ethtool -k` says of a feature: `on`, `off`."""
        lines = self.run(role, "ethtool", "-k", self.nic(role)).splitlines()
        return next(line.split()[1] for line in lines if line.split()[0].rstrip(":") == name)

    def tso(self) -> list[str]:
        return [self.ethtool(role, "tx-tcp-segmentation") for role in Role]

    def sysctl(self, role: Role, path: str) -> str:
        return self.run(role, "cat", f"/proc/sys/{path}").strip()

    def everything(self) -> list[str]:
        return [self.run(role, "ethtool", "-k", self.nic(role)) for role in Role]


@pytest.fixture
def hosts(lab_bench: Any) -> Iterator[Hosts]:
    """Both hosts as they were, after the test too."""
    seen = Hosts(lab_bench)
    before = seen.everything()
    lab_bench.seen.clear()
    yield seen
    lab_bench.engine.restore().result(SECONDS)
    assert seen.everything() == before
    assert lab_bench.engine.journal().result(5) == ()


def both(hosts: Hosts, key: str, value: str) -> list[Change]:
    return [Change(role, hosts.nic(role), key, value) for role in Role]


def asked(outcomes: tuple[Outcome, ...]) -> list[Outcome]:
    return [outcome for outcome in outcomes if not outcome.moved_along]


def test_a_change_on_both_hosts_is_seen_and_undone(lab_bench: Any, hosts: Hosts) -> None:
    engine = lab_bench.engine
    engine.read_settings(Role.SENDER).result(SECONDS)
    applied = engine.apply(both(hosts, TSO, "off"), ChangeKind.LEASE).result(SECONDS)
    assert hosts.tso() == ["off", "off"]
    assert [(each.role, each.old, each.now, each.took) for each in asked(applied.outcomes)] == [
        (role, "on", "off", True) for role in Role
    ]
    assert lab_bench.of(events.ChangesApplied)[-1].applied == applied and applied.deadline is None
    read = lab_bench.of(events.SettingsRead)
    assert [event.role for event in read] == [Role.SENDER] * 2, "only what was shown is read anew"
    assert read[-1].settings.get(hosts.nic(Role.SENDER), TSO).value == "off"
    entries = lab_bench.of(events.JournalChanged)[-1].entries
    assert [(each.role, each.key, each.found, each.ours, each.state) for each in entries] == [
        (role, TSO, "on", "off", Held.HELD) for role in Role
    ]
    assert all(each.id for each in entries), "it stands in the history before the answer"

    undone = engine.undo().result(SECONDS)
    assert hosts.tso() == ["on", "on"] and undone.step == applied.step + 1
    assert lab_bench.of(events.JournalChanged)[-1].entries == ()
    assert engine.undo().result(SECONDS) is None


def test_undo_goes_back_step_by_step(lab_bench: Any, hosts: Hosts) -> None:
    engine, sender = lab_bench.engine, Role.SENDER
    nic = hosts.nic(sender)
    for value in ("1400", "1300"):
        engine.apply([Change(sender, nic, "mtu", value)], ChangeKind.LEASE).result(SECONDS)
    engine.apply(both(hosts, TSO, "off"), ChangeKind.TRIAL, seconds=600).result(SECONDS)
    mtu = Path("/sys/class/net") / nic / "mtu"

    def now() -> tuple[str, list[str]]:
        return hosts.run(sender, "cat", str(mtu)).strip(), hosts.tso()

    assert now() == ("1300", ["off", "off"])
    seen = []
    while engine.undo().result(SECONDS):
        seen.append(now())
    on = ["on", "on"]
    assert seen == [("1300", on), ("1400", on), ("1500", on)]


def test_what_moved_along_is_told_and_goes_back_too(lab_bench: Any, hosts: Hosts) -> None:
    sender = Role.SENDER
    change = Change(sender, hosts.nic(sender), GATHER, "off")
    applied = lab_bench.engine.apply([change], ChangeKind.LEASE).result(SECONDS)
    along = {outcome.key for outcome in applied.outcomes if outcome.moved_along}
    assert TSO in along
    assert hosts.tso() == ["off", "on"]
    lab_bench.engine.undo().result(SECONDS)
    assert hosts.tso() == ["on", "on"]


def test_a_trial_ends_by_itself(lab_bench: Any, hosts: Hosts, eventually: Eventually) -> None:
    before = time.monotonic()
    applied = lab_bench.engine.apply(both(hosts, TSO, "off"), seconds=1.0).result(SECONDS)
    assert before + 1 <= applied.deadline <= time.monotonic() + 1
    eventually(lambda: len(lab_bench.of(events.SettingsRestored)) == 2, "both hosts told")
    eventually(lambda: lab_bench.of(events.JournalChanged)[-1].entries == (), "the journal is empty")
    assert hosts.tso() == ["on", "on"]
    assert {event.restored.role for event in lab_bench.of(events.SettingsRestored)} == set(Role)
    assert all(event.restored.whole for event in lab_bench.of(events.SettingsRestored))
    assert lab_bench.engine.undo().result(SECONDS) is None, "there is nothing left to undo"


def test_a_kept_trial_stays_until_it_is_restored(lab_bench: Any, hosts: Hosts, eventually: Eventually) -> None:
    engine = lab_bench.engine
    engine.apply(both(hosts, TSO, "off"), seconds=1.5).result(SECONDS)
    engine.keep().result(SECONDS)
    assert {entry.kind for entry in engine.journal().result(5)} == {ChangeKind.LEASE}
    deadline = time.monotonic() + 2.5
    eventually(lambda: time.monotonic() > deadline, "the trial would have ended")
    assert hosts.tso() == ["off", "off"] and not lab_bench.of(events.SettingsRestored)
    told = engine.restore().result(SECONDS)
    assert [each.role for each in told] == list(Role) and all(each.whole and each.entries for each in told)
    assert hosts.tso() == ["on", "on"] and engine.journal().result(5) == ()


def test_one_entry_is_restored_and_the_rest_stays(lab_bench: Any, hosts: Hosts) -> None:
    engine = lab_bench.engine
    engine.apply(both(hosts, TSO, "off"), ChangeKind.LEASE).result(SECONDS)
    (mine,) = [entry for entry in engine.journal().result(5) if entry.role is Role.RECEIVER]
    (told,) = engine.restore([mine]).result(SECONDS)
    assert [(entry.id, entry.state) for entry in told.entries] == [(mine.id, Held.RESTORED)]
    assert hosts.tso() == ["off", "on"]
    assert [entry.role for entry in engine.journal().result(5)] == [Role.SENDER]


def test_permanent_changes_are_put_back_only_when_asked(lab_bench: Any, hosts: Hosts) -> None:
    engine = lab_bench.engine
    engine.apply(both(hosts, TSO, "off"), ChangeKind.LEASE).result(SECONDS)
    engine.keep(permanent=True).result(SECONDS)
    assert {(entry.kind, entry.state) for entry in engine.journal().result(5)} == {
        (ChangeKind.PERMANENT, Held.PERMANENT)
    }
    # A lease on top of it leads back to the permanent value first.
    engine.apply([Change(Role.SENDER, hosts.nic(Role.SENDER), TSO, "on")], ChangeKind.LEASE).result(SECONDS)
    assert hosts.tso() == ["on", "off"]
    engine.undo().result(SECONDS)
    assert hosts.tso() == ["off", "off"]
    assert len(engine.journal().result(5)) == 2
    told = engine.restore().result(SECONDS)
    assert all(each.whole for each in told) and hosts.tso() == ["on", "on"]


def test_an_undo_of_a_permanent_change_is_permanent(lab_bench: Any, hosts: Hosts) -> None:
    engine = lab_bench.engine
    engine.apply(both(hosts, TSO, "off"), ChangeKind.PERMANENT).result(SECONDS)
    assert len(engine.journal().result(5)) == 2
    assert engine.undo().result(SECONDS).kind is ChangeKind.PERMANENT
    assert hosts.tso() == ["on", "on"] and engine.journal().result(5) == ()


def test_what_somebody_else_changed_is_left_alone(lab_bench: Any, hosts: Hosts) -> None:
    engine, sender = lab_bench.engine, Role.SENDER
    nic = hosts.nic(sender)
    for kind in (ChangeKind.LEASE, ChangeKind.PERMANENT):
        engine.apply([Change(sender, nic, "mtu", "1400")], kind).result(SECONDS)
        hosts.run(sender, "sh", "-c", f"echo 1350 > /sys/class/net/{nic}/mtu")
        (told,) = engine.restore().result(SECONDS)
        (entry,) = told.entries
        assert entry.state is Held.FOREIGN and "1350" in entry.note
        assert engine.journal().result(5) == ()
        hosts.run(sender, "sh", "-c", f"echo 1500 > /sys/class/net/{nic}/mtu")


# --- what is refused -----------------------------------------------------------------------------------------------


def test_the_rest_is_applied_where_one_item_is_refused(lab_bench: Any, hosts: Hosts) -> None:
    changes = [Change(Role.SENDER, "machine", "sysctl.net.core.rmem_max", "300000"), *both(hosts, TSO, "off")]
    applied = lab_bench.engine.apply(changes, ChangeKind.LEASE).result(SECONDS)
    (refused,) = applied.refused
    assert refused.code == "EPERM" and "machine-wide" in refused.error
    assert not applied.undone and hosts.tso() == ["off", "off"]


def test_a_refusal_on_one_host_undoes_both(lab_bench: Any, hosts: Hosts) -> None:
    changes = [*both(hosts, TSO, "off"), Change(Role.RECEIVER, "machine", "sysctl.net.core.rmem_max", "300000")]
    applied = lab_bench.engine.apply(changes, ChangeKind.LEASE, OnRefusal.UNDO).result(SECONDS)
    assert applied.undone and len(applied.refused) == 1
    assert hosts.tso() == ["on", "on"]
    assert {each.now for each in asked(applied.outcomes) if each.key == TSO} == {"on"}
    assert lab_bench.engine.journal().result(5) == ()
    assert lab_bench.engine.undo().result(SECONDS) is None


def test_machine_wide_settings_are_shown_as_protected(lab_bench: Any, hosts: Hosts) -> None:
    settings = lab_bench.engine.read_settings(Role.RECEIVER).result(SECONDS)
    assert "change this machine" in settings.get("machine", "sysctl.net.core.rmem_max").refusal
    assert settings.get("machine", SACK).writable


def test_nothing_to_do_is_refused(lab_bench: Any, hosts: Hosts) -> None:
    with pytest.raises(UsageError, match="nothing is to be changed"):
        lab_bench.engine.apply([]).result(SECONDS)


def test_without_hosts_nothing_can_be_asked(bench: Any) -> None:
    for asking in (bench.engine.read_settings(Role.SENDER), bench.engine.undo(), bench.engine.restore()):
        with pytest.raises(UsageError, match="no hosts are connected"):
            asking.result(5)


# --- runs, paths and queues ----------------------------------------------------------------------------------------


def counted(lab_bench: Any, hosts: Hosts, *names: str) -> list[Change]:
    """What makes a veth pair count packets by queue: they go through NAPI where GRO is on and nothing is segmented."""
    known = lab_bench.engine.read_settings(Role.SENDER).result(SECONDS)
    segmenting = [key for _, key in known.index if key.startswith("feature.tx-tcp") and "segmentation" in key]
    wanted = {"gro": ["feature.rx-gro"], "tso": segmenting}
    values = {"gro": "on", "tso": "off"}
    return [change for name in names for key in wanted[name] for change in both(hosts, key, values[name])]


def test_a_change_during_a_run_leaves_a_mark_and_rates(lab_bench: Any, hosts: Hosts) -> None:
    engine = lab_bench.engine
    engine.apply(counted(lab_bench, hosts, "gro"), ChangeKind.LEASE).result(SECONDS)
    engine.watch(True, statistics=True).result(SECONDS)
    going = engine.run("marked", TrafficTest(seconds=3, generator="builtin"))
    lab_bench.wait_running()
    applied = engine.apply(counted(lab_bench, hosts, "tso"), ChangeKind.LEASE).result(SECONDS)
    result = going.result(30)
    assert result.state is RunState.FINISHED, result.reason
    (mark,) = result.events
    assert (mark.text, mark.role, mark.time) == ("tso off", None, applied.time)
    assert result.origin < mark.time < result.window.end
    (told,) = lab_bench.of(events.RunMarked)
    assert told.event == mark
    stored = engine.stored_run(told.run_id).result(10)
    assert stored.result.events == (mark,)
    counting = [sample for sample in stored.samples[Role.RECEIVER] if sample.statistics]
    assert counting and counting[0].time > mark.time, "what the driver counts is kept with the run"
    packets = [name for name in counting[-1].statistics if name.endswith("xdp_packets")]
    assert packets and sum(sample.statistics.get(name, 0) for sample in counting for name in packets) > 1000
    engine.watch(False).result(SECONDS)


def test_watching_brings_what_the_driver_counts_until_it_ends(
    lab_bench: Any, hosts: Hosts, eventually: Eventually
) -> None:
    lab_bench.engine.apply(counted(lab_bench, hosts, "gro", "tso"), ChangeKind.LEASE).result(SECONDS)
    lab_bench.engine.watch(True, statistics=True).result(SECONDS)
    peer, nic = hosts.session.views[Role.RECEIVER].addresses[4], hosts.nic(Role.RECEIVER)

    def send() -> None:
        program = "import socket, sys; s = socket.socket(type=2); [s.sendto(b'x', (sys.argv[1], 9)) for _ in range(50)]"
        hosts.run(Role.SENDER, sys.executable, "-c", program, peer)

    def received(since: int = 0) -> list[Any]:
        samples = [event.sample for event in lab_bench.of(events.SampleTaken)[since:] if event.role is Role.RECEIVER]
        return [sample for sample in samples if nic in sample.nics]

    send()
    eventually(lambda: any(sample.statistics for sample in received()), "what the driver counts")
    lab_bench.engine.watch(False).result(SECONDS)
    quiet = len(lab_bench.of(events.SampleTaken))
    send()
    later = eventually(lambda: received(quiet), "a sample with traffic after it")
    assert not any(sample.queues or sample.statistics for sample in later)


def test_queues_are_read_anew_when_channels_move(lab_bench: Any, hosts: Hosts) -> None:
    engine, sender = lab_bench.engine, Role.SENDER
    queues = engine.read_queues(sender).result(SECONDS)
    assert len(queues.of_kind("rx")) == 4
    change = Change(sender, hosts.nic(sender), "channels.rx", "2")
    applied = engine.apply([change], ChangeKind.LEASE).result(SECONDS)
    assert not applied.refused, applied.refused
    assert len(lab_bench.of(events.QueuesRead)[-1].queues.of_kind("rx")) == 2
    engine.undo().result(SECONDS)
    assert len(lab_bench.of(events.QueuesRead)[-1].queues.of_kind("rx")) == 4


# --- losing an agent -----------------------------------------------------------------------------------------------


def test_a_host_whose_agent_was_killed_tells_what_it_put_back(bench: Any, eventually: Eventually) -> None:
    bench.connect(LabTarget())
    hosts, engine = Hosts(bench), bench.engine
    engine.apply(both(hosts, TSO, "off"), ChangeKind.LEASE).result(SECONDS)
    os.kill(hosts.session.hosts[Role.RECEIVER].client.hello["pid"], signal.SIGKILL)
    eventually(lambda: hosts.ethtool(Role.RECEIVER, "tx-tcp-segmentation") == "on", "the guardian put it back", 5)
    eventually(lambda: bench.of(events.SettingsRestored), "it is told")
    (told,) = bench.of(events.SettingsRestored)
    assert (told.restored.role, told.restored.why) == (Role.RECEIVER, "the link to beta broke")
    assert [(entry.key, entry.state) for entry in told.restored.entries] == [(TSO, Held.RESTORED)]
    eventually(lambda: len(bench.of(events.JournalChanged)[-1].entries) == 1, "the journal knows")
    (left,) = engine.journal().result(5)
    assert (left.role, left.state) == (Role.SENDER, Held.HELD) and hosts.tso() == ["off", "on"]
    # The new agent protects this machine like the one before, and the other host's step can still be undone.
    settings = engine.read_settings(Role.RECEIVER).result(SECONDS)
    assert "change this machine" in settings.get("machine", "sysctl.net.core.rmem_max").refusal
    engine.undo().result(SECONDS)
    assert hosts.tso() == ["on", "on"]


def test_another_path_is_not_offered_but_settings_stay_readable(lab_bench: Any, hosts: Hosts) -> None:
    with pytest.raises(UsageError, match="one link"):
        lab_bench.engine.choose_path("lo", "lo").result(SECONDS)
    assert lab_bench.engine.read_settings(Role.SENDER).result(SECONDS).settings


def test_undo_takes_back_what_moved_on_a_nic_above(hosts: Hosts, lab_bench: Any) -> None:
    nic = hosts.nic(Role.SENDER)
    before = hosts.run(Role.SENDER, "cat", f"/sys/class/net/{nic}/mtu").strip()
    lab_bench.engine.apply([Change(Role.SENDER, nic, "mtu", "9000")], ChangeKind.LEASE).result(SECONDS)
    try:
        hosts.run(Role.SENDER, "ip", "link", "add", "above", "link", nic, "type", "macvlan")
    except subprocess.CalledProcessError:
        pytest.skip("this kernel has no macvlan")
    try:
        applied = lab_bench.engine.apply([Change(Role.SENDER, nic, "mtu", before)], ChangeKind.LEASE).result(SECONDS)
        assert [(row.scope, row.now) for row in applied.outcomes] == [(nic, before), ("above", before)]
        undone = lab_bench.engine.undo().result(SECONDS)
        assert undone and [(row.scope, row.now, row.code) for row in undone.outcomes] == [
            (nic, "9000", ""),
            ("above", "9000", ""),
        ]
    finally:
        hosts.run(Role.SENDER, "ip", "link", "del", "above")


def test_a_driver_that_takes_long_is_no_lost_host(
    lab_bench: Any, hosts: Hosts, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is stopped in place of a driver that resets its NIC for longer than a pulse is waited for."""
    monkeypatch.setattr(session, "PULSE_PATIENCE", 0.6)
    monkeypatch.setattr(session, "PULSE_SECONDS", 0.1)
    host = hosts.session.hosts[Role.RECEIVER]
    os.kill(host.client.hello["pid"], signal.SIGSTOP)
    try:
        applying = lab_bench.engine.apply([Change(Role.RECEIVER, hosts.nic(Role.RECEIVER), TSO, "off")])
        eventually(lambda: host.writing, "the agent is asked")
        time.sleep(2.0)  # several pulses without an answer: that nothing happens cannot be polled
    finally:
        os.kill(host.client.hello["pid"], signal.SIGCONT)
    assert all(outcome.took for outcome in applying.result(SECONDS).outcomes)
    assert not [event for event in lab_bench.seen if isinstance(event, events.HostFailed)]
