"""Labels and values under a title: what a host is, what a run was. Used by Overview and by the Run view's side."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel, Piece


class Fact(NamedTuple):
    """One row: `pieces` one after the other, `right` at the end.

    An empty label continues the row above; without pieces too it is a blank row.
    """

    label: str = ""
    pieces: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()


def fact(label: str, text: str, unit: str = "", ink: str = "text") -> Fact:
    """A plain fact; empty text gives `–`."""
    pieces: tuple[Piece, ...] = ((text or "–", ink if text else "faint"),)
    return Fact(label, (*pieces, (f" {unit}", "faint")) if unit and text else pieces)


class FactsPanel(Panel):
    """`ink` colours the title, for a host's panel."""

    help_text = "What was found. A dash stands where the host does not say."

    def __init__(self, heading: str = "", label_width: int = 11, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.heading, self.remark, self.ink = heading, "", "strong"
        self.label_width = label_width
        self.right: tuple[Piece, ...] = ()
        self.facts: Sequence[Fact] = ()

    @property
    def name_in_footer(self) -> str:
        return self.heading

    @property
    def ink_in_footer(self) -> str:
        return "accent" if self.ink == "strong" else self.ink

    def show(
        self,
        facts: Sequence[Fact],
        heading: str | None = None,
        remark: str = "",
        right: Sequence[Piece] = (),
        ink: str = "strong",
    ) -> None:
        self.facts, self.remark, self.right, self.ink = tuple(facts), remark, tuple(right), ink
        self.heading = self.heading if heading is None else heading
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = [self.titled_rule(self.heading, self.remark, self.right, self.ink)]
        # Short panels give up blank rows first, then the last facts.
        facts = [f for f in self.facts if f.pieces or f.label] if len(self.facts) > height - 1 else self.facts
        for fact_ in facts:
            line = self.line()
            line.put(0, cut(fact_.label, self.label_width - 1), self.look.style("dim"))
            column = self.label_width
            for text, ink in fact_.pieces:
                column = line.put(column, cut(self.look.words(text), width - column), self.look.style(ink))
            self.put_pieces(line, width - sum(len(text) for text, _ in fact_.right), fact_.right)
            lines.append(line)
        return lines


class TextPanel(Panel):
    """A few sentences, wrapped; no title, never focused."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.pieces: Sequence[Piece] = ()

    def show(self, pieces: Sequence[Piece]) -> None:
        """Each piece is a paragraph of its own ink."""
        self.pieces = tuple(pieces)
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines = []
        for text, ink in self.pieces:
            for row in textwrap.wrap(text, max(10, width)) or [""]:
                line = self.line()
                line.put(0, self.look.words(row), self.look.style(ink))
                lines.append(line)
        return lines
