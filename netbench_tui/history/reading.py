"""The queries that read runs out of the history. Used by history/repository.py alone, which turns errors into words."""

import dataclasses
import sqlite3
from collections import defaultdict

from netbench_tui.errors import RunNotFound
from netbench_tui.history import rows
from netbench_tui.history.packing import unpack_intervals, unpack_samples
from netbench_tui.model.host import Role
from netbench_tui.model.outcome import Outcome
from netbench_tui.model.run import Interval, Metric, ProcessOutput, RunEvent, RunResult
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, RecentPair, RunSummary, StoredRun

_RUNS = """
SELECT run.*, s.name AS sender, r.name AS receiver FROM run
JOIN host AS s ON s.session = run.session AND s.role = 'sender'
JOIN host AS r ON r.session = run.session AND r.role = 'receiver'
"""
# Each word of a filter must occur in one of these; char(10) keeps a word from matching across two columns.
_FILTERED = """instr(lower(
    '#' || run.id || char(10) || run.preset || char(10) || run.state || char(10) || run.generator || char(10) ||
    s.name || char(10) || r.name || char(10) || run.note || char(10) || run.reason), ?) > 0"""
# Below SQLite's limit on bound parameters, 32766 since 3.32.
_BATCH = 10_000


def summaries(connection: sqlite3.Connection, limit: int, offset: int, text: str) -> list[RunSummary]:
    """Newest first. `limit` -1 is no limit; every word of `text` must occur somewhere in the run's row."""
    words = rows.storable(text).lower().split()
    where = f"WHERE {' AND '.join([_FILTERED] * len(words))}" if words else ""
    query = f"{_RUNS} {where} ORDER BY run.started DESC, run.id DESC LIMIT ? OFFSET ?"
    found = connection.execute(query, (*words, limit, offset)).fetchall()
    metrics = _metrics(connection, [row["id"] for row in found])
    return [rows.summary_from_row(row, rows.result_from_row(row, metrics[row["id"]])) for row in found]


def _metrics(connection: sqlite3.Connection, runs: list[int]) -> dict[int, list[Metric]]:
    metrics: dict[int, list[Metric]] = defaultdict(list)
    for start in range(0, len(runs), _BATCH):
        batch = runs[start : start + _BATCH]
        marks = ",".join("?" * len(batch))
        query = f"SELECT * FROM metric WHERE run IN ({marks}) ORDER BY run, position"  # noqa: S608 - only ? signs
        for row in connection.execute(query, batch):
            metrics[row["run"]].append(rows.metric_from_row(row))
    return metrics


def stored(connection: sqlite3.Connection, run: int) -> StoredRun:
    row = connection.execute(f"{_RUNS} WHERE run.id = ?", (run,)).fetchone()
    if row is None:
        raise RunNotFound(f"there is no run {run} in the history", "see which there are with: netbench-tui history")
    plain = rows.result_from_row(row, _metrics(connection, [run])[run], _events(connection, run))
    outputs = _outputs(connection, run)
    report = dataclasses.replace(
        plain.report,
        received=_intervals(connection, run, Role.RECEIVER),
        sent=_intervals(connection, run, Role.SENDER),
    )
    settings = _settings(connection, run)
    result: RunResult = dataclasses.replace(plain, outputs=outputs, report=report, settings=settings)
    samples = {role: _samples(connection, run, role) for role in Role}
    return StoredRun(rows.summary_from_row(row, plain), _hosts(connection, row["session"]), samples, result, outputs)


def _hosts(connection: sqlite3.Connection, session: int) -> dict[Role, HostView]:
    found = connection.execute("SELECT role, view FROM host WHERE session = ?", (session,))
    return {Role(row["role"]): rows.from_json(HostView, row["view"]) for row in found}


def _samples(connection: sqlite3.Connection, run: int, role: Role) -> tuple[HostSample, ...]:
    query = "SELECT packed FROM sample_chunk WHERE run = ? AND role = ? ORDER BY sequence"
    chunks = connection.execute(query, (run, role.value))
    return tuple(sample for chunk in chunks for sample in unpack_samples(chunk["packed"]))


def _intervals(connection: sqlite3.Connection, run: int, role: Role) -> tuple[Interval, ...]:
    query = "SELECT packed FROM interval_chunk WHERE run = ? AND role = ? ORDER BY sequence"
    chunks = connection.execute(query, (run, role.value))
    return tuple(interval for chunk in chunks for interval in unpack_intervals(chunk["packed"]))


def _outputs(connection: sqlite3.Connection, run: int) -> tuple[ProcessOutput, ...]:
    found = connection.execute("SELECT * FROM process_output WHERE run = ? ORDER BY position", (run,))
    return tuple(map(rows.output_from_row, found))


def _events(connection: sqlite3.Connection, run: int) -> tuple[RunEvent, ...]:
    found = connection.execute("SELECT * FROM run_event WHERE run = ? ORDER BY position", (run,))
    return tuple(map(rows.event_from_row, found))


def _settings(connection: sqlite3.Connection, run: int) -> tuple[Outcome, ...]:
    found = connection.execute("SELECT * FROM run_setting WHERE run = ? ORDER BY position", (run,))
    return tuple(map(rows.setting_from_row, found))


def recent_pairs(connection: sqlite3.Connection, limit: int) -> list[RecentPair]:
    """One row per target, newest first. With max(), SQLite takes the bare columns from the row of the maximum."""
    query = """
        SELECT session.target, max(session.started) AS last, session.id AS newest,
               sum((SELECT count(*) FROM run WHERE run.session = session.id)) AS runs
        FROM session GROUP BY session.target ORDER BY last DESC, newest DESC LIMIT ?"""
    return [_recent_pair(connection, row) for row in connection.execute(query, (limit,)).fetchall()]


def _recent_pair(connection: sqlite3.Connection, row: sqlite3.Row) -> RecentPair:
    found = connection.execute("SELECT role, data_nic FROM host WHERE session = ?", (row["newest"],))
    nics = {host["role"]: host["data_nic"] for host in found}
    target = rows.target_from_json(row["target"])
    return RecentPair(target, row["last"], row["runs"], nics.get("sender", ""), nics.get("receiver", ""))
