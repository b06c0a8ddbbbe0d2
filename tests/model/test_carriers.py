"""Which NIC has the queues and interrupts of a NIC that has no hardware of its own."""

import pytest

from netbench_tui.model.host import HostFacts, Nic

NICS = (
    Nic("eth0", kind="physical", state="down"),
    Nic("eth1", kind="physical", state="up"),
    Nic("bond0", kind="bond", lower=("eth0", "eth1")),
    Nic("bond0.7", kind="vlan", lower=("bond0",)),
    Nic("eth0.5", kind="vlan", lower=("eth0",)),
    Nic("br0", kind="bridge", lower=("veth1", "eth0.5")),
    Nic("veth1", kind="virtual"),
    Nic("above", kind="virtual", lower=("veth1",)),
    Nic("loop", kind="virtual", lower=("loop",)),
)


@pytest.mark.parametrize(
    ("nic", "carrier"),
    [
        ("eth0", "eth0"),
        ("bond0", "eth1"),
        ("bond0.7", "eth1"),
        ("eth0.5", "eth0"),
        ("br0", "eth0"),
        ("veth1", "veth1"),
        ("above", "above"),
        ("loop", "loop"),
        ("gone", "gone"),
        ("", ""),
    ],
)
def test_carriers(nic: str, carrier: str) -> None:
    assert HostFacts("alpha", nics=NICS).carrier(nic) == carrier
