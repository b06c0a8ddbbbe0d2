"""All settings that differ from how this sitting found them, on both hosts, and in the history. Used by changes.py.

The agents' own lists are the truth of what is *held*: put back by the host itself once we are gone. What a lost agent
held is *doubtful* until its host can be asked. The rest is *loose*: nobody but us would put it back, since it was
changed for good.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from netbench_tui.errors import WorkbenchError
from netbench_tui.model.change import ChangeKind, Held, JournalEntry, Outcome
from netbench_tui.model.host import Role

# A history on a stalled disk must not hold up a change; what waits there is written later.
RECORD_SECONDS = 3.0

T = TypeVar("T")
Place = tuple[Role, str, str]
Record = Callable[[Sequence[JournalEntry]], "Future[list[int]]"]
Mark = Callable[[int, Held, str], "Future[None]"]
_log = logging.getLogger(__name__)


class Journal:
    """`record` writes entries to the history and gives their numbers; `mark` says there what became of an entry of an
    earlier workbench."""

    def __init__(self, record: Record, mark: Mark) -> None:
        self._record, self._mark = record, mark
        self._held: dict[Place, JournalEntry] = {}
        self._doubtful: dict[Place, JournalEntry] = {}
        self._loose: dict[Place, JournalEntry] = {}
        self._unwritten: dict[float, JournalEntry] = {}
        self._marked: list[JournalEntry] = []
        self._last = 0.0

    def entries(self) -> tuple[JournalEntry, ...]:
        """Each changed place once, oldest first, with what the sitting found there."""
        merged = dict(self._loose)
        for place, entry in (self._doubtful | self._held).items():
            below = self._loose.get(place)
            merged[place] = replace(entry, found=below.found, time=below.time) if below else entry
        return tuple(sorted(merged.values(), key=lambda entry: entry.time))

    def held(self, role: Role) -> tuple[JournalEntry, ...]:
        """What the host's agent holds."""
        return tuple(entry for entry in self._held.values() if entry.role is role)

    def loose(self, role: Role) -> tuple[JournalEntry, ...]:
        return tuple(entry for entry in self._loose.values() if entry.role is role)

    def in_doubt(self, role: Role) -> tuple[JournalEntry, ...]:
        """What a lost agent held and nobody has told about yet."""
        return tuple(entry for entry in self._doubtful.values() if entry.role is role)

    def is_ours(self, entry: JournalEntry) -> bool:
        """Whether the entry stands here; else it is an earlier workbench's."""
        known = (book.get(entry.place) for book in self._books())
        return any(each is not None and each.time == entry.time for each in known)

    # what happened

    def follow(self, role: Role, held: Iterable[JournalEntry]) -> None:
        """Takes over what the host's agent holds by now; what it holds no longer was put back."""
        now = {entry.place: entry for entry in held}
        for place, entry in [(place, entry) for place, entry in self._held.items() if entry.role is role]:
            if place not in now:
                self._close(self._held, replace(entry, state=Held.RESTORED))
        for place, entry in now.items():
            before = self._held.get(place)
            if before is None:
                self._put(self._held, replace(entry, state=Held.HELD, time=self._moment()))
            elif (before.ours, before.kind) != (entry.ours, entry.kind):
                self._put(self._held, replace(before, ours=entry.ours, kind=entry.kind))

    def made_permanent(self, outcomes: Iterable[Outcome], host: Callable[[Role], tuple[str, str]]) -> None:
        """Changes for good. `host(role)` gives the host's name and boot_id. Before the agents' lists are followed."""
        for outcome in outcomes:
            place = (outcome.role, outcome.scope, outcome.key)
            if outcome.old == outcome.now:
                continue
            before = self._loose.get(place)
            found = before.found if before else self._found(place, outcome)
            name, boot_id = host(outcome.role)
            entry = before or JournalEntry(
                id=0,
                role=outcome.role,
                host=name,
                scope=outcome.scope,
                key=outcome.key,
                found=found,
                ours=outcome.now,
                kind=ChangeKind.PERMANENT,
                boot_id=boot_id,
            )
            entry = replace(entry, ours=outcome.now, state=Held.PERMANENT)
            if entry.ours == entry.found:
                self._close(self._loose, replace(entry, state=Held.RESTORED))
            else:
                self._put(self._loose, entry if before else replace(entry, time=self._moment()))

    def _found(self, place: Place, outcome: Outcome) -> str | None:
        held = self._held.get(place)
        return held.found if held else outcome.old

    def kept_for_good(self, role: Role) -> None:
        """All that the host's agent held stays."""
        for entry in self.held(role):
            del self._held[entry.place]
            before = self._loose.get(entry.place)
            if before:
                self._close(self._held, replace(entry, state=Held.RESTORED, note="kept for good"))
            kept = replace(before, ours=entry.ours) if before else entry
            self._put(self._loose, replace(kept, kind=ChangeKind.PERMANENT, state=Held.PERMANENT))

    def agent_gone(self, role: Role) -> None:
        """The agent that held this is no more: what became of it is in doubt until the host can be asked."""
        for entry in self.held(role):
            self._doubtful[entry.place] = self._held.pop(entry.place)

    def give_up(self, role: Role, note: str) -> tuple[JournalEntry, ...]:
        """Nobody put back what was in doubt."""
        left = tuple(replace(entry, state=Held.REFUSED, note=note) for entry in self.in_doubt(role))
        for entry in left:
            del self._doubtful[entry.place]
            self._put(self._loose, entry)
        return left

    def settled(self, results: Iterable[JournalEntry]) -> tuple[JournalEntry, ...]:
        """What a host told of putting back, as entries of ours; what went back or is not ours any more is dropped."""
        return tuple(self._settle(result) for result in results)

    def _settle(self, result: JournalEntry) -> JournalEntry:
        book = next((book for book in self._books() if result.place in book), self._loose)
        known = book.get(result.place)
        if known is None:
            return result
        entry = replace(known, ours=result.ours, state=result.state, note=result.note)
        if result.state in (Held.RESTORED, Held.FOREIGN):
            self._close(book, entry)
        elif result.state is Held.HELD:  # a trial that went back to what was kept
            self._put(book, replace(entry, kind=ChangeKind.LEASE))
        else:
            self._put(book, entry)
        return entry

    def mark_earlier(self, entry: JournalEntry) -> None:
        """What became of an entry that an earlier workbench left. Written by `write`."""
        if entry.id:
            self._marked.append(entry)

    def _books(self) -> tuple[dict[Place, JournalEntry], ...]:
        return self._held, self._doubtful, self._loose

    # the history

    def _moment(self) -> float:
        """Unix seconds, each later than the one before: entries are told apart by them."""
        self._last = max(time.time(), self._last + 1e-6)
        return self._last

    def _put(self, book: dict[Place, JournalEntry], entry: JournalEntry) -> None:
        book[entry.place] = self._unwritten[entry.time] = entry

    def _close(self, book: dict[Place, JournalEntry], entry: JournalEntry) -> None:
        book.pop(entry.place, None)
        if entry.time:
            self._unwritten[entry.time] = entry

    async def write(self) -> None:
        """Writes what is new. A history that cannot be written is told about by its writer; changes go on, and it is
        tried again with what comes next."""
        marked, self._marked = self._marked, []
        entries = tuple(self._unwritten.values())
        self._unwritten.clear()
        for entry in marked:
            await _written(self._mark(entry.id, entry.state, entry.note))
        if not entries:
            return
        numbers = await _written(self._record(entries))
        if numbers is None:
            self._unwritten = {entry.time: entry for entry in entries} | self._unwritten
        for number, written in zip(numbers or (), entries, strict=False):
            for book in self._books_of(written):
                book[written.place] = replace(book[written.place], id=number)

    def _books_of(self, written: JournalEntry) -> Iterator[dict[Place, JournalEntry]]:
        for book in self._books():
            known = book.get(written.place)
            if known is not None and known.time == written.time:
                yield book


async def _written(writing: "Future[T]") -> T | None:
    """What the history's writer gives; None where it is not written yet."""
    try:
        given: T = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(writing)), RECORD_SECONDS)
        return given
    except (WorkbenchError, TimeoutError):
        _log.warning("the journal of changes is not written yet")
        return None
