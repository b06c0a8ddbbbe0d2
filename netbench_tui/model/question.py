"""What a host wants to know from the person at the keyboard: passwords, passphrases, whether a host key is right.

Asked by hosts/ through the engine, answered by the faces. Answers are secrets: they pass through memory alone and stand
in no event that is kept, in no log and in no error.
"""

import enum
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from netbench_tui.model.host import Role


class QuestionKind(enum.StrEnum):
    PASSWORD = "password"  # noqa: S105 - a kind of question
    PASSPHRASE = "passphrase"  # noqa: S105 - a kind of question
    PROMPTS = "prompts"
    SUDO = "sudo"
    HOST_KEY = "host key"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One field to fill. `echo` is whether what is typed may be seen."""

    text: str
    echo: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """`title` is the sentence above the fields; `detail` says more (a fingerprint, the server's own instructions).

    A HOST_KEY question has no prompts: the answer is `()` for yes.
    """

    role: Role
    host: str
    kind: QuestionKind
    title: str
    prompts: tuple[Prompt, ...] = ()
    detail: str = ""


Answers = tuple[str, ...]
Asker = Callable[[Question], Awaitable[Answers | None]]
"""None is a person who does not want to answer."""
