"""`set`: changes settings, says what came of it, and puts them back unless they are kept."""

import argparse
import contextlib
import os
import select
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from netbench_tui.cli.terminal import undisturbed
from netbench_tui.cli.visiting import Visit, visiting
from netbench_tui.cli.words import Wish, changes_of, place_of, target_of, wish_of
from netbench_tui.engine.hazards import losses, warnings
from netbench_tui.errors import HostLost, HostRefused, UsageError
from netbench_tui.export.documents import to_text
from netbench_tui.export.script import ScriptHost, needs_irqs, shell_script
from netbench_tui.export.settings_documents import dry_run_document, set_document
from netbench_tui.export.settings_tables import applied_table, entries_table
from netbench_tui.model.change import Applied, Change, ChangeKind, Held, OnRefusal
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, LabTarget
from netbench_tui.model.setting import HostSettings
from netbench_tui.model.units import plain

# How long news of the hosts may wait to be printed while changes are held.
POLL_SECONDS = 0.25
_LARGEST_WAIT = 7 * 86400.0


def set_settings(arguments: argparse.Namespace, history: Path) -> int:
    wishes = [wish_of(word) for word in arguments.wishes]
    if arguments.seconds is not None and not 0 < arguments.seconds <= _LARGEST_WAIT:
        raise UsageError(f"--seconds {arguments.seconds:g}: above 0, and a week at most")
    targets, nics = _targets(arguments)
    with visiting(targets, arguments, history) as visit:
        known = {role: visit.settings(role, nic, [wish.name for wish in wishes]) for role, nic in nics.items()}
        changes = _changes(known, nics, wishes)
        if arguments.dry_run:
            script = _script(visit, changes, known)
            told = to_text(dry_run_document(changes, script, visit.names)) if arguments.json else script
            sys.stdout.write(told)
            return 0
        for warning in (*warnings(changes, visit.views), *losses(changes, visit.views)):
            print(f"! {plain(warning)}", file=sys.stderr)
        return _carry_out(visit, changes, arguments)


def _targets(arguments: argparse.Namespace) -> tuple[Sequence[HostTarget] | LabTarget, dict[Role, str]]:
    """Whom to connect, and which NIC is meant on which host."""
    target, nic, other = target_of(arguments.host), arguments.nic, arguments.both
    if isinstance(target, LabTarget):
        if other:
            raise UsageError(f"--both {other}: a lab has two hosts of its own", "write --both alone")
        if arguments.keep:
            raise UsageError("--keep: a lab made for this command ends with it", "leave --keep out")
        return target, {Role.SENDER: nic} if other is None else {Role.SENDER: nic, Role.RECEIVER: nic}
    if other is None:
        return [target], {Role.SENDER: nic}
    if not other:
        raise UsageError("--both needs the other host", "--both HOST2, or --both HOST2:NIC2")
    place = place_of(other)
    second = target_of(place.host)
    if isinstance(second, LabTarget):
        raise UsageError("--both lab: a lab has two hosts of its own", "set lab NIC KEY=VALUE --both")
    return [target, second], {Role.SENDER: nic, Role.RECEIVER: place.nic or nic}


def _changes(known: Mapping[Role, HostSettings], nics: Mapping[Role, str], wishes: Sequence[Wish]) -> list[Change]:
    found: list[Change] = []
    for role, nic in nics.items():
        found += changes_of(role, known[role], nic, wishes)
    return found


def _script(visit: Visit, changes: Sequence[Change], known: Mapping[Role, HostSettings]) -> str:
    hosts = {}
    for role, settings in known.items():
        with_irqs = [change.scope for change in changes if change.role is role and needs_irqs(change)]
        hosts[role] = ScriptHost(visit.names[role], visit.queues(role, with_irqs), settings)
    return shell_script(changes, hosts)


def _carry_out(visit: Visit, changes: Sequence[Change], arguments: argparse.Namespace) -> int:
    """0, or the exit code of HostRefused where an item was refused or could not be put back.

    What shall stay is first a lease and in the journal: were we killed in between, it goes back, or `restore` finds it.
    """
    on_refusal = OnRefusal.UNDO if arguments.all_or_nothing else OnRefusal.REST
    applied = visit.wait(visit.engine.apply(changes, ChangeKind.LEASE, on_refusal))
    if arguments.keep and not applied.undone and _moved(applied):
        visit.wait(visit.engine.keep(permanent=True))
        applied = replace(applied, kind=ChangeKind.PERMANENT)
    if arguments.json:
        sys.stdout.write(to_text(set_document(applied, visit.names)))
    else:
        sys.stdout.write(applied_table(applied, visit.names))
    sys.stdout.flush()
    code = HostRefused.exit_code if applied.refused or applied.undone else 0
    if applied.undone or not _moved(applied):
        return code
    if arguments.keep:
        _say_kept(visit, arguments.host)
        return code
    return _hold(visit, arguments, code)


def _say_kept(visit: Visit, host: str) -> None:
    if all(entry.id for entry in visit.wait(visit.engine.journal())):
        _say(f"kept for good; netbench-tui restore {plain(host)} puts it back")
    else:
        _say("kept for good, but the history could not be written: netbench-tui restore does not know of it")


def _moved(applied: Applied) -> bool:
    return any(outcome.old != outcome.now for outcome in applied.outcomes)


def _hold(visit: Visit, arguments: argparse.Namespace, code: int) -> int:
    """Keeps what was changed in force until the person, the time, or whoever started us says otherwise."""
    ended = 0
    try:
        if _wait(visit, arguments.seconds):
            visit.wait(visit.engine.keep(permanent=True))
            _say_kept(visit, arguments.host)
            return code
    except KeyboardInterrupt:
        # At the question ^C is an answer; elsewhere whoever sent it is told that it was heard.
        ended = 0 if sys.stdin.isatty() else 130
    except SystemExit as signalled:
        ended = signalled.code if isinstance(signalled.code, int) else 1
    with undisturbed():
        whole = _put_back(visit, arguments.json)
    return code or ended if whole else HostRefused.exit_code


def _wait(visit: Visit, seconds: float | None) -> bool:
    """True if the person keeps the change."""
    deadline = None if seconds is None else time.monotonic() + seconds
    if sys.stdin.isatty():
        when = "" if seconds is None else f", and so does {seconds:g} s of silence"
        _say(f"enter keeps it for good; anything else puts it back{when}")
        return next((line == "\n" for line in _lines(visit, deadline)), False)
    _say("it stands until standard input ends" if deadline is None else f"it stands for {seconds:g} s")
    if deadline is None:
        for _ in _lines(visit, None):
            pass
    while deadline is not None and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, POLL_SECONDS))
        visit.progress.finish()
    return False


def _lines(visit: Visit, deadline: float | None) -> Iterator[str]:
    """What comes in, until it ends or the deadline is over; meanwhile prints what the hosts tell."""
    with contextlib.suppress(ValueError, OSError):  # standard input was closed by whoever started us
        number = sys.stdin.fileno()
        while deadline is None or time.monotonic() < deadline:
            visit.progress.finish()
            if select.select([number], [], [], POLL_SECONDS)[0]:
                data = os.read(number, 4096)
                if not data:
                    return
                yield data.decode(errors="replace")


def _put_back(visit: Visit, as_json: bool) -> bool:
    """Tells what became of every item; False if one could not be put back."""
    try:
        told = visit.wait(visit.engine.restore())
    except HostLost as error:
        raise HostLost(error.message, "it puts its changes back by itself, half a minute after it lost us") from None
    entries = [entry for restored in told for entry in restored.entries]
    print(entries_table(entries), end="", file=sys.stderr if as_json else sys.stdout, flush=True)
    return all(entry.state is Held.RESTORED for entry in entries)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
