"""Area 2: everything that can be changed on both hosts, side by side; changes are staged here and then applied.

Features  62 of 62 ━━━━━━━━ ▲ alpha ━━━━━ ▼ beta ━━   | what the chosen one does, needs, moves
▾ Segmentation  tso gso                               | how both hosts have it
  tx-tcp-segmentation     ◇ on  → off   ≠   on        |
one line to type in, where a number is changed        |
Staged  nothing written yet ──────────────────────────────────── 3 changes on 2 hosts
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region
from textual.suggester import SuggestFromList
from textual.widgets import Input

from netbench_tui.model.change import Change
from netbench_tui.model.host import Role
from netbench_tui.model.setting import Setting
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.features_edit import bounds_words, canonical
from netbench_tui.tui.screens.features_help import SettingHelp, refusals
from netbench_tui.tui.screens.features_list import FeatureList
from netbench_tui.tui.screens.features_rows import (
    OPEN_WHEN_SHORT,
    TITLES,
    Row,
    Wish,
    all_rows,
    rows_signature,
    scope_of,
    short_choices,
    shown_rows,
    toggled,
)
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.prompt import Prompt
from netbench_tui.tui.widgets.staged import StagedPanel

# From this width on the help stands beside the list; below it is under `?`.
_HELP_FROM = 110
_HELP_WIDTH = 36
# From this height on groups stand apart and all begin open.
_ROOMY = 30


class FeaturesArea(Area):
    """`wish` is what is listed; `editing` the setting that is being typed, and for whom."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("features-area")]
    FIRST_FOCUS = "features"
    DEFAULT_CSS = """
    FeaturesArea Input { border: none; height: 1; padding: 0 1; background: $surface; }
    FeaturesArea Input:focus { border: none; background: $cursor; background-tint: $foreground 0%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.wish = Wish()
        self.filtering = False
        self.editing: tuple[Row, tuple[Role, ...]] | None = None
        self._signature: tuple[object, ...] = ()
        self._known: list[Row] = []

    def compose(self) -> ComposeResult:
        yield FeatureList(id="features")
        yield SettingHelp(id="help-of-row")
        yield Prompt(id="prompt")
        yield Input(placeholder="part of a name, a short name such as tso, or a group", id="filter")
        yield Input(id="value")
        yield StagedPanel(id="staged")

    def on_mount(self) -> None:
        """The screen's height decides: while areas change places this one has but a part of it."""
        if self.app.size.height < _ROOMY:
            self.wish = Wish(closed=frozenset(TITLES) - OPEN_WHEN_SHORT)

    # --- layout --------------------------------------------------------------------------------------------------

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        roomy = height >= _ROOMY
        top, inner = (1 if roomy else 0), width - 2
        staged = self.query_one(StagedPanel).rows_wanted(11 if roomy else 5)
        bottom = height - staged - (1 if roomy and staged else 0)
        regions: dict[str | None, Region] = {}
        if staged:
            regions["staged"] = Region(1, bottom, inner, staged)
            bottom -= 1 if roomy else 0
        left = inner
        if width >= _HELP_FROM:
            help_width = max(_HELP_WIDTH, min(60, inner // 3 - 4))
            left = inner - help_width - 4
            regions["help-of-row"] = Region(1 + left + 4, top, help_width, max(1, bottom - top))
        if self.typing:
            bottom -= 1
            regions["value" if self.editing is not None else "filter"] = Region(1, bottom, left, 1)
        if self.editing is not None or self.query_one(Prompt).words:
            bottom -= 1
            regions["prompt"] = Region(1, bottom, left, 1)
        regions["features"] = Region(1, top, left, max(2, bottom - top))
        return regions

    @property
    def typing(self) -> bool:
        return self.filtering or self.editing is not None

    def on_resize(self) -> None:
        super().on_resize()
        self.update_area()

    # --- showing -------------------------------------------------------------------------------------------------

    def seen(self) -> None:
        face(self).changing.need_settings()

    def update_area(self) -> None:
        app = face(self)
        rows = self._rows()
        shown = shown_rows(rows, self.wish, self.size.height >= _ROOMY)
        listed = self.query_one(FeatureList)
        number = sum(len(row.members) for row in shown if not row.key)
        remark = [f"{number} of {len(rows)}"] if rows else []
        remark += ["only different"] if self.wish.differing else []
        remark += ["only changed"] if self.wish.changed else []
        listed.remark = "  ".join(remark)
        listed.take(shown, empty=self._empty(bool(rows)))
        self.query_one(SettingHelp).show(listed.current or Row())
        before = self.query_one(StagedPanel).rows_wanted(11)
        self.query_one(StagedPanel).update_from(app.bench)
        if before != self.query_one(StagedPanel).rows_wanted(11):
            self.arrange_again()

    def _rows(self) -> list[Row]:
        """Worked out anew only when something of it changed: samples come ten times a second."""
        signature = rows_signature(face(self).bench)
        if signature != self._signature:
            self._signature, self._known = signature, all_rows(face(self).bench)
        return self._known

    def _empty(self, known: bool) -> str:
        app = face(self)
        if known:
            return "nothing like that; esc shows all" if self.wish.narrow else "nothing to show"
        if any(app.changing.reading(role) for role in Role):
            return "reading"
        failure = app.bench.trouble
        return failure.message if failure is not None else "not read yet; ctrl+r reads"

    def on_feature_list_moved(self, event: FeatureList.Moved) -> None:
        event.stop()
        listed = self.query_one(FeatureList)
        self.query_one(SettingHelp).show(listed.current or Row())
        if not self.typing:
            self._say("")

    def _say(self, words: str, pieces: Sequence[Piece] = (), bad: bool = False) -> None:
        """Puts a sentence above the staged changes; an empty one takes it away."""
        prompt = self.query_one(Prompt)
        was = bool(prompt.words)
        prompt.say(words, pieces, bad)
        if was != bool(words):
            self.arrange_again()

    # --- staging -------------------------------------------------------------------------------------------------

    def on_feature_list_toggled(self, event: FeatureList.Toggled) -> None:
        event.stop()
        if event.row.key:
            self.change(event.row, event.roles)
        else:
            self.choose_short(event.row, event.roles)

    def on_row_list_opened(self, event: FeatureList.Opened) -> None:
        """enter opens and closes a group, and changes a setting."""
        event.stop()
        row: Row = event.item
        if row.key:
            self.change(row, (self.query_one(FeatureList).host,))
        elif not self.wish.narrow:
            closed = self.wish.closed ^ {row.group}
            self.wish = Wish(closed=closed)
            self.update_area()

    def change(self, row: Row, roles: tuple[Role, ...]) -> None:
        """Stages the other of two values, or asks for one; what cannot be changed is said and nothing staged."""
        refused = {role: why for role, why in refusals(row) if role in roles}
        able = tuple(role for role in roles if role in row.cells and role not in refused)
        self._say(self._refusal_words(row, refused), bad=True)
        if not able:
            return
        first = _setting(row, able[0])
        value = self._other_value(row, able)
        if value is None:
            self._edit(row, able, first)
        else:
            self._stage(row.key, value, able)

    def _other_value(self, row: Row, roles: Sequence[Role]) -> str | None:
        """The other of two values; for both hosts what is staged on one of them alone. None where it is to be typed."""
        host = self.query_one(FeatureList).host
        first = row.cells[host if host in roles else roles[0]]
        wished = {row.cells[role].wished for role in roles}
        if first.setting is None or (first.staged is not None and len(wished) > 1):
            return first.staged
        return toggled(first.setting, first.staged)

    def _refusal_words(self, row: Row, refused: Mapping[Role, str]) -> str:
        look = face(self).look
        reasons = dict.fromkeys(refused.values())
        marks = {why: " ".join(look.mark(role) for role in refused if refused[role] == why) for why in reasons}
        said = ", ".join(f"{marks[why]} {why}" for why in reasons)
        return f"{row.name}: {said}" if said else ""

    def _stage(self, key: str, value: str, roles: Sequence[Role]) -> None:
        bench = face(self).bench
        face(self).stage([Change(role, scope_of(bench, role, key), key, value) for role in roles])

    def choose_short(self, row: Row, roles: tuple[Role, ...]) -> None:
        """Asks which of ethtool's short names is meant; each feature behind it is staged by itself."""
        from netbench_tui.tui.screens.features_short import ShortNames

        choices = {role: short_choices(row, role) for role in roles}
        if not any(choices.values()):
            self._say(f"{row.name}: no short name of ethtool's changes anything here")
            return

        def take(chosen: tuple[str, str] | None) -> None:
            if chosen is None:
                return
            bench = face(self).bench
            face(self).stage([
                Change(role, scope_of(bench, role, key), key, value)
                for role, of_role in choices.items()
                for short, value, keys in of_role
                if (short, value) == chosen
                for key in keys
            ])  # fmt: skip

        self.app.push_screen(ShortNames(row.name, choices), take)

    # --- typing --------------------------------------------------------------------------------------------------

    def _edit(self, row: Row, roles: tuple[Role, ...], setting: Setting) -> None:
        self.editing = (row, roles)
        staged = row.cells[roles[0]].staged
        entry = self.query_one("#value", Input)
        entry.suggester = SuggestFromList(setting.choices) if setting.choices else None
        entry.placeholder = bounds_words(setting)
        self._ask(setting)
        self.arrange_again()
        with entry.prevent(Input.Changed):
            entry.value = staged if staged is not None else setting.value
        self.screen.set_focus(entry)  # at once: the next digit is the value's
        entry.select_all()

    def _ask(self, setting: Setting) -> None:
        assert self.editing is not None
        row, roles = self.editing
        look, views = face(self).look, face(self).bench.views
        pieces: list[Piece] = [(f"{row.name}  ", "strong")]
        pieces += [(f"{look.mark(role)} {views[role].name} ", look.hue(role)) for role in roles]
        limits = bounds_words(setting)
        pieces += [("  now ", "dim"), (setting.value, "text"), (f"   takes {limits}" if limits else "", "dim")]
        pieces += [("   enter", "strong"), (" stages it", "dim")]
        self.query_one(Prompt).say(row.name, pieces)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "filter":
            self.wish = Wish(event.value.strip(), self.wish.differing, self.wish.changed, self.wish.closed)
            self.update_area()
            self._go_to(self.wish.text.lower())
        elif self.editing is not None:
            self._check(event.value)

    def _go_to(self, name: str) -> None:
        """The cursor goes to the setting whose whole name was typed, not to one that only holds it."""
        listed = self.query_one(FeatureList)
        exact = [number for number, row in enumerate(listed.items) if row.key and row.name.lower() == name]
        if exact:
            listed.move_to(exact[0])

    def _check(self, text: str) -> str | None:
        """The typed value as every chosen host takes it; else says why not, at once."""
        assert self.editing is not None
        row, roles = self.editing
        try:
            values = {canonical(_setting(row, role), text) for role in roles}
        except ValueError as problem:
            self.query_one(Prompt).say(str(problem), bad=True)
            return None
        self._ask(_setting(row, roles[0]))
        return values.pop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.editing is not None:
            value = self._check(event.value)
            if value is None:
                return
            row, roles = self.editing
            self._end_typing()
            self._stage(row.key, value, roles)
        else:
            self.query_one(FeatureList).focus()

    def _end_typing(self) -> None:
        self.editing = None
        self.query_one(Prompt).say("")
        self.arrange_again()
        self.query_one(FeatureList).focus()

    # --- keys ----------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        self.filtering, self.editing = True, None
        self._say("")
        self.arrange_again()
        self.screen.set_focus(self.query_one("#filter", Input))  # at once: the next letter is its own

    def action_only_different(self) -> None:
        self.wish = Wish(self.wish.text, not self.wish.differing, False, self.wish.closed)
        self.update_area()

    def action_only_changed(self) -> None:
        self.wish = Wish(self.wish.text, False, not self.wish.changed, self.wish.closed)
        self.update_area()

    def action_back(self) -> None:
        """Leaves the value that is being typed, else shows all again."""
        if self.editing is None:
            self.filtering = False
            self.wish = Wish(closed=self.wish.closed)
            entry = self.query_one("#filter", Input)
            with entry.prevent(Input.Changed):
                entry.value = ""
        self._end_typing()
        self.update_area()
        face(self).refresh_footer()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter":
            return not isinstance(self.app.focused, Input)
        if action == "back":
            return self.typing or self.wish.narrow
        return True


def _setting(row: Row, role: Role) -> Setting:
    setting = row.cells[role].setting
    assert setting is not None
    return setting
