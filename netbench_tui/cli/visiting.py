"""A visit: one or two hosts, or a lab, connected for the length of a verb. Used by the verbs of settings."""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from netbench_tui.cli.asking import require_terminal
from netbench_tui.cli.headless import Progress
from netbench_tui.cli.terminal import undisturbed
from netbench_tui.cli.ways import make_engine
from netbench_tui.cli.words import unlisted
from netbench_tui.engine import events
from netbench_tui.engine.engine import Engine
from netbench_tui.errors import UsageError
from netbench_tui.export.settings_tables import entries_table
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, HostView, LabTarget
from netbench_tui.model.setting import MACHINE, HostSettings, QueueMap
from netbench_tui.model.units import plain

T = TypeVar("T")
# Why the engine says it put something back when it was asked to; then the verb tells it.
ASKED = "asked to"


@dataclass
class Visit:
    """The connected hosts. `names` are theirs as shown."""

    engine: Engine
    progress: Progress
    views: Mapping[Role, HostView]

    def wait(self, future: "Future[T]") -> T:
        return self.progress.follow(future)

    @property
    def names(self) -> dict[Role, str]:
        return {role: view.name for role, view in self.views.items()}

    def require_nic(self, role: Role, nic: str) -> None:
        """Raises UsageError, naming those that there are."""
        facts = self.views[role].facts
        if nic != MACHINE and facts.nic(nic) is None:
            there = ", ".join(plain(found.name) for found in facts.nics)
            raise UsageError(f"{self.views[role].name} has no NIC {nic}", f"it has {there}" if there else "")

    def settings(self, role: Role, nic: str, names: Sequence[str] = ()) -> HostSettings:
        """Those of one NIC and of the machine, and the rare ones that `names` say outright."""
        self.require_nic(role, nic)
        known = self.wait(self.engine.read_settings(role, () if nic == MACHINE else (nic,)))
        rare = unlisted(names, nic, known)
        if not rare:
            return known
        more = self.wait(self.engine.read_one(role, rare))
        return HostSettings((*known.settings, *more.settings), known.paths, (*known.notes, *more.notes))

    def queues(self, role: Role, nics: Sequence[str]) -> dict[str, QueueMap]:
        futures = {nic: self.engine.read_queues(role, nic) for nic in dict.fromkeys(nics) if nic != MACHINE}
        return {nic: self.wait(future) for nic, future in futures.items()}


class VisitProgress(Progress):
    """Tells as well what becomes of changes without being asked: a host that was lost puts them back by itself, and
    what still stands at the end goes back then."""

    def _tell(self, event: events.Event) -> None:
        if isinstance(event, events.HostFailed) and event.was_connected:
            print(f"! {plain(event.message)}", file=sys.stderr, flush=True)
        elif isinstance(event, events.SettingsRestored) and event.restored.why != ASKED:
            print(f"{plain(event.restored.why)}:", file=sys.stderr)
            print(entries_table(event.restored.entries), end="", file=sys.stderr, flush=True)
        else:
            super()._tell(event)


@contextlib.contextmanager
def engine_of(arguments: argparse.Namespace, history: Path) -> Iterator[tuple[Engine, Progress]]:
    """An engine that runs, with what it tells on standard error."""
    may_ask = bool(getattr(arguments, "ask_pass", False))
    if may_ask:
        require_terminal()
    engine = make_engine(arguments, history, may_ask)
    progress = VisitProgress(engine, sys.stderr.isatty())
    engine.subscribe(progress.deliver)
    engine.start()
    try:
        yield engine, progress
    finally:
        with undisturbed():
            engine.close()
            progress.finish()


@contextlib.contextmanager
def visiting(
    targets: Sequence[HostTarget] | LabTarget, arguments: argparse.Namespace, history: Path
) -> Iterator[Visit]:
    """Connects, and lets the hosts go at the end: what was changed and not kept is put back then."""
    with engine_of(arguments, history) as (engine, progress):
        yield visit(engine, progress, targets)


def visit(engine: Engine, progress: Progress, targets: Sequence[HostTarget] | LabTarget) -> Visit:
    """The sender comes first in all that is printed."""
    views = progress.follow(engine.visit(targets))
    return Visit(engine, progress, {role: views[role] for role in Role if role in views})
