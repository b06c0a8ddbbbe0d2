"""A program in a real terminal (tmux), driven by keys, and its screen as rows of styled cells. Used by make.py."""

import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.ansi import AnsiDecoder
from rich.color import Color
from rich.style import Style

# tmux passes on 24-bit colour only if told that the outer terminal has it.
CONFIGURATION = """\
set -g status off
set -g default-terminal "tmux-256color"
set -ga terminal-overrides ",*:RGB"
set -g remain-on-exit on
set -s escape-time 0
"""
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Cell:
    """One character and its colours as #rrggbb; None is the terminal's own."""

    text: str
    foreground: str | None
    background: str | None
    bold: bool


class Terminal:
    """One tmux server with one pane; `close` ends it."""

    def __init__(self, name: str, folder: str, columns: int, rows: int, command: Sequence[str]) -> None:
        self.columns, self.rows = columns, rows
        configuration = f"{folder}/tmux.conf"
        with open(configuration, "w") as file:
            file.write(CONFIGURATION)
        self._base = ["tmux", "-L", name, "-f", configuration]
        words = shlex.join(["env", "COLORTERM=truecolor", *command])
        self._tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), words)

    def _tmux(self, *words: str) -> str:
        return subprocess.run([*self._base, *words], check=True, capture_output=True, text=True).stdout

    def press(self, *keys: str) -> None:
        """Keys as tmux names them: Enter, Escape, Tab, C-p, a ..."""
        for key in keys:
            self._tmux("send-keys", "-t", "0", key)

    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "0")

    def wait_for(self, text: str, seconds: float = 30.0) -> None:
        """Until the screen shows `text`; raises TimeoutError with the screen."""
        deadline = time.monotonic() + seconds
        while text not in self.text():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the screen never showed {text!r}:\n{self.text()}")
            time.sleep(POLL_SECONDS)

    def wait_for_end(self, seconds: float = 30.0) -> None:
        """Until the program has ended; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while self._tmux("list-panes", "-F", "#{pane_dead}").strip() != "1":
            if time.monotonic() > deadline:
                raise TimeoutError("the program did not end")
            time.sleep(POLL_SECONDS)

    def cells(self) -> list[list[Cell]]:
        decoder = AnsiDecoder()  # one for all lines: a colour that goes on is not repeated by tmux
        captured = self._tmux("capture-pane", "-e", "-N", "-p", "-t", "0")
        return [_row(decoder, line) for line in captured.split("\n")[: self.rows]]

    def close(self) -> None:
        subprocess.run([*self._base, "kill-server"], check=False, capture_output=True)


def _row(decoder: AnsiDecoder, line: str) -> list[Cell]:
    decoded = decoder.decode_line(line)
    styles = [Style.null()] * len(decoded.plain)
    for span in decoded.spans:
        style = span.style if isinstance(span.style, Style) else Style.parse(span.style)
        for position in range(span.start, min(span.end, len(styles))):
            styles[position] += style
    return [_cell(text, style) for text, style in zip(decoded.plain, styles, strict=True)]


def _cell(text: str, style: Style) -> Cell:
    foreground, background = _hex(style.color), _hex(style.bgcolor)
    if style.reverse:
        foreground, background = background or "#000000", foreground or "#cccccc"
    return Cell(text, foreground, background, bool(style.bold))


def _hex(color: Color | None) -> str | None:
    return None if color is None or color.is_default else color.get_truecolor().hex
