"""The program as its users run it: a child process with an own history and no terminal."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Netbench = Callable[..., subprocess.CompletedProcess[str]]


def _netbench(*words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "netbench_tui", *words]
    how = {"text": True, "capture_output": True, "stdin": subprocess.DEVNULL, "timeout": 60, **how}
    return subprocess.run(argv, **how)


@pytest.fixture(scope="session")
def netbench() -> Netbench:
    return _netbench


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A history with one run, and what that run printed as JSON."""
    history = tmp_path_factory.mktemp("kept") / "history.db"
    words = ("run", "quick-tcp", "--lab", "--seconds", "1", "--streams", "2", "--message-bytes", "64K", "--json")
    return history, _netbench("--history", str(history), *words)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose XDG folders lie in the test's own folder."""
    folders = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("DATA", "CONFIG", "STATE")}
    return {**os.environ, **folders, "HOME": str(tmp_path)}
