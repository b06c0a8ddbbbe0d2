"""`inspect`: a host, or a captured tree, as a report or as JSON."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from netbench_tui.cli.visiting import Visit, visiting
from netbench_tui.cli.words import THIS_MACHINE, target_of
from netbench_tui.errors import UsageError
from netbench_tui.export.documents import to_text
from netbench_tui.export.host_tables import Inspected, host_report
from netbench_tui.export.settings_documents import inspect_document
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.session import LabTarget

INTERFACES = ("netlink", "netdev", "ioctl")
# A NIC in one of these states carries packets, or does not say.
_IN_USE = ("up", "unknown")


def inspect_host(arguments: argparse.Namespace, history: Path) -> int:
    target = target_of(arguments.host or _default_host(arguments))
    without = _without(arguments.without)
    root = _root(arguments.root, local=arguments.host in (None, THIS_MACHINE))
    with visiting(target if isinstance(target, LabTarget) else [target], arguments, history) as visit:
        found = [_inspect(visit, role, arguments.nics, without, root) for role in visit.views]
    if arguments.json:
        sys.stdout.write(to_text(inspect_document(found)))
    else:
        sys.stdout.write("\n".join(host_report(host, arguments.paths) for host in found))
    return 0


def _default_host(arguments: argparse.Namespace) -> str:
    if arguments.root:
        return THIS_MACHINE
    raise UsageError("say which host to inspect", "a host, `local` or `lab`")


def _without(text: str) -> tuple[str, ...]:
    words = tuple(filter(None, (word.strip() for word in text.split(","))))
    if wrong := [word for word in words if word not in INTERFACES]:
        raise UsageError(f"--without {wrong[0]}: no such kernel interface", f"one of {', '.join(INTERFACES)}")
    return words


def _root(text: str, local: bool) -> str:
    """The agent has a working folder of its own, so a path of this machine must be whole."""
    if not text or not local:
        return text
    folder = Path(text)
    if not folder.is_dir():
        raise UsageError(f"--root {text}: no such folder", "a folder with proc/ and sys/ below it")
    return str(folder.resolve())


def _inspect(visit: Visit, role: Role, nics: Sequence[str], without: tuple[str, ...], root: str) -> Inspected:
    """All questions go out before the first answer is waited for."""
    view, engine = visit.views[role], visit.engine
    facts = visit.wait(engine.inspect(role, root)) if root else view.facts
    if missing := [nic for nic in nics if facts.nic(nic) is None]:
        there = ", ".join(nic.name for nic in facts.nics)
        raise UsageError(f"{root or view.name} has no NIC {missing[0]}", f"it has {there}" if there else "")
    shown = tuple(nics) or _in_use(facts)
    settings = engine.read_settings(role, shown, True, without, root)
    queues = {nic: engine.read_queues(role, nic, without, root) for nic in shown}
    interrupts = engine.interrupts(role, root)
    return Inspected(
        root or view.name,
        view.privilege,
        facts,
        visit.wait(settings),
        {nic: visit.wait(future) for nic, future in queues.items()},
        visit.wait(interrupts),
        view.privilege_note,
    )


def _in_use(facts: HostFacts) -> tuple[str, ...]:
    """Physical NICs and veth ones that are up; the others are shown when they are named."""
    return tuple(
        nic.name for nic in facts.nics if (nic.kind == "physical" or nic.driver == "veth") and nic.state in _IN_USE
    )
