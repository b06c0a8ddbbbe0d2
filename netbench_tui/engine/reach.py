"""From a target to two transports. Used by session.py; asyncssh and the lab are imported here, when needed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netbench_tui.engine.ways import Ways
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.hosts.transport import Transport
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, LabTarget, PairTarget, Reach, Target

if TYPE_CHECKING:
    from netbench_tui.hosts.lab.lab import Lab

Step = Callable[[Role, str, str], None]
# Why machine-wide settings cannot be written in the lab.
LAB_PROTECTION = "machine-wide: it would change this machine itself"


@dataclass
class Reached:
    """The lab that was built, if one was, with what only it knows: data NIC and addresses of each host."""

    lab: "Lab | None" = None
    nic: dict[Role, str] = field(default_factory=dict)
    addresses: dict[Role, dict[int, str]] = field(default_factory=dict)

    async def close(self) -> None:
        if self.lab:
            await self.lab.close()


def names(target: Target) -> dict[Role, str]:
    """What the screens call the two hosts."""
    if isinstance(target, LabTarget):
        return {Role.SENDER: "alpha", Role.RECEIVER: "beta"}
    return {Role.SENDER: target.sender.name, Role.RECEIVER: target.receiver.name}


def host_target(target: Target, role: Role) -> HostTarget | None:
    """How one host is reached; None for one of the lab."""
    if isinstance(target, LabTarget):
        return None
    return target.sender if role is Role.SENDER else target.receiver


async def prepare(target: Target, on_step: Step) -> Reached:
    """Builds the lab where the target is one. Raises LabImpossible."""
    if isinstance(target, PairTarget):
        return Reached()
    from netbench_tui.hosts.lab.lab import Lab

    for role, name in names(target).items():
        on_step(role, name, "building the lab")
    lab = await Lab.start(target)
    return Reached(
        lab,
        {role: host.nic for role, host in lab.hosts.items()},
        {role: dict(host.addresses) for role, host in lab.hosts.items()},
    )


async def open_transport(
    target: Target, role: Role, reached: Reached, ways: Ways, on_note: Callable[[str], None]
) -> Transport:
    """The way to one host. Raises HostUnreachable, HostKeyUnknown, HostKeyChanged, LoginRefused, UsageError."""
    if isinstance(target, PairTarget):
        host = host_target(target, role)
        assert host
        if host.reach is Reach.LOCAL:
            return LocalTransport(host.name)
        from netbench_tui.hosts.ssh import SshSettings, SshTransport

        return await SshTransport.connect(
            host.name, SshSettings(ways.ssh_config, ways.accept_new, ways.asker, role, on_note, ways.said)
        )
    assert reached.lab
    host_in_lab = reached.lab.hosts[role]
    if not target.ssh:
        return LocalTransport(host_in_lab.name, Reach.LAB, host_in_lab.enter)
    from netbench_tui.hosts.ssh import SshAccess, SshSettings, SshTransport

    facts = host_in_lab.ssh
    assert facts
    handle = await reached.lab.open_ssh_socket(role)
    access = SshAccess(handle, facts.user, str(facts.client_key), str(facts.known_hosts), facts.host_key_alias)
    return await SshTransport.connect(host_in_lab.name, SshSettings(role=role), access)
