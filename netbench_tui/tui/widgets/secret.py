"""A field for what a host asks: passwords, passphrases, codes. Used by screens.questions alone.

What is typed stands in this field until it is taken, and nowhere else: no message carries it, a masked field is neither
copied nor cut into a clipboard, and there is no suggester and no history.
"""

from textual.actions import SkipAction
from textual.message import Message
from textual.widgets import Input


class SecretInput(Input):
    """`masked` hides the characters. Enter posts `Entered`, which holds no text; `take` empties the field."""

    DEFAULT_CSS = """
    SecretInput { border: none; height: 1; padding: 0 1; background: $surface; color: $foreground; }
    SecretInput:focus { border: none; background: $cursor; background-tint: $foreground 0%; }
    """

    class Entered(Message):
        """Enter was pressed in a field."""

    def __init__(self, masked: bool, *, id: str | None = None) -> None:
        super().__init__(password=masked, id=id)
        self.disable_messages(Input.Changed)

    def take(self) -> str:
        """What was typed; the field is empty afterwards."""
        typed = self.value
        self.clear()
        return typed

    async def action_submit(self) -> None:
        self.post_message(self.Entered())

    def action_copy(self) -> None:
        if self.password:
            raise SkipAction
        super().action_copy()

    def action_cut(self) -> None:
        if not self.password:
            super().action_cut()
