"""The launcher: exit codes, words, the parent's death, sockets from inside."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from netbench_tui.errors import HostUnreachable
from netbench_tui.hosts.lab.lab import Lab, _connect_inside
from netbench_tui.hosts.lab.records import process_start
from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with await Lab.start(LabTarget()) as started:
        yield started


async def launch(*argv: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE)
    _, trouble = await process.communicate()
    return process.returncode, trouble.decode()


async def test_exit_codes_of_the_program_and_of_the_launcher(lab: Lab) -> None:
    enter = lab.hosts[Role.SENDER].enter
    assert await launch(*enter, "sh", "-c", "exit 7") == (7, "")
    assert await launch(*enter, "no-such-program") == (127, "enter: no-such-program: not found\n")
    code, trouble = await launch(*enter, "/etc/passwd")
    assert code == 126 and "/etc/passwd" in trouble


async def test_a_namespace_that_is_gone_is_said_in_words(lab: Lab) -> None:
    enter = list(lab.hosts[Role.SENDER].enter)
    enter[enter.index("--net") + 1] = "/run/netns/no-such-lab"
    code, trouble = await launch(*enter, "true")
    assert code == 125
    assert trouble == "enter: [Errno 2] No such file or directory: '/run/netns/no-such-lab'\n"


async def test_the_programs_own_words_stay_as_they_are(lab: Lab, run_inside: Callable[..., Awaitable[str]]) -> None:
    words = ["--net", "--", "-x", "a b", "", "--user=1"]
    assert (await run_inside(lab.hosts[Role.SENDER], "printf", "%s\\n", *words)).splitlines() == words


def end_parent_and_await_child(parent: str, eventually: Callable[[Callable[[], bool], str], None]) -> None:
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert process_start(child) is not None
        process.kill()
        eventually(lambda: process_start(child) is None, "the child ends with its parent")
    assert process.returncode == -signal.SIGKILL


async def test_the_program_gets_sigterm_when_its_parent_dies(
    lab: Lab, eventually: Callable[[Callable[[], bool], str], None]
) -> None:
    argv = [*lab.hosts[Role.SENDER].enter, "sh", "-c", "echo $$; exec sleep 60"]
    parent = f"import subprocess, time; subprocess.Popen({argv!r}); time.sleep(60)"
    await asyncio.to_thread(end_parent_and_await_child, parent, eventually)


async def test_a_connected_socket_comes_out_of_the_namespace(lab: Lab) -> None:
    """A server inside, and this process outside talks to it over an address that it cannot reach itself."""
    host = lab.hosts[Role.RECEIVER]
    code = (
        "import socket; server = socket.create_server(('127.0.0.1', 0)); print(server.getsockname()[1], flush=True);"
        "connection, _ = server.accept(); connection.sendall(connection.recv(100).upper())"
    )
    argv = (*host.enter, sys.executable, "-c", code)
    server = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    assert server.stdout is not None
    port = int(await server.stdout.readline())
    loop = asyncio.get_running_loop()
    with await _connect_inside(host, "127.0.0.1", port) as connection:
        assert connection.family == socket.AF_INET and not connection.getblocking()
        await loop.sock_sendall(connection, b"hello")
        assert await asyncio.wait_for(loop.sock_recv(connection, 100), 5) == b"HELLO"
    await server.wait()


async def test_a_refused_connection_is_said_in_words(lab: Lab) -> None:
    with pytest.raises(HostUnreachable, match=r"No connection to alpha.*refused"):
        await _connect_inside(lab.hosts[Role.SENDER], "127.0.0.1", 9)


async def test_mounts_inside_stay_inside(lab: Lab, run_inside: Callable[..., Awaitable[str]]) -> None:
    before = Path("/proc/self/mountinfo").read_text()
    inside = await run_inside(lab.hosts[Role.SENDER], "cat", "/proc/self/mountinfo")
    assert sum(" /sys " in line for line in inside.splitlines()) > sum(" /sys " in line for line in before.splitlines())
    assert Path("/proc/self/mountinfo").read_text() == before
