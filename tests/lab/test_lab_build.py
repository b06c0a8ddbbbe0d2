"""The lab as asked: queues, MTU, addresses, real TCP between its two sides."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from netbench_tui.errors import HostUnreachable, UsageError
from netbench_tui.hosts.lab.lab import Lab, LabHost
from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget

RunInside = Callable[..., Awaitable[str]]

LISTEN = """
import socket, sys
with socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET) as server:
    print(server.getsockname()[1], flush=True)
    connection, peer = server.accept()
    connection.sendall(peer[0].encode())
"""
CONNECT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as connection:
    print(connection.recv(100).decode())
"""


async def talk(sender: LabHost, receiver: LabHost, family: int) -> str:
    """Connects from sender to receiver; returns the address that the receiver saw."""
    address = receiver.addresses[family]
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*receiver.enter, sys.executable, "-c", LISTEN, address, stdout=pipe)
    assert server.stdout is not None
    port = (await server.stdout.readline()).decode().strip()
    argv = (*sender.enter, sys.executable, "-c", CONNECT, address, port)
    client = await asyncio.create_subprocess_exec(*argv, stdout=pipe)
    output, _ = await client.communicate()
    await server.wait()
    return output.decode().strip()


async def test_both_ip_versions_carry_tcp_both_ways() -> None:
    async with await Lab.start(LabTarget()) as lab:
        alpha, beta = lab.hosts[Role.SENDER], lab.hosts[Role.RECEIVER]
        assert (alpha.name, beta.name, alpha.nic, beta.nic) == ("alpha", "beta", "nic0", "nic0")
        assert alpha.addresses == {4: "198.18.0.1", 6: "fd88:6e62::1"}
        for family in (4, 6):
            assert await talk(alpha, beta, family) == alpha.addresses[family]
            assert await talk(beta, alpha, family) == beta.addresses[family]


@pytest.mark.parametrize(("queues", "mtu"), [(1, 1500), (3, 9000), (8, 65535)])
async def test_queues_and_mtu_are_as_asked_on_both_sides(queues: int, mtu: int, run_inside: RunInside) -> None:
    async with await Lab.start(LabTarget(queues=queues, mtu=mtu)) as lab:
        for host in lab.hosts.values():
            names = (await run_inside(host, "ls", "/sys/class/net/nic0/queues")).split()
            assert sorted(names) == sorted(f"{way}-{i}" for way in ("rx", "tx") for i in range(queues))
            assert int(await run_inside(host, "cat", "/sys/class/net/nic0/mtu")) == mtu
            assert (await run_inside(host, "cat", "/sys/class/net/nic0/operstate")).strip() == "up"


async def test_sysfs_and_procfs_inside_show_the_namespaces_nics_only(run_inside: RunInside) -> None:
    async with await Lab.start(LabTarget()) as lab:
        for host in lab.hosts.values():
            assert set((await run_inside(host, "ls", "/sys/class/net")).split()) == {"lo", "nic0"}
            lines = (await run_inside(host, "cat", "/proc/net/dev")).splitlines()[2:]
            assert {line.split(":")[0].strip() for line in lines} == {"lo", "nic0"}


async def test_an_mtu_too_small_for_ipv6_leaves_ipv4() -> None:
    async with await Lab.start(LabTarget(mtu=1000)) as lab:
        alpha, beta = lab.hosts[Role.SENDER], lab.hosts[Role.RECEIVER]
        assert dict(alpha.addresses) == {4: "198.18.0.1"}
        assert await talk(alpha, beta, 4) == "198.18.0.1"


@pytest.mark.parametrize(
    "target", [LabTarget(queues=0), LabTarget(queues=5000), LabTarget(mtu=67), LabTarget(mtu=70000)]
)
async def test_what_no_veth_takes_is_refused_with_the_range(target: LabTarget) -> None:
    with pytest.raises(UsageError) as caught:
        await Lab.start(target)
    assert "from" in caught.value.hint


async def test_two_labs_at_once_do_not_meet(traces_of: Callable[[Lab], Any]) -> None:
    first, second = await asyncio.gather(Lab.start(LabTarget()), Lab.start(LabTarget(queues=2)))
    gone, stays = traces_of(first), traces_of(second)
    assert not gone.inodes & stays.inodes
    await first.close()
    gone.assert_gone()
    assert await talk(second.hosts[Role.SENDER], second.hosts[Role.RECEIVER], 4) == "198.18.0.1"
    await second.close()
    stays.assert_gone()


def test_it_works_in_a_loop_outside_the_main_thread(traces_of: Callable[[Lab], Any]) -> None:
    found: list[Any] = []

    async def use() -> None:
        async with await Lab.start(LabTarget()) as lab:
            found.append(traces_of(lab))
            found.append(await talk(lab.hosts[Role.SENDER], lab.hosts[Role.RECEIVER], 4))

    thread = threading.Thread(target=lambda: asyncio.run(use()))
    thread.start()
    thread.join(timeout=30)
    assert found[1:] == ["198.18.0.1"]
    found[0].assert_gone()


async def test_without_ssh_there_is_no_ssh_socket() -> None:
    async with await Lab.start(LabTarget()) as lab:
        assert lab.hosts[Role.SENDER].ssh is None
        with pytest.raises(HostUnreachable, match="no sshd"):
            await lab.open_ssh_socket(Role.SENDER)


def test_importing_the_lab_costs_neither_pyroute2_nor_asyncssh(python_environment: dict[str, str]) -> None:
    """Both take longer than the workbench may need to its first picture."""
    code = "import sys, netbench_tui.hosts.lab.lab; print({'pyroute2', 'asyncssh', 'textual'} & set(sys.modules))"
    finished = subprocess.run([sys.executable, "-c", code], env=python_environment, capture_output=True, text=True)
    assert finished.stdout == "set()\n"
