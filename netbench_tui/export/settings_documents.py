"""The documents that `inspect`, `get`, `set`, `diff` and `restore` print with `--json`.

Their shape is a promise to scripts: `schema` 1 may gain keys and never loses or changes one. All have schema and kind.

inspect:  hosts [{name, privilege, privilege_note, counts {...}, facts {...}, settings [...], paths {...}, notes [...],
          queues {nic: {...}}, interrupts [...]}]; the parts have the fields of model/host.py and model/setting.py
settings: (`get`) hosts [{name, role, nic, settings [...]}]
set:      dry_run = false, change = lease | permanent, undone, hosts {role: name}, outcomes [...]; fields of model
          Outcome plus took and moved_along. With --dry-run: dry_run = true, hosts, changes [{role, scope, key, value}],
          script
diff:     left, right (names), differences [{section, name, left, right}], null where that side has none
restore:  entries [{host, scope, key, found, ours, kind, state, time, note}], held_elsewhere: as many that a workbench
          still holds, failures [{host, message, hint}]
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netbench_tui.analysis.settings_diff import Difference
from netbench_tui.export.documents import SCHEMA
from netbench_tui.export.host_tables import Inspected
from netbench_tui.model.change import Applied, Change, JournalEntry
from netbench_tui.model.codec import to_plain
from netbench_tui.model.host import Role
from netbench_tui.model.setting import Setting


def document(kind: str, **parts: Any) -> dict[str, Any]:
    return {"schema": SCHEMA, "kind": kind, **parts}


def inspect_document(hosts: Iterable[Inspected]) -> dict[str, Any]:
    return document("inspect", hosts=[_inspected(host) for host in hosts])


def _inspected(host: Inspected) -> dict[str, Any]:
    return {
        "name": host.name,
        "privilege": host.privilege.value,
        "privilege_note": host.privilege_note,
        "counts": host.counts,
        "facts": to_plain(host.facts),
        "settings": to_plain(host.settings.settings),
        "paths": dict(host.settings.paths),
        "notes": list(host.settings.notes),
        "queues": to_plain(host.queues),
        "interrupts": to_plain(host.interrupts),
    }


def settings_document(hosts: Iterable[tuple[str, Role, str, Sequence[Setting]]]) -> dict[str, Any]:
    rows = [
        {"name": name, "role": role.value, "nic": nic, "settings": to_plain(found)} for name, role, nic, found in hosts
    ]
    return document("settings", hosts=rows)


def dry_run_document(changes: Iterable[Change], script: str, names: Mapping[Role, str]) -> dict[str, Any]:
    wishes = [to_plain(change) for change in changes]
    return document("set", dry_run=True, hosts=to_plain(names), changes=wishes, script=script)


def set_document(applied: Applied, names: Mapping[Role, str]) -> dict[str, Any]:
    outcomes = [{**to_plain(one), "took": one.took, "moved_along": one.moved_along} for one in applied.outcomes]
    return document(
        "set", dry_run=False, change=applied.kind.value, undone=applied.undone, hosts=to_plain(names), outcomes=outcomes
    )


def diff_document(left: str, right: str, rows: Iterable[Difference]) -> dict[str, Any]:
    return document("diff", left=left, right=right, differences=[to_plain(row) for row in rows])


def restore_document(
    entries: Iterable[JournalEntry], held_elsewhere: Iterable[JournalEntry], failures: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    return document(
        "restore",
        entries=[_entry(entry) for entry in entries],
        held_elsewhere=[_entry(entry) for entry in held_elsewhere],
        failures=[dict(failure) for failure in failures],
    )


def _entry(entry: JournalEntry) -> dict[str, Any]:
    left_out = ("id", "role", "boot_id")
    return {key: value for key, value in to_plain(entry).items() if key not in left_out}
