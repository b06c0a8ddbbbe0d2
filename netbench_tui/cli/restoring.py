"""`restore`: puts back what this user's workbenches changed and did not put back, on one host or on all."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from netbench_tui.cli.terminal import complain
from netbench_tui.cli.visiting import Visit, engine_of, visit
from netbench_tui.errors import HostRefused, WorkbenchError
from netbench_tui.export.documents import to_text
from netbench_tui.export.script import ScriptHost, needs_irqs, shell_script
from netbench_tui.export.settings_documents import restore_document
from netbench_tui.export.settings_tables import entries_table
from netbench_tui.model.change import Change, Held, JournalEntry, OpenChange
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget
from netbench_tui.model.setting import MACHINE
from netbench_tui.model.units import plain


@dataclass
class _Report:
    """What was done, host by host."""

    entries: list[JournalEntry] = field(default_factory=list)
    held: list[JournalEntry] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    code: int = 0

    def failed(self, target: HostTarget, error: WorkbenchError) -> None:
        self.failures.append({"host": target.name, "message": error.message, "hint": error.hint})
        self.code = self.code or error.exit_code
        complain("! ", error)


def restore_changes(arguments: argparse.Namespace, history: Path) -> int:
    """0; the exit code of HostRefused where something is not as it was found; that of the error where a host was not
    reached. Hosts that are reached are put back all the same."""
    report = _Report()
    with engine_of(arguments, history) as (engine, progress):
        found = progress.follow(engine.open_changes(arguments.host or ""))
        report.held = [change.entry for change in found if not change.owner_gone]
        for target, changes in _by_target([change for change in found if change.owner_gone]).items():
            try:
                _restore(visit(engine, progress, [target]), changes, arguments.dry_run, report)
            except WorkbenchError as error:
                report.failed(target, error)
    _print(report, arguments)
    if any(entry.state is not Held.RESTORED for entry in report.entries) and not arguments.dry_run:
        report.code = report.code or HostRefused.exit_code
    return report.code


def _by_target(changes: Sequence[OpenChange]) -> dict[HostTarget, list[JournalEntry]]:
    found: dict[HostTarget, list[JournalEntry]] = {}
    for change in changes:
        found.setdefault(change.target, []).append(replace(change.entry, role=Role.SENDER))
    return found


def _restore(there: Visit, entries: list[JournalEntry], dry_run: bool, report: _Report) -> None:
    if not dry_run:
        told = there.wait(there.engine.restore(entries))
        report.entries += [entry for restored in told for entry in restored.entries]
        return
    report.entries += entries
    back = [Change(Role.SENDER, one.scope, one.key, one.found) for one in entries if one.found is not None]
    queues = there.queues(Role.SENDER, [change.scope for change in back if needs_irqs(change)])
    nics = tuple(dict.fromkeys(change.scope for change in back if change.scope != MACHINE))
    settings = there.wait(there.engine.read_settings(Role.SENDER, nics))
    report.scripts.append(shell_script(back, {Role.SENDER: ScriptHost(there.names[Role.SENDER], queues, settings)}))


def _print(report: _Report, arguments: argparse.Namespace) -> None:
    if arguments.json:
        sys.stdout.write(to_text(restore_document(report.entries, report.held, report.failures)))
        return
    if arguments.dry_run:
        sys.stdout.write("\n".join(report.scripts))
    else:
        sys.stdout.write(entries_table(report.entries))
    for host in dict.fromkeys(entry.host for entry in report.held):
        count = sum(entry.host == host for entry in report.held)
        print(f"! {plain(host)}: {count} changed by a workbench that still runs; left alone", file=sys.stderr)
    if not report.entries and not report.held and not report.failures:
        where = f" on {plain(arguments.host)}" if arguments.host else ""
        print(f"nothing to put back{where}", file=sys.stderr)
