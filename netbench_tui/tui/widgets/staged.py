"""The panel at the bottom of Features and Queues: what is staged, else what came of the last transaction.

`staged_rows` works the rows out of the state; `StagedPanel` paints them. The Changes overlay shows the same rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from netbench_tui.model.change import TRIAL_SECONDS, Applied, Held, JournalEntry, OnRefusal, Outcome, Restored
from netbench_tui.model.host import Role
from netbench_tui.tui.face import Face, face
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.line import Line, cut, width_of
from netbench_tui.tui.widgets.panel import Panel, Piece

# What begins with one of these restarts the NIC or its link in many drivers.
_LINK_FLAPS = ("ring.", "channels.", "mtu")
# A longer name of a host is cut here; it stands whole at the top of the screen.
_LONGEST_NAME = 14


class ChangeRow(NamedTuple):
    """One line: sign and ink, host, key, old and new text with their ink, and a remark."""

    sign: str
    ink: str
    role: Role | None
    key: str
    old: str = ""
    new: str = ""
    new_ink: str = "accent"
    remark: str = ""
    remark_ink: str = "dim"


class Block(NamedTuple):
    """Title, what stands after it, the rows, and a summary for the right end."""

    title: str
    remark: str
    rows: tuple[ChangeRow, ...]
    summary: str


def key_words(key: str) -> str:
    return key.removeprefix("feature.").removeprefix("sysctl.")


def warnings(bench: Workbench) -> Iterator[tuple[Role, str]]:
    """What to know before the staged changes are written."""
    from netbench_tui.engine import hazards

    for role in bench.views:
        changes = [change for change in bench.staged if change.role is role]
        known = hazards.warnings(changes, bench.views)
        for words in known:
            yield role, f"{words}: it may break; the host then puts it back by itself"
        for words in hazards.losses(changes, bench.views):
            yield role, words
        flapping = [key_words(change.key) for change in changes if change.key.startswith(_LINK_FLAPS)]
        if flapping and not known:
            yield role, f"{', '.join(dict.fromkeys(flapping))}: many drivers take the link down for a moment"


def staged_block(bench: Workbench) -> Block:
    """What is staged and what will probably move with it."""
    from netbench_tui.tui.screens.features_rows import FEATURE, followers, settings_of

    rows: list[ChangeRow] = []
    for role in Role:
        known = bench.settings.get(role)
        mine = [change for change in bench.staged if change.role is role]
        for change in mine:
            now = known.get(change.scope, change.key) if known else None
            rows.append(ChangeRow("staged", "accent", role, change.key, now.value if now else "–", change.value))
        if mine:
            settings = settings_of(bench, role)
            for key, value in followers(bench, role, settings).items():
                if key.startswith(FEATURE):
                    old = settings[key].value
                    rows.append(ChangeRow("follows", "accent", role, key, old, value, remark="moves with it"))
    hosts = len({change.role for change in bench.staged})
    number = len(bench.staged)
    words = f"{number} change{'s' if number != 1 else ''} on {hosts} host{'s' if hosts != 1 else ''}"
    return Block("Staged", "nothing written yet", tuple(rows), words)


def applied_block(bench: Workbench, applied: Applied, undo_step: int) -> Block:
    """What the hosts made of the last transaction, worst first."""
    order = {"failed": 0, "passed": 1, "follows": 2}
    rows = sorted((_outcome(outcome, applied.undone) for outcome in applied.outcomes), key=lambda row: order[row.sign])
    took = sum(outcome.took and not outcome.moved_along for outcome in applied.outcomes)
    refused = len(applied.refused)
    remark = "read back from the hosts"
    if applied.undone:
        remark = "all of it went back: a change was refused"
    elif bench.trial is not None and took:
        remark = "on trial, read back from the hosts"
    words = f"{took} took" if not applied.undone else "nothing changed"
    title = "Taken back" if applied.step == undo_step else "Applied"
    return Block(title, remark, tuple(rows), words + (f", {refused} refused" if refused else ""))


def _outcome(outcome: Outcome, undone: bool) -> ChangeRow:
    old = outcome.old if outcome.old is not None else "–"
    now = outcome.now if outcome.now is not None else "–"
    row = ChangeRow("passed", "good", outcome.role, outcome.key, old, now, "strong")
    if outcome.code:
        from netbench_tui.tui.screens.features_rows import refusal_words

        return row._replace(sign="failed", ink="bad", new=outcome.asked or now, new_ink="dim",
                            remark=refusal_words(outcome), remark_ink="bad")  # fmt: skip
    if undone:
        return row._replace(remark="went back", old=now, new=old, new_ink="text", sign="passed", ink="dim")
    if outcome.moved_along:
        was = outcome.was_active or old
        return row._replace(sign="follows", ink="strong", remark="moved with it", old=was, new=outcome.active or now)
    if not outcome.took:
        words = f"did not take: wanted {outcome.asked}"
        return row._replace(sign="failed", ink="bad", new=outcome.active or now, remark=words, remark_ink="bad")
    return row._replace(remark="moves when it comes next") if outcome.moves_later else row


_STATES = {
    Held.RESTORED: ("passed", "good", ""),
    Held.FOREIGN: ("failed", "bad", "changed by someone else: left alone"),
    Held.REFUSED: ("failed", "bad", "refused"),
    Held.HELD: ("changed", "strong", "still ours"),
    Held.PERMANENT: ("changed", "strong", "kept for good"),
}


def restored_blocks(restored: Iterable[Restored]) -> list[Block]:
    """What hosts put back, by the reason."""
    by_reason: dict[str, list[JournalEntry]] = {}
    for each in restored:
        by_reason.setdefault(each.why, []).extend(each.entries)
    return [_restored_block(why, entries) for why, entries in by_reason.items()]


def _restored_block(why: str, entries: Sequence[JournalEntry]) -> Block:
    rows = []
    for entry in entries:
        sign, ink, words = _STATES[entry.state]
        remark = ": ".join(part for part in (words, entry.note) if part)
        bad = ink == "bad"
        rows.append(
            ChangeRow(sign, ink, entry.role, entry.key, entry.ours or "–", entry.found or "–",
                      "dim" if bad else "strong", remark, "bad" if bad else "dim")
        )  # fmt: skip
    back = sum(entry.state is Held.RESTORED for entry in entries)
    rows.sort(key=lambda row: row.ink != "bad")
    return Block("Put back", why, tuple(rows), f"{back} of {len(rows)}")


def blocks(bench: Workbench, undo_step: int = 0) -> list[Block]:
    """What the panel may show, most urgent first: staged, put back, applied."""
    found = [staged_block(bench)] if len(bench.staged) else []
    found += restored_blocks(bench.restored.values())
    if bench.applied is not None and not found:
        found.append(applied_block(bench, bench.applied, undo_step))
    return found


def keys_of(app: Face) -> list[list[Piece]]:
    """The right end of the first rows while something is staged."""
    number = len(app.bench.staged)
    rest = app.changing.on_refusal is OnRefusal.REST
    return [
        [("a", "strong"), (f" apply {number}" if not app.changing.busy else " applying", "text")],
        [("x", "strong"), (" drop them", "dim")],
        [("f", "strong"), (" refused: the rest applies" if rest else " refused: all goes back", "dim")],
        [(f"each host puts it back in {TRIAL_SECONDS:.0f} s unless you keep it", "dim")],
    ]


class StagedPanel(Panel):
    """`update_from` takes the state; `rows_wanted` says how high it would like to be, 0 for nothing to show."""

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.blocks: list[Block] = []
        self.warnings: dict[str, list[Role]] = {}
        self.trouble = ""

    def update_from(self, bench: Workbench) -> None:
        self.blocks = blocks(bench, face(self).changing.undo_step)
        self.warnings = {}
        for role, words in warnings(bench) if len(bench.staged) else ():
            self.warnings.setdefault(words, []).append(role)
        self.trouble = ""
        if bench.trouble is not None:
            self.trouble = f"{bench.trouble.message}: {bench.trouble.hint}".rstrip(": ")
        self.update_rows()

    def rows_wanted(self, most: int) -> int:
        rows = sum(1 + len(block.rows) for block in self.blocks) + len(self.warnings) + bool(self.trouble)
        if self.blocks and self.blocks[0].title == "Staged" and most > 5:
            rows = max(rows, 1 + 4 + len(self.warnings))
        return min(most, rows)

    def paint(self, width: int, height: int) -> Sequence[Line]:
        lines: list[Line] = []
        urgent = [self._urgent(self.trouble, ())] if self.trouble else []
        urgent += [self._urgent(text, roles) for text, roles in self.warnings.items()]
        room = height - len(urgent)
        for number, block in enumerate(self.blocks):
            lines.append(self.titled_rule(block.title, block.remark, [(block.summary, "text")]))
            left = room - len(lines)
            lines += self._block(block, max(0, left), number == 0)
            if len(lines) >= room:
                break
        return lines[: max(0, room)] + urgent

    def _urgent(self, text: str, roles: Sequence[Role]) -> Line:
        line = self.line()
        column = line.put(0, self.look.glyph("lint"), self.look.style("bad", bold=True)) + 1
        for role in roles:
            column = line.put(column, self.look.mark(role), self.look.style(self.look.hue(role), bold=True)) + 1
        line.put(column, cut(self.look.words(text), line.width - column), self.look.style("text"))
        return line

    def _block(self, block: Block, room: int, first: bool) -> list[Line]:
        keys = keys_of(face(self)) if block.title == "Staged" else []
        rows = list(block.rows)
        cut_off = len(rows) - room if len(rows) > room else 0
        lines: list[Line] = []
        for index in range(max(len(rows) - cut_off, min(len(keys), room))):
            line, end = self.line(), self.size.width
            last = index == room - 1 and cut_off
            if last:
                end = line.put_right(end, f"{cut_off} more, J", self.look.style("dim"))
            if index < len(rows):
                paint_change(self, line, rows[index], 0, end - 1, "background")
            if index < len(keys):
                column = end - 2 * bool(last) - sum(width_of(text) for text, _ in keys[index])
                if not "".join(line.cells[max(0, column - 2) : end - 1]).strip():
                    self.put_pieces(line, column, keys[index])
            lines.append(line)
        return lines


def paint_change(panel: Panel, line: Line, row: ChangeRow, start: int, end: int, paper: str) -> None:
    """`◇ ▲ alpha   tx-tcp-segmentation   on → off   moves with it`, from `start` to `end`. The arrows of all rows stand
    below each other, unless a key is too long."""
    look, views = panel.look, face(panel).bench.views
    line.put(start, look.glyph(row.sign), look.style(row.ink, paper, bold=row.ink != "dim"))
    name_width = min(_LONGEST_NAME, max((width_of(view.name) for view in views.values()), default=0))
    if row.role is not None:
        name = f"{look.mark(row.role)} {cut(views[row.role].name if row.role in views else '', name_width)}"
        line.put(start + 2, name, look.style(look.hue(row.role), paper, bold=True))
    key_at = start + name_width + 7
    arrow = min(max(key_at + 24, line.width * 2 // 5), key_at + 44)
    key = cut(key_words(row.key), max(12, arrow - key_at - 4))
    column = line.put(key_at, key, look.style("text", paper)) + 2
    old = cut(row.old, max(4, (end - column) // 3))
    column = line.put(max(column, arrow - width_of(old)), old, look.style("dim", paper))
    column = line.put(column, f" {look.glyph('arrow')} ", look.style("faint", paper))
    new = cut(row.new, max(4, end - column - 1))
    column = line.put(column, new, look.style(row.new_ink, paper, bold=row.new_ink == "accent")) + 2
    if row.remark:
        line.put(column, cut(look.words(row.remark), end - column), look.style(row.remark_ink, paper))
