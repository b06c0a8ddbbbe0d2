"""A terminal that does not read (tmux copy mode, ^S, a stalled link) for six seconds of a run costs no sample.

The real program on a real pseudo terminal; the test is the terminal, and stops reading.
"""

import fcntl
import itertools
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine.session import RUN_HERTZ
from netbench_tui.history.repository import History
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState

ROWS, COLUMNS = 40, 120
STOPPED_SECONDS = 6.0
# The agent looks ten times a second; twice that between two looks would be one missed.
LONGEST_GAP_SECONDS = 0.3
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78PX^_]")


class Terminal:
    """Reads only when asked to. `text` is all that was written, without escape sequences."""

    def __init__(self, *argv: str, env: dict[str, str]) -> None:
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.child = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True)
        os.close(slave)
        self.text = ""

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.text += _ESCAPES.sub(" ", os.read(self.master, 65536).decode("utf-8", "replace"))
            except OSError:  # the other end is closed
                time.sleep(0.05)

    def read_until(self, done: Any, what: str, seconds: float = 40) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}; the screen: {self.text[-2000:]}"
            self.read(0.05)

    def press(self, key: str) -> None:
        os.write(self.master, key.encode())

    def close(self) -> None:
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.read_until(lambda: self.child.poll() is not None, "the end after SIGTERM", 15)
            finally:
                self.child.kill()
        os.close(self.master)


@pytest.fixture
def workbench(tmp_path: Path) -> Iterator[Terminal]:
    env = {**os.environ, "TERM": "xterm-256color", "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    history = str(tmp_path / "history.db")
    terminal = Terminal(sys.executable, "-m", "netbench_tui", "--history", history, "lab", env=env)
    yield terminal
    terminal.close()


def newest(history: Path) -> Any:
    if not history.exists():
        return None
    with History(history) as reader:
        return reader.latest()


def test_a_terminal_that_does_not_read_for_six_seconds_costs_no_sample(workbench: Terminal, tmp_path: Path) -> None:
    history = tmp_path / "history.db"
    workbench.read_until(lambda: "alpha" in workbench.text and "connected" in workbench.text, "both hosts on screen")
    workbench.press("r")
    workbench.read_until(lambda: newest(history) is not None, "the run in the history")
    stopped = time.monotonic()
    while time.monotonic() < stopped + STOPPED_SECONDS:
        time.sleep(0.05)  # this is the test: nobody reads, though the screen changes
    assert newest(history).state in (RunState.RUNNING, RunState.FINISHED)
    workbench.read_until(lambda: newest(history).state is not RunState.RUNNING, "the end of the run")
    workbench.press("q")
    workbench.read_until(lambda: workbench.child.poll() is not None, "the end of the program")
    assert workbench.child.returncode == 0
    with History(history) as reader:
        (row,) = reader.runs()
        run = reader.stored_run(row.id)
    assert run.result.state is RunState.FINISHED, run.result.reason
    assert run.result.lost_samples == 0
    assert run.result.window and run.result.window.seconds > 4
    assert row.ended and row.ended - row.started < STOPPED_SECONDS + 2, "the run did not wait for the terminal"
    for role in Role:
        samples = run.samples[role]
        assert sum(sample.skipped for sample in samples) == 0
        assert max(b.time - a.time for a, b in itertools.pairwise(samples)) < LONGEST_GAP_SECONDS
        inside = [s for s in samples if run.result.window.start < s.time <= run.result.window.end]
        assert len(inside) >= RUN_HERTZ * run.result.window.seconds - 2
