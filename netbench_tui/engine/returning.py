"""What happens to changed settings without being asked for: a trial ends, a host is lost and comes back, the sitting
ends. Used by session.py and visit.py."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine

from netbench_tui.engine import events
from netbench_tui.engine.changes import Changes
from netbench_tui.engine.putting_back import as_found
from netbench_tui.errors import WorkbenchError
from netbench_tui.model.change import ChangeKind, JournalEntry, Restored
from netbench_tui.model.host import Role

# On the way out a host that hangs may not hold up the end for longer; it puts things back by itself then.
CLOSE_SECONDS = 3.0
# How long to ask a host that came back what its lost agent's guardian did, and how often. A link that was cut without
# a word leaves that agent waiting for some 30 s.
DOUBT_SECONDS = 45.0
DOUBT_POLL_SECONDS = 2.0
STILL_OURS = "the host did not put it back when the link broke"
AT_THE_END = "the sitting ended"

_log = logging.getLogger(__name__)


class Returning:
    """Looks after the changes of one sitting."""

    def __init__(self, changes: Changes) -> None:
        self.changes, self.journal, self.emit = changes, changes.journal, changes.emit
        self._tasks: set[asyncio.Task[None]] = set()

    def trial_ended(self, role: Role, why: str, entries: tuple[JournalEntry, ...]) -> None:
        """The host put trials back by itself. Returns at once."""
        self._begin(self.changes.trial_ended(role, why, entries))

    async def host_returned(self, role: Role) -> None:
        """A new agent is there: what did the lost one's guardian do? Asks on in the background until that is known.
        Raises WorkbenchError where the host is lost again."""
        async with self.changes.busy:
            self.changes.drop_steps(lambda step, item: item.role is role and step.kind is not ChangeKind.PERMANENT)
            self.journal.agent_gone(role)
            await self._resolve(role)
            await self.changes.read_anew([role], queues=True)
            self.changes.tell_journal()
        if self.journal.in_doubt(role):
            self._begin(self._resolve_later(role))

    async def _resolve_later(self, role: Role) -> None:
        lost = self.changes.lost
        deadline = time.monotonic() + DOUBT_SECONDS
        while self.journal.in_doubt(role) and time.monotonic() < deadline and role not in lost:
            await asyncio.sleep(DOUBT_POLL_SECONDS)
            async with self.changes.busy:
                with contextlib.suppress(WorkbenchError):
                    await self._resolve(role)
        if role not in lost:
            if left := self.journal.give_up(role, STILL_OURS):
                self._tell_broken(role, left)
            await self.journal.write()
            await self.changes.read_anew([role], queues=True)
            self.changes.tell_journal()

    async def _resolve(self, role: Role) -> None:
        """Settles what is in doubt by the guardian's reports, and by looking: what is as found was put back."""
        doubtful = {entry.place for entry in self.journal.in_doubt(role)}
        if not doubtful:
            return
        host = self.changes.host(role)
        told = [entry for report in await host.reports() for entry in report.entries if entry.place in doubtful]
        settled = self.journal.settled(told)
        settled += self.journal.settled(await as_found(host, self.journal.in_doubt(role)))
        await self.journal.write()
        if settled:
            self._tell_broken(role, settled)

    def _tell_broken(self, role: Role, entries: tuple[JournalEntry, ...]) -> None:
        why = f"the link to {self.changes.hosts[role].name} broke"
        self.emit(events.SettingsRestored(Restored(role, why, entries)))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # the end

    async def close(self) -> None:
        """Puts back on every host what it holds, in bounded time; changes for good stay. Never raises WorkbenchError.
        A host that does not answer puts things back by itself."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        changed = [role for role in Role if self.journal.held(role) and role not in self.changes.lost]
        if changed:
            await asyncio.gather(*(self._close(role) for role in changed))
            await self.journal.write()
            self.changes.tell_journal()

    async def _close(self, role: Role) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                entries = self.journal.settled(await self.changes.host(role).restore())
        except (WorkbenchError, TimeoutError) as error:
            _log.warning("not put back by us: %s", error)
            return
        self.emit(events.SettingsRestored(Restored(role, AT_THE_END, entries)))
