"""Logging in: what the server asks for goes to the person at the keyboard, if there is one. Used by dial.py.

Answers live in local variables only; nothing here is logged, and no error repeats one.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TypeVar

import asyncssh

from netbench_tui.hosts.ssh.trust import KeyWitness
from netbench_tui.model.host import Role
from netbench_tui.model.question import Answers, Asker, Prompt, Question, QuestionKind
from netbench_tui.model.units import plain

# As ssh's NumberOfPasswordPrompts.
TRIES = 3

T = TypeVar("T")


class Patience:
    """The time a host has to let us in. It stands still while a person is asked."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._limit: asyncio.Timeout | None = None

    async def run(self, work: Awaitable[T]) -> T:
        """Raises TimeoutError."""
        async with asyncio.timeout(self.seconds) as self._limit:
            return await work

    async def pause(self, work: Awaitable[T]) -> T:
        """For a question inside `run`."""
        if self._limit is None or self._limit.expired():
            return await work
        self._limit.reschedule(None)
        try:
            return await work
        finally:
            self._limit.reschedule(asyncio.get_running_loop().time() + self.seconds)


class Login(KeyWitness):
    """One attempt to log in to one host. Without an `asker` no method that asks is offered."""

    def __init__(self, role: Role, name: str, user: str, asker: Asker | None, seconds: float) -> None:
        super().__init__()
        self.role, self.name, self.user, self.asker = role, name, user, asker
        self.patience = Patience(seconds)
        self.declined = False
        self.locked_keys: set[str] = set()
        """Encrypted keys whose passphrase was not given."""
        self._passwords = 0
        self._unlocking = asyncio.Lock()
        self._passphrases: dict[str, str] = {}

    async def ask(
        self, kind: QuestionKind, title: str, prompts: tuple[Prompt, ...], detail: str = ""
    ) -> Answers | None:
        if self.asker is None or self.declined:
            return None
        question = Question(self.role, self.name, kind, title, prompts, detail)
        return await self.patience.pause(self.asker(question))

    async def password_auth_requested(self) -> str | None:
        if self._passwords >= TRIES:
            return None
        again = "that password was wrong; " if self._passwords else ""
        self._passwords += 1
        title = f"{again}password of {self.user} on {self.name}"
        answers = await self.ask(QuestionKind.PASSWORD, title, (Prompt("password"),))
        if answers is None:
            self.declined = True
            return None
        return answers[0]

    async def kbdint_auth_requested(self) -> str | None:
        return None if self.asker is None or self.declined else ""

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        if not prompts:
            return []
        fields = tuple(Prompt(plain(text.strip().rstrip(":")), bool(echo)) for text, echo in prompts)
        detail = "\n".join(plain(line) for line in f"{name}\n{instructions}".splitlines() if line.strip())
        title = f"{self.name} asks {self.user}"
        answers = await self.ask(QuestionKind.PROMPTS, title, fields, detail)
        if answers is None:
            self.declined = True
            return None
        return list(answers)

    async def passphrase(self, file: str) -> str | None:
        """The passphrase of a key file, asked until it opens the key, three times at most."""
        async with self._unlocking:
            if file in self._passphrases:
                return self._passphrases[file]
            for attempt in range(TRIES):
                again = "that passphrase was wrong; " if attempt else ""
                title = f"{again}passphrase of {file}"
                answers = await self.ask(QuestionKind.PASSPHRASE, title, (Prompt("passphrase"),))
                if answers is None:
                    break
                if await asyncio.to_thread(_opens, file, answers[0]):
                    self._passphrases[file] = answers[0]
                    return answers[0]
            self.locked_keys.add(file)
            return None

    def forget(self) -> None:
        """Drops what was answered, once the login is over."""
        self._passphrases.clear()


def _opens(file: str, passphrase: str) -> bool:
    try:
        asyncssh.read_private_key(file, passphrase)
    except (OSError, ValueError):
        return False
    return True


def is_encrypted(file: str) -> bool:
    """True if the key file needs a passphrase."""
    try:
        asyncssh.read_private_key(Path(file))
    except asyncssh.KeyImportError as error:
        return "passphrase" in str(error).lower()
    except (OSError, ValueError):
        return False
    return False
