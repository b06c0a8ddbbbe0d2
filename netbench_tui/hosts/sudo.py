"""sudo with a password: asked for on the screen, given to `sudo -S` behind a prompt of our own. Used by connection.py.

The password goes from the answer to the channel and is kept nowhere.
"""

import asyncio

from netbench_tui.errors import LoginRefused
from netbench_tui.hosts.payload import READY
from netbench_tui.hosts.transport import Channel
from netbench_tui.model.host import Role
from netbench_tui.model.question import Asker, Prompt, Question, QuestionKind
from netbench_tui.model.units import plain

# Unlike any prompt that PAM or a lecture could print.
PROMPT = "[netbench-sudo-password]"
WITHOUT_PASSWORD = ("sudo", "-n", "--")
# -k: credentials that sudo may remember are not used, so that it asks exactly when we expect it to.
WITH_PASSWORD = ("sudo", "-S", "-k", "-p", PROMPT, "--")
POLL_SECONDS = 0.02
# PAM delays after a wrong password; a slow host starts Python in this time.
PATIENCE_SECONDS = 60.0


async def let_through(role: Role, name: str, user: str, channel: Channel, asker: Asker) -> None:
    """Answers sudo until the command behind it runs. Raises LoginRefused if it never does, or nobody answers."""
    reader = asyncio.create_task(_ready(channel))
    answered = 0
    try:
        while not reader.done():
            if channel.complaint().count(PROMPT) > answered:
                again = "that password was wrong; " if answered else ""
                question = Question(
                    role,
                    name,
                    QuestionKind.SUDO,
                    f"{again}password of {user} for sudo on {name}",
                    (Prompt("password"),),
                )
                answers = await asker(question)
                if answers is None:
                    raise LoginRefused(f"{name}: no password for sudo was given")
                answered += 1
                channel.write(answers[0].encode() + b"\n")
            await asyncio.wait([reader], timeout=POLL_SECONDS)
        if not reader.result():
            await channel.wait(1)
            raise LoginRefused(f"{name}: {last_words(channel) or 'sudo ended'}")
    finally:
        reader.cancel()


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
