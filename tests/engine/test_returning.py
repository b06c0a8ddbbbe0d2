"""A host that comes back after its agent was lost: what became of the changes there, even if nobody knows at first."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.engine import events, returning
from netbench_tui.engine.changes import Changes
from netbench_tui.engine.journal import Journal
from netbench_tui.engine.returning import STILL_OURS, Returning
from netbench_tui.errors import AgentDied, HistoryError
from netbench_tui.hosts.settings import GuardianReport
from netbench_tui.model.change import Change, ChangeKind, Held, JournalEntry, Outcome
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.setting import HostSettings, Setting

ROLE = Role.RECEIVER


class FakeHost:
    """Settings by key, and what its agent holds. `told` are the guardian's reports."""

    name = "beta"

    def __init__(self, values: dict[str, str]) -> None:
        self.facts = HostFacts("beta", boot_id="one")
        self.values = values
        self.holds: list[JournalEntry] = []
        self.told: list[GuardianReport] = []
        self.hangs = False

    async def apply(self, changes: list[Change], kind: ChangeKind, *_: Any) -> tuple[tuple[Outcome, ...], bool]:
        outcomes = []
        for change in changes:
            old, self.values[change.key] = self.values[change.key], change.value
            outcomes.append(Outcome(ROLE, "eth1", change.key, old, change.value, change.value))
            if kind is not ChangeKind.PERMANENT:
                self.holds.append(JournalEntry(0, ROLE, "beta", "eth1", change.key, old, change.value, kind))
        return tuple(outcomes), False

    async def held(self) -> tuple[JournalEntry, ...]:
        return tuple(self.holds)

    async def restore(self, places: Any = None) -> tuple[JournalEntry, ...]:
        if self.hangs:
            await asyncio.sleep(60)
        back, self.holds = self.holds, []
        self.values.update({entry.key: str(entry.found) for entry in back})
        return tuple(replace(entry, state=Held.RESTORED) for entry in back)

    async def reports(self) -> tuple[GuardianReport, ...]:
        told, self.told = self.told, []
        return tuple(told)

    async def read_one(self, places: list[tuple[str, str]]) -> HostSettings:
        return HostSettings(tuple(Setting("eth1", key, self.values[key]) for _, key in places if key in self.values))


class Sitting:
    def __init__(self, **values: str) -> None:
        self.hosts: dict[Role, Any] = {ROLE: FakeHost(dict(values))}
        self.lost: dict[Role, Any] = {}
        self.seen: list[events.Event] = []
        self.written: dict[float, JournalEntry] = {}
        self.changes = Changes(self.hosts, self.lost, lambda _: (), self.seen.append, Journal(self.record, print))
        self.returning = Returning(self.changes)

    def record(self, entries: Any) -> "Future[list[int]]":
        self.written |= {entry.time: entry for entry in entries}
        done: Future[list[int]] = Future()
        done.set_result([list(self.written).index(entry.time) + 1 for entry in entries])
        return done

    def states(self) -> dict[str, Held]:
        """As the history has them."""
        return {entry.key: entry.state for entry in self.written.values()}

    async def lease(self, **values: str) -> None:
        changes = [Change(ROLE, "eth1", key, value) for key, value in values.items()]
        await self.changes.apply(changes, ChangeKind.LEASE)

    def come_back(self, **values: str) -> None:
        """Another agent, which holds nothing; the settings are as its host has them by now."""
        self.hosts[ROLE] = FakeHost(dict(values))

    def restored(self) -> list[tuple[str, dict[str, Held]]]:
        told = [event.restored for event in self.seen if isinstance(event, events.SettingsRestored)]
        return [(each.why, {entry.key: entry.state for entry in each.entries}) for each in told]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returning, "DOUBT_SECONDS", 0.5)
    monkeypatch.setattr(returning, "DOUBT_POLL_SECONDS", 0.05)
    monkeypatch.setattr(returning, "CLOSE_SECONDS", 0.2)


async def poll(condition: Callable[[], Any], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        await asyncio.sleep(0.01)


async def test_a_guardian_that_told_all(patience: None) -> None:
    sitting = Sitting(mtu="1500", gro="on", tso="on")
    await sitting.lease(mtu="9000", gro="off", tso="off")
    entries = [replace(entry, state=Held.RESTORED) for entry in sitting.changes.journal.held(ROLE)]
    entries[1] = replace(entries[1], state=Held.FOREIGN, note="it reads maybe")
    sitting.come_back(mtu="1500", gro="maybe", tso="on")
    sitting.hosts[ROLE].told = [GuardianReport("one", 5.0, "the agent ended", tuple(entries))]
    await sitting.returning.host_returned(ROLE)
    ((why, told),) = sitting.restored()
    assert why == "the link to beta broke"
    assert told == {"mtu": Held.RESTORED, "gro": Held.FOREIGN, "tso": Held.RESTORED} == sitting.states()
    assert sitting.changes.journal.entries() == ()
    assert await sitting.changes.undo() is None


async def test_without_a_report_a_look_tells_what_went_back(patience: None) -> None:
    sitting = Sitting(mtu="1500", gro="on")
    await sitting.lease(mtu="9000", gro="off")
    sitting.come_back(mtu="1500", gro="off")
    await sitting.returning.host_returned(ROLE)
    assert sitting.restored() == [("the link to beta broke", {"mtu": Held.RESTORED})]
    (left,) = sitting.changes.journal.entries()
    assert (left.key, left.state, left.id > 0) == ("gro", Held.HELD, True)
    # The lost agent still lives behind a dead link: its guardian acts when the lease ends.
    sitting.hosts[ROLE].values["gro"] = "on"
    await poll(lambda: sitting.changes.journal.entries() == ())
    assert sitting.states() == {"mtu": Held.RESTORED, "gro": Held.RESTORED}
    await sitting.returning.close()


async def test_what_nobody_put_back_can_be_restored_by_hand(patience: None) -> None:
    sitting = Sitting(mtu="1500")
    await sitting.lease(mtu="9000")
    sitting.come_back(mtu="9000")
    await sitting.returning.host_returned(ROLE)
    await poll(lambda: sitting.restored())
    assert sitting.restored() == [("the link to beta broke", {"mtu": Held.REFUSED})]
    (left,) = sitting.changes.journal.entries()
    assert (left.state, left.note) == (Held.REFUSED, STILL_OURS)
    (told,) = await sitting.changes.restore()
    assert told.whole and sitting.hosts[ROLE].values == {"mtu": "1500"}
    assert sitting.states() == {"mtu": Held.RESTORED} and sitting.changes.journal.entries() == ()


async def test_what_is_permanent_is_not_in_doubt(patience: None) -> None:
    sitting = Sitting(mtu="1500", gro="on")
    await sitting.changes.apply([Change(ROLE, "eth1", "mtu", "9000")], ChangeKind.PERMANENT)
    await sitting.lease(mtu="8000", gro="off")
    (entry,) = [entry for entry in sitting.changes.journal.entries() if entry.key == "mtu"]
    assert (entry.found, entry.ours) == ("1500", "8000")
    sitting.come_back(mtu="9000", gro="on")
    await sitting.returning.host_returned(ROLE)
    (left,) = sitting.changes.journal.entries()
    assert (left.key, left.found, left.ours, left.state) == ("mtu", "1500", "9000", Held.PERMANENT)
    undone = await sitting.changes.undo()
    assert undone and sitting.hosts[ROLE].values["mtu"] == "1500"


async def test_a_host_that_is_lost_again_stays_in_doubt(patience: None) -> None:
    sitting = Sitting(mtu="1500")
    await sitting.lease(mtu="9000")
    sitting.come_back(mtu="9000")
    await sitting.returning.host_returned(ROLE)
    sitting.lost[ROLE] = AgentDied("gone")
    await asyncio.sleep(0.1)
    assert [entry.state for entry in sitting.changes.journal.entries()] == [Held.HELD]
    del sitting.lost[ROLE]
    sitting.come_back(mtu="1500")
    await sitting.returning.host_returned(ROLE)
    assert sitting.restored()[-1] == ("the link to beta broke", {"mtu": Held.RESTORED})
    await sitting.returning.close()


async def test_the_end_puts_everything_back_and_waits_for_nobody(patience: None) -> None:
    sitting = Sitting(mtu="1500")
    await sitting.lease(mtu="9000")
    await sitting.returning.close()
    assert sitting.restored() == [("the sitting ended", {"mtu": Held.RESTORED})]
    assert sitting.hosts[ROLE].values == {"mtu": "1500"} and sitting.states() == {"mtu": Held.RESTORED}

    hanging = Sitting(mtu="1500")
    await hanging.lease(mtu="9000")
    hanging.hosts[ROLE].hangs = True
    start = time.monotonic()
    await hanging.returning.close()
    assert time.monotonic() - start < 2
    assert hanging.states() == {"mtu": Held.HELD}, "`restore` will find it"


async def test_a_journal_that_cannot_be_written_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from netbench_tui.engine import journal

    monkeypatch.setattr(journal, "RECORD_SECONDS", 0.1)
    sitting = Sitting(mtu="1500")
    never: Future[list[int]] = Future()
    monkeypatch.setattr(sitting.changes.journal, "_record", lambda entries: never)
    await sitting.lease(mtu="9000")
    assert sitting.hosts[ROLE].values == {"mtu": "9000"}
    assert [entry.id for entry in sitting.changes.journal.entries()] == [0]


async def test_what_could_not_be_written_is_written_with_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(mtu="1500", txqueuelen="1000")
    full: Future[list[int]] = Future()
    full.set_exception(HistoryError("the disk is full", "make room"))
    with monkeypatch.context() as patch:
        patch.setattr(sitting.changes.journal, "_record", lambda entries: full)
        await sitting.lease(mtu="9000")
    assert not sitting.written
    await sitting.lease(txqueuelen="100")
    assert sitting.states() == {"mtu": Held.HELD, "txqueuelen": Held.HELD}
    assert all(entry.id for entry in sitting.changes.journal.entries())
