"""The agent's answers about settings, queues and changes, as model objects. Used by connection.py.

Every function raises ValueError, naming the bad part, where the agent sent something else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netbench_tui.model.change import Change, ChangeKind, Held, JournalEntry, Outcome
from netbench_tui.model.codec import from_plain
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings, Irq, QueueMap
from netbench_tui.model.units import plain

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class GuardianReport:
    """What the guardian of an earlier agent put back, and why. `time` is the host's Unix time."""

    boot_id: str
    time: float
    why: str
    entries: tuple[JournalEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry as the wire has it."""

    scope: str
    key: str
    found: str | None
    ours: str | None
    kind: ChangeKind = ChangeKind.LEASE
    state: Held = Held.HELD
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Report:
    boot_id: str
    time: float
    why: str
    entries: tuple[_Entry, ...] = ()


def read_settings(answer: Mapping[str, Any]) -> HostSettings:
    """The answer to `settings`."""
    return from_plain(HostSettings, answer, "settings")


def read_queues(answer: Mapping[str, Any]) -> QueueMap:
    """The answer to `queues`."""
    return from_plain(QueueMap, answer, "queues")


def read_irqs(answer: Mapping[str, Any]) -> tuple[Irq, ...]:
    """The answer to `interrupts`."""
    return from_plain(tuple[Irq, ...], _list(answer, "irqs"), "irqs")


def change_rows(changes: Iterable[Change]) -> list[dict[str, str]]:
    """Changes as `apply` wants them."""
    return [{"scope": change.scope, "key": change.key, "value": change.value} for change in changes]


def place_rows(places: Iterable[Place]) -> list[list[str]]:
    return [[scope, key] for scope, key in places]


def read_outcomes(answer: Mapping[str, Any], role: Role) -> tuple[tuple[Outcome, ...], bool]:
    """The answer to `apply`: the outcomes, and whether all was undone."""
    outcomes = []
    for index, row in enumerate(_list(answer, "outcomes")):
        if not isinstance(row, Mapping):
            raise ValueError(f"outcomes[{index}]: expected an object, got {type(row).__name__}")
        error = plain(str(row.get("error") or ""))
        outcomes.append(from_plain(Outcome, {**row, "role": role.value, "error": error}, f"outcomes[{index}]"))
    undone = answer.get("undone", False)
    if not isinstance(undone, bool):
        raise ValueError("undone: expected bool")
    return tuple(outcomes), undone


def read_entries(answer: Mapping[str, Any], role: Role, host: str, boot_id: str) -> tuple[JournalEntry, ...]:
    """The answer to `restore` or `held`, or the event `restored`."""
    found = (from_plain(_Entry, row, f"entries[{i}]") for i, row in enumerate(_list(answer, "entries")))
    return tuple(_journal_entry(entry, role, host, boot_id) for entry in found)


def read_reports(answer: Mapping[str, Any], role: Role, host: str) -> tuple[GuardianReport, ...]:
    """The answer to `reports`."""
    found = (from_plain(_Report, row, f"reports[{i}]") for i, row in enumerate(_list(answer, "reports")))
    return tuple(_report(report, role, host) for report in found)


def _report(report: _Report, role: Role, host: str) -> GuardianReport:
    entries = tuple(_journal_entry(entry, role, host, report.boot_id) for entry in report.entries)
    return GuardianReport(report.boot_id, report.time, plain(report.why), entries)


def _journal_entry(entry: _Entry, role: Role, host: str, boot_id: str) -> JournalEntry:
    return JournalEntry(
        id=0,
        role=role,
        host=host,
        scope=entry.scope,
        key=entry.key,
        found=entry.found,
        ours=entry.ours,
        kind=entry.kind,
        state=entry.state,
        boot_id=boot_id,
        note=plain(entry.note),
    )


def _list(answer: Mapping[str, Any], name: str) -> Sequence[Any]:
    rows = answer.get(name)
    if not isinstance(rows, (list, tuple)):
        raise ValueError(f"{name}: expected a list, got {type(rows).__name__}")
    return rows
