"""Puts settings back that no agent holds: changes for good, and what workbenches that are gone have left. Used by
changes.py and returning.py.

Only what still has the value that we gave it is written; everything is read back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from netbench_tui.errors import HostRefused
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.change import Change, ChangeKind, Held, JournalEntry, OnRefusal
from netbench_tui.model.host import Role

Place = tuple[Role, str, str]
Values = dict[Place, str | None]


async def put_back(host: HostConnection, entries: Sequence[JournalEntry]) -> tuple[JournalEntry, ...]:
    """The entries with what became of each. Of several on one place the newest goes back first."""
    told: list[JournalEntry] = []
    for batch in _batches(entries):
        told += await _put_back(host, batch)
    return tuple(told)


async def as_found(host: HostConnection, entries: Sequence[JournalEntry]) -> tuple[JournalEntry, ...]:
    """Those that read as they were found, and those that somebody else changed; what has our value is left out."""
    values = await _read(host, entries)
    return tuple(
        told
        for entry in entries
        if (told := _look(host, entry, values.get(entry.place))) and told.state is not Held.HELD
    )


def _batches(entries: Sequence[JournalEntry]) -> Iterator[list[JournalEntry]]:
    """Each place at most once in a batch."""
    left = sorted(entries, key=lambda entry: entry.time, reverse=True)
    while left:
        batch = {entry.place: entry for entry in reversed(left)}
        yield list(batch.values())
        left = [entry for entry in left if batch[entry.place] is not entry]


async def _put_back(host: HostConnection, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
    values = await _read(host, entries)
    told = {entry.place: _look(host, entry, values.get(entry.place)) for entry in entries}
    ours = [entry for entry in entries if told[entry.place].state is Held.HELD]
    if ours:
        words = await _write(host, ours)
        values = await _read(host, ours)
        for entry in ours:
            told[entry.place] = _outcome(entry, values.get(entry.place), words.get(entry.place, ""))
        await _look_for_absent(host, entries, told)
    return list(told.values())


async def _look_for_absent(
    host: HostConnection, entries: Sequence[JournalEntry], told: dict[Place, JournalEntry]
) -> None:
    """What was not there may have come back with another one, as it was found: irqbalance's bans with irqbalance."""
    absent = [entry for entry in entries if told[entry.place].state is Held.FOREIGN]
    values = await _read(host, absent) if absent else {}
    for entry in absent:
        if values.get(entry.place) == entry.found:
            told[entry.place] = replace(entry, state=Held.RESTORED, note="")


def _look(host: HostConnection, entry: JournalEntry, value: str | None) -> JournalEntry:
    """HELD where the value is still ours."""
    if value == entry.found:
        return replace(entry, state=Held.RESTORED, note="")
    if value == entry.ours:
        return replace(entry, state=Held.HELD, note="")
    reads = "there is no such setting any more" if value is None else f"it reads {value}"
    rebooted = entry.boot_id and host.facts.boot_id and entry.boot_id != host.facts.boot_id
    return replace(entry, state=Held.FOREIGN, note=f"the host was rebooted; {reads}" if rebooted else reads)


async def _write(host: HostConnection, entries: Sequence[JournalEntry]) -> dict[Place, str]:
    """Writes what was found; gives the host's words where it refused. What did not exist goes with what made it."""
    changes = [Change(entry.role, entry.scope, entry.key, entry.found) for entry in entries if entry.found is not None]
    if not changes:
        return {}
    outcomes, _ = await host.apply(changes, ChangeKind.PERMANENT, 0.0, OnRefusal.REST, "restore")
    return {(outcome.role, outcome.scope, outcome.key): outcome.error for outcome in outcomes if outcome.code}


def _outcome(entry: JournalEntry, value: str | None, words: str) -> JournalEntry:
    if value == entry.found:
        return replace(entry, state=Held.RESTORED, note="")
    return replace(entry, state=Held.REFUSED, note=words or f"the host left it at {value}")


async def _read(host: HostConnection, entries: Sequence[JournalEntry]) -> Values:
    """What is set at their places; None where there is no such setting."""
    try:
        return await _read_places(host, entries)
    except HostRefused:
        # One key that this host's agent does not know spoils the whole answer: ask for each.
        values: Values = {}
        for entry in entries:
            try:
                values |= await _read_places(host, [entry])
            except HostRefused:
                values[entry.place] = None
        return values


async def _read_places(host: HostConnection, entries: Sequence[JournalEntry]) -> Values:
    found = await host.read_one([(entry.scope, entry.key) for entry in entries])
    settings = {entry.place: found.get(entry.scope, entry.key) for entry in entries}
    return {place: setting.value if setting else None for place, setting in settings.items()}
