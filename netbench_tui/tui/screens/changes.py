"""The Changes overlay: what is staged, what came of the last transaction, and the journal of all that differs from how
the session found it. From here one entry or all are put back, and the equivalent shell script is shown.
"""

import textwrap
import time
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen

from netbench_tui.model.change import ChangeKind, Held, JournalEntry
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.commands import footer_keys
from netbench_tui.tui.face import face
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.bands import FooterBand, FooterKey
from netbench_tui.tui.widgets.line import Line, cut, width_of
from netbench_tui.tui.widgets.rows import RowList
from netbench_tui.tui.widgets.staged import Block, ChangeRow, applied_block, paint_change, restored_blocks, staged_block

CSS = """
    {name} {{ background: $background 40%; align: center middle; }}
    {name} #sheet {{ width: 100%; height: 100%; max-width: 160; padding: 1 2 0 2; background: $background; }}
    {name} #footer {{ dock: bottom; height: 1; background: $band; }}
"""
_KINDS = {ChangeKind.TRIAL: "on trial", ChangeKind.LEASE: "until you leave", ChangeKind.PERMANENT: "for good"}
# Where a remark begins at the latest beside short values; it is cut at the row's end.
_REMARK_AT = 70
# Keys of the app and of lists that are of no use on an overlay.
_NOT_HERE = frozenset({"run", "leave", "open", "keep_for_good", "changes", "apply_staged", "undo_last"})


class Item(NamedTuple):
    """A block's head, a row of one, a blank row, or an entry of the journal."""

    head: Block | None = None
    row: ChangeRow | None = None
    entry: JournalEntry | None = None
    words: str = ""


def items(bench: Workbench, undo_step: int, width: int = 0) -> list[Item]:
    """The journal first: it is what keys act on; then staged, put back, and the last transaction. What a host refused
    is told in all of its words, below the row where they are too long for it."""
    held = [entry for entry in bench.journal if entry.state is not Held.RESTORED]
    words = f"{len(held)} setting{'s' if len(held) != 1 else ''}"
    found = [Item(head=Block("Changed in this session", "as found → as it is now", (), words))]
    found += [Item(entry=entry) for entry in held]
    if not held:
        found.append(Item(words="nothing: both hosts are as the session found them"))
    blocks = [staged_block(bench)] if len(bench.staged) else []
    blocks += restored_blocks(bench.restored.values())
    blocks += [applied_block(bench, bench.applied, undo_step)] if bench.applied is not None else []
    for block in blocks:
        found += [Item(), Item(head=block)]
        for row in block.rows:
            found.append(Item(row=row))
            if row.remark_ink == "bad" and 0 < width < _REMARK_AT + width_of(row.remark):
                found += [Item(words=f"    {part}") for part in textwrap.wrap(row.remark, max(20, width - 6))]
    return found


def journal_row(entry: JournalEntry) -> ChangeRow:
    """An entry as a line: found → ours, kind, and what became of it."""
    sign, ink = ("failed", "bad") if entry.state in (Held.FOREIGN, Held.REFUSED) else ("changed", "strong")
    words = [entry.state.value if sign == "failed" else _KINDS[entry.kind], entry.note]
    if entry.time:
        words.append(time.strftime("%H:%M:%S", time.localtime(entry.time)))
    remark = "  ".join(word for word in words if word)
    absent = "–"
    old, new = (absent if text is None else text for text in (entry.found, entry.ours))
    return ChangeRow(sign, ink, entry.role, entry.key, old, new, "strong", remark, "bad" if sign == "failed" else "dim")


class JournalList(RowList[Item]):
    """All of the overlay in one list; keys act on entries of the journal alone, the cursor reaches every row."""

    help_text = (
        "Every setting that differs from how the session found it. Changes on trial are put back by the hosts unless "
        "you keep them; those kept stand until you leave the workbench; those for good stay."
    )
    title_rows = 0

    def selectable(self, item: Item) -> bool:
        return item.entry is not None or item.row is not None

    def move_to(self, index: int, step: int = 1) -> None:
        super().move_to(index, step)
        if isinstance(self.screen, ChangesScreen):
            self.screen.show_keys()

    def titled_first(self, item: Item) -> Line:
        block = item.head
        assert block is not None
        return self.titled_rule(block.title, block.remark, [(block.summary, "text")])

    def paint(self, width: int, height: int) -> Sequence[Line]:
        return list(super().paint(width, height))[1:]

    def paint_item(self, item: Item, line: Line, row: int, paper: str) -> None:
        if item.head is not None:
            title = self.titled_first(item)
            line.cells, line.styles = title.cells, title.styles
        elif item.entry is not None:
            paint_change(self, line, journal_row(item.entry), 1, line.width, paper)
        elif item.row is not None:
            paint_change(self, line, item.row, 1, line.width, paper)
        elif item.words:
            line.put(1, cut(item.words, line.width - 1), self.look.style("dim"))


class ChangesScreen(ModalScreen[None]):
    """Lies over the areas; follows the state while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("changes")]
    DEFAULT_CSS = CSS.format(name="ChangesScreen")

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield JournalList("Changes", id="journal")
        yield FooterBand()

    def on_mount(self) -> None:
        self.query_one(JournalList).focus()
        self.call_after_refresh(self.update_overlay)

    def update_overlay(self) -> None:
        """Shows the state as it is now. Called by the app's paint."""
        if not self.is_mounted:
            return
        listed = self.query_one(JournalList)
        listed.show(items(face(self).bench, face(self).changing.undo_step, listed.size.width))
        self.show_keys()

    def show_keys(self) -> None:
        self.query_one(FooterBand).show(("Changes", "accent"), overlay_keys(self))

    @property
    def chosen(self) -> JournalEntry | None:
        item = self.query_one(JournalList).current
        return item.entry if item is not None else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        changing = face(self).changing
        if action == "undo_chosen":
            return self.chosen is not None and not changing.busy
        if action == "restore_all":
            return bool(face(self).bench.journal) and not changing.busy
        if action == "keep_all":
            return face(self).bench.trial is not None and not changing.busy
        return True

    def action_undo_chosen(self) -> None:
        if self.chosen is not None:
            face(self).changing.restore([self.chosen])

    def action_restore_all(self) -> None:
        face(self).changing.restore()

    def action_keep_all(self) -> None:
        face(self).changing.keep()

    def action_script(self) -> None:
        from netbench_tui.tui.screens.changes_script import ScriptScreen

        self.app.push_screen(ScriptScreen())

    def action_close(self) -> None:
        self.dismiss(None)

    async def on_footer_band_pressed(self, message: FooterBand.Pressed) -> None:
        message.stop()
        await face(self).run_from(self.focused or self, message.action)

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        event.stop()


def overlay_keys(screen: Screen[Any]) -> list[FooterKey]:
    """The overlay's own keys, and help, as far as they are of use."""
    return [key for key in footer_keys(screen, typing=False) if key.action not in _NOT_HERE]
