"""A container whose children stand where one pure function says. Used by every area: the layout is a table of regions.

A child whose id has no region is not displayed (and cannot be focused): degraded, never refused.
"""

from collections.abc import Mapping
from typing import ClassVar

from textual.app import RenderResult
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.strip import Strip
from textual.widget import Widget

_NO_MARGIN = Spacing()


class _RegionLayout(Layout):
    name = "regions"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        assert isinstance(parent, Arranged)
        regions = parent.regions(size.width, size.height)
        return [
            WidgetPlacement(regions[child.id], NULL_OFFSET, _NO_MARGIN, child)
            for child in children
            if child.id in regions
        ]


class Arranged(Widget):
    """Subclasses write `regions`; call `arrange_again` when something but the size changed what it says."""

    DEFAULT_CSS = """
    Arranged { width: 1fr; height: 1fr; background: $background; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._region_layout = _RegionLayout()

    @property
    def layout(self) -> Layout:
        return self._region_layout

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        """Child id -> where it stands, in cells of this container."""
        raise NotImplementedError

    def render(self) -> RenderResult:
        return ""

    def render_line(self, y: int) -> Strip:
        return Strip.blank(self.size.width, self.rich_style)

    def arrange_again(self) -> None:
        """Shows what has a region, hides what has none, and lays out again."""
        width, height = self.size
        if width and height:
            regions = self.regions(width, height)
            for child in self.children:
                child.display = child.id in regions
        # A widget that wants a new layout makes its ancestors forget how they were arranged, but not itself.
        for child in self.children[:1]:
            child.refresh(layout=True)

    def on_resize(self) -> None:
        width, height = self.size
        regions = self.regions(width, height)
        for child in self.children:
            if child.display != (child.id in regions):
                child.display = child.id in regions


class Area(Arranged):
    """One of the workbench's areas, as the app drives it."""

    FIRST_FOCUS: ClassVar[str] = ""
    """The id of the panel that has the focus at first."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.add_class("area")
        self.last_focus = f"#{self.FIRST_FOCUS}"

    def update_area(self) -> None:
        """Shows the state as it is now; called when data came and the area is in sight."""
        raise NotImplementedError

    def seen(self) -> None:
        """The area was brought to sight: time to ask for what may have changed meanwhile."""
