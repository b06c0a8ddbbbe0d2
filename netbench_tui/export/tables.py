"""Runs as plain text tables for a terminal or a pipe, without colour. Used by the verbs `run`, `show`, `history`.

Numbers have one form per quantity (model/units.py). Every figure has its unit in its row, so a line that was cut out
with grep still says what it is. Text that came from a host is made safe for the terminal.
"""

import time
from collections.abc import Mapping, Sequence, Set

from rich.cells import cell_len

from netbench_tui.analysis.metrics import SHARED_CPUS
from netbench_tui.model import units
from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.host import Role
from netbench_tui.model.run import Metric, RunResult, TrafficTest
from netbench_tui.model.session import HostView, RunSummary
from netbench_tui.model.setting import MACHINE

SIGN = {Role.SENDER: "▲", Role.RECEIVER: "▼"}
# The order of a table's rows; metrics that are not listed follow in the order they came.
_ORDER = (
    "throughput",
    "wire_throughput",
    "efficiency",
    "service_demand",
    "busy_cores",
    "peak_cpu",
    "softirq",
    "steal",
    "retransmits",
    "retransmits_per_second",
    "nic_packets_per_second",
    "nic_drops",
    "softnet_dropped",
    "softnet_squeezed",
)
# The field's way of writing them.
_WORDS = {"cpu": "CPU", "nic": "NIC"}
# They are whole in the kernel; at the window's ends their share is estimated.
_COUNTED = ("packets", "segments", "1/s", "")
# Said by peak_cpu's own row.
_FOLDED = frozenset({"peak_cpu_number", "peak_cpu_user", "peak_cpu_system", "peak_cpu_softirq"})
# Room for what both hosts' busiest CPUs did: two notes of peak_cpu.
_LONGEST_NOTE = 90


def metric_text(metric: Metric) -> tuple[str, str]:
    """A metric's number and unit as tables print them, e.g. (`94.15`, `Gbit/s`)."""
    value, unit = metric.value, metric.unit
    if unit == "bit/s":
        return units.gbits(value), "Gbit/s"
    if unit == "bit/s per core":
        return units.gbits(value), "Gbit/s/core"
    if unit == "µs/KiB":
        return units.fixed(value, 3), unit
    if unit == "%":
        return units.percent(value), unit
    if unit in ("cores", "s", "Gbit/s", "Gbit/s/core"):
        return units.fixed(value), unit
    if unit in _COUNTED:
        return units.count(value), unit
    is_small_fraction = value is not None and abs(value) < 100 and not float(value).is_integer()
    return (units.fixed(value) if is_small_fraction else units.count(value)), unit


def traffic_text(test: TrafficTest) -> str:
    """`TCP over IPv4, 4 streams, 128 KiB, 5 s`, and the pinning where there is one."""
    streams = "1 stream" if test.streams == 1 else f"{test.streams} streams"
    parts = [f"{test.protocol.upper()} over IPv{test.ip_version}", streams, units.size(test.message_bytes)]
    parts.append(f"{test.seconds:g} s")
    for role, cpus in ((Role.SENDER, test.sender_cpus), (Role.RECEIVER, test.receiver_cpus)):
        if cpus:
            parts.append(f"{SIGN[role]} on CPU {format_cpu_list(cpus)}")
    return ", ".join(parts)


def run_table(summary: RunSummary, result: RunResult, hosts: Mapping[Role, HostView] | None = None) -> str:
    """One run: what ran between whom, its figures with one column per host, or why there are none.

    `summary.id` 0 means that the run is not in the history.
    """
    lines = [*_head(summary, result, hosts or {}), ""]
    if result.reason:
        lines += [f"{result.state.value}: {_safe(result.reason)}", *([_safe(result.hint)] if result.hint else []), ""]
    if settings := _setting_rows(result):
        lines += [*settings, ""]
    if result.metrics:
        said = {SHARED_CPUS} if _shares_cpus(hosts or {}) else set()
        lines += [*_metric_rows(result.metrics, summary, said), ""]
    lines += [f"{event_time}  {text}" for event_time, text in _events(result)]
    return "\n".join(lines).rstrip() + "\n"


def _head(summary: RunSummary, result: RunResult, hosts: Mapping[Role, HostView]) -> list[str]:
    number = f"run {summary.id}" if summary.id else "run (not kept)"
    preset = _safe(summary.preset) or "no preset"
    lines = [
        f"{number}  {preset}  {result.state.value}  {_moment(summary.started)}",
        f"▲ {_host(summary.sender, hosts.get(Role.SENDER))} → ▼ {_host(summary.receiver, hosts.get(Role.RECEIVER))}",
        f"{traffic_text(result.test)}, by {_safe(result.generator)}",
    ]
    if result.report.version:
        lines[-1] += f" ({_safe(result.report.version)})"
    if result.window:
        lines.append(f"measured window {result.window.seconds:.2f} s")
    lines += [f"· {_safe(note)}" for note in result.report.notes]
    if result.lost_samples:
        lines.append(f"! {result.lost_samples} samples were lost")
    if _shares_cpus(hosts):
        lines.append("· CPU figures are shared by both hosts: they are one machine")
    if summary.note:
        lines.append(f"· {_safe(summary.note)}")
    return lines


def _shares_cpus(hosts: Mapping[Role, HostView]) -> bool:
    return any(view.shares_cpus for view in hosts.values())


def _host(name: str, view: HostView | None) -> str:
    """The name, with its data NIC where that is known: `alpha eth1`."""
    return " ".join(filter(None, (_safe(name), _safe(view.data_nic) if view else "")))


def metric_words(name: str) -> str:
    """A metric's name for people: `peak CPU` for peak_cpu."""
    return " ".join(_WORDS.get(word, word) for word in name.split("_"))


def _metric_rows(metrics: Sequence[Metric], summary: RunSummary, said: Set[str]) -> list[str]:
    """Aligned rows: name, sender, receiver, pair, unit, remark. Remarks in `said` stand above the table already."""
    table = [["", f"▲ {_safe(summary.sender)}", f"▼ {_safe(summary.receiver)}", "pair", "", ""]]
    for name in _ordered(metrics):
        of_name = {metric.role: metric for metric in metrics if metric.name == name}
        texts = {role: metric_text(metric) for role, metric in of_name.items()}
        numbers = [texts[role][0] if role in texts else "" for role in (Role.SENDER, Role.RECEIVER, None)]
        unit = next(iter(texts.values()))[1]
        table.append([_safe(metric_words(name)), *numbers, _safe(unit), _remark(of_name, said)])
    return _aligned(table, right=(1, 2, 3))


def _ordered(metrics: Sequence[Metric]) -> list[str]:
    present = [name for name in dict.fromkeys(metric.name for metric in metrics) if name not in _FOLDED]
    return sorted(present, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def _remark(of_name: Mapping[Role | None, Metric], said: Set[str]) -> str:
    """The notes of a row; one that both hosts share is said once, without a sign."""
    notes = {role: _safe(metric.note) for role, metric in of_name.items() if metric.note and metric.note not in said}
    if len(set(notes.values())) == 1 and len(notes) == len(of_name):
        text = next(iter(notes.values()))
    else:
        text = "   ".join(f"{SIGN[role]} {note}" if role else note for role, note in notes.items())
    return text if len(text) <= _LONGEST_NOTE else text[: _LONGEST_NOTE - 1] + "…"


def _events(result: RunResult) -> list[tuple[str, str]]:
    start = result.origin if result.origin is not None else 0.0
    rows = []
    for event in result.events:
        sign = f"{SIGN[event.role]} " if event.role else ""
        rows.append((f"┊ {event.time - start:7.2f} s", sign + _safe(event.text)))
    return rows


def _setting_rows(result: RunResult) -> list[str]:
    """What was set for the run: `set  ▲ eth1 ring.rx 512 (was 256)`."""
    table = []
    for outcome in result.settings:
        scope = "" if outcome.scope == MACHINE else f"{_safe(outcome.scope)} "
        place = f"{SIGN[outcome.role]} {scope}{_safe(outcome.key)}"
        if outcome.code:
            words = f"{_safe(outcome.asked or '')}  refused: {_safe(outcome.error)}"
        elif not outcome.took:
            now, still = _safe(outcome.active or outcome.now or "absent"), outcome.old == outcome.now
            was = "" if still else f", was {_safe(outcome.old or 'absent')}"
            words = f"{_safe(outcome.asked or '')}  (it is {'still ' if still else ''}{now}{was})"
        else:
            was = "it was already" if outcome.old == outcome.now else f"was {_safe(outcome.old or 'absent')}"
            along = ", moved along" if outcome.moved_along else ""
            words = f"{_safe(outcome.now or 'absent')}  ({was}{along})"
        table.append(["set", place, words])
    return _aligned(table, right=()) if table else []


def history_table(runs: Sequence[RunSummary]) -> str:
    """One line per run, in the given order; says so if there is none."""
    if not runs:
        return "no runs in the history\n"
    table = [["run", "started", "state", "preset", "▲ sender", "▼ receiver", "generator", "Gbit/s", "note"]]
    for run in runs:
        throughput = units.gbits(run.result.metric("throughput"))
        names = [_safe(text) for text in (run.preset, run.sender, run.receiver, run.generator)]
        row = [str(run.id), _moment(run.started), run.state.value, *names, throughput, _safe(run.note)]
        table.append([cell if len(cell) <= _LONGEST_NOTE else cell[: _LONGEST_NOTE - 1] + "…" for cell in row])
    return "\n".join(_aligned(table, right=(0, 7))) + "\n"


def _aligned(table: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    widths = [max(cell_len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = []
    for row in table:
        cells = []
        for column, cell in enumerate(row):
            fill = " " * (widths[column] - cell_len(cell))
            cells.append(fill + cell if column in right else cell + fill)
        lines.append("  ".join(cells).rstrip())
    return lines


def _moment(unix: float) -> str:
    """Local time, as the person at the keyboard remembers it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(unix))


def _safe(text: str) -> str:
    return units.plain(text)
