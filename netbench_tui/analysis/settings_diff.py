"""What differs between two hosts, or two NICs: facts that decide performance, and settings. Used by `diff`.

Names, addresses and serial matters always differ and are left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.host import HostFacts, Nic
from netbench_tui.model.setting import MACHINE, HostSettings, Setting

# Words of the kernel's command line that name disks and images: they differ on any two hosts and decide nothing.
_OF_THE_BOOT = ("BOOT_IMAGE=", "root=", "initrd=", "resume=", "rd.")
COMMAND_LINE = "command line"


@dataclass(frozen=True, slots=True)
class Side:
    """One side: a host, its settings, and which of its NICs is meant; with an empty `nic` only the machine is."""

    facts: HostFacts
    settings: HostSettings
    nic: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """`left` and `right` are None where that side has none. `section` is `host`, `nic` or a setting's group."""

    section: str
    name: str
    left: str | None
    right: str | None


def differences(left: Side, right: Side) -> list[Difference]:
    """In order: the hosts, the machines' settings, the NICs, their settings."""
    found = [*_facts(left.facts, right.facts), *_settings(left, right, MACHINE, MACHINE)]
    if left.nic and right.nic:
        found += _nics(left.facts.nic(left.nic), right.facts.nic(right.nic))
        found += _settings(left, right, left.nic, right.nic)
    return found


def _facts(left: HostFacts, right: HostFacts) -> Iterator[Difference]:
    yield from _pairs("host", _host(left), _host(right))
    mine, theirs = ({k: v for k, v in side.environment.items() if k != COMMAND_LINE} for side in (left, right))
    # Settings say these as well, and say them better.
    yield from _pairs("host", *({k: v for k, v in side.items() if "." not in k} for side in (mine, theirs)))
    yield from _command_lines(left, right)


def _host(facts: HostFacts) -> dict[str, str]:
    online = [cpu for cpu in facts.cpus if cpu.online]
    return {
        "kernel": facts.kernel,
        "distribution": facts.distribution,
        "machine": facts.machine,
        "product": facts.product,
        "CPU": facts.cpu_model,
        "CPUs online": format_cpu_list(cpu.index for cpu in online),
        "CPUs offline": format_cpu_list(cpu.index for cpu in facts.cpus if not cpu.online),
        "sockets": str(len({cpu.socket for cpu in online if cpu.socket is not None})),
        "cores": str(sum(cpu.sibling == 0 for cpu in online)),
        "NUMA nodes": " ".join(f"{node.index}:{format_cpu_list(node.cpus)}" for node in facts.nodes),
    }


def _command_lines(left: HostFacts, right: HostFacts) -> Iterator[Difference]:
    """Only the words that the other side lacks."""
    words = [
        [word for word in facts.environment.get(COMMAND_LINE, "").split() if not word.startswith(_OF_THE_BOOT)]
        for facts in (left, right)
    ]
    mine, theirs = (" ".join(word for word in words[side] if word not in words[1 - side]) for side in (0, 1))
    if mine or theirs:
        yield Difference("host", COMMAND_LINE, mine or None, theirs or None)


def _nics(left: Nic | None, right: Nic | None) -> Iterator[Difference]:
    yield from _pairs("nic", _nic(left), _nic(right))


def _nic(nic: Nic | None) -> dict[str, str]:
    if nic is None:
        return {}
    return {
        "driver": nic.driver,
        "firmware": nic.firmware,
        "kind": nic.kind,
        "state": nic.state,
        "speed": f"{nic.speed_mbit} Mbit/s" if nic.speed_mbit else "",
        "duplex": nic.duplex,
        "node": "" if nic.node is None else str(nic.node),
        "receive queues": str(nic.rx_queues or ""),
        "transmit queues": str(nic.tx_queues or ""),
    }


def _settings(left: Side, right: Side, mine: str, theirs: str) -> Iterator[Difference]:
    one = {setting.key: setting for setting in left.settings.of(mine)}
    two = {setting.key: setting for setting in right.settings.of(theirs)}
    for key in dict.fromkeys([*one, *two]):
        texts = _text(one.get(key)), _text(two.get(key))
        if texts[0] != texts[1]:
            yield Difference(key.partition(".")[0], key, *texts)


def _text(setting: Setting | None) -> str | None:
    """What is in force, and what is wanted where that is something else."""
    if setting is None:
        return None
    if not setting.active or setting.active == setting.value:
        return setting.value
    return f"{setting.active} (wanted {setting.value})"


def _pairs(section: str, left: Mapping[str, str], right: Mapping[str, str]) -> Iterable[Difference]:
    for name in dict.fromkeys([*left, *right]):
        mine, theirs = left.get(name) or None, right.get(name) or None
        if mine != theirs:
            yield Difference(section, name, mine, theirs)
