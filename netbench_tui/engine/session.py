"""One sitting with two hosts: connects them, chooses the data path, hands on their samples, brings a lost one back.

Used by engine.py. A host that does not answer in time is taken to be lost; a lost host is tried again with growing
pauses until it is back or the sitting ends.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace

from netbench_tui.engine import events
from netbench_tui.engine.changes import Changes
from netbench_tui.engine.journal import Journal
from netbench_tui.engine.path import PathChoice, choose_path, management_nic, path_between
from netbench_tui.engine.reach import LAB_PROTECTION, Reached, names, open_transport, prepare
from netbench_tui.engine.returning import Returning
from netbench_tui.engine.watching import Watching
from netbench_tui.engine.ways import Ways
from netbench_tui.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    HostLost,
    HostUnreachable,
    LoginRefused,
    UsageError,
    WorkbenchError,
)
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.host import Role
from netbench_tui.model.question import Answers, Question
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, LabTarget, Target

# Between runs a look twice a second keeps the screens alive and disturbs nobody.
IDLE_HERTZ = 2.0
RUN_HERTZ = 10.0
# How often a host is asked whether it is alive; a frozen one is noticed in this time and PULSE_PATIENCE more.
# Each one renews the leases of what was changed there.
PULSE_SECONDS = 2.0
PULSE_PATIENCE = 8.0
# A host that hears nothing for so long ends what it runs for us: longer than any pause between two pulses.
SILENCE_SECONDS = 30.0
# Before each try to bring a host back; the last one goes on for ever. A reboot takes a minute or five.
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
# What waiting does not mend: somebody must look at it.
HOPELESS = (HostKeyChanged, HostKeyUnknown)
# A host that is still starting lets nobody in (pam_nologin): only a refusal that stays is one. Where a person was
# asked, the first one is: nobody wants to be asked again and again.
REFUSALS = 5
AWAY = "it is tried again; wait until it is back"

_log = logging.getLogger(__name__)


class Session:
    """Made by `open`. `emit` gets the events; `on_sample` every sample and `on_lost` every loss, for the run in
    progress; `on_views` is called when what is known of a host or of the path has changed."""

    def __init__(
        self,
        target: Target,
        ways: Ways,
        emit: Callable[[events.Event], None],
        on_sample: Callable[[Role, HostSample], None],
        on_lost: Callable[[Role, WorkbenchError], None],
        on_views: Callable[[], None],
        journal: Journal,
    ) -> None:
        self.target, self.emit = target, emit
        self.on_sample, self.on_lost, self.on_views = on_sample, on_lost, on_views
        self.ways = replace(ways, asker=self._ask) if ways.asker else ways
        self._asker = ways.asker
        self.hosts: dict[Role, HostConnection] = {}
        self.views: dict[Role, HostView] = {}
        self.lost: dict[Role, WorkbenchError] = {}
        self._given_up: set[Role] = set()
        self._asked: set[Role] = set()
        self._hertz = IDLE_HERTZ
        self._path = PathChoice()
        self._reached = Reached()
        self.watching = Watching(self.hosts, self._queue_nic, self.lost)
        self.changes = Changes(self.hosts, self.lost, self._scopes, emit, journal)
        self._returning = Returning(self.changes)
        self._closing: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Connects both hosts. Raises the first failure after each was reported as an event, with all let go."""
        try:
            self._reached = await prepare(self.target, self._step)
        except WorkbenchError as error:
            for role, name in names(self.target).items():
                self._failed(role, name, error)
            raise
        try:
            # Both are tried to the end, so that one glance shows what is wrong with either.
            for outcome in await asyncio.gather(*(self._connect(role) for role in Role), return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
            self._use(self._best_path())
            await self.set_rate(IDLE_HERTZ)
        except BaseException:
            await self.close()
            raise
        for role in Role:
            self._begin(self._watch(role))

    async def _connect(self, role: Role) -> None:
        name = names(self.target)[role]
        self._step(role, name, "opening the connection")
        try:
            host = await self._dial(role)
        except WorkbenchError as error:
            self._failed(role, name, error)
            raise
        self.emit(events.HostConnected(self._view(host)))

    async def _dial(self, role: Role) -> HostConnection:
        name = names(self.target)[role]
        transport = await open_transport(
            self.target, role, self._reached, self.ways, lambda note: self._step(role, name, note)
        )
        host = HostConnection(
            role,
            transport,
            self._sample,
            lambda _, error: self._lose(host, error),
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
        self.hosts[role] = host
        return host

    async def _ask(self, question: Question) -> Answers | None:
        assert self._asker
        self._asked.add(question.role)
        return await self._asker(question)

    def _step(self, role: Role, name: str, step: str) -> None:
        if role not in self.lost:  # the steps of coming back are not shown: Reconnecting is
            self.emit(events.Connecting(role, name, step))

    def _failed(self, role: Role, name: str, error: WorkbenchError, was_connected: bool = False) -> None:
        self.emit(events.HostFailed(role, name, error.message, error.hint, error.exit_code, was_connected))

    def _view(self, host: HostConnection) -> HostView:
        path, sending = self._path, host.role is Role.SENDER
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
            privilege_note=host.privilege_note,
            transport_note=host.transport.note,
        )

    # the data path

    def _best_path(self) -> PathChoice:
        if self._reached.lab:
            nic, addresses = self._reached.nic, self._reached.addresses
            return PathChoice(nic[Role.SENDER], nic[Role.RECEIVER], addresses[Role.SENDER], addresses[Role.RECEIVER])
        sender, receiver = self.hosts[Role.SENDER], self.hosts[Role.RECEIVER]
        return choose_path(sender.facts, receiver.facts, *self._management())

    def _management(self) -> list[str]:
        return [management_nic(self.hosts[role].facts, self.hosts[role].ssh_connection) for role in Role]

    def _data_nic(self, role: Role) -> str:
        return self.views[role].data_nic if role in self.views else ""

    def _queue_nic(self, role: Role) -> str:
        return self.views[role].queue_nic if role in self.views else ""

    def _scopes(self, role: Role) -> tuple[str, ...]:
        """The NICs whose settings are shown: the data NIC and those that it sits on."""
        nic = self._data_nic(role)
        return (nic, *self.hosts[role].facts.below(nic)) if nic else ()

    async def choose_path(self, sender_nic: str, receiver_nic: str) -> None:
        """The path that a person chose, from now on. Raises UsageError."""
        self.require()
        if self._reached.lab:
            raise UsageError("the lab has one link only", "other paths are for other hosts")
        facts = [self.hosts[role].facts for role in Role]
        self._use(path_between(facts[0], facts[1], (sender_nic, receiver_nic), *self._management()))
        await self.watching.renew()
        await self.changes.read_anew(Role, queues=True)

    def _use(self, path: PathChoice) -> None:
        self._path = path
        self.views = {role: self._view(self.hosts[role]) for role in Role}
        self.emit(events.PairConnected(self.target, self.views[Role.SENDER], self.views[Role.RECEIVER], path.warning))
        for role, error in self.lost.items():  # the pair is known, but one of it is away
            self._failed(role, self.hosts[role].name, error, was_connected=True)
        self.on_views()

    # samples and clocks

    def _sample(self, role: Role, sample: HostSample) -> None:
        self.on_sample(role, sample)
        self.emit(events.SampleTaken(role, sample))

    async def prepare_run(self) -> None:
        """Clocks as of now, which stand still until the rate is IDLE_HERTZ again, and samples at RUN_HERTZ."""
        self._hertz = RUN_HERTZ
        for role, host in list(self.hosts.items()):
            self.emit(events.ClockMeasured(role, await host.measure_clock()))
        await self.set_rate(RUN_HERTZ)

    async def set_rate(self, hertz: float) -> None:
        """Samples of both hosts at this rate from now on. Raises the first failure after both were asked."""
        self._hertz = hertz
        there = [host for role, host in self.hosts.items() if role not in self.lost]
        for answer in await asyncio.gather(*(host.sample(hertz) for host in there), return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer
        await self.watching.run(hertz == RUN_HERTZ)

    # losing a host, and bringing it back

    def require(self) -> None:
        """Raises HostLost if a host is away."""
        for role, error in self.lost.items():
            raise HostLost(error.message, error.hint if role in self._given_up else AWAY)

    def _lose(self, host: HostConnection, error: WorkbenchError) -> None:
        """What is still heard of a connection that was replaced, or is being let go, is no news."""
        role = host.role
        if self._closing or role in self.lost or self.hosts.get(role) is not host:
            return
        self.lost[role] = error
        self._failed(role, host.name, error, was_connected=True)
        self.on_lost(role, error)
        self._begin(self._bring_back(host))

    async def _watch(self, role: Role) -> None:
        while True:
            await asyncio.sleep(PULSE_SECONDS)
            if role not in self.lost:
                await self._feel_pulse(self.hosts[role])

    async def _feel_pulse(self, host: HostConnection) -> None:
        """Between runs the clock is measured anew; during one it must not move under the samples."""
        try:
            async with asyncio.timeout(PULSE_PATIENCE):
                await host.end_when_silent(SILENCE_SECONDS)
                if self._hertz != RUN_HERTZ:
                    self.emit(events.ClockMeasured(host.role, await host.measure_clock()))
        except TimeoutError:
            if not host.writing:
                self._lose(host, HostLost(f"{host.name}: no answer for {PULSE_PATIENCE:.0f} s", "is the host up?"))
        except WorkbenchError as error:
            self._lose(host, error)

    async def _bring_back(self, before: HostConnection) -> None:
        role, refusals = before.role, 0
        await before.close()
        for attempt, pause in enumerate(_pauses(), 1):
            self.emit(events.Reconnecting(role, before.name, attempt, pause))
            await asyncio.sleep(pause)
            try:
                host = await self._dial_again(role)
            except WorkbenchError as error:
                self.lost[role] = error
                refusals = refusals + 1 if isinstance(error, LoginRefused) else 0
                if isinstance(error, HOPELESS) or refusals >= (1 if role in self._asked else REFUSALS):
                    self._given_up.add(role)
                    self._failed(role, before.name, error, was_connected=True)
                    return
            else:
                path = self._path
                self._welcome(before, host)
                with contextlib.suppress(WorkbenchError):  # lost again: that is told and seen to elsewhere
                    await self.watching.renew()
                    await self._returning.host_returned(role)
                    if self._path is not path:  # with another path, what is shown of the other host is no more
                        await self.changes.read_anew([role.other], queues=True)
                return

    async def _dial_again(self, role: Role) -> HostConnection:
        """A new connection that sends samples at the rate of now."""
        self._asked.discard(role)
        try:
            host = await self._dial(role)
        except (WorkbenchError, asyncio.CancelledError):
            raise
        except Exception as error:  # whatever it is, the host must come back one day
            _log.error("a host could not be tried again", exc_info=error)
            raise HostUnreachable(f"{names(self.target)[role]}: {type(error).__name__}: {error}") from None
        try:
            hertz = 0.0
            while hertz != self._hertz:  # a run may end meanwhile
                hertz = self._hertz
                await host.sample(hertz)
        except BaseException:
            await host.close()
            raise
        return host

    def _welcome(self, before: HostConnection, host: HostConnection) -> None:
        del self.lost[host.role]
        if not self.views:  # its peer is still being connected
            self.emit(events.HostConnected(self._view(host)))
            return
        self.views[host.role] = self._view(host)
        self.emit(events.HostReturned(self.views[host.role], self._what_changed(before, host)))
        path = self._path_of_now()
        if path == self._path:
            self.on_views()
        else:
            self._use(path)

    def _what_changed(self, before: HostConnection, host: HostConnection) -> str:
        nic = self.views[host.role].data_nic
        if nic and host.facts.nic(nic) is None:
            return f"{host.name} has no {nic} any more: choose another data path"
        if before.facts.boot_id != host.facts.boot_id:
            return f"{host.name} was rebooted while it was away"
        return ""

    def _path_of_now(self) -> PathChoice:
        """The same NICs with the addresses that they have now; the path as it was where that is none any more."""
        nics = self._path.sender_nic, self._path.receiver_nic
        if self._reached.lab or not all(nics):
            return self._path
        try:
            sender, receiver = (self.hosts[role].facts for role in Role)
            return path_between(sender, receiver, nics, *self._management())
        except UsageError:
            return self._path

    # the end

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Lets both hosts go, whatever state they are in; idempotent, and carried to its end even if cancelled."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._let_go())
        await asyncio.shield(self._closing)

    async def _let_go(self) -> None:
        for task in self._tasks:
            task.cancel()
        try:
            await self._returning.close()
            await asyncio.gather(*self._tasks, *(host.close() for host in self.hosts.values()), return_exceptions=True)
        finally:
            await self._reached.close()


def _pauses() -> Iterator[float]:
    yield from PAUSES
    while True:
        yield PAUSES[-1]
