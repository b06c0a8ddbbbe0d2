"""The app under the workbench: what a person types for a host never leaves it through Textual's own reports.

Used by tui/app.py. Textual prints all local variables when it crashes, and its debug log tells of every key.
"""

from typing import Any

from textual.app import App


class QuietApp(App[int]):
    """`hushed` is true while a host asks for something."""

    @property
    def hushed(self) -> bool:
        return False

    def _fatal_error(self) -> None:
        """Textual's own report, without the variables."""
        from rich.segment import Segments
        from rich.traceback import Traceback

        self.bell()
        report = Traceback(show_locals=False, width=None)
        self._exit_renderables.append(Segments(self.console.render(report, self.console.options)))
        self._close_messages_no_wait()

    def _log(self, *details: Any, **named: Any) -> None:
        if not self.hushed:
            super()._log(*details, **named)
