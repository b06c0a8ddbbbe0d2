"""Ends the workbench from outside: SIGTERM and SIGHUP leave as `q` does, so that the terminal is put back.

Used by tui/app.py around the whole run of the screens.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def leave_on_signals(leave: Callable[[int], bool]) -> Iterator[None]:
    """The first signal calls `leave(number)`, which must not block; where that gives False, and at a second signal,
    what was set before acts. A signal that was ignored before stays ignored (nohup)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in wanted if signal.getsignal(number) is not signal.SIG_IGN}

    def handle(number: int, frame: FrameType | None) -> None:
        restore()
        if not leave(number):
            signal.raise_signal(number)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
