"""`get` and `diff`: settings of one host, and what differs between two."""

import argparse
import sys
from pathlib import Path

from netbench_tui.analysis.settings_diff import Difference, Side, differences
from netbench_tui.cli.visiting import Visit, visiting
from netbench_tui.cli.words import Place, chosen, place_of, target_of
from netbench_tui.errors import UsageError
from netbench_tui.export.documents import to_text
from netbench_tui.export.settings_documents import diff_document, settings_document
from netbench_tui.export.settings_tables import diff_table, get_table
from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget
from netbench_tui.model.setting import HostSettings


def get_settings(arguments: argparse.Namespace, history: Path) -> int:
    target = target_of(arguments.host)
    with visiting(target if isinstance(target, LabTarget) else [target], arguments, history) as visit:
        known = {role: visit.settings(role, arguments.nic, arguments.keys) for role in visit.views}
        names = visit.names
    found = {role: chosen(settings, arguments.nic, arguments.keys) for role, settings in known.items()}
    if arguments.json:
        rows = [(names[role], role, arguments.nic, settings) for role, settings in found.items()]
        sys.stdout.write(to_text(settings_document(rows)))
        return 0
    several = len(found) > 1
    for role, settings in found.items():
        sys.stdout.write(get_table(names[role], role if several else None, settings))
    return 0


def diff_hosts(arguments: argparse.Namespace, history: Path) -> int:
    left, right = place_of(arguments.left), place_of(arguments.right)
    places = {Role.SENDER: left, Role.RECEIVER: right}
    targets = [target_of(place.host) for place in places.values()]
    hosts = [target for target in targets if not isinstance(target, LabTarget)]
    if hosts and len(hosts) != len(targets):
        raise UsageError("a lab differs from nothing but its other host", "write: diff lab lab")
    with visiting(hosts or LabTarget(), arguments, history) as visit:
        rows = _differences(visit, places)
        names = [visit.names[role] + (f" {place.nic}" if place.nic else "") for role, place in places.items()]
    if arguments.json:
        sys.stdout.write(to_text(diff_document(names[0], names[1], rows)))
    else:
        sys.stdout.write(diff_table(rows, names[0], names[1]))
    return 0


def _differences(visit: Visit, places: dict[Role, Place]) -> list[Difference]:
    """Of the NICs that are named; where none is, of all that both hosts have under the same name."""
    pairs = _pairs(visit, places)
    known: dict[Role, HostSettings] = {}
    futures = {
        role: visit.engine.read_settings(role, tuple(dict.fromkeys(pair[side] for pair in pairs)))
        for side, role in enumerate(places)
    }
    for role, future in futures.items():
        known[role] = visit.wait(future)
    sides = {role: Side(visit.views[role].facts, known[role]) for role in places}
    found = differences(sides[Role.SENDER], sides[Role.RECEIVER])
    of_hosts = len(found)
    for mine, theirs in pairs:
        left = Side(sides[Role.SENDER].facts, known[Role.SENDER], mine)
        right = Side(sides[Role.RECEIVER].facts, known[Role.RECEIVER], theirs)
        found += _named(differences(left, right)[of_hosts:], mine if len(pairs) > 1 else "")
    return found


def _named(rows: list[Difference], nic: str) -> list[Difference]:
    return [Difference(row.section, f"{nic} {row.name}", row.left, row.right) for row in rows] if nic else rows


def _pairs(visit: Visit, places: dict[Role, Place]) -> list[tuple[str, str]]:
    mine, theirs = places[Role.SENDER].nic, places[Role.RECEIVER].nic
    if mine or theirs:
        mine, theirs = mine or theirs, theirs or mine
        visit.require_nic(Role.SENDER, mine)
        visit.require_nic(Role.RECEIVER, theirs)
        return [(mine, theirs)]
    names = [[nic.name for nic in visit.views[role].facts.nics if nic.kind != "loopback"] for role in places]
    return [(name, name) for name in names[0] if name in names[1]]
