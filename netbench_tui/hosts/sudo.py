"""sudo with a password: asked for on the screen, given to `sudo -S` behind a prompt of our own. Used by connection.py.

The password goes from the answer to the channel and is kept nowhere.
"""

import asyncio
from collections.abc import Awaitable

from netbench_tui.errors import LoginRefused
from netbench_tui.hosts.payload import READY
from netbench_tui.hosts.transport import Channel
from netbench_tui.model.host import Role
from netbench_tui.model.question import Answers, Asker, Prompt, Question, QuestionKind
from netbench_tui.model.units import plain

# Unlike any prompt that PAM or a lecture could print.
PROMPT = "[netbench-sudo-password]"
WITHOUT_PASSWORD = ("sudo", "-n", "--")
# -k: credentials that sudo may remember are not used, so that it asks exactly when we expect it to.
WITH_PASSWORD = ("sudo", "-S", "-k", "-p", PROMPT, "--")
POLL_SECONDS = 0.02


async def let_through(role: Role, name: str, user: str, channel: Channel, asker: Asker) -> None:
    """Answers sudo until the command behind it runs. Raises LoginRefused if it never does, or nobody answers."""
    reader = asyncio.create_task(_ready(channel))
    answered = 0
    try:
        while not reader.done():
            if channel.complaint().count(PROMPT) > answered:
                again = "that password was wrong; " if answered else ""
                title = f"{again}password of {user} for sudo on {name}"
                question = Question(role, name, QuestionKind.SUDO, title, (Prompt("password"),))
                answers = await _unless(reader, asker(question))
                if answers is None and not reader.done():
                    raise LoginRefused(f"{name}: no password for sudo was given")
                answered += 1
                if answers:
                    channel.write(answers[0].encode() + b"\n")
            await asyncio.wait([reader], timeout=POLL_SECONDS)
        if not reader.result():
            await channel.wait(1)
            raise LoginRefused(f"{name}: {last_words(channel) or 'sudo ended'}")
    finally:
        reader.cancel()


async def _unless(reader: asyncio.Task[bool], question: Awaitable[Answers | None]) -> Answers | None:
    """The answer; None as well if sudo ends before (it waits five minutes) or the host is gone: nobody is asked on."""
    asking = asyncio.ensure_future(question)
    try:
        await asyncio.wait([asking, reader], return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() else None
    finally:
        asking.cancel()


async def _ready(channel: Channel) -> bool:
    """True once the first stage of the agent speaks; False if the channel ends before."""
    seen = b""
    while data := await channel.read():
        seen += data
        if READY.encode() in seen:
            return True
    return False


def last_words(channel: Channel) -> str:
    """The last line that sudo printed, without our prompt."""
    text = channel.complaint().replace(PROMPT, "")
    lines = [plain(line).strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
