"""Which NICs carry the traffic: the fastest pair on one subnet that does not carry SSH. Pure; used by session.py."""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from netbench_tui.errors import UsageError
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
    return _choice(a, b, same_machine, sender_management, receiver_management)


def path_between(
    sender: HostFacts,
    receiver: HostFacts,
    nics: tuple[str, str],
    sender_management: str = "",
    receiver_management: str = "",
) -> PathChoice:
    """The path over the two NICs that a person chose, also where only a router joins them. Raises UsageError."""
    a, b = sender.nic(nics[0]), receiver.nic(nics[1])
    if a is None or b is None:
        host, name = (sender, nics[0]) if a is None else (receiver, nics[1])
        raise UsageError(f"{host.name} has no NIC {name}", f"it has: {', '.join(nic.name for nic in host.nics)}")
    one_machine = _is_one_machine(sender, receiver)
    over_loopback = one_machine and a.kind == b.kind == "loopback"
    if any(_shared(a, b, over_loopback)):
        path = _choice(a, b, over_loopback, sender_management, receiver_management)
    else:
        path = _routed(a, b)
    if one_machine and not over_loopback:
        return replace(path, warning=f"{a.name} and {b.name} are of one machine: its kernel sends over loopback")
    return path


def _routed(a: Nic, b: Nic) -> PathChoice:
    """The path between NICs without a common subnet: by global addresses, or by link-local ones where one link may join
    the NICs all the same. Raises UsageError."""
    addresses = _first_addresses(a), _first_addresses(b)
    pairs = {
        version: (addresses[0][version], addresses[1][version]) for version in addresses[0] if version in addresses[1]
    }
    pairs = dict(sorted(pairs.items())) | (_link_local(a, b) if 6 not in pairs else {})
    if not pairs:
        raise UsageError(
            f"{a.name} and {b.name} have no addresses of one IP version", "give both an address, or choose other NICs"
        )
    return _path(a, b, pairs, f"{a.name} and {b.name} share no subnet: the traffic goes where the routes lead")


def _path(a: Nic, b: Nic, pairs: Mapping[int, tuple[str, str]], warning: str) -> PathChoice:
    sender = {version: pair[0] for version, pair in pairs.items()}
    return PathChoice(a.name, b.name, sender, {version: pair[1] for version, pair in pairs.items()}, warning)


def _link_local(a: Nic, b: Nic) -> dict[int, tuple[str, str]]:
    """One pair of IPv6 link-local addresses, under 6; a zone names the NIC, since every link has the same such subnet.
    Nothing if either has none, or if both are the same."""
    mine, theirs = (
        next((address.text for address in nic.addresses if address.family == 6 and address.scope == "link"), "")
        for nic in (a, b)
    )
    return {6: (f"{mine}%{a.name}", f"{theirs}%{b.name}")} if mine and theirs and mine != theirs else {}


def _first_addresses(nic: Nic) -> dict[int, str]:
    found: dict[int, str] = {}
    for address in nic.addresses:
        if address.scope == "global":
            found.setdefault(address.family, address.text)
    return found


def _choice(a: Nic, b: Nic, same_machine: bool, sender_management: str, receiver_management: str) -> PathChoice:
    pairs = {version: (mine.text, theirs.text) for version, (mine, theirs) in _shared(a, b, same_machine)}
    if 6 not in pairs and not same_machine:
        pairs |= _link_local(a, b)  # one link carries both IP versions
    warning = ""
    if not same_machine and (a.name == sender_management or b.name == receiver_management):
        warning = "the data path also carries an SSH connection: runs disturb it"
    return _path(a, b, pairs, warning)


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
