"""What the app asks of the engine about settings: reading, staging, trying, keeping, putting back.

The app holds one `Changing` (screens reach it as `face(self).changing`) and takes its keys from `ChangeActions`.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, cast

from textual.app import App

from netbench_tui.engine import events
from netbench_tui.model.change import Applied, Change, Held, JournalEntry, OnRefusal, Restored
from netbench_tui.model.host import Role
from netbench_tui.tui.face import Face

# What a key of `staged` needs to be of use.
_NEEDS_STAGED = ("apply_staged", "drop_staged", "turn_on_refusal")


def held_entries(entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    """What still differs by our doing: neither put back nor kept for good."""
    return [entry for entry in entries if entry.state not in (Held.RESTORED, Held.PERMANENT)]


class Changing:
    """`on_refusal` is what `apply` does where a host refuses an item; `busy` while hosts are being written."""

    def __init__(self, app: Face) -> None:
        self._app = app
        self.on_refusal = OnRefusal.REST
        self.busy = False
        self.undo_step = 0
        """The step of the last undo, which is told as a transaction like others."""
        self._wanted: set[str] = set()
        self._reading: set[tuple[str, Role]] = set()

    # --- reading -------------------------------------------------------------------------------------------------

    def need_settings(self) -> None:
        """An area that shows settings was brought to sight: they are read if they never were."""
        self._need("settings")

    def need_queues(self) -> None:
        self._need("queues")

    def _need(self, what: str) -> None:
        self._wanted.add(what)
        known = self._app.bench.settings if what == "settings" else self._app.bench.queues
        self._read(what, [role for role in Role if role not in known])

    def refresh(self, roles: Iterable[Role] = tuple(Role)) -> None:
        """Reads again all that was ever wanted."""
        for what in sorted(self._wanted):
            self._read(what, roles)

    def _read(self, what: str, roles: Iterable[Role]) -> None:
        bench, engine = self._app.bench, self._app.engine
        for role in roles:
            if not bench.connected or role in bench.lost_at or (what, role) in self._reading:
                continue
            self._reading.add((what, role))
            read: Callable[[Role], Future[Any]] = engine.read_settings if what == "settings" else engine.read_queues
            future = read(role)
            future.add_done_callback(partial(self._has_read, (what, role)))
            self._app.ask(future)

    def _has_read(self, known: tuple[str, Role], _: object) -> None:
        """On the engine's thread."""
        self._reading.discard(known)

    def reading(self, role: Role) -> bool:
        """The host's settings are on their way."""
        return ("settings", role) in self._reading

    def saw(self, event: events.Event) -> None:
        """A host that is new or back is read anew."""
        match event:
            case events.PairConnected():
                self._reading.clear()
                self.refresh()
            case events.HostReturned(view=view):
                self._reading -= {(what, view.role) for what in ("settings", "queues")}
                self.refresh([view.role])

    # --- changing ------------------------------------------------------------------------------------------------

    @property
    def held(self) -> list[JournalEntry]:
        return held_entries(self._app.bench.journal)

    def stage(self, changes: Sequence[Change]) -> None:
        """Takes wishes. What the last transaction did is not shown any more: this is the next act."""
        bench = self._app.bench
        bench.staged.stage(changes, bench.settings)
        self._next_act()
        self._app.paint()

    def drop(self) -> None:
        self._app.bench.staged.clear()
        self._app.paint()

    def _next_act(self) -> None:
        bench = self._app.bench
        bench.trouble = None
        bench.restored.clear()
        if bench.trial is None:
            bench.applied = None

    def turn_on_refusal(self) -> None:
        self.on_refusal = OnRefusal.UNDO if self.on_refusal is OnRefusal.REST else OnRefusal.REST
        self._app.paint()

    def apply(self) -> None:
        """Writes all that is staged, as a trial. What took is not staged any more; where all went back it still is."""
        bench = self._app.bench
        changes = list(bench.staged)
        if not changes or self.busy:
            return

        def applied(answer: Applied) -> None:
            if not answer.undone:
                bench.staged.drop(change.place for change in changes)
            self._app.paint()

        self._begin()
        future = self._app.engine.apply(changes, on_refusal=self.on_refusal)
        future.add_done_callback(self._end)
        self._app.ask(future, applied)

    def keep(self, permanent: bool = False) -> None:
        self._app.ask(self._app.engine.keep(permanent))

    def undo(self) -> None:
        """Takes back the last transaction."""

        def undone(answer: Applied | None) -> None:
            if answer is not None:
                self.undo_step = answer.step
                self._app.paint()

        self._begin()
        future = self._app.engine.undo()
        future.add_done_callback(self._end)
        self._app.ask(future, undone)

    def restore(
        self, entries: Sequence[JournalEntry] = (), done: Callable[[tuple[Restored, ...]], None] | None = None
    ) -> None:
        """Puts back these entries, or all: as the session found them. `done` gets what came of it."""
        self._begin()
        future = self._app.engine.restore(entries)
        future.add_done_callback(self._end)
        self._app.ask(future, done)

    def _begin(self) -> None:
        self._next_act()
        self.busy = True

    def _end(self, _: object) -> None:
        """On the engine's thread."""
        self.busy = False

    def can(self, action: str) -> bool:
        """Whether a key of ours is of use now."""
        bench = self._app.bench
        if not bench.connected:
            return False
        if action in _NEEDS_STAGED:
            return bool(len(bench.staged)) and not self.busy
        if action == "undo_last":
            return bool(bench.journal) and not self.busy
        if action == "keep_for_good":
            return bool(self.held) and not self.busy
        if action == "refresh_settings":
            return bool(self._wanted)
        return True


class ChangeActions:
    """The app's keys of `staged`, as a mixin of it."""

    changing: Changing

    def action_apply_staged(self) -> None:
        self.changing.apply()

    def action_drop_staged(self) -> None:
        self.changing.drop()

    def action_turn_on_refusal(self) -> None:
        self.changing.turn_on_refusal()

    def action_undo_last(self) -> None:
        self.changing.undo()

    def action_keep_for_good(self) -> None:
        self.changing.keep(permanent=True)

    def action_refresh_settings(self) -> None:
        self.changing.refresh()

    def action_changes(self) -> None:
        from netbench_tui.tui.screens.changes import ChangesScreen

        cast(App[Any], self).push_screen(ChangesScreen())
