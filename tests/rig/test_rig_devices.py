"""NICs above a real one (VLAN, bond, bridge) and a NIC whose name is markup, not ASCII, and looks like a host's."""

import contextlib
from collections.abc import Iterator

import pytest
import tools_say
from rig import Guest, Rig

from netbench_tui.engine.engine import Engine
from netbench_tui.model.change import Change, ChangeKind
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings

SECONDS = 120
STACK = {"nic0.5": "vlan", "bond5": "bond", "bridge5": "bridge"}
BUILD = """\
set -e
ip link add link nic0 name nic0.5 type vlan id 5
ip link add bond5 type bond mode active-backup
ip link set nic0.5 master bond5
ip link add bridge5 type bridge
ip link set bond5 master bridge5
for nic in nic0.5 bond5 bridge5; do ip link set $nic up; done
"""
REMOVE = "ip link del bridge5; ip link del bond5; ip link del nic0.5"
MARKUP = "[red]@é"


@pytest.fixture
def alpha(pair: Rig) -> Guest:
    return pair.alpha


@pytest.fixture
def stacked(alpha: Guest) -> Iterator[Guest]:
    """alpha with a bridge over a bond over a VLAN over nic0."""
    # Modules bring sysctls along, and stay.
    alpha.ssh("sh", "-c", "modprobe bonding max_bonds=0 && modprobe bridge")
    before = tools_say.everything(alpha)
    try:
        alpha.ssh("sh", "-c", BUILD)
        yield alpha
    finally:
        alpha.ssh("sh", "-c", REMOVE, check=False)
    assert tools_say.everything(alpha) == before


def wishes(settings: HostSettings, nic: str) -> list[Change]:
    """A shorter MTU, and the other value of every feature that may be switched."""
    changes = [Change(Role.SENDER, nic, "mtu", "1400")]
    for setting in settings.of(nic):
        if setting.group == "feature" and setting.writable:
            value = "off" if setting.value == "on" else "on"
            changes.append(Change(Role.SENDER, nic, setting.key, value))
    return changes


def change_and_restore(workbench: Engine, guest: Guest, nic: str) -> None:
    """All of `wishes`, as the host's tools see it, and back."""
    before = tools_say.everything(guest, nic)
    changes = wishes(workbench.read_settings(Role.SENDER, (nic,)).result(SECONDS), nic)
    applied = workbench.apply(changes, ChangeKind.LEASE).result(SECONDS)
    took = {outcome.key for outcome in applied.outcomes if outcome.asked is not None and outcome.took}
    assert "mtu" in took and any(key.startswith("feature.") for key in took), applied
    assert "mtu 1400" in guest.ssh("ip", "-o", "link", "show", "dev", nic)
    shown = workbench.read_settings(Role.SENDER, (nic,)).result(SECONDS)
    assert tools_say.features(guest, nic) == features_shown(shown, nic)
    restored = workbench.restore().result(SECONDS)
    assert all(part.whole for part in restored), restored
    assert tools_say.everything(guest, nic) == before


def features_shown(settings: HostSettings, nic: str) -> dict[str, tuple[str, bool, bool]]:
    """As tools_say.features has them."""
    found = (setting for setting in settings.of(nic) if setting.group == "feature")
    return {s.key.removeprefix("feature."): (s.in_force, s.fixed, bool(s.active)) for s in found}


def test_a_bridge_over_a_bond_over_a_vlan(workbench: Engine, stacked: Guest) -> None:
    facts = workbench.inspect(Role.SENDER).result(SECONDS)
    found = {nic.name: nic.kind for nic in facts.nics}
    assert {name: found.get(name) for name in STACK} == STACK
    assert facts.below("bridge5") == ("bond5", "nic0.5", "nic0")
    for nic, lower in (("nic0.5", "nic0"), ("bond5", "nic0.5"), ("bridge5", "bond5")):
        shown = workbench.read_queues(Role.SENDER, nic).result(SECONDS)
        assert shown.irqs == () and any(lower in note for note in shown.notes), shown
        change_and_restore(workbench, stacked, nic)


@contextlib.contextmanager
def renamed(guest: Guest, name: str) -> Iterator[None]:
    """nic0 under another name. IPv6 addresses go when a NIC goes down."""
    move = 'ip link set dev "$1" down && ip link set dev "$1" name "$2" && ip link set dev "$2" up'
    address = 'ip addr replace "$1" dev nic0 nodad'
    guest.ssh("sh", "-c", move, "move", "nic0", name)
    try:
        yield
    finally:
        guest.ssh("sh", "-c", move, "move", name, "nic0")
        guest.ssh("sh", "-c", address, "address", f"fd88::{guest.index}/64")


def test_a_nic_whose_name_is_markup(workbench: Engine, alpha: Guest) -> None:
    with renamed(alpha, MARKUP):
        facts = workbench.inspect(Role.SENDER).result(SECONDS)
        assert facts.nic(MARKUP) is not None and facts.nic("nic0") is None
        shown = workbench.read_queues(Role.SENDER, MARKUP).result(SECONDS)
        assert shown.queues and all(queue.irq for queue in shown.queues), shown
        change_and_restore(workbench, alpha, MARKUP)
    assert workbench.inspect(Role.SENDER).result(SECONDS).nic("nic0") is not None
