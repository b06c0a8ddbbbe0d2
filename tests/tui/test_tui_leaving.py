"""Signals end the screens as `q` does: the terminal is put back and the exit code tells the signal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netbench_tui.tui.leaving import leave_on_signals

LEFT_ALTERNATE_SCREEN = b"\x1b[?1049l"
SHOWN_CURSOR = b"\x1b[?25h"


class Terminal:
    """The Connect screen of demo.py on a terminal of its own, which is its controlling one."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        demo = Path(__file__).with_name("demo.py")
        self.process = subprocess.Popen(
            [sys.executable, str(demo), "connect"],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm-256color"},
        )

    def read_until(self, text: bytes, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, self.seen[-500:]
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 65536)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_puts_the_terminal_back(terminal: Terminal, number: signal.Signals) -> None:
    terminal.read_until(b"user@host:port")
    assert termios.tcgetattr(terminal.slave)[:4] != terminal.before[:4], "raw while the screens are up"
    terminal.process.send_signal(number)
    terminal.read_until(LEFT_ALTERNATE_SCREEN)
    terminal.read_until(SHOWN_CURSOR)
    assert terminal.process.wait(20) == 128 + number
    assert termios.tcgetattr(terminal.slave)[:4] == terminal.before[:4]
    assert b"Traceback" not in terminal.seen


def test_the_handlers_before_act_when_leaving_is_impossible_and_at_the_second_signal() -> None:
    old: list[int] = []
    asked: list[int] = []
    kept = signal.signal(signal.SIGTERM, lambda number, frame: old.append(number))
    ours = signal.getsignal(signal.SIGTERM)
    try:
        with leave_on_signals(lambda number: bool(asked.append(number)) or True):
            signal.raise_signal(signal.SIGTERM)
            assert (asked, old) == ([15], [])
            signal.raise_signal(signal.SIGTERM)
            assert (asked, old) == ([15], [15])
        with leave_on_signals(lambda number: False):
            signal.raise_signal(signal.SIGTERM)
        assert old == [15, 15]
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, kept)


def test_what_was_ignored_stays_ignored() -> None:
    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with leave_on_signals(lambda number: True):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, kept)
