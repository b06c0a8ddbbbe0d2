"""Rights on the host, for a user made for the test: sudo in all its moods, and the Python to run with."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import HostLost, NoPythonOnHost
from netbench_tui.model.host import Privilege
from netbench_tui.model.question import QuestionKind

PYTHON = "/usr/bin/python3"
SUDO = QuestionKind.SUDO

Enter = Callable[..., Awaitable[Any]]


@pytest.fixture
def enter(sudoer: Any, server: Any, public_key: Any, login: Any) -> Enter:
    """Logs in as the test user by key; `rules` are what sudoers says."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"no {PYTHON} here: version managers of root are of no use to another user")
    server.configure(User=sudoer.name)
    server.start(AuthorizedKeysFile=str(sudoer.authorize(public_key(server.client_key))), UsePAM="no")

    async def start(asker: Any, *rules: str, python: str = PYTHON) -> Any:
        if rules:
            sudoer.may(*rules)
        return (await login(asker, python)).host

    return start


def uid_of_agent(host: Any) -> int:
    return int(Path(f"/proc/{host.client.hello['pid']}").stat().st_uid)


async def test_sudo_without_a_password(enter: Enter, person: Any) -> None:
    host = await enter(person(), "NAME ALL=(ALL) NOPASSWD: ALL")
    assert (host.privilege, host.privilege_note, host.facts.uid) == (Privilege.SUDO, "", 0)
    assert uid_of_agent(host) == 0


async def test_a_sudoers_that_allows_python_alone(enter: Enter, person: Any) -> None:
    """`sudo -n true` fails there; what we need does not."""
    host = await enter(person(), f"NAME ALL=(root) NOPASSWD: {PYTHON} *")
    assert (host.privilege, host.facts.uid) == (Privilege.SUDO, 0)


async def test_a_sudoers_that_names_another_user(enter: Enter, person: Any) -> None:
    host = await enter(None, "NAME ALL=(nobody) NOPASSWD: ALL")
    assert host.privilege is Privilege.NONE and host.privilege_note


async def test_sudo_with_a_password(sudoer: Any, enter: Enter, person: Any, eventually: Any) -> None:
    asker = person(("wrong",), (sudoer.password,))
    host = await enter(asker, "NAME ALL=(ALL) ALL")
    assert (host.privilege, host.privilege_note, host.facts.uid) == (Privilege.SUDO, "", 0)
    titles = [question.title for question in asker.asked]
    assert titles[0] == f"password of {sudoer.name} for sudo on alpha"
    assert titles[1] == f"that password was wrong; {titles[0]}"
    process = await host.spawn("p", "id", ("id", "-u"))
    assert await process.wait(10) and process.output().stdout == "0\n"
    agent = host.client.hello["pid"]
    await host.close()
    await eventually(lambda: not os.path.exists(f"/proc/{agent}"), "root's agent gone", 5)


async def test_three_wrong_passwords_leave_it_read_only(enter: Enter, person: Any) -> None:
    canary = "canary-sudo-81"
    asker = person(*[(canary,)] * 3)
    host = await enter(asker, "NAME ALL=(ALL) ALL")
    assert asker.kinds() == [SUDO] * 3
    assert host.privilege is Privilege.NONE and host.facts.cpus
    assert host.privilege_note == "sudo: 3 incorrect password attempts"
    assert canary not in repr(vars(host))


async def test_a_password_that_nobody_gives_leaves_it_read_only(enter: Enter, person: Any) -> None:
    host = await enter(person(None), "NAME ALL=(ALL) ALL")
    assert host.privilege is Privilege.NONE and host.facts.cpus
    assert host.privilege_note == "no password for sudo was given"


async def test_nobody_to_ask_leaves_it_read_only(enter: Enter) -> None:
    host = await enter(None, "NAME ALL=(ALL) ALL")
    assert (host.privilege, host.privilege_note) == (Privilege.NONE, "sudo: a password is required")


async def test_a_user_that_sudo_does_not_know(sudoer: Any, enter: Enter, person: Any) -> None:
    host = await enter(person((sudoer.password,)))
    assert host.privilege is Privilege.NONE
    assert f"{sudoer.name} is not in the sudoers file" in host.privilege_note


async def test_no_sudo_at_all(enter: Enter, server: Any, sudoer: Any, person: Any) -> None:
    """A PATH with nothing in it."""
    server.stop()
    server.start(
        AuthorizedKeysFile=str(sudoer.home / "authorized_keys"), UsePAM="no", SetEnv=f"PATH={sudoer.home / 'empty'}"
    )
    host = await enter(person())
    assert (host.privilege, host.privilege_note) == (Privilege.NONE, "there is no sudo on this host")


async def test_a_sudo_that_lectures_and_a_long_prompt(sudoer: Any, enter: Enter, person: Any) -> None:
    asker = person((sudoer.password,))
    host = await enter(asker, "Defaults:NAME lecture=always, passprompt_override", "NAME ALL=(ALL) ALL")
    assert asker.kinds() == [SUDO] and host.privilege is Privilege.SUDO


async def test_a_sudo_that_does_not_wait_for_ever(enter: Enter, person: Any) -> None:
    withdrawn = asyncio.Event()

    async def never(_: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            withdrawn.set()

    host = await enter(person(never), "Defaults:NAME passwd_timeout=0.02", "NAME ALL=(ALL) ALL")
    assert host.privilege is Privilege.NONE and "sudo: " in host.privilege_note
    await asyncio.wait_for(withdrawn.wait(), 2)


async def test_a_connection_that_breaks_while_sudo_asks(sudoer: Any, enter: Enter, person: Any) -> None:
    async def cut(_: Any) -> None:
        for pid in sudoer.processes():  # the sshd of its connection is one
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(60)

    with pytest.raises(HostLost):
        await enter(person(cut), "NAME ALL=(ALL) ALL")


async def test_a_password_that_is_no_plain_word(sudoer: Any, enter: Enter, person: Any) -> None:
    sudoer.set_password("pä $HOME '\" \\ 1")
    host = await enter(person((sudoer.password,)), "NAME ALL=(ALL) ALL")
    assert host.privilege is Privilege.SUDO


async def test_a_python_that_is_not_there(running: Any, login: Any) -> None:
    with pytest.raises(NoPythonOnHost) as caught:
        await login(python="/opt/none/bin/python3")
    assert "/opt/none/bin/python3" in caught.value.message and caught.value.hint


async def test_a_python_that_is_no_program(running: Any, login: Any, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    for path in (tmp_path, tmp_path / "text"):
        with pytest.raises(NoPythonOnHost) as caught:
            await login(python=str(path))
        assert str(path) in caught.value.message


async def test_a_python_by_its_path(running: Any, login: Any) -> None:
    if not os.path.exists(PYTHON):
        pytest.skip(f"no {PYTHON} here")
    session = await login(python=PYTHON)
    executable = os.readlink(f"/proc/{session.host.client.hello['pid']}/exe")
    assert executable == os.path.realpath(PYTHON)
