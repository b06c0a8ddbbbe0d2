"""The table of changed settings: what was changed on which host, by whom, and what became of it. Used by repository.py.

A row is one journal entry of one workbench: `found` is the value before its first change, `ours` what it made of it. A
row is known by who wrote it and when the entry began, so that writing it again updates it.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator

from netbench_tui.history import rows
from netbench_tui.history.owner import Owner
from netbench_tui.model.change import ChangeKind, Held, JournalEntry, OpenChange
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget

# In these states the host may still have a value of ours.
OPEN = (Held.HELD, Held.PERMANENT, Held.REFUSED)
_IS_OPEN = f"state IN ({', '.join(repr(state.value) for state in OPEN)})"
_OF_OWNER = "owner_pid = ? AND owner_start = ? AND owner_boot = ? AND owner_namespace = ?"


def record(connection: sqlite3.Connection, owner: Owner, target: HostTarget | None, entry: JournalEntry) -> int:
    """Writes or updates the owner's row of this entry; gives its number. `target` is None for a host of the lab."""
    now, to = time.time(), None if target is None else rows.to_json(target)
    state = (_text(entry.ours), entry.kind.value, entry.state.value, rows.storable(entry.note), now)
    key = (rows.storable(entry.host), rows.storable(entry.scope), rows.storable(entry.key), entry.time)
    row = connection.execute(
        f"UPDATE change SET ours = ?, kind = ?, state = ?, note = ?, updated = ?"  # noqa: S608 - our own words
        f" WHERE host = ? AND scope = ? AND key = ? AND time = ? AND role = ? AND {_OF_OWNER} RETURNING id",
        (*state, *key, entry.role.value, *_owner_values(owner)),
    ).fetchone()
    number = row[0] if row else _insert(connection, owner, to, entry, now)
    if entry.state is Held.PERMANENT:
        _join(connection, number)
    return int(number)


def _insert(connection: sqlite3.Connection, owner: Owner, target: str | None, entry: JournalEntry, now: float) -> int:
    values = (
        target,
        rows.storable(entry.host),
        entry.role.value,
        entry.boot_id,
        rows.storable(entry.scope),
        rows.storable(entry.key),
        _text(entry.found),
        _text(entry.ours),
        entry.kind.value,
        entry.state.value,
        entry.time,
        now,
        rows.storable(entry.note),
        *_owner_values(owner),
    )
    marks = ", ".join("?" * len(values))
    number = connection.execute(
        "INSERT INTO change (target, host, role, boot_id, scope, key, found, ours, kind, state, time, updated, note,"  # noqa: S608
        f" owner_pid, owner_start, owner_boot, owner_namespace) VALUES ({marks})",
        values,
    ).lastrowid
    assert number is not None
    return number


def _join(connection: sqlite3.Connection, number: int) -> None:
    """A setting that was changed for good once more is put back to what the first of these changes found: its row goes
    over into this one. Back at that value, nothing is changed any more."""
    before = connection.execute(
        "SELECT before.id, before.found FROM change AS before, change AS now WHERE now.id = ? AND before.id < now.id"
        " AND before.state = 'permanent' AND before.target = now.target AND before.scope = now.scope"
        " AND before.key = now.key AND before.ours IS now.found ORDER BY before.id DESC",
        (number,),
    ).fetchone()
    if before:
        connection.execute(
            "UPDATE change SET state = ?, note = ? WHERE id = ?",
            (Held.RESTORED.value, f"changed again by entry {number}", before[0]),
        )
        connection.execute("UPDATE change SET found = ? WHERE id = ?", (before[1], number))
        connection.execute("UPDATE change SET state = ? WHERE id = ? AND found IS ours", (Held.RESTORED.value, number))


def mark(connection: sqlite3.Connection, number: int, state: Held, note: str) -> bool:
    """Says what became of an entry; False if there is none of that number."""
    values = (state.value, rows.storable(note), time.time(), number)
    return bool(connection.execute("UPDATE change SET state = ?, note = ?, updated = ? WHERE id = ?", values).rowcount)


def beat(connection: sqlite3.Connection, owner: Owner) -> None:
    """Says that the owner of what is held lives."""
    connection.execute(
        f"UPDATE change SET updated = ? WHERE state = 'held' AND {_OF_OWNER}",  # noqa: S608 - our own words
        (time.time(), *_owner_values(owner)),
    )


def open_changes(
    connection: sqlite3.Connection, host: str, is_gone: Callable[[Owner, float], bool]
) -> Iterator[OpenChange]:
    """What was not put back, oldest first; of one host only if `host` is not empty. Hosts of labs are left out: they go
    with their workbench. `is_gone(owner, last sign)` tells whether a workbench has ended."""
    query = f"SELECT * FROM change WHERE {_IS_OPEN} AND target IS NOT NULL AND (? = '' OR host = ?) ORDER BY id"  # noqa: S608
    for row in connection.execute(query, (host, host)).fetchall():
        owner = Owner(row["owner_pid"], row["owner_start"], row["owner_boot"], row["owner_namespace"])
        yield OpenChange(_entry(row), rows.from_json(HostTarget, row["target"]), is_gone(owner, row["updated"]))


def _entry(row: sqlite3.Row) -> JournalEntry:
    return JournalEntry(
        id=row["id"],
        role=Role(row["role"]),
        host=row["host"],
        scope=row["scope"],
        key=row["key"],
        found=row["found"],
        ours=row["ours"],
        kind=ChangeKind(row["kind"]),
        state=Held(row["state"]),
        time=row["time"],
        boot_id=row["boot_id"],
        note=row["note"],
    )


def _text(value: str | None) -> str | None:
    return None if value is None else rows.storable(value)


def _owner_values(owner: Owner) -> tuple[int, int, str, str]:
    return owner.pid, owner.start, owner.boot, owner.namespace
