"""A visit: one or two hosts (or the lab) without a data path, to look and change without traffic. Used by engine.py
for the headless verbs.

A host that is lost stays lost: a verb fails then, and the host puts back by itself what was not made permanent.
"""

import asyncio
from collections.abc import Callable, Sequence

from netbench_tui.engine import events
from netbench_tui.engine.changes import Changes
from netbench_tui.engine.journal import Journal
from netbench_tui.engine.path import management_nic
from netbench_tui.engine.reach import LAB_PROTECTION, Reached, names, open_transport, prepare
from netbench_tui.engine.returning import Returning
from netbench_tui.engine.session import PULSE_PATIENCE, PULSE_SECONDS, SILENCE_SECONDS
from netbench_tui.engine.ways import Ways
from netbench_tui.errors import HostLost, WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, HostView, LabTarget, PairTarget


class Visit:
    """`targets` are one or two hosts, sender first, or the lab."""

    def __init__(
        self,
        targets: Sequence[HostTarget] | LabTarget,
        ways: Ways,
        emit: Callable[[events.Event], None],
        journal: Journal,
    ) -> None:
        self.emit, self.ways = emit, ways
        if isinstance(targets, LabTarget):
            self.target: PairTarget | LabTarget = targets
            self.roles = tuple(Role)
        else:
            self.target, self.roles = PairTarget(targets[0], targets[-1]), tuple(Role)[: len(targets)]
        self.hosts: dict[Role, HostConnection] = {}
        self.views: dict[Role, HostView] = {}
        self.lost: dict[Role, WorkbenchError] = {}
        self.changes = Changes(self.hosts, self.lost, self._scopes, emit, journal)
        self._returning = Returning(self.changes)
        self._reached = Reached()
        self._pulses: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[None] | None = None

    def _scopes(self, role: Role) -> tuple[str, ...]:
        """Only the lab's hosts have a data NIC by themselves."""
        nic = self._reached.nic.get(role)
        return (nic,) if nic else ()

    async def open(self) -> None:
        """Connects all hosts. Raises the first failure, with all let go."""
        try:
            self._reached = await prepare(self.target, self._step)
            for outcome in await asyncio.gather(*(self._connect(role) for role in self.roles), return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
        except BaseException:
            await self.close()
            raise
        self._pulses = [asyncio.create_task(self._watch(host)) for host in self.hosts.values()]

    def _step(self, role: Role, name: str, step: str) -> None:
        if role in self.roles:
            self.emit(events.Connecting(role, name, step))

    async def _connect(self, role: Role) -> None:
        name = names(self.target)[role]
        self._step(role, name, "opening the connection")
        try:
            host = await self._dial(role, name)
        except WorkbenchError as error:
            self._failed(role, error, name)
            raise
        self.hosts[role], self.views[role] = host, self._view(host)
        self.emit(events.HostConnected(self.views[role]))

    async def _dial(self, role: Role, name: str) -> HostConnection:
        transport = await open_transport(
            self.target, role, self._reached, self.ways, lambda note: self._step(role, name, note)
        )
        host = HostConnection(
            role,
            transport,
            lambda *_: None,
            self._lose,
            self.ways.asker,
            self.ways.python(name),
            self._returning.trial_ended,
        )
        try:
            await host.connect(lambda step: self._step(role, name, step))
            if self._reached.lab:
                await host.protect(LAB_PROTECTION)
        except BaseException:
            await host.close()
            raise
        return host

    def _view(self, host: HostConnection) -> HostView:
        return HostView(
            role=host.role,
            name=host.name,
            reach=host.transport.reach,
            facts=host.facts,
            privilege=host.privilege,
            clock=host.clock,
            data_nic=self._reached.nic.get(host.role, ""),
            addresses=self._reached.addresses.get(host.role, {}),
            management_nic=management_nic(host.facts, host.ssh_connection),
            shares_cpus=isinstance(self.target, LabTarget),
            privilege_note=host.privilege_note,
            transport_note=host.transport.note,
        )

    # keeping them

    async def _watch(self, host: HostConnection) -> None:
        """Each pulse renews the leases of what was changed there."""
        while host.role not in self.lost:
            try:
                async with asyncio.timeout(PULSE_PATIENCE):
                    await host.end_when_silent(SILENCE_SECONDS)
            except TimeoutError:
                if not host.writing:
                    words = f"{host.name}: no answer for {PULSE_PATIENCE:.0f} s"
                    self._lose(host.role, HostLost(words, "is the host up?"))
            except WorkbenchError as error:
                self._lose(host.role, error)
            await asyncio.sleep(PULSE_SECONDS)

    def _lose(self, role: Role, error: WorkbenchError) -> None:
        if self._closing or role in self.lost or role not in self.hosts:
            return
        self.lost[role] = error
        self._failed(role, error, self.hosts[role].name, was_connected=True)

    def _failed(self, role: Role, error: WorkbenchError, name: str, was_connected: bool = False) -> None:
        self.emit(events.HostFailed(role, name, error.message, error.hint, error.exit_code, was_connected))

    # the end

    async def close(self) -> None:
        """Lets the hosts go, with trials and leases put back; idempotent, and carried to its end even if cancelled."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._let_go())
        await asyncio.shield(self._closing)

    async def _let_go(self) -> None:
        for pulse in self._pulses:
            pulse.cancel()
        try:
            await self._returning.close()
            await asyncio.gather(*(host.close() for host in self.hosts.values()), return_exceptions=True)
        finally:
            await self._reached.close()
