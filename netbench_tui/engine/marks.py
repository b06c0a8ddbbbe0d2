"""Changes during a run as marks on its graph. Used by engine.py. Pure."""

import time
from collections.abc import Sequence

from netbench_tui.engine import events
from netbench_tui.model.change import Held, Outcome
from netbench_tui.model.features import about
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunEvent

# More words than this do not fit beside a mark.
MOST_WORDS = 2
FEATURE = "feature."


def mark_of(event: events.Event) -> RunEvent | None:
    """What to write beside the mark; None for what is none. The event's moment is when the change began."""
    if isinstance(event, events.ChangesApplied):
        return _applied(event)
    if isinstance(event, events.SettingsRestored):
        back = [entry for entry in event.restored.entries if entry.state is Held.RESTORED]
        words = [f"{short(entry.key)} {entry.found}" for entry in back if entry.found is not None]
        return RunEvent(time.monotonic(), _line(words), event.restored.role) if words else None
    return None


def _applied(event: events.ChangesApplied) -> RunEvent | None:
    if event.applied.undone:
        return None
    asked = [outcome for outcome in event.applied.outcomes if not outcome.moved_along and outcome.old != outcome.now]
    if not asked:
        return None
    roles = {outcome.role for outcome in asked}
    return RunEvent(event.applied.time, _line([_words(outcome) for outcome in asked]), _only(roles))


def _words(outcome: Outcome) -> str:
    return f"{short(outcome.key)} {outcome.now}"


def _only(roles: set[Role]) -> Role | None:
    """None where a change was made on both hosts."""
    return next(iter(roles)) if len(roles) == 1 else None


def _line(words: Sequence[str]) -> str:
    """Each once: both hosts' TSO is one word, and so are all features of one short name."""
    once = list(dict.fromkeys(words))
    more = f" +{len(once) - MOST_WORDS}" if len(once) > MOST_WORDS else ""
    return ", ".join(once[:MOST_WORDS]) + more


def short(key: str) -> str:
    """`tso` for a feature that ethtool has a short name for; else the key without its first word where that says no
    more than the rest."""
    if key.startswith(FEATURE):
        name = key[len(FEATURE) :]
        return about(name).short or name
    return key.removeprefix("sysctl.").removeprefix("queue.")
