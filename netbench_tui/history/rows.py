"""Model values to columns and back. Used by history/repository.py and history/reading.py.

What the tables hold came from this program, but a file can be edited or damaged: rebuilding raises ValueError.
"""

import dataclasses
import json
import sqlite3
from collections.abc import Iterable
from typing import Any, TypeVar

from netbench_tui.history.packing import pack_text, unpack_text
from netbench_tui.model.codec import from_plain, to_plain
from netbench_tui.model.host import Role
from netbench_tui.model.outcome import Outcome
from netbench_tui.model.run import (
    Metric,
    ProcessOutput,
    RunEvent,
    RunResult,
    RunState,
    TrafficReport,
    TrafficTest,
    Window,
)
from netbench_tui.model.session import LabTarget, PairTarget, RunSummary, Target

T = TypeVar("T")
# The columns of a run's settings, in the order of Outcome's fields after the role.
_SETTING = ("scope", "key", "old", "asked", "now", "was_active", "active", "code", "error")


def to_json(value: Any) -> str:
    """Sorted keys: equal values give equal text, by which recent pairs are told apart."""
    return json.dumps(to_plain(value), separators=(",", ":"), sort_keys=True)


def from_json(cls: type[T], text: str) -> T:
    return from_plain(cls, json.loads(text))


def target_from_json(text: str) -> Target:
    data = json.loads(text)
    return from_plain(PairTarget, data) if "sender" in data else from_plain(LabTarget, data)


def storable(text: str) -> str:
    """SQLite takes no lone surrogates, which undecodable bytes of a host become."""
    return text.encode("utf-8", "replace").decode()


def report_json(report: TrafficReport) -> str:
    """Without the intervals, which are stored packed."""
    return to_json(dataclasses.replace(report, received=(), sent=()))


def metric_row(run: int, position: int, metric: Metric) -> tuple[Any, ...]:
    role = metric.role.value if metric.role else None
    return (run, position, metric.name, role, metric.value, metric.unit, metric.source, storable(metric.note))


def metric_from_row(row: sqlite3.Row) -> Metric:
    role = Role(row["role"]) if row["role"] else None
    return Metric(row["name"], row["value"], row["unit"], row["source"], role, row["note"])


def output_row(run: int, position: int, output: ProcessOutput) -> tuple[Any, ...]:
    return (
        run,
        position,
        output.role.value,
        storable(output.tool),
        to_json(output.argv),
        pack_text(output.stdout),
        pack_text(output.stderr),
        output.exit_code,
        output.signal,
        output.user_seconds,
        output.system_seconds,
        to_json(output.cpus),
    )


def output_from_row(row: sqlite3.Row) -> ProcessOutput:
    return ProcessOutput(
        Role(row["role"]),
        row["tool"],
        tuple(json.loads(row["argv"])),
        unpack_text(row["stdout"]),
        unpack_text(row["stderr"]),
        row["exit_code"],
        row["signal"],
        row["user_seconds"],
        row["system_seconds"],
        tuple(json.loads(row["cpus"])),
    )


def event_row(run: int, position: int, event: RunEvent) -> tuple[Any, ...]:
    return (run, position, event.time, event.role.value if event.role else None, storable(event.text))


def event_from_row(row: sqlite3.Row) -> RunEvent:
    return RunEvent(row["time"], row["text"], Role(row["role"]) if row["role"] else None)


def setting_row(run: int, position: int, outcome: Outcome) -> tuple[Any, ...]:
    words = (outcome.scope, outcome.key, outcome.old, outcome.asked, outcome.now)
    more = (outcome.was_active, outcome.active, outcome.code, outcome.error)
    texts = (None if word is None else storable(word) for word in (*words, *more))
    return (run, position, outcome.role.value, *texts)


def setting_from_row(row: sqlite3.Row) -> Outcome:
    return Outcome(Role(row["role"]), *(row[name] for name in _SETTING))


def result_from_row(row: sqlite3.Row, metrics: Iterable[Metric], events: Iterable[RunEvent] = ()) -> RunResult:
    """The result without outputs and intervals."""
    window = None
    if row["window_start"] is not None and row["window_end"] is not None:
        window = Window(row["window_start"], row["window_end"])
    return RunResult(
        RunState(row["state"]),
        from_json(TrafficTest, row["test"]),
        row["generator"],
        row["reason"],
        row["hint"],
        row["origin"],
        window,
        tuple(metrics),
        from_json(TrafficReport, row["report"]) if row["report"] else TrafficReport(),
        events=tuple(events),
        lost_samples=row["lost_samples"] + row["unwritten_samples"],
    )


def summary_from_row(row: sqlite3.Row, result: RunResult) -> RunSummary:
    return RunSummary(
        row["id"],
        row["session"],
        row["started"],
        row["ended"],
        result.state,
        row["preset"],
        row["sender"],
        row["receiver"],
        row["generator"],
        result.test,
        dataclasses.replace(result, report=TrafficReport()),
        row["note"],
    )
