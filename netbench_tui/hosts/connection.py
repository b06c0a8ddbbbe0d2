"""A connected host: its transport, its agent, its facts and its clock. The engine's only handle on a host."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from netbench_tui.errors import AgentDied, HostRefused, NoPythonOnHost, WorkbenchError
from netbench_tui.hosts import settings
from netbench_tui.hosts.client import AgentClient, Message
from netbench_tui.hosts.payload import agent_argv
from netbench_tui.hosts.process import RemoteProcess
from netbench_tui.hosts.samples import read_tick
from netbench_tui.hosts.settings import GuardianReport, Place
from netbench_tui.hosts.sudo import WITH_PASSWORD, WITHOUT_PASSWORD, let_through
from netbench_tui.hosts.transport import Channel, Transport
from netbench_tui.model.change import Change, ChangeKind, JournalEntry, OnRefusal, Outcome
from netbench_tui.model.codec import from_plain
from netbench_tui.model.host import Clock, HostFacts, Privilege, Role
from netbench_tui.model.question import Asker
from netbench_tui.model.sample import HostSample
from netbench_tui.model.setting import HostSettings, Irq, QueueMap
from netbench_tui.model.units import plain

# The best of some round trips bounds the clock's error by half its length; more than this gains nothing.
CLOCK_PINGS = 8
NO_PYTHON = "install it there: Debian, Ubuntu, SUSE, Alpine: python3; RHEL: python3 or platform-python"
# 127: the shell found no such command; 126: it may not be executed.
NOT_FOUND_STATUS = (126, 127)
# A NIC that is given other rings or channels may take its link down and up, for each change anew.
APPLY_SECONDS = 60.0

T = TypeVar("T")


class HostConnection:
    """Made by `connect`. `on_sample(role, sample)`, `on_lost(role, error)` and `on_restored(role, why, entries)`, with
    what the host put back by itself, are called in the engine's loop."""

    def __init__(
        self,
        role: Role,
        transport: Transport,
        on_sample: Callable[[Role, HostSample], None],
        on_lost: Callable[[Role, WorkbenchError], None],
        asker: Asker | None = None,
        python: str = "",
        on_restored: Callable[[Role, str, tuple[JournalEntry, ...]], None] = lambda *_: None,
    ) -> None:
        self.role, self.transport = role, transport
        self.privilege_note = ""
        self.clock = Clock(0.0, 0.0, 0.0)
        self.facts = HostFacts(transport.name)
        self.privilege = Privilege.NONE
        self.ssh_connection = ""
        self._on_sample, self._on_lost, self._on_restored = on_sample, on_lost, on_restored
        self._asker = asker
        self._pythons = (python,) if python else transport.pythons
        self._client: AgentClient | None = None
        self._writes = 0

    @property
    def name(self) -> str:
        return self.transport.name

    @property
    def client(self) -> AgentClient:
        if self._client is None:
            raise AgentDied(f"{self.name}: not connected", "connect first")
        return self._client

    async def connect(self, on_step: Callable[[str], None]) -> None:
        """Starts the agent with the most rights that can be had, inspects the host, measures its clock."""
        on_step("starting the agent")
        self._client = await self._any_python()
        self.ssh_connection = str(self._client.hello.get("ssh", ""))
        self.privilege = Privilege.ROOT if self._client.hello.get("uid") == 0 else Privilege.NONE
        if self.privilege is Privilege.NONE:
            on_step("asking sudo")
            await self._escalate()
        on_step("inspecting")
        await self.inspect()
        await self.measure_clock()

    async def _any_python(self) -> AgentClient:
        for python in self._pythons:
            try:
                client = await self._start(agent_argv(python))
            except NoPythonOnHost:
                continue
            self._python = python
            return client
        raise NoPythonOnHost(f"{self.name}: no Python 3.6 or later ({', '.join(self._pythons)})", NO_PYTHON)

    async def _start(self, argv: list[str], with_password: bool = False) -> AgentClient:
        channel: Channel | None = None
        try:
            channel = await self.transport.open(argv)
            if with_password and self._asker:
                await let_through(self.role, self.name, self._user(), channel, self._asker)
            client = AgentClient(self.name, channel, self._tick, self._lost, self._restored)
            await client.start()
            return client
        except (FileNotFoundError, PermissionError, NotADirectoryError):
            raise NoPythonOnHost(f"{self.name}: {argv[0]} does not run there", NO_PYTHON) from None
        except BaseException as error:
            status = await channel.wait(1) if channel and isinstance(error, WorkbenchError) else None
            if channel:
                await channel.close()
            if not isinstance(error, WorkbenchError):
                raise
            if breakage := self.transport.breakage():
                raise breakage from None
            if status in NOT_FOUND_STATUS:
                raise NoPythonOnHost(f"{self.name}: {argv[0]} does not run there", NO_PYTHON) from None
            raise

    def _user(self) -> str:
        """Whose password sudo wants."""
        return plain(str(self.client.hello.get("user", ""))) or "the user"

    async def _escalate(self) -> None:
        """Tries the very command that we need: a restricted sudoers may forbid `true` and allow python3."""
        agent = agent_argv(self._python)
        try:
            await self._become(await self._start([*WITHOUT_PASSWORD, *agent]))
            return
        except NoPythonOnHost:
            self.privilege_note = "there is no sudo on this host"
            return
        except WorkbenchError as error:
            self._stay_read_only(error.message.rpartition("spoke: ")[2])
        if self._asker is None:
            return
        try:
            await self._become(await self._start([*WITH_PASSWORD, *agent], with_password=True))
        except WorkbenchError as error:
            self._stay_read_only(error.message)

    def _stay_read_only(self, why: str) -> None:
        """Raises HostLost if it was no refusal: the connection broke."""
        if breakage := self.transport.breakage():
            raise breakage
        self.privilege_note = why.removeprefix(f"{self.name}: ")

    async def _become(self, client: AgentClient) -> None:
        """Goes on with this agent if it has more rights than the one before, and ends the other."""
        if client.hello.get("uid") == 0:
            client, self._client = self.client, client
            self.privilege, self.privilege_note = Privilege.SUDO, ""
        else:
            self.privilege_note = "sudo gives no root there"
        await client.close()

    async def inspect(self) -> HostFacts:
        """Reads all facts anew."""
        self.facts = await self.inspect_tree()
        return self.facts

    async def inspect_tree(self, root: str = "") -> HostFacts:
        """The facts of a captured tree on that host; of the host itself where `root` is empty."""
        return await self._answer(
            "inspect", lambda answer: from_plain(HostFacts, answer, self.name), **_options((), root)
        )

    async def measure_clock(self) -> Clock:
        """The offset from the round trip that took least: offset = host - middle, error = half the round trip."""
        best: Clock | None = None
        for _ in range(CLOCK_PINGS):
            before = time.monotonic()
            answer = await self.client.request("ping")
            after = time.monotonic()
            host = self._number(answer, "t")
            if best is None or after - before < best.round_trip:
                best = Clock(host - (before + after) / 2, (after - before) / 2, after - before)
        assert best
        self.clock = best
        return best

    async def ping(self) -> float:
        """One round trip, in seconds: is the agent alive? Raises AgentDied after the time for an answer."""
        before = time.monotonic()
        await self.client.request("ping")
        return time.monotonic() - before

    async def end_when_silent(self, seconds: float) -> None:
        """From now on the agent, and all that it started, ends after so long without a request: the link may be cut
        without the host's noticing."""
        await self.client.request("patience", silence=seconds)

    def workbench_time(self, host_time: float) -> float:
        """The host's monotonic time on our time line."""
        return host_time - self.clock.offset

    async def sample(self, hertz: float) -> None:
        """Ticks from now on; 0 ends them."""
        await self.client.request("sample", hz=hertz)

    async def free_port(self, address: str) -> int:
        return int(self._number(await self.client.request("port", address=address), "port"))

    async def wait_listening(self, port: int, key: str, seconds: float) -> None:
        """Raises HostRefused: ESRCH if the process ended, ETIMEDOUT if nobody listens in time."""
        await self.client.request("listening", seconds + 5, port=port, key=key, patience=seconds)

    async def spawn(
        self,
        key: str,
        tool: str,
        argv: tuple[str, ...],
        builtin: dict[str, Any] | None = None,
        cpus: tuple[int, ...] = (),
        on_output: Callable[[str, float], None] | None = None,
    ) -> RemoteProcess:
        """Starts a generator. Raises HostRefused with the host's own words where it cannot be started."""
        process = RemoteProcess(self.client, key, self.role, tool, argv, on_output)
        request: dict[str, Any] = {"stream": builtin} if builtin is not None else {"argv": list(argv)}
        try:
            await process.start(request, cpus)
        except HostRefused as error:
            raise HostRefused(f"{error.message}: {tool} cannot be started", error.hint, error.code) from None
        return process

    # settings, and changing them

    async def read_settings(
        self, nics: Sequence[str], machine: bool = True, without: Sequence[str] = (), root: str = ""
    ) -> HostSettings:
        """All settings of these NICs, and of the machine. `without` names kernel interfaces to leave aside (`netlink`,
        `netdev`, `ioctl`); `root` is a captured tree on that host."""
        options = _options(without, root)
        return await self._answer("settings", settings.read_settings, nics=list(nics), machine=machine, **options)

    async def read_one(self, places: Sequence[Place]) -> HostSettings:
        """The settings of these places, as far as they exist. Raises HostRefused for a key that is of no kind."""
        return await self._answer("settings", settings.read_settings, nics=[], one=settings.place_rows(places))

    async def read_queues(self, nic: str, without: Sequence[str] = (), root: str = "") -> QueueMap:
        return await self._answer("queues", settings.read_queues, nic=nic, **_options(without, root))

    async def interrupts(self, root: str = "") -> tuple[Irq, ...]:
        """All IRQs of the host."""
        return await self._answer("interrupts", settings.read_irqs, **_options((), root))

    async def watch(self, nic: str | None, statistics: bool = False) -> None:
        """Samples carry that NIC's IRQs and queues from now on, and what its driver counts. Samples come first."""
        await self.client.request("watch", nic=nic, statistics=statistics)

    async def protect(self, why: str) -> None:
        """Machine-wide settings are refused from now on, with this reason; empty: they are not."""
        await self.client.request("protect", machine=why)

    async def apply(
        self, changes: Sequence[Change], kind: ChangeKind, seconds: float, on_refusal: OnRefusal, transaction: str
    ) -> tuple[tuple[Outcome, ...], bool]:
        """One transaction: its outcomes, in order, and whether a refusal made all of it go back."""
        with self._write():
            return await self._answer(
                "apply",
                lambda answer: settings.read_outcomes(answer, self.role),
                APPLY_SECONDS,
                transaction=transaction,
                changes=settings.change_rows(changes),
                kind=kind.value,
                seconds=seconds,
                on_refusal=on_refusal.value,
            )

    async def keep(self, permanent: bool) -> None:
        """Trials become leases; or all that is held stays for good."""
        kind = ChangeKind.PERMANENT if permanent else ChangeKind.LEASE
        await self.client.request("keep", kind=kind.value)

    async def restore(self, places: Sequence[Place] | None = None) -> tuple[JournalEntry, ...]:
        """Puts back what is held, or these places of it; tells what became of each."""
        chosen: dict[str, Any] = {} if places is None else {"places": settings.place_rows(places)}
        with self._write():
            return await self._answer("restore", self._entries, APPLY_SECONDS, **chosen)

    @property
    def writing(self) -> bool:
        """The agent is at a driver that may reset its NIC for seconds, and answers nothing else meanwhile."""
        return self._writes > 0

    @contextlib.contextmanager
    def _write(self) -> Iterator[None]:
        self._writes += 1
        try:
            yield
        finally:
            self._writes -= 1

    async def held(self) -> tuple[JournalEntry, ...]:
        """What the host will put back by itself once we are gone."""
        return await self._answer("held", self._entries)

    async def reports(self) -> tuple[GuardianReport, ...]:
        """What was put back after earlier agents ended. Each is told once."""
        return await self._answer("reports", lambda answer: settings.read_reports(answer, self.role, self.name))

    def _entries(self, answer: Message) -> tuple[JournalEntry, ...]:
        return settings.read_entries(answer, self.role, self.name, self.facts.boot_id)

    def _restored(self, message: Message) -> None:
        try:
            entries = self._entries(message)
        except ValueError as error:
            raise AgentDied(f"{self.name}: the agent told of a restore that cannot be read: {error}") from None
        self._on_restored(self.role, plain(str(message.get("why", ""))), entries)

    async def _answer(
        self, operation: str, read: Callable[[Message], T], within: float | None = None, **arguments: Any
    ) -> T:
        """The answer to a request, read. Raises AgentDied where it cannot be."""
        answer = await self.client.request(operation, within, **arguments)
        try:
            return read(answer)
        except ValueError as error:
            raise AgentDied(f"{self.name}: the answer to {operation} cannot be read: {error}") from None

    def _number(self, answer: Message, name: str) -> float:
        try:
            return float(answer[name])
        except (KeyError, TypeError, ValueError):
            raise AgentDied(f"{self.name}: the agent's answer lacks {name}") from None

    def _tick(self, message: Message) -> None:
        try:
            sample = read_tick(message, self.clock)
        except ValueError as error:
            raise AgentDied(f"{self.name}: the agent sent a tick that cannot be read: {error}") from None
        self._on_sample(self.role, sample)

    def _lost(self, error: WorkbenchError) -> None:
        self._on_lost(self.role, self.transport.breakage() or error)

    async def close(self) -> None:
        """Ends the agent and the connection; never raises, since it runs on the way out."""
        try:
            async with asyncio.timeout(6):
                if self._client:
                    await self._client.close()
                await self.transport.close()
        except (TimeoutError, OSError, WorkbenchError):
            return


def _options(without: Sequence[str], root: str) -> dict[str, Any]:
    return ({"without": list(without)} if without else {}) | ({"root": root} if root else {})
