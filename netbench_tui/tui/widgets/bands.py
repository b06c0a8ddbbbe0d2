"""The first, second and last row of the screen: who is connected, the areas, the keys of the focused panel.

Used by the main screen alone. Nothing but these rows (and unfocused fields) stands on a band.
"""

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.message import Message

from netbench_tui.model.session import HostView
from netbench_tui.model.units import link_speed
from netbench_tui.tui.widgets.line import Line, cut, width_of
from netbench_tui.tui.widgets.panel import Panel, Piece

PRODUCT = "netbench"


class IdentityBand(Panel):
    """`netbench  ▲ alpha ens2f0 ... → ▼ beta ...        connected  sudo`."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="identity")
        self.views: tuple[HostView | None, HostView | None] = (None, None)
        self.variants: Sequence[Sequence[Piece]] = ((),)

    def show(self, sender: HostView | None, receiver: HostView | None, variants: Sequence[Sequence[Piece]]) -> None:
        """`variants` are what the right end may say, longest first."""
        self.views, self.variants = (sender, receiver), variants
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        look, line = self.look, self.line("band")
        column = line.put(1, PRODUCT, look.style("strong", "band")) + 3
        detail, status = self._fitting(width - column)
        end = max(column + 1, width - 1 - _width(status))
        sender, receiver = self.views
        if sender is not None and receiver is not None:
            column = self._host(line, column, sender, detail, end)
            column = line.put(column + 2, look.glyph("arrow"), look.style("faint", "band")) + 2
            self._host(line, column, receiver, detail, end)
        line.fill(end - 1, width, " ", look.style("text", "band"))
        self.put_pieces(line, end, status, "band")
        return [line]

    def _fitting(self, room: int) -> tuple[int, Sequence[Piece]]:
        """How much of the hosts and which status stand in `room` cells: NIC and node before the longest status, any
        other status before NIC and node."""
        for status in self.variants:
            least = 1 if status is self.variants[0] and len(self.variants) > 1 else 0
            for detail in range(2, least - 1, -1):
                if self._room(detail) + _width(status) + 3 <= room:
                    return detail, status
        return 0, self.variants[-1]

    def _room(self, detail: int) -> int:
        return 5 + sum(_width(self._pieces(view, detail)) for view in self.views if view)

    def _host(self, line: Line, column: int, view: HostView, detail: int, end: int) -> int:
        """Writes what there is room for before `end`; what has none is cut once and at its end."""
        for text, ink in self._pieces(view, detail):
            room = max(0, end - 2 - column)
            style = self.look.style(ink, "band", bold=ink in ("sender", "receiver"))
            column = line.put(column, cut(text, room), style)
            if width_of(text) > room:
                break
        return column

    def _pieces(self, view: HostView, detail: int) -> list[Piece]:
        pieces: list[Piece] = [(f"{self.look.mark(view.role)} {cut(view.name, 24)}", self.look.hue(view.role))]
        nic = view.nic
        if nic is None:
            return pieces
        speed = link_speed(nic.speed_mbit)
        if detail:
            parts = [f"{nic.rx_queues}q"] if nic.rx_queues else []
            parts += [f"node {nic.node}"] if nic.node is not None else []
            if detail > 1 and nic.driver:
                parts.insert(0, nic.driver)
            pieces += [(f" {nic.name}", "dim"), ("  " + " ".join([*parts, speed]).rstrip(), "dim")]
        elif speed:
            pieces.append((f" {speed}", "dim"))
        return pieces


def _width(pieces: Sequence[Piece]) -> int:
    return sum(width_of(text) for text, _ in pieces)


class Tab(NamedTuple):
    """One of the areas: its digit stays the same when others come between."""

    key: str
    name: str
    digit: int


AREAS = (
    Tab("hosts", "Hosts", 1),
    Tab("features", "Features", 2),
    Tab("queues", "Queues", 3),
    Tab("topology", "Topology", 4),
    Tab("run", "Run", 5),
    Tab("history", "History", 6),
)


class AreaTabs(Panel):
    """The areas that exist, by their digits; a click goes there."""

    can_focus = False

    class Chosen(Message):
        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self) -> None:
        super().__init__(id="tabs")
        self.current = AREAS[0].key
        self._spans: list[tuple[int, int, str]] = []

    def show(self, current: str) -> None:
        self.current = current
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        look, line, column = self.look, self.line(), 1
        self._spans = []
        for area in AREAS:
            here = area.key == self.current
            paper = "cursor" if here else "background"
            end = column + len(area.name) + 4
            line.fill(column, end, " ", look.style("text", paper))
            line.put(column + 1, str(area.digit), look.style("accent" if here else "dim", paper))
            line.put(column + 3, area.name, look.style("accent" if here else "text", paper, bold=here))
            self._spans.append((column, end, area.key))
            column = end + 1
        return [line]

    def on_click(self, event: events.Click) -> None:
        for start, end, key in self._spans:
            if start <= event.x < end:
                self.post_message(self.Chosen(key))


class FooterKey(NamedTuple):
    """A key as written, what it does, and the Textual action (with its target) that a click runs."""

    key: str
    label: str
    action: str


class FooterBand(Panel):
    """The focused panel's name, its keys, and `? help` last."""

    can_focus = False

    class Pressed(Message):
        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self) -> None:
        super().__init__(id="footer")
        self.subject: Piece = ("", "accent")
        self.keys: tuple[FooterKey, ...] = ()
        self._spans: list[tuple[int, int, str]] = []

    def show(self, subject: Piece, keys: Sequence[FooterKey]) -> None:
        self.subject, self.keys = subject, tuple(keys)
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        look, line = self.look, self.line("band")
        self._spans = []
        column = line.put(1, cut(look.words(self.subject[0]), 24), look.style(self.subject[1], "band", bold=True)) + 3
        last = [key for key in self.keys if key.label == "help"]
        rest = [key for key in self.keys if key.label != "help"]
        end = width - 1 - sum(len(key.key) + len(key.label) + 1 for key in last)
        for key in rest:
            if column + len(key.key) + len(key.label) + 1 >= end - 1:
                break
            column = self._key(line, column, key) + 3
        for key in last:
            self._key(line, end, key)
        return [line]

    def _key(self, line: Line, column: int, key: FooterKey) -> int:
        start = column
        column = line.put(column, self.look.words(key.key), self.look.style("strong", "band")) + 1
        column = line.put(column, key.label, self.look.style("dim", "band"))
        self._spans.append((start, column, key.action))
        return column

    def on_click(self, event: events.Click) -> None:
        for start, end, action in self._spans:
            if start <= event.x < end:
                self.post_message(self.Pressed(action))
