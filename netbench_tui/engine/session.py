"""One sitting with two hosts: connects them, chooses the data path, hands on their samples. Used by engine.py."""

import asyncio
from collections.abc import Callable

from netbench_tui.engine import events
from netbench_tui.engine.path import PathChoice, choose_path, management_nic
from netbench_tui.engine.reach import Reached, names, open_transport, prepare
from netbench_tui.errors import HostLost, WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.host import Role
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, LabTarget, Target

# Between runs a look twice a second keeps the screens alive and disturbs nobody.
IDLE_HERTZ = 2.0
RUN_HERTZ = 10.0


class Session:
    """Made by `open`. `emit` gets the events; `on_sample` every sample, for the run in progress."""

    def __init__(
        self, target: Target, emit: Callable[[events.Event], None], on_sample: Callable[[Role, HostSample], None]
    ) -> None:
        self.target, self.emit, self.on_sample = target, emit, on_sample
        self.hosts: dict[Role, HostConnection] = {}
        self.views: dict[Role, HostView] = {}
        self.lost: WorkbenchError | None = None
        self._reached = Reached()
        self._closing: asyncio.Task[None] | None = None

    async def open(self, ssh_config: str | None) -> None:
        """Connects both hosts. Raises the first failure after each was reported as an event, with all let go."""
        try:
            self._reached = await prepare(self.target, self._step)
        except WorkbenchError as error:
            for role, name in names(self.target).items():
                self._failed(role, name, error)
            raise
        try:
            # Both are tried to the end, so that one glance shows what is wrong with either.
            for outcome in await asyncio.gather(*(self._connect(r, ssh_config) for r in Role), return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
            self._choose_path()
            await self.set_rate(IDLE_HERTZ)
        except BaseException:
            await self.close()
            raise

    async def _connect(self, role: Role, ssh_config: str | None) -> None:
        name = names(self.target)[role]
        self._step(role, name, "opening the connection")
        try:
            transport = await open_transport(self.target, role, self._reached, ssh_config)
            host = self.hosts[role] = HostConnection(role, transport, self._sample, self._lost)
            await host.connect(lambda step: self._step(role, name, step))
        except WorkbenchError as error:
            self._failed(role, name, error)
            raise
        self.views[role] = self._view(host)
        self.emit(events.HostConnected(self.views[role]))

    def _step(self, role: Role, name: str, step: str) -> None:
        self.emit(events.Connecting(role, name, step))

    def _failed(self, role: Role, name: str, error: WorkbenchError, was_connected: bool = False) -> None:
        self.emit(events.HostFailed(role, name, error.message, error.hint, error.exit_code, was_connected))

    def _view(self, host: HostConnection, path: PathChoice | None = None) -> HostView:
        path = path or PathChoice()
        sending = host.role is Role.SENDER
        return HostView(
            role=host.role,
            name=host.name,
            reach=host.transport.reach,
            facts=host.facts,
            privilege=host.privilege,
            clock=host.clock,
            data_nic=path.sender_nic if sending else path.receiver_nic,
            addresses=dict(path.sender if sending else path.receiver),
            management_nic=management_nic(host.facts, host.ssh_connection),
            shares_cpus=isinstance(self.target, LabTarget),
            transport_note=host.transport.note,
        )

    def _choose_path(self) -> None:
        sender, receiver = self.hosts[Role.SENDER], self.hosts[Role.RECEIVER]
        if self._reached.lab:
            path = PathChoice(
                self._reached.nic[Role.SENDER],
                self._reached.nic[Role.RECEIVER],
                self._reached.addresses[Role.SENDER],
                self._reached.addresses[Role.RECEIVER],
            )
        else:
            path = choose_path(
                sender.facts,
                receiver.facts,
                management_nic(sender.facts, sender.ssh_connection),
                management_nic(receiver.facts, receiver.ssh_connection),
            )
        self.views = {role: self._view(host, path) for role, host in self.hosts.items()}
        self.emit(events.PairConnected(self.target, self.views[Role.SENDER], self.views[Role.RECEIVER], path.warning))

    def _sample(self, role: Role, sample: HostSample) -> None:
        self.on_sample(role, sample)
        self.emit(events.SampleTaken(role, sample))

    def _lost(self, role: Role, error: WorkbenchError) -> None:
        if self._closing:
            return
        self.lost = error
        self._failed(role, names(self.target)[role], error, was_connected=True)

    def require(self) -> None:
        """Raises if a host was lost since it was connected."""
        if self.lost:
            raise HostLost(self.lost.message, self.lost.hint or "connect again")

    async def measure_clocks(self) -> None:
        for role, host in self.hosts.items():
            self.emit(events.ClockMeasured(role, await host.measure_clock()))

    async def set_rate(self, hertz: float) -> None:
        """Samples of both hosts at this rate from now on. Raises the first failure after both were asked."""
        answers = await asyncio.gather(*(host.sample(hertz) for host in self.hosts.values()), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def close(self) -> None:
        """Lets both hosts go, whatever state they are in; idempotent, and carried to its end even if cancelled."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._let_go())
        await asyncio.shield(self._closing)

    async def _let_go(self) -> None:
        try:
            await asyncio.gather(*(host.close() for host in self.hosts.values()), return_exceptions=True)
        finally:
            await self._reached.close()
