"""The data path that a person chose: a pure choice."""

from typing import Any

import pytest

from netbench_tui.engine.path import choose_path, path_between
from netbench_tui.errors import UsageError
from netbench_tui.model.host import Address, HostFacts, Nic


def nic(name: str, *addresses: str, **how: Any) -> Nic:
    made = []
    for text in addresses:
        address, _, prefix = text.partition("/")
        scope = "link" if address.startswith("fe80") else "global"
        made.append(Address(address, int(prefix), 6 if ":" in address else 4, scope))
    return Nic(name, addresses=tuple(made), **({"kind": "physical", "state": "up"} | how))


def host(name: str, *nics: Nic) -> HostFacts:
    return HostFacts(name, nics=nics, boot_id=f"boot of {name}")


def test_a_slower_pair_on_a_subnet_of_its_own() -> None:
    alpha = host("alpha", nic("fast", "10.0.0.1/24"), nic("slow", "10.1.0.1/24", "fd00::1/64"))
    beta = host("beta", nic("fast", "10.0.0.2/24"), nic("slow", "10.1.0.2/24", "fd00::2/64"))
    path = path_between(alpha, beta, ("slow", "slow"))
    assert (path.sender, path.receiver) == ({4: "10.1.0.1", 6: "fd00::1"}, {4: "10.1.0.2", 6: "fd00::2"})
    assert path.warning == ""
    assert "carries an SSH connection" in path_between(alpha, beta, ("slow", "slow"), "slow", "").warning


def test_routed_nics() -> None:
    alpha, beta = host("alpha", nic("x", "10.0.0.1/24", "fe80::1/64")), host("beta", nic("y", "192.0.2.2/24"))
    path = path_between(alpha, beta, ("x", "y"))
    assert (path.sender, path.receiver) == ({4: "10.0.0.1"}, {4: "192.0.2.2"})
    assert "share no subnet" in path.warning


def test_link_local_addresses_carry_the_zone_of_their_own_host() -> None:
    alpha, beta = (
        host("alpha", nic("x", "10.0.0.1/24", "fe80::1/64")),
        host("beta", nic("y", "10.0.0.2/24", "fe80::2/64")),
    )
    for path in (choose_path(alpha, beta), path_between(alpha, beta, ("x", "y"))):
        assert (path.sender[6], path.receiver[6]) == ("fe80::1%x", "fe80::2%y")


def test_nothing_but_link_local_addresses() -> None:
    """Nothing says that one link joins them, so it is not chosen unasked."""
    alpha, beta = host("alpha", nic("x", "fe80::1/64")), host("beta", nic("y", "fe80::2/64"))
    assert not choose_path(alpha, beta).sender_nic
    path = path_between(alpha, beta, ("x", "y"))
    assert (path.sender, path.receiver) == ({6: "fe80::1%x"}, {6: "fe80::2%y"})
    assert "share no subnet" in path.warning


def test_the_same_link_local_address_on_both_is_no_pair() -> None:
    alpha, beta = host("alpha", nic("x", "fe80::1/64")), host("beta", nic("y", "fe80::1/64"))
    with pytest.raises(UsageError, match="no addresses of one IP version"):
        path_between(alpha, beta, ("x", "y"))


def test_no_ip_version_in_common() -> None:
    alpha, beta = host("alpha", nic("x", "10.0.0.1/24")), host("beta", nic("y", "fd00::2/64"))
    with pytest.raises(UsageError, match="x and y have no addresses of one IP version"):
        path_between(alpha, beta, ("x", "y"))


@pytest.mark.parametrize(("nics", "named"), [(("z", "y"), "alpha has no NIC z"), (("x", "z"), "beta has no NIC z")])
def test_a_nic_that_is_not_there(nics: tuple[str, str], named: str) -> None:
    alpha, beta = host("alpha", nic("x", "10.0.0.1/24")), host("beta", nic("y", "10.0.0.2/24"))
    with pytest.raises(UsageError) as caught:
        path_between(alpha, beta, nics)
    assert caught.value.message == named and caught.value.hint.startswith("it has: ")


def test_two_nics_of_one_machine() -> None:
    machine = host("local", nic("lo", "127.0.0.1/8", kind="loopback"), nic("x", "10.0.0.1/24"), nic("y", "10.0.0.2/24"))
    assert path_between(machine, machine, ("lo", "lo")).warning == ""
    for nics in (("x", "y"), ("x", "x")):
        assert "its kernel sends over loopback" in path_between(machine, machine, nics).warning
