"""The documents that `--json` prints. Used by the verbs `run`, `history` and `show`.

Their shape is a promise to scripts: `schema` 1 may gain keys and never loses or changes one.

run document (`run`, `show`):
    schema, kind = "run", id (null if not kept), session (null where not known), state, preset, started, ended
    (ISO 8601, UTC; ended may be null), generator, generator_version, test {...}, note, reason, hint, lost_samples,
    hosts {sender, receiver}: name, kernel, cpu_model, cpus, numa_nodes, nic, driver, link_mbit, mtu, addresses,
        privilege, shares_cpus,
    origin, window {start, end, seconds} or null: seconds on the run's own time line, origin is the streams' start,
    metrics [{name, role or null, value or null, unit, source, note}],
    retransmits, mss, generator_figures {...}, generator_notes [...],
    intervals {received, sent}: [{start, end, bytes, retransmits,
    bits_per_second}], seconds since the streams' start, events [{time, role, text}],
    settings [{role, scope, key, old, asked, now, was_active, active, code, error}]: what the preset asked for during
        the run and what came of it; asked is null for what moved along,
    outputs [{role, tool, argv, stdout, stderr, exit_code, signal, user_seconds, system_seconds, cpus}] if asked for.
history document: schema, kind = "history", runs: run documents without hosts, intervals, events and outputs; each has
    sender and receiver, the hosts' names.
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from netbench_tui.model.codec import to_plain
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult
from netbench_tui.model.session import HostView, RunSummary, StoredRun

SCHEMA = 1


def stored_run_document(run: StoredRun, with_outputs: bool = False) -> dict[str, Any]:
    return run_document(run.summary, run.result, run.hosts, with_outputs)


def run_document(
    summary: RunSummary, result: RunResult, hosts: Mapping[Role, HostView], with_outputs: bool = False
) -> dict[str, Any]:
    """One run with everything but samples; `result` is the whole one, with report and outputs."""
    report = result.report
    document = {
        "schema": SCHEMA,
        "kind": "run",
        **_row(summary, result),
        "generator_version": report.version,
        "hosts": {role.value: _host(view) for role, view in hosts.items()},
        "retransmits": report.retransmits,
        "mss": report.mss,
        "generator_figures": dict(report.own),
        "generator_notes": list(report.notes),
        "intervals": {"received": _intervals(report.received), "sent": _intervals(report.sent)},
        "events": to_plain(result.events),
        "settings": to_plain(result.settings),
    }
    if with_outputs:
        document["outputs"] = to_plain(result.outputs)
    return document


def history_document(runs: Sequence[RunSummary]) -> dict[str, Any]:
    return {"schema": SCHEMA, "kind": "history", "runs": [_row(run, run.result) for run in runs]}


def to_text(document: Mapping[str, Any]) -> str:
    """Valid JSON in ASCII, whatever came from a host; a number that JSON has no form for is null."""
    return json.dumps(_finite(document), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def _row(summary: RunSummary, result: RunResult) -> dict[str, Any]:
    window = result.window
    return {
        "id": summary.id or None,
        "session": summary.session or None,
        "state": result.state.value,
        "preset": summary.preset,
        "sender": summary.sender,
        "receiver": summary.receiver,
        "started": _moment(summary.started),
        "ended": None if summary.ended is None else _moment(summary.ended),
        "generator": result.generator,
        "test": to_plain(result.test),
        "note": summary.note,
        "reason": result.reason,
        "hint": result.hint,
        "lost_samples": result.lost_samples,
        "origin": result.origin,
        "window": {"start": window.start, "end": window.end, "seconds": window.seconds} if window else None,
        "metrics": to_plain(result.metrics),
    }


def _host(view: HostView) -> dict[str, Any]:
    facts, nic = view.facts, view.nic
    return {
        "name": view.name,
        "kernel": facts.kernel,
        "cpu_model": facts.cpu_model,
        "cpus": len(facts.cpus),
        "numa_nodes": len(facts.nodes),
        "nic": view.data_nic,
        "driver": nic.driver if nic else "",
        "link_mbit": nic.speed_mbit if nic else None,
        "mtu": nic.mtu if nic else None,
        "addresses": list(view.addresses.values()),
        "privilege": view.privilege.value,
        "shares_cpus": view.shares_cpus,
    }


def _intervals(intervals: Sequence[Interval]) -> list[dict[str, Any]]:
    return [{**to_plain(interval), "bits_per_second": interval.bits_per_second} for interval in intervals]


def _moment(unix: float) -> str:
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
