"""Which NICs carry the traffic: the fastest pair on one subnet that does not carry SSH. Pure; used by session.py."""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from netbench_tui.model.host import Address, HostFacts, Nic


@dataclass(frozen=True, slots=True)
class PathChoice:
    """NIC names and data addresses by IP version; empty names where no common subnet exists. `warning` may be empty."""

    sender_nic: str = ""
    receiver_nic: str = ""
    sender: Mapping[int, str] = field(default_factory=dict)
    receiver: Mapping[int, str] = field(default_factory=dict)
    warning: str = ""


def management_nic(facts: HostFacts, ssh_connection: str) -> str:
    """The NIC that carries SSH: `ssh_connection` is the server's SSH_CONNECTION; empty where it is not known."""
    words = ssh_connection.split()
    if len(words) != 4:
        return ""
    address = words[2].partition("%")[0].removeprefix("::ffff:")
    return next((nic.name for nic in facts.nics if any(a.text == address for a in nic.addresses)), "")


def choose_path(
    sender: HostFacts, receiver: HostFacts, sender_management: str = "", receiver_management: str = ""
) -> PathChoice:
    """The data path between two hosts, or over loopback where both are this one machine."""
    same_machine = _is_one_machine(sender, receiver)
    choices = list(_candidates(sender, receiver, same_machine))
    if not choices:
        return PathChoice(
            warning=f"{sender.name} and {receiver.name} have no addresses on a common subnet: no traffic can be sent"
        )

    def rank(choice: tuple[Nic, Nic]) -> tuple[bool, int, bool]:
        a, b = choice
        carries_ssh = a.name == sender_management or b.name == receiver_management
        return (not carries_ssh, min(a.speed_mbit or 0, b.speed_mbit or 0), a.kind == b.kind == "physical")

    a, b = max(choices, key=rank)
    shared = dict(_shared(a, b, same_machine))
    warning = ""
    if not same_machine and (a.name == sender_management or b.name == receiver_management):
        warning = "the only common subnet also carries the SSH connections: runs disturb them"
    return PathChoice(
        a.name,
        b.name,
        {version: pair[0].text for version, pair in shared.items()},
        {version: pair[1].text for version, pair in shared.items()},
        warning,
    )


def _is_one_machine(sender: HostFacts, receiver: HostFacts) -> bool:
    """The same boot and the same addresses: two containers of one machine share the boot alone."""

    def addresses(facts: HostFacts) -> set[tuple[str, str]]:
        return {(nic.name, address.text) for nic in facts.nics for address in nic.addresses}

    return bool(sender.boot_id) and sender.boot_id == receiver.boot_id and addresses(sender) == addresses(receiver)


def _candidates(sender: HostFacts, receiver: HostFacts, same_machine: bool) -> Iterator[tuple[Nic, Nic]]:
    for a in sender.nics:
        for b in receiver.nics:
            loopback = a.kind == "loopback" and b.kind == "loopback"
            if loopback == same_machine and (loopback or (_usable(a) and _usable(b))) and any(_shared(a, b, loopback)):
                yield a, b


def _usable(nic: Nic) -> bool:
    """Virtual devices report `unknown` although they work."""
    return nic.kind != "loopback" and nic.state in ("up", "unknown")


def _shared(a: Nic, b: Nic, same_machine: bool) -> Iterator[tuple[int, tuple[Address, Address]]]:
    """One pair of addresses for each IP version that lie in each other's subnet."""
    done: set[int] = set()
    for mine in a.addresses:
        for theirs in b.addresses:
            fits = same_machine or (mine.text != theirs.text and mine.scope == theirs.scope == "global")
            if mine.family == theirs.family and mine.family not in done and fits and _on_link(mine, theirs):
                done.add(mine.family)
                yield mine.family, (mine, theirs)


def _on_link(mine: Address, theirs: Address) -> bool:
    try:
        return ipaddress.ip_interface(f"{mine.text}/{mine.prefix}").network == (
            ipaddress.ip_interface(f"{theirs.text}/{theirs.prefix}").network
        )
    except ValueError:
        return False
