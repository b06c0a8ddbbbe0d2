"""What the verbs share about the terminal: text in any locale, complaints, and a quiet end. Used by cli/ alone."""

import codecs
import contextlib
import io
import signal
import sys
from collections.abc import Iterator

from netbench_tui.errors import WorkbenchError
from netbench_tui.model.units import plain

# One column each, so that tables still line up.
ASCII_TWINS = {"▲": "^", "▼": "v", "→": ">", "·": "-", "–": "-", "−": "-", "┊": ":", "µ": "u", "…": "~"}
ASCII_TWINS |= {"←": "<", "↳": ">", "✓": "+", "×": "x", "≠": "!"}
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def speak_any_locale() -> None:
    """From now on a sign that the locale's encoding lacks is printed as its ASCII twin or as `?`."""
    codecs.register_error("ascii-twins", _twins)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ascii-twins")


def _twins(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII_TWINS.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def complain(sign: str, error: WorkbenchError) -> None:
    """The message behind `sign` and the hint below it, on standard error; nothing in them acts on the terminal."""
    for head, text in ((sign, error.message), ("  ", error.hint)):
        for line in text.splitlines():
            print(f"{head}{plain(line)}", file=sys.stderr)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not cut off the letting go of the hosts."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
