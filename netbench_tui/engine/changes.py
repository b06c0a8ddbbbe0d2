"""Settings of connected hosts: reading them, changing them as transactions on both hosts, and getting back.

A session (session.py) and a visit (visit.py) have one `Changes` each; the engine's methods lead here. Everything that
comes of it is told as events as well: SettingsRead, QueuesRead, ChangesApplied, SettingsRestored, JournalChanged.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netbench_tui.engine import events
from netbench_tui.engine.journal import Journal
from netbench_tui.engine.putting_back import put_back
from netbench_tui.errors import HostLost, UsageError, WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.change import (
    TRIAL_SECONDS,
    Applied,
    Change,
    ChangeKind,
    Held,
    JournalEntry,
    OnRefusal,
    Outcome,
    Restored,
)
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings, QueueMap

# Settings of these groups, when written, may change which queue is served by which IRQ and CPU.
QUEUE_GROUPS = frozenset({"channels", "ring", "queue", "rss", "irqbalance", "service", "napi"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """What one transaction moved, for undo."""

    kind: ChangeKind
    outcomes: tuple[Outcome, ...]


class Changes:
    """`hosts` and `lost` are the sitting's own, as of now. `scopes(role)` gives the NICs whose settings are shown, the
    data NIC first. What was read before is read anew after every change."""

    def __init__(
        self,
        hosts: Mapping[Role, HostConnection],
        lost: Mapping[Role, WorkbenchError],
        scopes: Callable[[Role], tuple[str, ...]],
        emit: Callable[[events.Event], None],
        journal: Journal,
    ) -> None:
        self.hosts, self.lost, self.scopes, self.emit, self.journal = hosts, lost, scopes, emit, journal
        self._steps: list[Step] = []
        self._number = 0
        self._settings_shown: set[Role] = set()
        self._queues_shown: set[Role] = set()
        # One transaction at a time: what is read back must be of the change before it.
        self.busy = asyncio.Lock()

    def host(self, role: Role) -> HostConnection:
        """Raises HostLost if it is away, UsageError if there is none."""
        if role in self.lost:
            raise HostLost(self.lost[role].message, "it is tried again; wait until it is back")
        if role not in self.hosts:
            raise UsageError(f"no {role.value} is connected", "connect it first")
        return self.hosts[role]

    # reading

    async def read_settings(self, role: Role) -> HostSettings:
        """Of the data NIC, the NICs below it, and the machine."""
        self._settings_shown.add(role)
        found = await self.host(role).read_settings(self.scopes(role))
        self.emit(events.SettingsRead(role, found))
        return found

    async def read_queues(self, role: Role) -> QueueMap:
        """Of the data NIC, or of the one below that carries its packets."""
        host = self.host(role)
        scopes = self.scopes(role)
        if not scopes:
            raise UsageError("no data path is chosen", "choose the NICs that carry the traffic")
        self._queues_shown.add(role)
        found = await host.read_queues(host.facts.carrier(scopes[0]))
        self.emit(events.QueuesRead(role, found))
        return found

    async def read_anew(self, roles: Iterable[Role], queues: bool) -> None:
        """What is shown, after it may have moved; what cannot be read now stays as it was shown."""
        reading: list[Coroutine[Any, Any, object]] = []
        for role in roles:
            if role not in self.hosts or role in self.lost:
                continue
            if role in self._settings_shown:
                reading.append(self.read_settings(role))
            if queues and role in self._queues_shown and self.scopes(role):
                reading.append(self.read_queues(role))
        for outcome in await asyncio.gather(*reading, return_exceptions=True):
            if isinstance(outcome, WorkbenchError):
                _log.warning("not read anew: %s", outcome.message)
            elif isinstance(outcome, BaseException):
                raise outcome

    # changing

    async def apply(
        self,
        changes: Sequence[Change],
        kind: ChangeKind = ChangeKind.TRIAL,
        on_refusal: OnRefusal = OnRefusal.REST,
        seconds: float = TRIAL_SECONDS,
    ) -> Applied:
        """One transaction on one or both hosts at the same time. What a host refuses is an outcome; with UNDO both
        go back then. Raises UsageError for nothing to do, HostLost, HostRefused for what is no request."""
        if not changes:
            raise UsageError("nothing is to be changed", "stage a change first")
        for role in {change.role for change in changes}:
            self.host(role)
        async with self.busy:
            return await self._apply(changes, kind, on_refusal, seconds)

    async def apply_for_run(self, changes: Sequence[Change], on_refusal: OnRefusal) -> Applied:
        """A lease that a run takes and gives back: no step for undo, and what came of it is told with the run."""
        for role in {change.role for change in changes}:
            self.host(role)
        async with self.busy:
            return await self._apply(changes, ChangeKind.LEASE, on_refusal, 0.0, undoing=True, told=False)

    async def _apply(
        self,
        changes: Sequence[Change],
        kind: ChangeKind,
        on_refusal: OnRefusal,
        seconds: float,
        undoing: bool = False,
        told: bool = True,
    ) -> Applied:
        roles = [role for role in Role if any(change.role is role for change in changes)]
        self._number += 1
        began = time.monotonic()
        outcomes, undone, failure = await self._on_hosts(roles, changes, kind, on_refusal, seconds)
        if kind is ChangeKind.PERMANENT:
            self.journal.made_permanent(outcomes, lambda role: (self.hosts[role].name, self.hosts[role].facts.boot_id))
        await self.follow(roles)
        if failure:
            await self.read_anew(roles, queues=True)
            raise failure
        moved = tuple(outcome for outcome in outcomes if outcome.old != outcome.now)
        if moved and not undone and not undoing:
            self._steps.append(Step(kind, moved))
        deadline = began + seconds if kind is ChangeKind.TRIAL and moved and not undone else None
        applied = Applied(self._number, began, kind, outcomes, undone, deadline)
        if told:
            self.emit(events.ChangesApplied(applied))
        await self.read_anew(roles, any(_moves_queues(outcome.key) for outcome in outcomes))
        self.tell_journal()
        return applied

    async def _on_hosts(
        self, roles: Sequence[Role], changes: Sequence[Change], kind: ChangeKind, on_refusal: OnRefusal, seconds: float
    ) -> tuple[tuple[Outcome, ...], bool, BaseException | None]:
        """Outcomes of all hosts, whether all was undone, and the first failure."""
        mine = [[change for change in changes if change.role is role] for role in roles]
        name = f"step {self._number}"
        answers = await asyncio.gather(
            *(
                self.hosts[role].apply(own, kind, seconds, on_refusal, name)
                for role, own in zip(roles, mine, strict=True)
            ),
            return_exceptions=True,
        )
        failure = next((answer for answer in answers if isinstance(answer, BaseException)), None)
        done = {
            role: answer for role, answer in zip(roles, answers, strict=True) if not isinstance(answer, BaseException)
        }
        refused = failure is not None or any(undone for _, undone in done.values())
        if refused and on_refusal is OnRefusal.UNDO:
            for role, (outcomes, undone) in done.items():
                if not undone:
                    done[role] = await self._go_back(role, outcomes, kind), True
        flat = tuple(outcome for outcomes, _ in done.values() for outcome in outcomes)
        return flat, bool(done) and all(undone for _, undone in done.values()), failure

    async def _go_back(self, role: Role, outcomes: tuple[Outcome, ...], kind: ChangeKind) -> tuple[Outcome, ...]:
        """Takes back one host's part; gives its outcomes as they are then."""
        back = backwards(outcomes)
        if not back:
            return outcomes
        kind = ChangeKind.PERMANENT if kind is ChangeKind.PERMANENT else ChangeKind.LEASE
        try:
            undone, _ = await self.hosts[role].apply(back, kind, 0.0, OnRefusal.REST, f"step {self._number} back")
        except WorkbenchError as error:
            _log.warning("not taken back: %s", error.message)
            return outcomes
        now = {(outcome.scope, outcome.key): outcome for outcome in undone}
        return tuple(
            replace(outcome, now=found.now, active=found.active)
            if (found := now.get((outcome.scope, outcome.key)))
            else outcome
            for outcome in outcomes
        )

    async def undo(self) -> Applied | None:
        """Takes the last transaction that still stands back; None where none does."""
        async with self.busy:
            if not self._steps:
                return None
            step = self._steps[-1]
            changes = backwards(step.outcomes)
            for role in {change.role for change in changes}:
                self.host(role)
            self._steps.pop()
            if not changes:
                return None
            kind = ChangeKind.PERMANENT if step.kind is ChangeKind.PERMANENT else ChangeKind.LEASE
            return await self._apply(changes, kind, OnRefusal.REST, 0.0, undoing=True)

    async def keep(self, permanent: bool = False) -> None:
        """Trials stand from now on as long as we are there; or all that is held stands for good."""
        async with self.busy:
            for role, host in list(self.hosts.items()):
                if role not in self.lost and self.journal.held(role):
                    await host.keep(permanent)
                    if permanent:
                        self.journal.kept_for_good(role)
            kind = ChangeKind.PERMANENT if permanent else ChangeKind.LEASE
            self._steps = [
                replace(step, kind=kind) if permanent or step.kind is ChangeKind.TRIAL else step for step in self._steps
            ]
            await self.follow(list(self.hosts))
            self.emit(events.ChangesKept(permanent))
            self.tell_journal()

    # getting back

    async def restore(self, entries: Sequence[JournalEntry] = ()) -> tuple[Restored, ...]:
        """Puts all of this sitting's changes back, also those for good, on the hosts that are there; or these, which
        may be an earlier workbench's. An entry's `role` says on which host. Where one cannot be put back the other is
        all the same."""
        wanted = tuple(entries)
        if not wanted:
            changed = self.journal.entries()
            wanted = tuple(entry for entry in changed if entry.role not in self.lost) or changed
        for role in {entry.role for entry in wanted}:
            self.host(role)
        async with self.busy:
            parts = [[entry for entry in wanted if entry.role is role] for role in Role]
            work = (self._restore(mine[0].role, mine) for mine in parts if mine)
            answers = await asyncio.gather(*work, return_exceptions=True)
            told = [answer for answer in answers if isinstance(answer, Restored)]
            roles = {restored.role for restored in told}
            places = {entry.place for entry in wanted if entry.role in roles}
            self.drop_steps(lambda _, outcome: _at(outcome) in places)
            await self.read_anew([role for role in Role if role in roles], queues=True)
            self.tell_journal()
            for answer in answers:
                if isinstance(answer, BaseException):
                    raise answer
            return tuple(told)

    async def _restore(self, role: Role, wanted: Sequence[JournalEntry]) -> Restored:
        """First what the agent holds, then the rest. A place may be of both: held on top of a change for good."""
        host, places = self.host(role), {entry.place for entry in wanted}
        earlier = [entry for entry in wanted if not self.journal.is_ours(entry)]
        held = [(entry.scope, entry.key) for entry in self.journal.held(role) if entry.place in places]
        settled = self.journal.settled(await host.restore(held)) if held else ()
        ours = [entry for entry in (*self.journal.in_doubt(role), *self.journal.loose(role)) if entry.place in places]
        settled += self.journal.settled(await put_back(host, ours))
        for entry in await put_back(host, earlier):
            self.journal.mark_earlier(entry)
            settled += (entry,)
        await self.follow([role])
        restored = Restored(role, "asked to", settled)
        self.emit(events.SettingsRestored(restored))
        return restored

    # what happens without being asked for, in returning.py

    async def trial_ended(self, role: Role, why: str, entries: tuple[JournalEntry, ...]) -> None:
        """The host put trials back by itself."""
        async with self.busy:
            back = {entry.place for entry in entries if entry.state is not Held.HELD}
            self.drop_steps(
                lambda step, item: item.role is role and (step.kind is ChangeKind.TRIAL or _at(item) in back)
            )
            self.emit(events.SettingsRestored(Restored(role, why, self.journal.settled(entries))))
            with contextlib.suppress(WorkbenchError):
                await self.follow([role])
                await self.read_anew([role], queues=True)
            self.tell_journal()

    async def follow(self, roles: Iterable[Role]) -> None:
        """Takes over what the agents hold, and writes it down. A host that is lost just now tells when it is back."""
        for role in roles:
            if role in self.hosts and role not in self.lost:
                try:
                    self.journal.follow(role, await self.hosts[role].held())
                except WorkbenchError as error:
                    _log.warning("what is held is not known: %s", error.message)
        await self.journal.write()

    def tell_journal(self) -> None:
        self.emit(events.JournalChanged(self.journal.entries()))

    def drop_steps(self, is_over: Callable[["Step", Outcome], bool]) -> None:
        """Forgets for undo what went back some other way."""
        left = [
            replace(step, outcomes=tuple(outcome for outcome in step.outcomes if not is_over(step, outcome)))
            for step in self._steps
        ]
        self._steps = [step for step in left if step.outcomes]


def backwards(outcomes: Sequence[Outcome]) -> list[Change]:
    """The changes that take these back, the last first, then what had moved along: a VLAN's MTU cannot go back before
    that of the NIC below. What did not exist before goes with what made it."""
    asked = [outcome for outcome in outcomes if outcome.asked is not None]
    along = [outcome for outcome in outcomes if outcome.asked is None]
    return [
        Change(outcome.role, outcome.scope, outcome.key, outcome.old)
        for outcome in (*reversed(asked), *along)
        if outcome.old is not None and outcome.old != outcome.now
    ]


def _at(outcome: Outcome) -> tuple[Role, str, str]:
    return outcome.role, outcome.scope, outcome.key


def _moves_queues(key: str) -> bool:
    return key.partition(".")[0] in QUEUE_GROUPS
