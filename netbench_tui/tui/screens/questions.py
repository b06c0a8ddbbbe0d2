"""What a host wants to know, asked over whatever is on the screen: passwords, codes, whether its host key is right.

One question at a time. Text of the host is shown as it came and never as markup; what is typed goes to the engine and
is kept nowhere. Used by the app.
"""

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.screen import ModalScreen

from netbench_tui.model.question import Question, QuestionKind
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.choosers import sheet_css
from netbench_tui.tui.widgets.line import Line
from netbench_tui.tui.widgets.panel import Panel, Piece
from netbench_tui.tui.widgets.secret import SecretInput

# How ssh prints the fingerprint of a key: the one thing in the text that is to be compared.
_FINGERPRINT = "SHA256:"
_KINDS = {QuestionKind.SUDO: "sudo password", QuestionKind.PROMPTS: "login"}
_FIELD_KEYS: tuple[Piece, ...] = (
    ("enter", "strong"), (" answer   ", "dim"), ("esc", "strong"), (" do not answer", "dim"),
)  # fmt: skip
_HOST_KEY_KEYS: tuple[Piece, ...] = (
    ("y", "strong"), (" it is this host, trust the key   ", "dim"), ("n", "strong"), (" refuse", "dim"),
)  # fmt: skip


class TextRows(Panel):
    """Rows of text, wrapped, as high as they need. `ink` is for all but the line of a fingerprint."""

    can_focus = False
    DEFAULT_CSS = "TextRows { height: auto; }"

    def __init__(self, text: str, ink: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.text, self.ink = text, ink

    def rows(self, width: int) -> list[str]:
        return [row for line in self.text.splitlines() for row in textwrap.wrap(line, max(20, width)) or [""]]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows(width))

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = []
        for row in self.rows(width):
            lines.append(self.line())
            lines[-1].put(0, row, self.look.style("strong" if _FINGERPRINT in row else self.ink))
        return lines


class QuestionHead(Panel):
    """`▲ alpha  sudo password ━━━━━━ 1 more after this`."""

    can_focus = False
    DEFAULT_CSS = "QuestionHead { height: 1; }"

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question
        self.waiting = 0

    def show(self, waiting: int) -> None:
        self.waiting = waiting
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        question, look = self.question, self.look
        kind = _KINDS.get(question.kind, question.kind.value)
        right: tuple[Piece, ...] = ((f"{self.waiting} more after this", "dim"),) if self.waiting else ()
        title = f"{look.mark(question.role)} {question.host}"
        return [self.titled_rule(title, kind, right, ink=look.hue(question.role))]


class QuestionKeys(Panel):
    """The last row: what the keys do."""

    can_focus = False
    DEFAULT_CSS = "QuestionKeys { height: 1; }"

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__()
        self.pieces = pieces

    def paint(self, width: int, height: int) -> Sequence[Line]:
        line = self.line()
        self.put_pieces(line, 0, self.pieces)
        return [line]


class QuestionScreen(ModalScreen[None]):
    """One question. It answers through the app and then goes; the app takes it away when nobody asks any more."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "trust", "trust"),
        Binding("n", "refuse", "refuse"),
        Binding("escape", "decline", "do not answer"),
    ]
    DEFAULT_CSS = (
        sheet_css("QuestionScreen")
        + """
    QuestionScreen #sheet { scrollbar-size-vertical: 1; }
    QuestionScreen .gap { margin-top: 1; }
    """
    )

    def __init__(self, number: int, question: Question) -> None:
        super().__init__()
        self.number, self.question = number, question
        self.waiting = 0
        self._answered = False

    def compose(self) -> ComposeResult:
        question = self.question
        with VerticalScroll(id="sheet", can_focus=False):
            yield QuestionHead(question)
            yield TextRows(question.title, "text", id="title")
            if question.detail:
                yield TextRows(question.detail, "dim", id="detail")
            for index, prompt in enumerate(question.prompts):
                label = TextRows(prompt.text.strip() or "answer", "text")
                label.add_class("gap")
                yield label
                yield SecretInput(masked=not prompt.echo, id=f"field-{index}")
            keys = QuestionKeys(_HOST_KEY_KEYS if self._is_host_key else _FIELD_KEYS)
            keys.add_class("gap")
            yield keys

    @property
    def _is_host_key(self) -> bool:
        return self.question.kind is QuestionKind.HOST_KEY

    @property
    def fields(self) -> list[SecretInput]:
        return list(self.query(SecretInput))

    def show_waiting(self, number: int) -> None:
        """How many questions come after this one."""
        self.waiting = number
        for head in self.query(QuestionHead):
            head.show(number)

    def on_mount(self) -> None:
        self.show_waiting(self.waiting)

    def on_screen_resume(self) -> None:
        for field in self.fields[:1]:
            field.focus()

    def close(self) -> None:
        """Nobody asks any more: what was typed goes with it."""
        for field in self.fields:
            field.clear()
        if self.is_current:
            self.dismiss()

    def on_secret_input_entered(self) -> None:
        fields = self.fields
        here = next((index for index, field in enumerate(fields) if field.has_focus), len(fields) - 1)
        if here + 1 < len(fields):
            fields[here + 1].focus()
        else:
            self._answer(tuple(field.take() for field in fields))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("trust", "refuse"):
            return self._is_host_key
        return True

    def action_trust(self) -> None:
        self._answer(())

    def action_refuse(self) -> None:
        self._answer(None)

    def action_decline(self) -> None:
        self._answer(None)

    def _answer(self, answers: tuple[str, ...] | None) -> None:
        """Once: the second of two quick keys finds the question answered."""
        for field in self.fields:
            field.clear()
        if not self._answered:
            self._answered = True
            face(self).answer(self.number, answers)
