"""Where hosts' questions are put before the person: one dialog at a time, in the order of asking. Used by the app."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.app import App

from netbench_tui.model.question import Question

if TYPE_CHECKING:
    # Textual's Input is the dearest import of all and most sittings ask nothing.
    from netbench_tui.tui.screens.questions import QuestionScreen


class QuestionDesk:
    """`shown` is the dialog on the screen, if one is."""

    def __init__(self, app: App[int]) -> None:
        self._app = app
        self.shown: QuestionScreen | None = None

    def update(self, questions: Mapping[int, Question]) -> None:
        """`questions` are all that are open: the dialog of one that is not goes, the next one comes."""
        if self.shown is not None and self.shown.number not in questions:
            self.shown.close()
            self.shown = None
        if self.shown is None and questions:
            from netbench_tui.tui.screens.questions import QuestionScreen

            number, question = next(iter(questions.items()))
            self.shown = QuestionScreen(number, question)
            self._app.push_screen(self.shown)
        if self.shown is not None:
            self.shown.show_waiting(len(questions) - 1)
