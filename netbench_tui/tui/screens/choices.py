"""The list on the Connect screen: recent pairs, this machine, the hosts of ssh_config. Used by screens.connect."""

from collections.abc import Sequence
from typing import NamedTuple

from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget, PairTarget, RecentPair, Target
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.rows import RowList

LOCAL = "local"


class Choice(NamedTuple):
    """One row on the left: a section's head (a blank one above it), a pair to connect, or a host's name for a field."""

    head: str = ""
    target: Target | None = None
    host: str = ""
    words: str = ""


def choices(recent: Sequence[RecentPair], known: Sequence[str], now: float) -> list[Choice]:
    """The left list: recent pairs first, then what this machine offers, then the hosts of ssh_config."""
    rows: list[Choice] = []
    if recent:
        rows.append(Choice("Recent pairs"))
        rows += [Choice(target=pair.target, words=f"{ago(now - pair.last)}, {runs(pair.runs)}") for pair in recent]
        rows.append(Choice(" "))
    rows.append(Choice("On this machine"))
    rows.append(Choice(target=LabTarget(), words="two namespaces, real TCP"))
    rows.append(Choice(host=LOCAL, words="this machine as a host"))
    if known:
        rows += [Choice(" "), Choice("Hosts of ssh_config")]
        rows += [Choice(host=name) for name in known]
    return rows


def runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


def ago(seconds: float) -> str:
    """`3 min ago`, `5 h ago`, `12 days ago`."""
    minutes = max(0, int(seconds // 60))
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 48 * 60:
        return f"{minutes // 60} h ago"
    return f"{minutes // 1440} days ago"


class ChoiceList(RowList[Choice]):
    """Section heads cannot be chosen."""

    help_text = (
        "enter on a pair or the lab connects; enter on a host puts it into the field that waits, sender first. "
        "Hosts are those of ~/.ssh/config; any user@host:port can be typed into a field."
    )

    def selectable(self, item: Choice) -> bool:
        return not item.head

    def paint_item(self, item: Choice, line: Line, row: int, paper: str) -> None:
        look = self.look
        if not item.head.strip() and item.head:
            return
        if item.head:
            column = line.put(0, item.head, look.style("dim", paper)) + 1
            line.fill(column, line.width, look.glyph("light"), look.style("rule", paper))
            return
        words = "dim" if paper != "background" else "faint"
        if isinstance(item.target, PairTarget):
            room = (line.width - 12) // 3
            column = line.put(2, look.mark(Role.SENDER), look.style("sender", paper)) + 1
            column = line.put(column, cut(item.target.sender.name, room), look.style("text", paper)) + 1
            column = line.put(column, look.glyph("arrow"), look.style("faint", paper)) + 1
            column = line.put(column, look.mark(Role.RECEIVER), look.style("receiver", paper)) + 1
            column = line.put(column, cut(item.target.receiver.name, room), look.style("text", paper)) + 2
        else:
            name = "lab" if isinstance(item.target, LabTarget) else item.host
            column = line.put(2, cut(name, line.width - 4), look.style("text", paper)) + 2
        room = line.width - column - 1
        text = item.words if len(item.words) <= room else item.words.split(", ")[-1]
        line.put_right(line.width - 1, cut(text, room), look.style(words, paper))
