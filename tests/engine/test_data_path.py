"""Which NICs carry the traffic: a pure choice."""

import dataclasses

import pytest

from netbench_tui.engine.path import choose_path, management_nic
from netbench_tui.model.host import Address, HostFacts, Nic


def nic(name: str, *addresses: str, speed: int | None = 10_000, kind: str = "physical", state: str = "up") -> Nic:
    made = []
    for text in addresses:
        address, _, prefix = text.partition("/")
        family = 6 if ":" in address else 4
        scope = "link" if address.startswith("fe80") else "global"
        made.append(Address(address, int(prefix), family, scope))
    return Nic(name, speed_mbit=speed, kind=kind, state=state, addresses=tuple(made))


def host(name: str, *nics: Nic, boot_id: str = "") -> HostFacts:
    return HostFacts(name, nics=nics, boot_id=boot_id or f"boot of {name}")


def test_the_nic_that_carries_ssh_is_avoided_though_it_is_faster() -> None:
    alpha = host("alpha", nic("eth0", "10.0.0.1/24", speed=100_000), nic("eth1", "10.1.0.1/24"))
    beta = host("beta", nic("eth0", "10.0.0.2/24", speed=100_000), nic("eth1", "10.1.0.2/24"))
    path = choose_path(alpha, beta, "eth0", "eth0")
    assert (path.sender_nic, path.receiver_nic, path.warning) == ("eth1", "eth1", "")
    assert (path.sender, path.receiver) == ({4: "10.1.0.1"}, {4: "10.1.0.2"})


def test_the_fastest_pair_is_as_fast_as_its_slower_end() -> None:
    alpha = host("alpha", nic("a", "10.0.0.1/24", speed=100_000), nic("b", "10.1.0.1/24", speed=25_000))
    beta = host("beta", nic("a", "10.0.0.2/24", speed=1_000), nic("b", "10.1.0.2/24", speed=25_000))
    assert choose_path(alpha, beta).sender_nic == "b"


def test_the_only_subnet_is_taken_with_a_warning_if_it_carries_ssh() -> None:
    path = choose_path(host("a", nic("x", "10.0.0.1/24")), host("b", nic("y", "10.0.0.2/24")), "x", "y")
    assert (path.sender_nic, path.receiver_nic) == ("x", "y")
    assert "carries an SSH connection" in path.warning


def test_both_ip_versions_of_the_chosen_pair_and_no_link_local_address() -> None:
    alpha = host("alpha", nic("x", "fe80::1/64", "10.0.0.1/24", "fd00::1/64"))
    beta = host("beta", nic("y", "10.9.0.2/24", "10.0.0.2/24", "fe80::2/64", "fd00::2/64"))
    path = choose_path(alpha, beta)
    assert path.sender == {4: "10.0.0.1", 6: "fd00::1"} and path.receiver == {4: "10.0.0.2", 6: "fd00::2"}


def test_one_subnet_means_one_prefix_on_both_ends() -> None:
    alpha, beta = host("alpha", nic("x", "10.0.0.1/25")), host("beta", nic("y", "10.0.0.200/24"))
    assert not choose_path(alpha, beta).sender_nic


def test_the_same_address_on_both_guests_is_no_pair() -> None:
    """QEMU's user networking gives 10.0.2.15 to every guest."""
    user = nic("eth0", "10.0.2.15/24", speed=40_000)
    path = choose_path(host("a", user, nic("x", "10.5.0.1/24")), host("b", user, nic("x", "10.5.0.2/24")))
    assert path.sender == {4: "10.5.0.1"}
    assert "no addresses on a common subnet" in choose_path(host("a", user), host("b", user)).warning


def test_a_nic_that_is_down_carries_nothing_and_one_of_unknown_state_may() -> None:
    down = choose_path(host("a", nic("x", "10.0.0.1/24", state="down")), host("b", nic("y", "10.0.0.2/24")))
    assert not down.sender_nic and down.warning
    virtual = nic("tun0", "10.0.0.1/24", state="unknown", speed=None, kind="virtual")
    assert choose_path(host("a", virtual), host("b", nic("y", "10.0.0.2/24"))).sender_nic == "tun0"


def test_one_machine_twice_goes_over_loopback() -> None:
    loopback = nic("lo", "127.0.0.1/8", "::1/128", kind="loopback", state="unknown", speed=None)
    machine = host("local", loopback, nic("eth0", "192.0.2.1/24"), boot_id="b")
    path = choose_path(machine, dataclasses.replace(machine, name="again"), "eth0", "eth0")
    assert (path.sender_nic, path.receiver_nic, path.warning) == ("lo", "lo", "")
    assert path.sender == path.receiver == {4: "127.0.0.1", 6: "::1"}


def test_two_containers_of_one_machine_do_not_share_a_loopback() -> None:
    loopback = nic("lo", "127.0.0.1/8", kind="loopback", state="unknown")
    alpha = host("alpha", loopback, nic("eth0", "10.0.0.1/24", kind="virtual"), boot_id="b")
    beta = host("beta", loopback, nic("eth0", "10.0.0.2/24", kind="virtual"), boot_id="b")
    assert choose_path(alpha, beta).sender == {4: "10.0.0.1"}


def test_an_address_that_cannot_be_read_is_no_pair() -> None:
    strange = Nic("x", state="up", addresses=(Address("not an address", 24, 4),))
    assert choose_path(host("a", strange), host("b", nic("y", "10.0.0.2/24"))).warning


@pytest.mark.parametrize(
    ("connection", "name"),
    [
        ("10.0.0.9 50000 10.0.0.1 22", "eth0"),
        ("::ffff:10.0.0.9 50000 ::ffff:10.0.0.1 22", "eth0"),
        ("fe80::9%eth1 50000 fe80::1%eth1 22", "eth1"),
        ("10.0.0.9 50000 192.0.2.77 22", ""),
        ("", ""),
        ("garbage", ""),
    ],
)
def test_the_nic_that_carries_ssh(connection: str, name: str) -> None:
    assert management_nic(host("a", nic("eth0", "10.0.0.1/24"), nic("eth1", "fe80::1/64")), connection) == name
