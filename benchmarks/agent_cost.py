"""What the agent costs its host: CPU and bytes while it samples at 10 Hz, and memory against a bare Python.

It watches a NIC's queues and interrupts meanwhile, as during runs: the lab's, and this machine's own, which may have
interrupts and is only read.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from benchmarks import iperf3
from benchmarks.plan import BenchmarkFailed, Plan
from benchmarks.report import Figure, Finding, Limit
from netbench_tui.analysis.statistics import paired_change
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.lab.lab import Lab, LabHost
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.hosts.transport import Channel
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.session import LabTarget, Reach

NAME = "agent"
HERTZ = 10.0
# 20 ticks each, 30 s in all, twice: idle, and beside traffic.
WINDOWS = 15
WINDOW_SECONDS = 2.0
# Memory hardly scatters; fewer than 8 would leave no rank interval.
STARTS = 8
CPU_LIMIT = Limit(1.0, at_least=False)
MEMORY_LIMIT = Limit(25.0, at_least=False)
BARE = ("-I", "-S", "-c", "print(1, flush=True); input()")


class CountedChannel:
    """A channel that counts what comes from the agent."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.bytes = 0
        self.write, self.complaint = channel.write, channel.complaint
        self.wait, self.close = channel.wait, channel.close

    async def read(self) -> bytes:
        data = await self._channel.read()
        self.bytes += len(data)
        return data


class CountedTransport(LocalTransport):
    """The way into a lab host, or to this machine where none is given, with every byte counted."""

    def __init__(self, host: LabHost | None) -> None:
        if host is None:
            super().__init__("this machine")
        else:
            super().__init__(host.name, Reach.LAB, host.enter)
        self.channels: list[CountedChannel] = []

    async def open(self, argv: Sequence[str]) -> Channel:
        channel = CountedChannel(await super().open(argv))
        self.channels.append(channel)
        return channel


class Watched:
    """An agent sampling at 10 Hz and watching a NIC, on a lab host or on this machine."""

    def __init__(self, host: LabHost | None) -> None:
        self.nic = ""
        self.ticks = 0
        self.warm = asyncio.Event()
        """Set after a second of ticks."""
        self.transport = CountedTransport(host)
        self.connection = HostConnection(Role.SENDER, self.transport, self._tick, lambda role, error: None)

    def _tick(self, role: Role, sample: object) -> None:
        self.ticks += 1
        if self.ticks >= HERTZ:
            self.warm.set()

    async def start(self) -> None:
        await self.connection.connect(lambda step: None)
        await self.connection.sample(HERTZ)
        self.nic = richest_nic(self.connection.facts)
        await self.connection.watch(self.nic)

    @property
    def pid(self) -> int:
        return int(self.connection.client.hello["pid"])

    @property
    def bytes(self) -> int:
        return sum(channel.bytes for channel in self.transport.channels)


@contextlib.asynccontextmanager
async def _watched(host: LabHost | None) -> AsyncIterator[Watched]:
    agent = Watched(host)
    try:
        await agent.start()
        yield agent
    finally:
        await agent.connection.close()


def richest_nic(facts: HostFacts) -> str:
    """The NIC that has most to tell: a physical one, else a virtual one, else the loopback."""
    order = ("physical", "virtual")
    found = sorted(facts.nics, key=lambda nic: order.index(nic.kind) if nic.kind in order else len(order))
    return found[0].name if found else "lo"


def cpu_seconds(pid: int) -> float:
    """User and system time of a process from its CPU clock: the sum that /proc/PID/stat rounds to 10 ms."""
    return time.clock_gettime((~pid << 3) | 2)  # as the C library's clock_getcpuclockid does


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise BenchmarkFailed(f"process {pid} has no VmRSS")


async def _windows(agent: Watched, windows: int) -> tuple[list[float], list[float]]:
    """Per cent of one CPU, and bytes a tick, of each window."""
    cpu, sizes = [], []
    for _ in range(windows):
        before = (time.monotonic(), cpu_seconds(agent.pid), agent.ticks, agent.bytes)
        await asyncio.sleep(WINDOW_SECONDS)
        after = (time.monotonic(), cpu_seconds(agent.pid), agent.ticks, agent.bytes)
        seconds, used, ticks, size = (b - a for a, b in zip(before, after, strict=True))
        if ticks < 0.8 * HERTZ * seconds:
            raise BenchmarkFailed(f"only {ticks} ticks in {seconds:.1f} s")
        cpu.append(100 * used / seconds)
        sizes.append(size / ticks)
    return cpu, sizes


async def _memory(plan: Plan, lab: Lab) -> dict[str, list[float]]:
    """VmRSS in MB: of agents that have inspected and sampled, and of Pythons that do nothing."""
    values: dict[str, list[float]] = {"bare Python": [], "agent": []}
    for arm in plan.order(NAME, STARTS, tuple(values)):
        size = await (_agent_size(lab.hosts[Role.SENDER]) if arm == "agent" else _bare_size())
        values[arm].append(size / 1e6)
    return values


async def _agent_size(host: LabHost) -> int:
    async with _watched(host) as agent:
        async with asyncio.timeout(10):
            await agent.warm.wait()
        return resident_bytes(agent.pid)


async def _bare_size() -> int:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *BARE, stdin=pipe, stdout=pipe)
    assert process.stdin and process.stdout
    await process.stdout.readline()
    size = resident_bytes(process.pid)
    process.stdin.write(b"\n")
    await process.wait()
    return size


async def _measure(plan: Plan) -> list[Finding]:
    windows = plan.count(WINDOWS)
    async with await Lab.start(LabTarget()) as lab:
        memory = await _memory(plan, lab)
        async with _watched(lab.hosts[Role.SENDER]) as agent:
            idle, _ = await _windows(agent, windows)
            traffic = asyncio.create_task(iperf3.throughput(lab, round(windows * WINDOW_SECONDS) + 3))
            await asyncio.sleep(1)
            busy, sizes = await _windows(agent, windows)
            await traffic
    async with _watched(None) as agent:
        own, _ = await _windows(agent, windows)
    return _findings(memory, {"idle host": idle, "beside iperf3": busy, f"this machine's {agent.nic}": own}, sizes)


def _findings(memory: dict[str, list[float]], cpu: dict[str, list[float]], sizes: list[float]) -> list[Finding]:
    rows = [
        Finding(NAME, f"CPU at {HERTZ:g} Hz, {what}", Figure.of(found, "% CPU", 2), WINDOWS, CPU_LIMIT)
        for what, found in cpu.items()
    ]
    rows.append(
        Finding(NAME, "bytes a tick, beside iperf3", Figure.of(sizes, "bytes", 0), WINDOWS),
    )
    rows.append(Finding(NAME, "resident memory", Figure.of(memory["agent"], "MB", 1), STARTS, MEMORY_LIMIT))
    change = paired_change(memory["bare Python"], memory["agent"])
    rows.append(Finding(NAME, "resident memory / bare Python's", Figure.ratio(change), STARTS))
    return rows


def run(plan: Plan) -> list[Finding]:
    return asyncio.run(_measure(plan))
