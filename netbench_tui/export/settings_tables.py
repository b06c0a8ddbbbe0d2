"""Settings, what came of changes, what was put back, and differences, as plain text tables. Used by the verbs `get`,
`set`, `restore` and `diff`; host_tables.py builds on it.

Numbers and names keep one form; text that came from a host is made safe for the terminal.
"""

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len

from netbench_tui.analysis.settings_diff import Difference
from netbench_tui.export.tables import SIGN
from netbench_tui.model.change import Applied, Held, JournalEntry, Outcome
from netbench_tui.model.host import Role
from netbench_tui.model.setting import Lives, Setting
from netbench_tui.model.units import ABSENT, plain

# A value may be as long as an indirection table; a table's other columns must stay in sight.
_LONGEST = 60
_ARROW = "→"


def cell(text: str) -> str:
    """One cell: safe, and cut where it would push the others away."""
    safe = plain(text)
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 1] + "…"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows as lines with columns two blanks apart."""
    if not rows:
        return []
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        fills = [" " * (width - cell_len(text)) for width, text in zip(widths, row, strict=True)]
        cells = [
            fill + text if i in right else text + fill for i, (fill, text) in enumerate(zip(fills, row, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def indented(lines: Iterable[str], by: int = 2) -> list[str]:
    return [" " * by + line for line in lines]


def remark(setting: Setting) -> str:
    """What else is to say of a setting: fixed, wanted but not in force, limits, why it cannot be written."""
    parts = []
    if setting.active and setting.active != setting.value:
        parts.append(f"on CPU {plain(setting.active)}" if _is_irq(setting) else f"wanted {plain(setting.value)}")
    if setting.fixed:
        parts.append("fixed")
    if setting.minimum is not None or setting.maximum is not None:
        least, most = ("" if bound is None else str(bound) for bound in (setting.minimum, setting.maximum))
        parts.append(f"{least}..{most}")
    elif setting.choices and len(setting.choices) > 2:
        parts.append("of " + " ".join(plain(choice) for choice in setting.choices))
    if setting.refusal:
        parts.append(plain(setting.refusal))
    elif setting.lives is not Lives.DEVICE and setting.scope != "machine":
        parts.append(setting.lives.value)
    return ", ".join(parts)


def _is_irq(setting: Setting) -> bool:
    """An IRQ is wanted on several CPUs and served by one of them: both are right."""
    return setting.key.endswith(".irq_affinity")


def setting_rows(settings: Iterable[Setting], whole: bool = False) -> list[str]:
    """One line per setting: key, what is in force, remarks. With `whole` no value is cut."""
    show = plain if whole else cell
    values = {one: one.value if _is_irq(one) else one.in_force for one in settings}
    return aligned([[plain(one.key), show(value), remark(one)] for one, value in values.items()])


def get_table(host: str, role: Role | None, settings: Sequence[Setting]) -> str:
    """The settings of one host; where several hosts are shown its name stands above."""
    lines = setting_rows(settings, whole=True)
    return "\n".join([f"{SIGN[role]} {plain(host)}", *indented(lines)] if role else lines) + "\n"


def applied_table(applied: Applied, names: Mapping[Role, str]) -> str:
    """What came of a transaction: one line per item, the settings that moved along below the one host's items."""
    rows = []
    for role in names:
        mine = [outcome for outcome in applied.outcomes if outcome.role is role]
        mine = sorted(mine, key=lambda one: one.moved_along)
        rows += [_outcome_row(one, names[role], applied.undone) for one in mine]
    lines = aligned(rows)
    if applied.undone:
        lines.append("all was put back, since not everything took")
    return "\n".join(lines) + "\n"


def _outcome_row(outcome: Outcome, host: str, undone: bool) -> list[str]:
    where = [f"{SIGN[outcome.role]} {plain(host)}", plain(outcome.scope), plain(outcome.key)]
    if undone and not outcome.code:
        return [ABSENT, *where, _value(outcome.now), "put back"]
    sign = "↳" if outcome.moved_along else "×" if outcome.code else "✓" if outcome.took else "≠"
    before, after = outcome.old, outcome.now if outcome.now is not None else "gone"
    if outcome.moved_along and before == after:
        before, after = outcome.was_active or before, outcome.active or after
    values = _value(before) if outcome.code else f"{_value(before)} {_ARROW} {cell(after)}"
    return [sign, *where, values, _outcome_remark(outcome)]


def _outcome_remark(outcome: Outcome) -> str:
    if outcome.code:
        asked = f"{cell(outcome.asked)} refused: " if outcome.asked else ""
        return f"{asked}{plain(outcome.error)} ({plain(outcome.code)})"
    differs = outcome.active and outcome.active != outcome.now
    if outcome.moved_along:
        return "moved along" + (
            f", still wanted {_value(outcome.now)}" if differs and outcome.old == outcome.now else ""
        )
    if outcome.moves_later:
        return f"on CPU {cell(outcome.active)} until it comes the next time"
    if outcome.took:
        return f"on CPU {cell(outcome.active)}" if differs else ""
    return f"asked for {cell(outcome.asked or '')}" + (f", {cell(outcome.active)} in force" if differs else "")


def _value(text: str | None) -> str:
    return ABSENT if text is None else cell(text)


def entries_table(entries: Iterable[JournalEntry], states: bool = True) -> str:
    """Changed settings: what each was, what was made of it, and what became of it."""
    rows = []
    for entry in sorted(entries, key=lambda one: (one.host, one.scope, one.key)):
        values = [_value(entry.found), "←" if states and entry.state is Held.RESTORED else _ARROW, _value(entry.ours)]
        what = [entry.state.value + (f": {plain(entry.note)}" if entry.note else "")] if states else []
        rows.append([plain(entry.host), plain(entry.scope), plain(entry.key), *values, *what])
    return "".join(f"{line}\n" for line in aligned(rows))


def diff_table(rows: Sequence[Difference], left: str, right: str) -> str:
    """Side by side, only what differs; says so if nothing does."""
    if not rows:
        return "no differences\n"
    table = [["", plain(left), plain(right)]]
    table += [[plain(row.name), _value(row.left), _value(row.right)] for row in rows]
    return "\n".join(aligned(table)) + "\n"
