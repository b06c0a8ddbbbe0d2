"""The engine's methods for settings: looking at them, changing them, getting back. The base of Engine in engine.py.

All answer with futures that fail with WorkbenchError, and what comes of them is told as events too (changes.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future

from netbench_tui.engine.changes import Changes
from netbench_tui.engine.worker import Worker
from netbench_tui.model.change import (
    TRIAL_SECONDS,
    Applied,
    Change,
    ChangeKind,
    JournalEntry,
    OnRefusal,
    Restored,
)
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.setting import HostSettings, Irq, QueueMap


class SettingsCalls(Worker, ABC):
    """Works for a connected pair and for a visit."""

    @abstractmethod
    def _changes(self) -> Changes:
        """Those of the present sitting. Raises UsageError without one."""

    def inspect(self, role: Role, root: str = "") -> Future[HostFacts]:
        """The host's facts as of now, or those of a captured tree below `root` on that host."""

        async def work() -> HostFacts:
            return await self._changes().host(role).inspect_tree(root)

        return self._submit(work())

    def read_settings(
        self,
        role: Role,
        nics: Sequence[str] | None = None,
        machine: bool = True,
        without: Sequence[str] = (),
        root: str = "",
    ) -> Future[HostSettings]:
        """All settings of these NICs and of the machine; without `nics` those of the data path, told as SettingsRead.
        `without` names kernel interfaces to leave aside: `netlink`, `netdev`, `ioctl`."""

        async def work() -> HostSettings:
            changes = self._changes()
            if nics is None:
                return await changes.read_settings(role)
            return await changes.host(role).read_settings(nics, machine, without, root)

        return self._submit(work())

    def read_one(self, role: Role, places: Sequence[tuple[str, str]]) -> Future[HostSettings]:
        """The settings of these (scope, key), as far as they exist."""

        async def work() -> HostSettings:
            return await self._changes().host(role).read_one(places)

        return self._submit(work())

    def read_queues(self, role: Role, nic: str = "", without: Sequence[str] = (), root: str = "") -> Future[QueueMap]:
        """A NIC's way from the wire to the CPUs; that of the data path where none is named, told as QueuesRead."""

        async def work() -> QueueMap:
            changes = self._changes()
            if not nic:
                return await changes.read_queues(role)
            return await changes.host(role).read_queues(nic, without, root)

        return self._submit(work())

    def interrupts(self, role: Role, root: str = "") -> Future[tuple[Irq, ...]]:
        """All IRQs of the host."""

        async def work() -> tuple[Irq, ...]:
            return await self._changes().host(role).interrupts(root)

        return self._submit(work())

    def apply(
        self,
        changes: Sequence[Change],
        kind: ChangeKind = ChangeKind.TRIAL,
        on_refusal: OnRefusal = OnRefusal.REST,
        seconds: float = TRIAL_SECONDS,
    ) -> Future[Applied]:
        """One transaction on one or both hosts at the same time; what a host refuses is an outcome of it."""

        async def work() -> Applied:
            return await self._changes().apply(changes, kind, on_refusal, seconds)

        return self._submit(work())

    def keep(self, permanent: bool = False) -> Future[None]:
        """Trials stand as long as we are there; or all that is held stands for good."""

        async def work() -> None:
            await self._changes().keep(permanent)

        return self._submit(work())

    def undo(self) -> Future[Applied | None]:
        """Takes back the last transaction that still stands; None where none does."""

        async def work() -> Applied | None:
            return await self._changes().undo()

        return self._submit(work())

    def restore(self, entries: Sequence[JournalEntry] = ()) -> Future[tuple[Restored, ...]]:
        """Puts all of this sitting's changes back; or these, which may be an earlier workbench's (`open_changes`)."""

        async def work() -> tuple[Restored, ...]:
            return await self._changes().restore(entries)

        return self._submit(work())

    def journal(self) -> Future[tuple[JournalEntry, ...]]:
        """All settings that differ from how this sitting found them."""

        async def work() -> tuple[JournalEntry, ...]:
            return self._changes().journal.entries()

        return self._submit(work())
