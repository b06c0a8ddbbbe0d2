"""Distances between NUMA nodes: all of them where there is room, else those to the NIC's node. Used by Topology."""

from collections.abc import Iterable, Sequence

from netbench_tui.model.host import HostFacts
from netbench_tui.tui.widgets.line import ELLIPSIS, Line
from netbench_tui.tui.widgets.panel import Panel, Piece
from netbench_tui.tui.widgets.placed import distance
from netbench_tui.tui.widgets.socket_groups import sections_of

# `node 12` and a blank, then a column of up to three digits for each node.
_LABEL, _COLUMN = 7, 4
_SHORT_LABEL = 12
# The short form: the nodes, and below them the distances.
SHORT_ROWS = 2


def matrix_size(facts: HostFacts) -> tuple[int, int]:
    """Columns and rows of the whole matrix with its title and its words; nothing where there is nothing to tell."""
    nodes = len(facts.nodes)
    if nodes < 2 or not any(node.distances for node in facts.nodes):
        return 0, 0
    return max(30, _LABEL + _COLUMN * nodes), nodes + 4


class DistancesPanel(Panel):
    """The row of the NIC's node is marked."""

    title = "Distance"
    help_text = (
        "How much dearer memory and devices of another node are, as the firmware tells it: 10 is local, 20 is twice "
        "as far. The marked row is that of the NIC's node."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = True
        self.facts: HostFacts | None = None
        self.nic_node: int | None = None

    def show(self, facts: HostFacts | None, nic_node: int | None) -> None:
        self.facts, self.nic_node = facts, nic_node
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if self.facts is None or not self.facts.nodes:
            return []
        wanted = matrix_size(self.facts)
        if wanted == (0, 0):
            return [self.titled_rule(self.title), *self._words("the host tells no distances")][:height]
        if wanted[0] <= width and wanted[1] - 2 <= height:
            return self._matrix(self.facts, height)
        return self._to_nic(self.facts, width, height)

    def _words(self, text: str) -> list[Line]:
        line = self.line()
        line.put(0, text, self.look.style("dim"))
        return [line]

    def _matrix(self, facts: HostFacts, height: int) -> list[Line]:
        numbers = [node.index for node in facts.nodes]
        head = self.line()
        for place, number in enumerate(numbers):
            ink = "strong" if number == self.nic_node else "faint"
            head.put_right(_LABEL + _COLUMN * (place + 1), str(number), self.look.style(ink))
        lines = [self.titled_rule(self.title, "node to node"), head]
        lines += [self._row(facts, number, numbers) for number in numbers]
        if len(lines) + 2 <= height:
            lines += [self.line(), self._key(facts)]
        return lines

    def _row(self, facts: HostFacts, number: int, numbers: Sequence[int]) -> Line:
        here = number == self.nic_node
        paper = "cursor" if here else "background"
        line = self.line(paper)
        line.put(0, self.look.glyph("nic") if here else " ", self.look.style("text", paper))
        line.put_right(_LABEL - 2, str(number), self.look.style("strong" if here else "dim", paper))
        for place, other in enumerate(numbers):
            value = distance(facts, number, other)
            ink = "dim" if value is None else self._ink(facts, value)
            text = "–" if value is None else str(value)
            style = self.look.style(ink, paper)
            line.put_right(_LABEL + _COLUMN * (place + 1), self.look.words(text), style)
        return line

    def _ink(self, facts: HostFacts, value: int) -> str:
        """Local is bold, the nearest others are plain, all farther ones dim: the number itself says how far."""
        values = _values(facts)
        if value == values[0]:
            return "strong"
        return "text" if len(values) < 3 or value == values[1] else "dim"

    def _key(self, facts: HostFacts) -> Line:
        """What the values mean; in fewer words where the matrix is narrow."""
        known = [(value, words) for value in _values(facts)[:3] if (words := _meaning(facts, value))]
        line, column = self.line(), 0
        if sum(len(f"{value} {words}   ") for value, words in known) - 3 > line.width:
            known = [(value, words.replace("other socket", "other")) for value, words in known]
        for value, words in known:
            pieces: list[Piece] = [(str(value), self._ink(facts, value)), (f" {words}   ", "dim")]
            column = self.put_pieces(line, column, pieces)
        return line

    def _to_nic(self, facts: HostFacts, width: int, height: int) -> list[Line]:
        """The nodes and below them how far each is from the NIC's; what has no room is left out with a sign."""
        if self.nic_node is None:
            return self._words("the NIC's node is not known: no distance to it")
        names, values = self.line(), self.line()
        names.put(0, "node", self.look.style("dim"))
        values.put(0, "to the NIC", self.look.style("dim"))
        fitting = (width - _SHORT_LABEL) // _COLUMN
        for place, node in enumerate(facts.nodes[:fitting]):
            end = _SHORT_LABEL + _COLUMN * (place + 1)
            value = distance(facts, node.index, self.nic_node)
            here = node.index == self.nic_node
            names.put_right(end, str(node.index), self.look.style("strong" if here else "dim"))
            text, ink = ("–", "dim") if value is None else (str(value), self._ink(facts, value))
            values.put_right(end, self.look.words(text), self.look.style(ink))
        if len(facts.nodes) > fitting:
            values.put_right(width, self.look.words(ELLIPSIS), self.look.style("dim"))
        return [names, values][-height:]


def _values(facts: HostFacts) -> list[int]:
    return sorted({value for node in facts.nodes for value in node.distances}) or [10]


def _pairs(facts: HostFacts, value: int) -> Iterable[tuple[int, int]]:
    for one in facts.nodes:
        for other in facts.nodes:
            if distance(facts, one.index, other.index) == value:
                yield one.index, other.index


def _meaning(facts: HostFacts, value: int) -> str:
    """What nodes so far apart have in common, where all of them have: the same node, the same socket, or not."""
    pairs = list(_pairs(facts, value))
    if all(one == other for one, other in pairs):
        return "local"
    home = {node.index: place for place, section in enumerate(sections_of(facts)) for node in section.nodes}
    together = {home.get(one) == home.get(other) for one, other in pairs if one != other}
    if len(together) != 1:
        return ""
    return "same socket" if together.pop() else "other socket"
