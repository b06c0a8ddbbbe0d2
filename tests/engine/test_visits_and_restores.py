"""Visits to hosts that outlive them: what a workbench leaves when it closes or is killed, and `restore` afterwards."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events, visit
from netbench_tui.errors import HostUnreachable, UsageError
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.model.change import Change, ChangeKind, Held
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, LabTarget, Reach

TSO = "feature.tx-tcp-segmentation"
GRO = "feature.rx-gro"
SECONDS = 20.0
# Another workbench: one change as a lease, one for good, and then it hangs.
WORKBENCH = """
import json, sys, time
from pathlib import Path
from netbench_tui.engine import visit
from netbench_tui.engine.engine import Engine
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.model.change import Change, ChangeKind
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget

history, enter, nic = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]

async def inside(target, role, reached, ways, on_note):
    return LocalTransport(target.sender.name, prefix=enter)

visit.open_transport = inside
engine = Engine(Path(history))
engine.start()
engine.visit([HostTarget("gamma")]).result(30)
made = ("feature.tx-tcp-segmentation", "off", ChangeKind.LEASE), ("mtu", "1400", ChangeKind.PERMANENT)
for key, value, kind in made:
    assert not engine.apply([Change(Role.SENDER, nic, key, value)], kind).result(30).refused
print("changed", flush=True)
time.sleep(600)
"""

Eventually = Callable[..., Any]


class Namespaces:
    """The lab of an engine that stays, as hosts `gamma` and `delta` of others."""

    names = ("gamma", "delta")

    def __init__(self, bench: Any) -> None:
        self.lab = bench.engine._session._reached.lab

    def enter(self, role: Role) -> list[str]:
        return list(self.lab.hosts[role].enter)

    def nic(self, role: Role) -> str:
        return str(self.lab.hosts[role].nic)

    def run(self, role: Role, *argv: str) -> str:
        words = [*self.enter(role), *argv]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=10).stdout

    def tso(self, role: Role = Role.SENDER) -> str:
        lines = self.run(role, "ethtool", "-k", self.nic(role)).splitlines()
        return next(line.split()[1] for line in lines if line.strip().startswith("tx-tcp-segmentation:"))

    def mtu(self, role: Role = Role.SENDER) -> str:
        return self.run(role, "cat", f"/sys/class/net/{self.nic(role)}/mtu").strip()

    def state(self) -> list[tuple[str, str]]:
        return [(self.tso(role), self.mtu(role)) for role in Role]


@pytest.fixture
def hosts(lab_bench: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespaces]:
    found = Namespaces(lab_bench)

    async def inside(target: Any, role: Role, reached: Any, ways: Any, on_note: Any) -> LocalTransport:
        name = (target.sender if role is Role.SENDER else target.receiver).name
        return LocalTransport(name, prefix=found.enter(tuple(Role)[found.names.index(name)]))

    monkeypatch.setattr(visit, "open_transport", inside)
    before = found.state()
    yield found
    assert found.state() == before


def test_one_host_is_visited_and_nothing_is_left(make_bench: Any, hosts: Namespaces, eventually: Eventually) -> None:
    bench = make_bench()
    views = bench.engine.visit([HostTarget("gamma")]).result(SECONDS)
    assert list(views) == [Role.SENDER]
    view = views[Role.SENDER]
    assert (view.name, view.data_nic) == ("gamma", "") and view.facts.nic(hosts.nic(Role.SENDER))
    assert [event.view for event in bench.of(events.HostConnected)] == [view]
    settings = bench.engine.read_settings(Role.SENDER, [hosts.nic(Role.SENDER)], machine=False).result(SECONDS)
    assert {setting.scope for setting in settings.settings} == {hosts.nic(Role.SENDER)}
    (one,) = bench.engine.read_one(Role.SENDER, [(hosts.nic(Role.SENDER), TSO)]).result(SECONDS).settings
    assert one == settings.get(hosts.nic(Role.SENDER), TSO)
    assert bench.engine.inspect(Role.SENDER).result(SECONDS).boot_id == view.facts.boot_id
    assert not bench.of(events.SettingsRead), "what is named is not the data path's"
    with pytest.raises(UsageError, match="no receiver"):
        bench.engine.read_settings(Role.RECEIVER).result(5)
    with pytest.raises(UsageError, match="no hosts are connected"):
        bench.engine.run("x", None).result(5)
    bench.engine.disconnect().result(SECONDS)
    assert bench.of(events.Disconnected)


def test_reading_without_netlink_and_from_a_captured_tree(make_bench: Any, hosts: Namespaces, tmp_path: Path) -> None:
    (tmp_path / "proc/sys/net/ipv4").mkdir(parents=True)
    (tmp_path / "proc/sys/net/ipv4/tcp_sack").write_text("7\n")
    bench = make_bench()
    bench.engine.visit([HostTarget("gamma")]).result(SECONDS)
    nic = hosts.nic(Role.SENDER)
    ways = {}
    for without in ((), ("netlink",)):
        found = bench.engine.read_settings(Role.SENDER, [nic], False, without).result(SECONDS)
        setting = found.get(nic, TSO)
        assert setting and setting.value == "on"
        ways[without] = setting.via
    assert ways[()] == "netlink" != ways[("netlink",)]
    tree = bench.engine.read_settings(Role.SENDER, [], True, root=str(tmp_path)).result(SECONDS)
    setting = tree.get("machine", "sysctl.net.ipv4.tcp_sack")
    assert (setting.value, setting.refusal) == ("7", "a captured tree")
    assert bench.engine.inspect(Role.SENDER, str(tmp_path)).result(SECONDS).cpus == ()


def test_the_lab_can_be_visited(bench: Any) -> None:
    views = bench.engine.visit(LabTarget(queues=2)).result(SECONDS)
    assert {role: view.name for role, view in views.items()} == {Role.SENDER: "alpha", Role.RECEIVER: "beta"}
    for role, view in views.items():
        settings = bench.engine.read_settings(role).result(SECONDS)
        assert settings.get(view.data_nic, TSO)
        assert "change this machine" in settings.get("machine", "sysctl.net.core.rmem_max").refusal


def test_two_hosts_or_one_but_not_three(bench: Any) -> None:
    for targets in ([], [HostTarget("a")] * 3):
        with pytest.raises(UsageError, match="name one or two"):
            bench.engine.visit(targets).result(5)


def test_a_host_that_cannot_be_reached_is_told(bench: Any, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host gone\n  HostName 127.0.0.1\n  Port 1\n")
    bench.engine._ways = replace(bench.engine._ways, ssh_config=str(config))
    with pytest.raises(HostUnreachable):
        bench.engine.visit([HostTarget("gone")]).result(30)
    (failed,) = bench.of(events.HostFailed)
    assert (failed.name, failed.was_connected) == ("gone", False)
    with pytest.raises(UsageError, match="no hosts are connected"):
        bench.engine.undo().result(5)


def test_closing_puts_leases_back_and_leaves_what_is_permanent(
    make_bench: Any, hosts: Namespaces, tmp_path: Path
) -> None:
    first, nics = make_bench(tmp_path / "shared.db"), {role: hosts.nic(role) for role in Role}
    first.engine.visit([HostTarget(name) for name in hosts.names]).result(SECONDS)
    first.engine.apply([Change(role, nics[role], TSO, "off") for role in Role], ChangeKind.LEASE).result(SECONDS)
    first.engine.apply([Change(role, nics[role], "mtu", "1400") for role in Role], ChangeKind.PERMANENT).result(SECONDS)
    assert hosts.state() == [("off", "1400")] * 2
    start = time.monotonic()
    first.engine.close()
    assert time.monotonic() - start < 5
    assert hosts.state() == [("on", "1400")] * 2
    told = first.of(events.SettingsRestored)
    assert {event.restored.role for event in told} == set(Role)
    assert all(event.restored.whole and event.restored.why == "the sitting ended" for event in told)
    assert first.of(events.JournalChanged)[-1].entries[0].state is Held.PERMANENT

    second = make_bench(tmp_path / "shared.db")
    left = second.engine.open_changes().result(SECONDS)
    assert [(each.entry.host, each.entry.key, each.entry.state) for each in left] == [
        (name, "mtu", Held.PERMANENT) for name in hosts.names
    ]
    second.engine.visit([HostTarget(name) for name in hosts.names]).result(SECONDS)
    restored = second.engine.restore([each.entry for each in left]).result(SECONDS)
    assert all(each.whole and len(each.entries) == 1 for each in restored)
    assert hosts.state() == [("on", "1500")] * 2
    assert second.engine.open_changes().result(SECONDS) == []


def test_what_a_killed_workbench_left_is_found_and_restored(
    make_bench: Any, hosts: Namespaces, tmp_path: Path, eventually: Eventually
) -> None:
    history, nic = tmp_path / "history.db", hosts.nic(Role.SENDER)
    argv = [sys.executable, "-c", WORKBENCH, str(history), json.dumps(hosts.enter(Role.SENDER)), nic]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout and child.stdout.readline() == "changed\n"
            assert (hosts.tso(), hosts.mtu()) == ("off", "1400")
            bench = make_bench(history)
            assert {each.owner_gone for each in bench.engine.open_changes("gamma").result(SECONDS)} == {False}
        finally:
            child.kill()
    eventually(lambda: hosts.tso() == "on", "the host puts the lease back by itself", 5)
    assert hosts.mtu() == "1400"

    left = bench.engine.open_changes("gamma").result(SECONDS)
    assert [(each.entry.key, each.entry.state, each.owner_gone) for each in left] == [
        (TSO, Held.HELD, True),
        ("mtu", Held.PERMANENT, True),
    ]
    assert {each.target for each in left} == {HostTarget("gamma", Reach.SSH)}
    bench.engine.visit([left[0].target]).result(SECONDS)
    (told,) = bench.engine.restore([replace(each.entry, role=Role.SENDER) for each in left]).result(SECONDS)
    assert {entry.key: entry.state for entry in told.entries} == {TSO: Held.RESTORED, "mtu": Held.RESTORED}
    assert (hosts.tso(), hosts.mtu()) == ("on", "1500")
    assert bench.engine.open_changes().result(SECONDS) == []
    assert bench.engine.journal().result(5) == ()


def test_earlier_changes_on_one_place_go_back_from_the_newest(
    make_bench: Any, hosts: Namespaces, tmp_path: Path
) -> None:
    nic, history = hosts.nic(Role.SENDER), tmp_path / "history.db"
    for value in ("1400", "1300"):
        bench = make_bench(history)
        bench.engine.visit([HostTarget("gamma")]).result(SECONDS)
        bench.engine.apply([Change(Role.SENDER, nic, "mtu", value)], ChangeKind.PERMANENT).result(SECONDS)
        bench.engine.close()
    last = make_bench(history)
    last.engine.visit([HostTarget("gamma")]).result(SECONDS)
    left = last.engine.open_changes().result(SECONDS)
    assert [(each.entry.found, each.entry.ours) for each in left] == [("1500", "1300")]
    # A lease of this sitting on top of it goes back with it.
    last.engine.apply([Change(Role.SENDER, nic, "mtu", "1200")], ChangeKind.LEASE).result(SECONDS)
    last.engine.restore().result(SECONDS)
    assert hosts.mtu() == "1300"
    (told,) = last.engine.restore([each.entry for each in left]).result(SECONDS)
    assert told.whole and hosts.mtu() == "1500"


def test_an_earlier_change_that_somebody_undid_is_left_alone(
    make_bench: Any, hosts: Namespaces, tmp_path: Path
) -> None:
    nic, history = hosts.nic(Role.SENDER), tmp_path / "history.db"
    first = make_bench(history)
    first.engine.visit([HostTarget("gamma")]).result(SECONDS)
    first.engine.apply([Change(Role.SENDER, nic, "mtu", "1400")], ChangeKind.PERMANENT).result(SECONDS)
    first.engine.close()
    hosts.run(Role.SENDER, "sh", "-c", f"echo 1350 > /sys/class/net/{nic}/mtu")
    bench = make_bench(history)
    left = [each.entry for each in bench.engine.open_changes().result(SECONDS)]
    bench.engine.visit([HostTarget("gamma")]).result(SECONDS)
    (told,) = bench.engine.restore(left).result(SECONDS)
    (entry,) = told.entries
    assert (entry.state, entry.note) == (Held.FOREIGN, "it reads 1350") and hosts.mtu() == "1350"
    assert bench.engine.open_changes().result(SECONDS) == []
    hosts.run(Role.SENDER, "sh", "-c", f"echo 1500 > /sys/class/net/{nic}/mtu")


def test_a_visited_host_that_dies_fails_what_is_asked(
    make_bench: Any, hosts: Namespaces, eventually: Eventually
) -> None:
    bench = make_bench()
    bench.engine.visit([HostTarget("gamma")]).result(SECONDS)
    nic = hosts.nic(Role.SENDER)
    bench.engine.apply([Change(Role.SENDER, nic, TSO, "off")], ChangeKind.LEASE).result(SECONDS)
    agent = bench.engine._visit.hosts[Role.SENDER].client
    hosts.run(Role.SENDER, "kill", "-9", str(agent.hello["pid"]))
    eventually(lambda: bench.of(events.HostFailed), "the loss is told")
    assert bench.of(events.HostFailed)[-1].was_connected
    with pytest.raises(Exception, match="gamma"):
        bench.engine.read_settings(Role.SENDER, [nic]).result(5)
    eventually(lambda: hosts.tso() == "on", "the guardian put it back", 5)
