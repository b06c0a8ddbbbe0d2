"""ssh_config as its owner wrote it: patterns, Include, Match, jump hosts, time-outs; each tried on real servers."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import HostKeyUnknown, HostUnreachable, LoginRefused, UsageError
from netbench_tui.hosts.ssh import SshSettings, SshTransport
from netbench_tui.hosts.ssh.options import read_options


def lines(server: Any, *left_out: str) -> str:
    """What leads to the server, without the Host line."""
    return "".join(row for row in server.config.read_text().splitlines(True)[1:] if row.split()[0] not in left_out)


async def test_patterns_and_the_first_value_wins(running: Any, connect: Any) -> None:
    said = lines(running, "User")
    running.config.write_text(f"Host al* !alp\n  User {running.user}\nHost *\n  User nobody-of-that-name\n{said}")
    await connect()
    with pytest.raises(LoginRefused, match="nobody-of-that-name"):
        await connect(name="alp")


async def test_include(running: Any, connect: Any, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.conf").write_text("Host alpha\n" + lines(running))
    running.config.write_text(f"Include {tmp_path}/parts/*.conf\n")
    await connect()


@pytest.mark.parametrize(
    "match", ["originalhost alpha", "host 127.0.0.1", 'originalhost alpha exec "true"', "all", '!exec "false"']
)
async def test_match(running: Any, connect: Any, match: str) -> None:
    running.config.write_text(f"Host alpha\n  HostName 127.0.0.1\nMatch {match}\n{lines(running, 'HostName')}")
    await connect()


async def test_a_match_that_does_not_match(running: Any, connect: Any) -> None:
    wrong = 'Match originalhost alpha exec "false"\n  User nobody-of-that-name\nMatch originalhost beta\n  Port 1\n'
    running.config.write_text(f"{wrong}Host alpha\n{lines(running)}")
    await connect()


# jump hosts


@pytest.fixture
def jumped(server: Any, new_server: Callable[[str], Any]) -> Any:
    """alpha behind hop2 behind hop1, each a server with keys and a known_hosts of its own, all started."""
    server.hops = [new_server("hop1"), new_server("hop2")]
    for one in (server, *server.hops):
        one.start()
    server.hops[1].configure(ProxyJump="hop1")
    server.configure(ProxyJump="hop2")
    write(server)
    return server


def write(server: Any) -> None:
    """One ssh_config for all."""
    server.config.write_text("".join(one.config.read_text() for one in (server, *server.hops)))


async def test_two_jump_hosts(jumped: Any, login: Any) -> None:
    session = await login()
    assert session.host.facts.cpus
    assert all(hop.sessions() for hop in jumped.hops), "both hops carry it"


async def test_closing_lets_the_jump_hosts_go(jumped: Any, connect: Any, eventually: Any) -> None:
    transport = await connect()
    await transport.close()
    await eventually(lambda: not any(one.sessions() for one in (jumped, *jumped.hops)), "all sessions over", 5)


async def test_jump_hosts_in_one_line(jumped: Any, connect: Any) -> None:
    first, second = jumped.hops
    second.configure(ProxyJump=None)
    jumped.configure(ProxyJump=f"ssh://{first.user}@hop1:{first.port},hop2")
    write(jumped)
    await connect()
    assert first.sessions() and second.sessions()


async def test_no_jump_host_after_all(jumped: Any, connect: Any) -> None:
    jumped.configure(ProxyJump="none")
    write(jumped)
    with jumped.config.open("a") as file:
        file.write("Host *\n  ProxyJump hop1\n")
    await connect()
    assert not jumped.hops[0].sessions()


async def test_jump_hosts_in_a_circle(jumped: Any, connect: Any) -> None:
    jumped.hops[0].configure(ProxyJump="alpha")
    write(jumped)
    with pytest.raises(UsageError, match="lead in a circle"):
        await connect()


async def test_each_jump_host_shows_its_own_key(jumped: Any, connect: Any, person: Any, public_key: Any) -> None:
    for one in (jumped, *jumped.hops):
        one.known_hosts.unlink()
    with pytest.raises(HostKeyUnknown) as caught:
        await connect()
    assert caught.value.message.startswith("hop1: its host key is unknown")
    asker = person((), (), ())
    await connect(asker)
    assert [question.host for question in asker.asked] == ["hop1", "hop2", "alpha"]
    for one in (jumped, *jumped.hops):
        assert one.known_hosts.read_text() == f"[127.0.0.1]:{one.port} {public_key(one.host_key)}\n"


@pytest.mark.parametrize("hop", [0, 1])
async def test_a_jump_host_that_is_down(jumped: Any, connect: Any, eventually: Any, hop: int) -> None:
    jumped.hops[hop].stop()
    with pytest.raises(HostUnreachable) as caught:
        await connect()
    assert caught.value.message.startswith(f"hop{hop + 1}: ")
    await eventually(lambda: not jumped.hops[0].sessions() or hop == 0, "the first hop let go", 5)


async def test_a_jump_host_that_refuses_the_login(jumped: Any, connect: Any) -> None:
    jumped.hops[1].authorized.write_text("")
    with pytest.raises(LoginRefused) as caught:
        await connect()
    assert caught.value.message.startswith("hop2: it refused the login of ")


async def test_a_jump_host_that_carries_nothing(server: Any, new_server: Any, connect: Any) -> None:
    hop = new_server("hop1")
    server.hops = [hop]
    hop.start(AllowTcpForwarding="no")
    server.start()
    server.configure(ProxyJump="hop1")
    write(server)
    with pytest.raises(HostUnreachable) as caught:
        await connect()
    assert caught.value.message.startswith("alpha: through hop1: ")


# time-outs and keepalives


async def test_connect_timeout(server: Any, connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server.configure(Port=silent.getsockname()[1], ConnectTimeout=1)
        began = time.monotonic()
        with pytest.raises(HostUnreachable, match="alpha: no answer within 1 s"):
            await connect()
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("said", "interval", "count"),
    [({}, 5, 3), ({"ServerAliveInterval": 2, "ServerAliveCountMax": 7}, 2, 7), ({"ServerAliveInterval": 0}, 0, 3)],
)
async def test_server_alive(server: Any, said: dict[str, int], interval: int, count: int) -> None:
    import asyncssh

    server.configure(**said)
    options = await read_options("alpha", str(server.config))
    known = await asyncssh.SSHClientConnectionOptions.construct(host="alpha", **options.arguments)
    assert (known.keepalive_interval, known.keepalive_count_max) == (interval, count)


async def test_what_is_not_supported_is_said_once(running: Any, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("Host *\n  verifyhostkeydns=yes\n")
    running.configure(StrictHostKeyChecking="no\n  StrictHostKeyChecking no")
    with running.config.open("a") as file:
        file.write(f"Include {tmp_path}/more\n")
    notes: list[str] = []
    settings = SshSettings(str(running.config), on_note=notes.append)
    other_host = SshSettings(str(running.config), on_note=notes.append, said=settings.said)
    for these in (settings, settings, other_host):
        await (await SshTransport.connect("alpha", these)).close()
    assert notes == [
        "ssh_config: StrictHostKeyChecking is not supported and is passed over",
        "ssh_config: VerifyHostKeyDNS is not supported and is passed over",
    ]


async def test_over_ipv6(server: Any, connect: Any, public_key: Any) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    server.start(ListenAddress=f"127.0.0.1\nListenAddress [::1]:{server.port}")
    server.known_hosts.write_text(f"[::1]:{server.port} {public_key(server.host_key)}\n")
    said = lines(server, "HostName", "Port")
    server.config.write_text("Host *\n" + said)
    transport = await connect(name=f"{server.user}@[::1]:{server.port}")
    assert transport.name == f"{server.user}@[::1]:{server.port}"
