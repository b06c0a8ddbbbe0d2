"""Traffic over IPv6 link-local addresses with zones, between two namespaces."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.engine.path import PathChoice, path_between
from netbench_tui.errors import HostRefused, LabImpossible
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.lab.lab import Lab
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.run import TrafficTest
from netbench_tui.model.session import LabTarget
from netbench_tui.traffic.base import Path
from netbench_tui.traffic.builtin import Builtin
from netbench_tui.traffic.iperf3 import Iperf3


def link_local_only(facts: HostFacts) -> HostFacts:
    """The same host, had nobody given it an address."""
    nics = (
        replace(nic, addresses=tuple(address for address in nic.addresses if address.scope == "link"))
        for nic in facts.nics
    )
    return replace(facts, nics=tuple(nics))


@pytest.fixture
async def hosts() -> AsyncIterator[dict[Role, HostConnection]]:
    try:
        lab = await Lab.start(LabTarget())
    except LabImpossible as error:
        pytest.skip(str(error))
    found = {}
    try:
        for role, host in lab.hosts.items():
            found[role] = HostConnection(
                role, LocalTransport(host.name, prefix=host.enter), lambda *_: None, lambda *_: None
            )
            await found[role].connect(lambda _: None)
        yield found
    finally:
        for connection in found.values():
            await connection.close()
        await lab.close()


async def usable(host: HostConnection, address: str) -> int:
    """A free port, once the kernel has found that nobody else on the link has this address (DAD)."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return await host.free_port(address)
        except HostRefused:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


def chosen(hosts: dict[Role, HostConnection]) -> PathChoice:
    facts = [link_local_only(hosts[role].facts) for role in Role]
    return path_between(facts[0], facts[1], ("nic0", "nic0"))


@pytest.mark.parametrize("generator", [Iperf3(), Builtin()], ids=lambda generator: generator.name)
async def test_a_run_over_link_local_addresses(hosts: dict[Role, HostConnection], generator: Any) -> None:
    choice = chosen(hosts)
    assert set(choice.sender) == set(choice.receiver) == {6}
    assert choice.sender[6].startswith("fe80::") and choice.sender[6].endswith("%nic0")
    sender, receiver = hosts[Role.SENDER], hosts[Role.RECEIVER]
    test = TrafficTest(streams=2, seconds=1, ip_version=6)
    if reason := generator.refusal(test, sender.facts, receiver.facts):
        pytest.skip(reason)
    await usable(sender, choice.sender[6])
    path = Path(choice.sender[6], choice.receiver[6], await usable(receiver, choice.receiver[6]))
    outputs = {}
    for role, make in ((Role.RECEIVER, generator.receiver), (Role.SENDER, generator.sender)):
        spec = make(test, path, hosts[role].facts)
        outputs[role] = await hosts[role].spawn("run", spec.tool, spec.argv, spec.builtin)
        if role is Role.RECEIVER:
            await receiver.wait_listening(path.port, "run", 10)
    for process in outputs.values():
        assert await process.wait(20)
    report = generator.read(test, outputs[Role.RECEIVER].output(), outputs[Role.SENDER].output())
    assert report.error == "" and sum(interval.bytes for interval in report.received) > 1e6
