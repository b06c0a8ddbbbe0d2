"""Makes every picture in this folder from the real program on the built-in lab: `python -m screenshots.make`.

Needs tmux. The history is a throw-away one; the lab is removed when the program ends.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from screenshots.picture import svg
from screenshots.terminal import Terminal

HERE = Path(__file__).parent
DARK, LIGHT = "#12151a", "#fbfaf7"


@dataclass(frozen=True)
class Shot:
    """One picture: the program's words, the terminal's size, and the keys that lead to the screen."""

    name: str
    words: tuple[str, ...]
    steps: Callable[[Terminal], None]
    columns: int = 120
    rows: int = 40
    background: str = DARK
    leave: tuple[str, ...] = ("q",)


def _hosts(terminal: Terminal) -> None:
    terminal.wait_for("The path between them")


def _features(terminal: Terminal) -> None:
    """A toggle staged, with what will move along, and nothing written."""
    _hosts(terminal)
    terminal.press("2")
    terminal.wait_for("Checksums")
    terminal.press("/")
    terminal.wait_for("part of a name")
    terminal.press(*"tx-tcp-segmentation", "Enter")
    terminal.wait_for("1 of")
    terminal.press("Space")
    terminal.wait_for("nothing written yet")
    terminal.press("Escape")
    terminal.wait_for("Receive aggregation")


def _queues(terminal: Terminal) -> None:
    """During a run."""
    _hosts(terminal)
    terminal.press("5", "r")
    terminal.wait_for("now")
    terminal.press("3")
    terminal.wait_for("from the wire")


def _topology(terminal: Terminal) -> None:
    _hosts(terminal)
    terminal.press("4")
    terminal.wait_for("Placement")


def _run(terminal: Terminal) -> None:
    _hosts(terminal)
    terminal.press("5", "r")
    terminal.wait_for("finished")


def _history(terminal: Terminal) -> None:
    _run(terminal)
    terminal.press("6")
    terminal.wait_for("filter")


def _connect(terminal: Terminal) -> None:
    terminal.wait_for("Sender")


# For the Connect screen, in place of the maker's own.
SSH_CONFIG = "Host alpha beta rack3-n1 rack3-n2\n  User root\n"
LAB = ("lab",)
SHOTS = (
    Shot("connect", (), _connect),
    Shot("hosts", LAB, _hosts),
    Shot("features", LAB, _features),
    Shot("queues", LAB, _queues, leave=("q", "y")),
    Shot("topology", LAB, _topology),
    Shot("run", LAB, _run),
    Shot("run-light", ("--theme", "light", *LAB), _run, background=LIGHT),
    Shot("run-80x24", LAB, _run, 80, 24),
    Shot("history", LAB, _history),
)


def take(shot: Shot) -> Path:
    """Runs the program once and writes one SVG."""
    with tempfile.TemporaryDirectory(prefix="netbench-screenshots-") as folder:
        (Path(folder) / "ssh_config").write_text(SSH_CONFIG)
        options = ["--history", f"{folder}/history.db", "-F", f"{folder}/ssh_config"]
        command = [sys.executable, "-m", "netbench_tui", *options, *shot.words]
        terminal = Terminal(Path(folder).name, folder, shot.columns, shot.rows, command)
        try:
            shot.steps(terminal)
            picture = svg(terminal.cells(), shot.background)
            terminal.press(*shot.leave)
            terminal.wait_for_end()
        finally:
            terminal.close()
    file = HERE / f"{shot.name}.svg"
    file.write_text(picture)
    return file


def main(names: list[str]) -> None:
    for shot in SHOTS:
        if not names or shot.name in names:
            print(take(shot).relative_to(HERE.parent))


if __name__ == "__main__":
    main(sys.argv[1:])
