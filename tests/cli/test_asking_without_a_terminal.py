"""`--ask-pass` where there is nobody to ask."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from netbench_tui.cli.asking import ask
from netbench_tui.model.host import Role
from netbench_tui.model.question import Question, QuestionKind


def test_no_terminal(netbench: Callable[..., subprocess.CompletedProcess[str]], home: dict[str, str]) -> None:
    words = ("run", "quick-tcp", "--sender", "local", "--receiver", "local", "--ask-pass")
    ran = netbench(*words, env=home, start_new_session=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--ask-pass: there is no terminal to ask on" in ran.stderr and "Traceback" not in ran.stderr


def test_a_host_key_is_never_accepted_here(capsys: Any) -> None:
    assert ask(Question(Role.SENDER, "alpha", QuestionKind.HOST_KEY, "is it right?")) is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("word", ["=python3", "alpha=", ""])
def test_a_python_that_is_not_said_well(
    netbench: Callable[..., subprocess.CompletedProcess[str]], home: dict[str, str], word: str
) -> None:
    ran = netbench("run", "quick-tcp", "--sender", "local", "--receiver", "local", "--python", word, env=home)
    assert ran.returncode == 2 and "--python" in ran.stderr and "HOST=PATH" in ran.stderr
