"""Questions of hosts, asked on the terminal of a headless verb (`--ask-pass`). Used by headless.py."""

import getpass
from pathlib import Path

from netbench_tui.errors import UsageError
from netbench_tui.model.question import Answers, Prompt, Question, QuestionKind
from netbench_tui.model.units import plain

TERMINAL = Path("/dev/tty")


def require_terminal() -> None:
    """Raises UsageError where nobody can be asked."""
    try:
        TERMINAL.open().close()
    except OSError:
        raise UsageError(
            "--ask-pass: there is no terminal to ask on", "use a key that needs no passphrase, or ssh-agent"
        ) from None


def ask(question: Question) -> Answers | None:
    """The answers, or None if the person ends the input. A host key is never accepted here: see --accept-new."""
    if question.kind is QuestionKind.HOST_KEY:
        return None
    with TERMINAL.open("w") as screen:  # where getpass asks: whoever keeps standard error in a file is asked as well
        for line in (question.title, *question.detail.splitlines()):
            print(plain(line), file=screen)
    try:
        return tuple(_field(prompt) for prompt in question.prompts)
    except EOFError:
        return None


def _field(prompt: Prompt) -> str:
    text = f"{plain(prompt.text)}: "
    if not prompt.echo:
        return getpass.getpass(text)
    with TERMINAL.open() as keyboard, TERMINAL.open("w") as screen:
        print(text, end="", file=screen, flush=True)
        line = keyboard.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")
