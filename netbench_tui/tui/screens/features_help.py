"""The help beside the Features list: what the chosen setting does, needs and moves, and how both hosts have it."""

import textwrap
from collections.abc import Iterator, Sequence

from netbench_tui.model.features import about
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostView
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.features_about import sentence
from netbench_tui.tui.screens.features_edit import bounds_words
from netbench_tui.tui.screens.features_rows import FEATURE, Row, short_names
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel, Piece

_LABEL = 9
_LEGEND = (
    ("staged", "accent", "staged, not written"),
    ("changed", "strong", "changed in this session"),
    ("follows", "accent", "moves with another"),
    ("barred", "faint", "cannot be changed"),
    ("failed", "bad", "refused, or not in force"),
    ("differs", "dim", "the hosts differ"),
)


def facts_of(row: Row) -> Iterator[tuple[str, str]]:
    """Label and text: needs, moves, else, limits, where it lives. An empty label goes on."""
    if row.key.startswith(FEATURE):
        known = about(row.name)
        yield from _listed("needs", [" or ".join(choice) for choice in known.needs])
        yield from _listed("moves", known.moves)
        yield from _listed("stops", known.excludes)
        if known.otherwise:
            yield "else", known.otherwise
    setting = next((cell.setting for cell in row.cells.values() if cell.setting is not None), None)
    if setting is not None and row.key and not row.key.startswith(FEATURE):
        if bounds_words(setting):
            yield "takes", bounds_words(setting)
        yield (
            "lives",
            {"device": "on this NIC", "namespace": "in the network namespace"}.get(
                setting.lives.value, "on the whole machine"
            ),
        )
    if setting is not None and setting.via:
        yield "read by", setting.via


def _listed(label: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index, name in enumerate(names):
        yield (label if index == 0 else ""), name


def refusals(row: Row) -> Iterator[tuple[Role, str]]:
    """Why a host does not let it be changed."""
    for role, cell in row.cells.items():
        if cell.setting is None:
            yield role, "this host has no such setting"
        elif cell.setting.refusal:
            yield role, cell.setting.refusal
        elif cell.setting.fixed:
            yield role, "fixed by the driver"


def help_words(row: Row) -> str:
    """All of it as running text, for the help sheet."""
    words = [f"{row.name}.", sentence(row)]
    facts: dict[str, list[str]] = {}
    label = ""
    for here, text in facts_of(row):
        label = here or label
        facts.setdefault(label, []).append(text)
    words += [f"{name.capitalize()}: {', '.join(texts)}." for name, texts in facts.items() if name != "read by"]
    whys = [*refusals(row), *((role, cell.refused) for role, cell in row.cells.items() if cell.refused)]
    words += [f"{'Sender' if role is Role.SENDER else 'Receiver'}: {why}." for role, why in whys]
    return " ".join(part for part in words if part)


class SettingHelp(Panel):
    """Follows the cursor of the list."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.row = Row()

    def show(self, row: Row) -> None:
        self.row = row
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        row = self.row
        if not row.group:
            return [self.titled_rule("")]
        lines = [self.titled_rule(cut(row.name, width - 12), " ".join(short_names(row.key))), self.line()]
        lines += self._texts(sentence(row), 0, "text")
        lines += [self.line()] if sentence(row) else []
        for label, text in facts_of(row):
            lines += self._fact(label, text)
        if row.key:
            lines += [self.line(), *self._table(width), *self._refused()]
        room = height - len(lines) - len(_LEGEND)
        if room > 0:
            lines += [*(self.line() for _ in range(room)), *self._legend()]
        return lines

    def _texts(self, text: str, column: int, ink: str) -> list[Line]:
        lines = []
        for part in textwrap.wrap(text, max(12, self.size.width - column)):
            line = self.line()
            line.put(column, self.look.words(part), self.look.style(ink))
            lines.append(line)
        return lines

    def _fact(self, label: str, text: str) -> list[Line]:
        lines = self._texts(text, _LABEL, "dim" if label == "read by" else "text")
        if lines:
            lines[0].put(0, label, self.look.style("dim"))
        return lines

    def _table(self, width: int) -> list[Line]:
        """can, wanted, active of both hosts; of other settings what is set and what is in force."""
        feature = self.row.key.startswith(FEATURE)
        at = (12, 19, 29) if feature else (12, 12, 12 + (width - 12) // 2)
        head = self.line()
        for column, word in zip(at, ("can", "wanted", "active") if feature else ("", "set", "in force"), strict=True):
            head.put(column, word, self.look.style("faint"))
        lines = [head]
        for role, view in face(self).bench.views.items():
            lines.append(self._host(role, view, at, feature))
        return lines

    def _host(self, role: Role, view: HostView, at: tuple[int, int, int], feature: bool) -> Line:
        line, look = self.line(), self.look
        line.put(0, f"{look.mark(role)} {cut(view.name, 9)}", look.style(look.hue(role), bold=True))
        cell = self.row.cells.get(role)
        setting = cell.setting if cell is not None else None
        if setting is None:
            line.put(at[1], look.glyph("absent"), look.style("faint"))
            return line
        pieces: list[tuple[int, Piece]] = [(at[1], (setting.value, "text"))]
        if feature:
            pieces.append((at[0], ("yes" if setting.writable else "no", "text" if setting.writable else "dim")))
        taken = setting.active in ("", setting.value)
        pieces.append((at[2], (setting.in_force, "text" if taken else "bad")))
        ends = {at[0]: at[1], at[1]: at[2], at[2]: line.width} if feature else {at[1]: at[2], at[2]: line.width}
        for column, (text, ink) in pieces:
            line.put(column, cut(text, max(1, ends[column] - column - 1)), look.style(ink))
        return line

    def _refused(self) -> list[Line]:
        lines = []
        reasons: dict[str, str] = {}
        vain = [(role, cell.refused) for role, cell in self.row.cells.items() if cell.refused]
        for role, why in (*refusals(self.row), *vain):
            reasons[why] = f"{reasons[why]} {self.look.mark(role)}" if why in reasons else self.look.mark(role)
        for why, marks in reasons.items():
            sign, ink = ("failed", "bad") if why in dict(vain).values() else ("barred", "dim")
            part = self._texts(f"{marks} {why}", 2, "text")
            if part:
                part[0].put(0, self.look.glyph(sign), self.look.style(ink))
            lines += part
        return lines

    def _legend(self) -> list[Line]:
        lines = []
        for glyph, ink, words in _LEGEND:
            line = self.line()
            line.put(0, self.look.glyph(glyph), self.look.style(ink))
            line.put(2, words, self.look.style("dim"))
            lines.append(line)
        return lines
