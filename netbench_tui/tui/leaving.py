"""How the workbench is left: by hand, asking where something would be lost, and from outside by SIGTERM and SIGHUP,
which leave as `q` does, so that the terminal is put back.

Used by tui/app.py.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netbench_tui.model.change import Restored
    from netbench_tui.tui.app import WorkbenchApp


def ask_to_leave(app: "WorkbenchApp") -> None:
    """Quits. A run in progress and changes that hosts hold are asked about first, in one dialog each."""
    from netbench_tui.tui.screens.changes_quit import ConfirmChanges
    from netbench_tui.tui.screens.choosers import ConfirmQuit

    def after_run(leave: bool | None) -> None:
        held = app.changing.held
        if not leave:
            return
        if held:
            app.push_screen(ConfirmChanges(held, set(app.bench.lost_at)), after_changes)
        else:
            app.exit(0)

    def after_changes(answer: str | None) -> None:
        """A lost host cannot be asked: it puts its settings back by itself."""
        reached = [entry for entry in app.changing.held if entry.role not in app.bench.lost_at]
        if answer == "keep":
            app.ask(app.engine.keep(permanent=True), lambda _: app.exit(0))
        elif answer == "restore" and reached:
            app.changing.restore(reached, restored)
        elif answer == "restore":
            app.exit(0)

    def restored(answers: "tuple[Restored, ...]") -> None:
        """Leaves if all went back; what a host refused or someone else changed is shown first."""
        if all(answer.whole for answer in answers):
            app.exit(0)
        else:
            app.action_changes()

    if app.bench.running and app.bench.trace is not None:
        app.push_screen(ConfirmQuit(app.bench.trace.name), after_run)
    else:
        after_run(True)


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
