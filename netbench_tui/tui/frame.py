"""The frame around every area: the rows and parts of the screen, and the style of what Textual itself draws.

Used by the app alone.
"""

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget

from netbench_tui.tui.face import face
from netbench_tui.tui.widgets.bands import AreaTabs, FooterBand, IdentityBand
from netbench_tui.tui.widgets.change_bar import ChangeBar

CSS = """
#identity, #tabs, #footer { height: 1; }
#change-bar { height: 1; display: none; }
#identity, #footer { background: $band; }
#body { height: 1fr; background: $background; }
CommandPalette > Vertical { margin-top: 2; max-width: 100; background: $band; }
CommandPalette #--input { border: none; padding: 0; height: 3; }
CommandPalette #--input Label, CommandPalette SearchIcon { display: none; }
CommandPalette CommandInput, CommandPalette CommandInput:focus { border: none; height: 1; margin: 1 2; }
CommandPalette CommandList { border: none; padding-bottom: 1; background: $band; }
CommandPalette LoadingIndicator { display: none; }
"""


def frame(first: Widget) -> ComposeResult:
    """The parts, top to bottom, with the first area in its place: mounting it later would lay out all twice."""
    yield IdentityBand()
    yield AreaTabs()
    yield Container(first, id="body")
    yield ChangeBar()
    yield FooterBand()


class MainScreen(Screen[object]):
    """Identity, areas, the area in sight, keys. Overlays lie on it and leave it mounted."""

    def on_screen_resume(self) -> None:
        """What happened under an overlay may have changed which keys work."""
        face(self).refresh_footer()
