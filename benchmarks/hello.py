"""The least Textual program: what first_paint compares the workbench with."""

from textual.app import App, ComposeResult
from textual.widgets import Static

TEXT = "hello world"


class Hello(App[None]):
    def compose(self) -> ComposeResult:
        yield Static(TEXT)


if __name__ == "__main__":
    Hello().run()
