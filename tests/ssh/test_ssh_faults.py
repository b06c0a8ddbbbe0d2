"""The agent over a real sshd: hosts without Python, odd login shells, and connections that break."""

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import AgentDied, HostLost, NoPythonOnHost
from netbench_tui.hosts.ssh import options, transport

# What a command finds on a host without any Python.
BARE = 'exec env -i PATH={folder} /bin/sh -c "$command"'


async def test_no_python_on_the_host(server: Any, login: Any, tmp_path: Path) -> None:
    if os.path.exists(transport.PYTHONS[1]):
        pytest.skip("this machine has a platform-python, which cannot be hidden")
    server.start(ForceCommand=server.shell(BARE.format(folder=tmp_path / "empty")))
    with pytest.raises(NoPythonOnHost) as caught:
        await login()
    assert caught.value.message == "alpha: no Python 3.6 or later (python3, /usr/libexec/platform-python)"
    assert "Debian" in caught.value.hint and "platform-python" in caught.value.hint
    assert caught.value.exit_code == 14


async def test_a_python_that_does_not_run(server: Any, login: Any, tmp_path: Path) -> None:
    broken = tmp_path / "bin" / "python3"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'starting'\necho 'python3: libz.so.1: cannot open' >&2\nexit 1\n")
    broken.chmod(0o755)
    server.start(ForceCommand=server.shell(BARE.format(folder=broken.parent)))
    with pytest.raises(AgentDied) as caught:
        await login()
    assert caught.value.message == "alpha: the agent ended before it spoke: python3: libz.so.1: cannot open"
    assert caught.value.exit_code == 15


async def test_a_login_shell_that_prints(server: Any, login: Any) -> None:
    said = "printf 'Welcome!\\n{\"ev\": 1}\\n\\033]0;title\\007'; echo 'mail waits' >&2"
    server.start(ForceCommand=server.shell(f'{said}; exec /bin/sh -c "$command"'))
    assert (await login()).host.facts.cpus


async def test_a_login_shell_that_refuses(server: Any, login: Any) -> None:
    server.start(ForceCommand=server.shell("echo 'This account is currently not available.' >&2; exit 1"))
    with pytest.raises(AgentDied, match="This account is currently not available"):
        await login()


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh"])
async def test_login_shells(server: Any, login: Any, shell: str) -> None:
    path = shutil.which(shell)
    if not path:
        pytest.skip(f"no {shell} here")
    server.start(ForceCommand=server.shell(f'exec {path} -c "$command"'))
    assert (await login()).host.facts.cpus


async def test_a_killed_agent(running: Any, login: Any, eventually: Any) -> None:
    session = await login()
    process = await session.host.spawn("p", "sleep", ("sleep", "60"))
    os.kill(session.host.client.hello["pid"], signal.SIGKILL)
    await eventually(lambda: session.lost, "the loss", 3)
    assert type(session.lost[0]) is AgentDied
    assert session.lost[0].message.startswith("alpha: the agent ended")
    assert session.lost[0].hint
    with pytest.raises(HostLost):
        await process.wait(1)


async def test_the_connection_outlives_its_agent(running: Any, login: Any, eventually: Any) -> None:
    session = await login()
    os.kill(session.host.client.hello["pid"], signal.SIGKILL)
    await eventually(lambda: session.lost, "the loss", 3)
    await session.host.connect(lambda _: None)
    assert session.host.facts.cpus


async def test_a_killed_sshd(running: Any, login: Any, eventually: Any) -> None:
    session = await login()
    agent = session.host.client.hello["pid"]
    for pid in running.sessions():
        os.kill(pid, signal.SIGKILL)
    await eventually(lambda: session.lost, "the loss", 3)
    assert type(session.lost[0]) is HostLost
    assert session.lost[0].message.startswith("alpha: the connection was lost")
    assert session.lost[0].exit_code == 16
    await eventually(lambda: not os.path.exists(f"/proc/{agent}"), "the agent gone as well", 3)


async def test_a_host_that_falls_silent(
    running: Any, login: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "KEEPALIVE_SECONDS", 1)
    monkeypatch.setattr(options, "KEEPALIVE_COUNT", 2)
    session = await login()
    began = time.monotonic()
    for pid in running.sessions():
        os.kill(pid, signal.SIGSTOP)
    await eventually(lambda: session.lost, "the loss", 10)
    assert type(session.lost[0]) is HostLost
    assert 1 < time.monotonic() - began < 8


def test_the_real_keepalive_gives_up_within_25_seconds() -> None:
    assert options.KEEPALIVE_SECONDS * (options.KEEPALIVE_COUNT + 1) <= 25


async def test_closing_leaves_nothing_on_the_host(running: Any, login: Any, eventually: Any) -> None:
    session = await login()
    await session.host.sample(10)
    process = await session.host.spawn("p", "sleep", ("sleep", "300"))
    agent = session.host.client.hello["pid"]
    children = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
    assert len(children) == 1 and not process.ended
    await session.host.close()
    await eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in (agent, *children)), "all gone", 3)
    await eventually(lambda: not running.sessions(), "the connection gone", 3)
    assert not session.lost


async def test_a_request_does_not_wait_for_a_delayed_acknowledgement(running: Any, login: Any) -> None:
    session = await login()
    assert session.host.clock.round_trip < 0.03
