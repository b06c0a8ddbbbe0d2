"""What the workbench asks of the lab's keeper and what that answers, as JSON lines. Used by lab.py and keeper.py."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from netbench_tui.errors import UsageError
from netbench_tui.model.session import LabTarget

NIC_NAME = "nic0"
HOST_NAMES = ("alpha", "beta")
NAMESPACE_NAME = re.compile(r"nbt-[0-9a-f]{12}-(alpha|beta)")

# 198.18.0.0/15 is set aside for benchmarks (RFC 2544, RFC 6890): no real network of the user's can be meant by it.
# The IPv6 prefix is a unique local one (RFC 4193); `6e62` spells "nb".
_ADDRESSES: tuple[Mapping[int, str], ...] = (
    {4: "198.18.0.1/30", 6: "fd88:6e62::1/64"},
    {4: "198.18.0.2/30", 6: "fd88:6e62::2/64"},
)

# veth's own bounds: ETH_MIN_MTU and ETH_MAX_MTU; 4096 is the kernel's limit on queues asked for over netlink.
_MTU_RANGE = (68, 65535)
_QUEUE_RANGE = (1, 4096)


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One namespace: its name for people and for /run/netns, and addresses with prefix by IP version."""

    name: str
    namespace: str
    addresses: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class LabPlan:
    """The whole lab. `lab_id` is random hex; `ssh` asks for a private folder for keys and for sshd's own folder."""

    lab_id: str
    nic: str
    queues: int
    mtu: int
    ssh: bool
    hosts: tuple[HostPlan, ...]


@dataclass(frozen=True, slots=True)
class KeeperReply:
    """`namespaces` holds a path for each host of the plan, `user_namespace` a path or nothing, `families` the IP
    versions that have addresses. Where the lab could not be built: `code`, `message` and `hint`, and nothing else."""

    namespaces: tuple[str, ...] = ()
    user_namespace: str = ""
    families: tuple[int, ...] = ()
    key_folder: str = ""
    code: str = ""
    message: str = ""
    hint: str = ""


def plan_lab(target: LabTarget) -> LabPlan:
    """A plan with names of its own. Raises UsageError for a queue count or an MTU that no veth takes."""
    _check("queues", target.queues, _QUEUE_RANGE)
    _check("MTU", target.mtu, _MTU_RANGE)
    lab_id = secrets.token_hex(6)
    hosts = tuple(
        HostPlan(name, f"nbt-{lab_id}-{name}", addresses)
        for name, addresses in zip(HOST_NAMES, _ADDRESSES, strict=True)
    )
    return LabPlan(lab_id, NIC_NAME, target.queues, target.mtu, target.ssh, hosts)


def _check(what: str, value: int, allowed: tuple[int, int]) -> None:
    low, high = allowed
    if not low <= value <= high:
        raise UsageError(f"The lab's {what} cannot be {value}.", f"Give a number from {low} to {high}.")
