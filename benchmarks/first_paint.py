"""How soon the workbench is there: start to the first text on a terminal, against the least Textual program."""

import fcntl
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from benchmarks import hello
from benchmarks.plan import BenchmarkFailed, Plan, temporary_folder
from benchmarks.report import Figure, Finding, Limit
from netbench_tui.analysis.statistics import paired_change

NAME = "first_paint"
# Starts scatter by some 5 %: 30 pairs give +-2 %, and take a minute.
PAIRS = 30
LIMIT = Limit(1.6, at_least=False)
ROWS, COLUMNS = 40, 120
# The workbench's name, first in the top row of every screen.
WORKBENCH_TEXT = "netbench"
PAINT_SECONDS = 30.0
END_SECONDS = 5.0
# Everything that is no text: OSC (titles), CSI (colours, positions, modes), other escapes.
ESCAPES = re.compile(
    rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[P_^][^\x1b]*\x1b\\|\x1b[ -/]*[0-~]"
)


def seconds_to_text(argv: list[str], text: str, folder: str) -> float:
    """Starts `argv` on a terminal of its own; from the start until `text` was written. The program is ended then.

    Byte code is kept in `folder` for all modules alike: an installed program has it, a checkout perhaps not.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
    environment["PYTHONPYCACHEPREFIX"] = folder
    started = time.perf_counter()
    process = subprocess.Popen(
        argv, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment
    )
    os.close(theirs)
    try:
        return _until(ours, text.encode(), started)
    finally:
        _end(process, ours)
        os.close(ours)


def _until(terminal: int, text: bytes, started: float) -> float:
    seen = b""
    while time.perf_counter() - started < PAINT_SECONDS:
        data = _read(terminal, 0.5)
        seen += data
        if data and text in ESCAPES.sub(b"", seen):
            return time.perf_counter() - started
    words = ESCAPES.sub(b"", seen)[-200:].decode(errors="replace")
    raise BenchmarkFailed(f"{text.decode()!r} did not appear within {PAINT_SECONDS:.0f} s; the end of it: {words!r}")


def _read(terminal: int, seconds: float) -> bytes:
    """What there is, waiting up to `seconds`; empty if nothing came or the program has ended (Linux says EIO)."""
    if not select.select([terminal], [], [], seconds)[0]:
        return b""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        time.sleep(0.01)
        return b""


def _end(process: subprocess.Popen[bytes], terminal: int) -> None:
    """SIGTERM, reading on meanwhile so that its goodbye does not block it; SIGKILL if it stays."""
    process.terminate()
    deadline = time.perf_counter() + END_SECONDS
    while process.poll() is None and time.perf_counter() < deadline:
        _read(terminal, 0.02)
    process.kill()
    process.wait()


def run(plan: Plan) -> list[Finding]:
    values: dict[str, list[float]] = {"hello world": [], "netbench-tui": []}
    with temporary_folder() as folder:
        commands = {
            "hello world": ([sys.executable, str(Path(hello.__file__))], hello.TEXT),
            "netbench-tui": (
                [sys.executable, "-m", "netbench_tui", "--history", str(Path(folder) / "history.db")],
                WORKBENCH_TEXT,
            ),
        }
        for command in commands.values():
            seconds_to_text(*command, folder)  # byte code and page cache are warm for both
        for arm in plan.order(NAME, PAIRS, tuple(values)):
            values[arm].append(seconds_to_text(*commands[arm], folder))
    medians = {arm: 1000 * statistics.median(found) for arm, found in values.items()}
    change = paired_change(values["hello world"], values["netbench-tui"])
    note = (
        f"medians {medians['netbench-tui']:.0f} and {medians['hello world']:.0f} ms, {COLUMNS}x{ROWS}, "
        "byte code cached, Connect screen"
    )
    compared = "first paint / Textual hello-world's"
    return [Finding(NAME, compared, Figure.ratio(change), PAIRS, LIMIT, (note,))]
