"""Logging in: what the server asks for goes to the person at the keyboard, if there is one. Used by dial.py.

Answers live in local variables only; nothing here is logged, and no error repeats one.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
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
        try:
            async with asyncio.timeout(self.seconds) as self._limit:
                return await work
        finally:
            self._limit = None

    async def pause(self, work: Awaitable[T]) -> T:
        """For a question, inside `run` or out of it."""
        limit = self._limit
        if limit is None or limit.expired():
            return await work
        limit.reschedule(None)
        try:
            return await work
        finally:
            if self._limit is limit and not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time() + self.seconds)


class Login(KeyWitness):
    """One attempt to log in to one host. Without an `asker` no method that asks is offered. `hidden_keys` are files of
    encrypted keys whose public part is not known: each is tried when all other keys were."""

    def __init__(
        self, role: Role, name: str, user: str, asker: Asker | None, seconds: float, hidden_keys: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.role, self.name, self.user, self.asker = role, name, user, asker
        self.patience = Patience(seconds)
        self.declined = False
        self.unanswered = False
        """The host hung up while a person was being asked."""
        self.locked_keys: list[str] = []
        """Encrypted keys whose passphrase was not given."""
        self._hidden_keys = list(hidden_keys)
        self._tries: Counter[QuestionKind] = Counter()
        self._refused = ""
        self._open: set[asyncio.Future[Answers | None]] = set()
        self._unlocking = asyncio.Lock()
        self._passphrases: dict[str, str] = {}

    async def ask(
        self, kind: QuestionKind, title: str, prompts: tuple[Prompt, ...], detail: str = ""
    ) -> Answers | None:
        if self.asker is None or self.declined:
            return None
        question = Question(self.role, self.name, kind, title, prompts, detail)
        asking = asyncio.ensure_future(self.asker(question))
        self._open.add(asking)
        try:
            return await self.patience.pause(asking)
        finally:
            asking.cancel()
            self._open.discard(asking)

    def connection_lost(self, exc: Exception | None) -> None:
        self.unanswered = self.unanswered or bool(self._open)
        self._withdraw()
        super().connection_lost(exc)

    def _withdraw(self) -> None:
        """Ends the open question. asyncssh asks for passphrases from a thread that nothing else would release."""
        for asking in self._open:
            asking.cancel()

    async def public_key_auth_requested(self) -> asyncssh.SSHKey | None:
        """asyncssh has no more keys of its own; called until there is none here either."""
        while self._hidden_keys and self.asker:
            file = self._hidden_keys.pop(0)
            passphrase = await self.passphrase(file)
            if passphrase is not None:
                return await asyncio.to_thread(asyncssh.read_private_key, file, passphrase)
        return None

    async def password_auth_requested(self) -> str | None:
        again = self._again(QuestionKind.PASSWORD, "that password was wrong; ")
        if again is None or self.asker is None or self.declined:
            return None
        title = f"{again}password of {self.user} on {self.name}"
        answers = await self.ask(QuestionKind.PASSWORD, title, (Prompt("password"),))
        if answers is None:
            self.declined = True
            return None
        return answers[0]

    async def kbdint_auth_requested(self) -> str | None:
        again = self._again(QuestionKind.PROMPTS, "that was refused; ")
        if again is None or self.asker is None or self.declined:
            return None
        self._refused = again
        return ""

    def _again(self, kind: QuestionKind, refused: str) -> str | None:
        """Begins another try: `refused` if there was one before, empty for the first; None if there were enough."""
        self._tries[kind] += 1
        if self._tries[kind] > TRIES:
            return None
        return refused if self._tries[kind] > 1 else ""

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        if not prompts:
            return []
        fields = tuple(Prompt(plain(text.strip().rstrip(":")), bool(echo)) for text, echo in prompts)
        detail = "\n".join(plain(line) for line in f"{name}\n{instructions}".splitlines() if line.strip())
        title = f"{self._refused}{self.name} asks {self.user}"
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
            if file in self.locked_keys:
                return None
            for attempt in range(TRIES):
                again = "that passphrase was wrong; " if attempt else ""
                title = f"{again}passphrase of {file}"
                answers = await self.ask(QuestionKind.PASSPHRASE, title, (Prompt("passphrase"),))
                if answers is None:
                    break
                if await asyncio.to_thread(_opens, file, answers[0]):
                    self._passphrases[file] = answers[0]
                    return answers[0]
            self.locked_keys.append(file)
            return None

    def forget(self) -> None:
        """Drops what was answered and what is still asked, once the login is over."""
        self._passphrases.clear()
        self._withdraw()


def _opens(file: str, passphrase: str) -> bool:
    try:
        asyncssh.read_private_key(file, passphrase)
    except (OSError, ValueError):
        return False
    return True
