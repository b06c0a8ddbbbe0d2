"""Passwords and keyboard-interactive prompts of a real sshd, with a user made for the test, and what nobody answers."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import asyncssh
import pytest

from netbench_tui.errors import LoginRefused
from netbench_tui.model.question import Prompt, QuestionKind

PASSWORD, PROMPTS = QuestionKind.PASSWORD, QuestionKind.PROMPTS


@pytest.fixture
def guarded(account: Any, server: Any) -> Any:
    """A server that takes the test user's password alone."""
    server.configure(User=account.name, IdentityFile="none")
    server.start(PasswordAuthentication="yes", PubkeyAuthentication="no", UsePAM="no")
    return server


async def test_a_password(account: Any, guarded: Any, login: Any, person: Any) -> None:
    asker = person((account.password,), None)
    session = await login(asker, python="/usr/bin/python3")  # where there is sudo, it asks as well
    assert session.host.facts.uid == account.uid
    first = asker.asked[0]
    assert (first.kind, first.host) == (PASSWORD, "alpha")
    assert first.title == f"password of {account.name} on alpha"
    assert [(prompt.text, prompt.echo) for prompt in first.prompts] == [("password", False)]


async def test_a_wrong_password_is_asked_for_again(account: Any, guarded: Any, connect: Any, person: Any) -> None:
    asker = person(("wrong",), ("wrong again",), (account.password,))
    await connect(asker)
    assert asker.kinds() == [PASSWORD] * 3
    assert [question.title.startswith("that password was wrong; ") for question in asker.asked] == [False, True, True]


async def test_three_wrong_passwords(
    account: Any, guarded: Any, connect: Any, person: Any, assert_no_leak: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "canary-5e1f"
    asker = person((canary,), (canary,), (canary,))
    with pytest.raises(LoginRefused) as caught:
        await connect(asker)
    assert caught.value.message.startswith(f"alpha: it refused the login of {account.name}: ")
    assert_no_leak(caught.value, canary)
    assert canary not in caplog.text


async def test_a_password_that_nobody_gives(account: Any, guarded: Any, connect: Any, person: Any) -> None:
    with pytest.raises(LoginRefused) as caught:
        await connect(person(None))
    assert caught.value.message == "alpha: the login was given up"


async def test_nobody_to_ask(account: Any, guarded: Any, connect: Any) -> None:
    with pytest.raises(LoginRefused) as caught:
        await connect()
    assert f"refused the login of {account.name}" in caught.value.message
    assert "for a password, use --ask-pass" in caught.value.hint


async def test_the_time_in_which_a_person_thinks_does_not_count(
    account: Any, guarded: Any, connect: Any, person: Any
) -> None:
    async def slow(_: Any) -> tuple[str]:
        await asyncio.sleep(2.2)  # longer than the host has to answer
        return (account.password,)

    guarded.configure(User=account.name, IdentityFile="none", ConnectTimeout=2)
    await connect(person(slow))


async def test_a_server_that_does_not_wait_for_the_answer(account: Any, server: Any, connect: Any, person: Any) -> None:
    withdrawn = asyncio.Event()

    async def never(_: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            withdrawn.set()

    server.configure(User=account.name, IdentityFile="none")
    server.start(PasswordAuthentication="yes", UsePAM="no", LoginGraceTime="1")
    asker = person(never)
    with pytest.raises(LoginRefused) as caught:
        await connect(asker)
    assert caught.value.message == "alpha: it closed the connection while it waited for an answer"
    await asyncio.wait_for(withdrawn.wait(), 2)
    assert asker.kinds() == [PASSWORD], "asked once, and not by a second connection"


async def test_keyboard_interactive_through_pam(account: Any, server: Any, connect: Any, person: Any) -> None:
    server.configure(User=account.name, IdentityFile="none")
    server.start(KbdInteractiveAuthentication="yes", UsePAM="yes", PubkeyAuthentication="no")
    asker = person(("wrong",), (account.password,))
    await connect(asker)
    assert asker.kinds() == [PROMPTS] * 2
    assert [question.title for question in asker.asked] == [
        f"alpha asks {account.name}",
        f"that was refused; alpha asks {account.name}",
    ]
    assert asker.asked[0].prompts[0].text.endswith("Password") and not asker.asked[0].prompts[0].echo


class TwoFactors(asyncssh.SSHServer):
    """Wants a name in the clear and a code; says a line before."""

    def begin_auth(self, username: str) -> bool:
        return True

    def kbdint_auth_supported(self) -> bool:
        return True

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Any:
        return "Two\x1b[31m steps", "Look at\nyour token", "", [("Name: ", True), ("Code: ", False)]

    def validate_kbdint_response(self, username: str, responses: Any) -> bool:
        return list(responses) == ["an\u00e4", "123456"]


@pytest.fixture
async def two_factors(server: Any) -> AsyncIterator[Any]:
    listener = await asyncssh.create_server(
        TwoFactors, "127.0.0.1", server.port, server_host_keys=[str(server.host_key)]
    )
    yield server
    listener.close()
    await listener.wait_closed()


async def test_several_prompts_at_once(two_factors: Any, connect: Any, person: Any) -> None:
    asker = person(("wrong", "1"), ("an\u00e4", "123456"))
    await connect(asker)
    assert asker.asked[0].prompts == (Prompt("Name", True), Prompt("Code", False))
    assert asker.asked[0].detail == "Two?[31m steps\nLook at\nyour token"


async def test_prompts_are_given_up_after_three_tries(two_factors: Any, connect: Any, person: Any) -> None:
    asker = person(*[("wrong", "1")] * 3)
    began = time.monotonic()
    with pytest.raises(LoginRefused, match="refused the login"):
        await connect(asker)
    assert len(asker.asked) == 3 and time.monotonic() - began < 10


async def test_prompts_that_nobody_answers(two_factors: Any, connect: Any, person: Any) -> None:
    with pytest.raises(LoginRefused, match="the login was given up"):
        await connect(person(None))
