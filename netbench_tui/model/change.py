"""Changing settings: what is asked, what came of it, and what is held until it is put back. Shared by all layers."""

import enum
from dataclasses import dataclass

from netbench_tui.model.host import Role
from netbench_tui.model.outcome import Outcome as Outcome
from netbench_tui.model.session import HostTarget

# A change by hand is put back after so long unless it is kept.
TRIAL_SECONDS = 10.0


class ChangeKind(enum.StrEnum):
    """How long a change stands: until a deadline unless kept; as long as we are there; for good."""

    TRIAL = "trial"
    LEASE = "lease"
    PERMANENT = "permanent"


class OnRefusal(enum.StrEnum):
    """What to do with the rest of a transaction when the host refuses one item of it."""

    REST = "rest"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Change:
    """One wish: this setting of this host's shall have this value."""

    role: Role
    scope: str
    key: str
    value: str

    @property
    def place(self) -> tuple[Role, str, str]:
        return self.role, self.scope, self.key


@dataclass(frozen=True, slots=True)
class Applied:
    """One transaction on one or both hosts. `undone` if a refusal made all of it go back. `step` counts from 1."""

    step: int
    time: float
    kind: ChangeKind
    outcomes: tuple[Outcome, ...] = ()
    undone: bool = False
    deadline: float | None = None
    """When a trial is put back, on the workbench's time line."""

    @property
    def refused(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.code)


class Held(enum.StrEnum):
    """What became of a changed setting."""

    HELD = "held"
    PERMANENT = "permanent"
    RESTORED = "restored"
    FOREIGN = "changed by someone else"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One setting that differs from how the session found it: `found` is what it was, `ours` what we made of it (None:
    it went away by a change of ours). `time` is Unix seconds. `id` is the journal's row, 0 before it is written."""

    id: int
    role: Role
    host: str
    scope: str
    key: str
    found: str | None
    ours: str | None
    kind: ChangeKind
    state: Held = Held.HELD
    time: float = 0.0
    boot_id: str = ""
    note: str = ""

    @property
    def place(self) -> tuple[Role, str, str]:
        return self.role, self.scope, self.key


@dataclass(frozen=True, slots=True)
class OpenChange:
    """A setting that was changed and not put back, as the history has it. `target` is how its host was reached.
    `owner_gone`: the workbench that changed it has ended; else it still holds it."""

    entry: JournalEntry
    target: HostTarget
    owner_gone: bool


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of putting settings back on one host: every entry with its new state, and why it was done."""

    role: Role
    why: str
    entries: tuple[JournalEntry, ...] = ()

    @property
    def whole(self) -> bool:
        return all(entry.state is Held.RESTORED for entry in self.entries)
