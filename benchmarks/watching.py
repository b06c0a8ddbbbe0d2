"""Does watching disturb? iperf3's own throughput with the workbench watching both hosts, against nobody there.

With: an agent on each host sampling at 10 Hz, its NIC's queues and interrupts too, as during runs; the samples read,
put on the time line and written to a history. The agents are started before each such run and ended after it, so that
without them really nothing of ours runs.
"""

import asyncio
import statistics
import time
from pathlib import Path

from benchmarks import iperf3
from benchmarks.plan import BenchmarkFailed, Plan, temporary_folder
from benchmarks.report import Figure, Finding, Judged, Limit
from netbench_tui.analysis.statistics import paired_change
from netbench_tui.errors import WorkbenchError
from netbench_tui.history.writer import HistoryWriter
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.lab.lab import Lab
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunResult, RunState, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView, LabTarget, Reach

NAME = "watching"
# Pairs of 2 s runs scatter by 10 % on a quiet small machine and by 20 % on a busy one: 100 of them give an interval of
# +-2 to +-4 %, where the 60 that would do on a quiet one give +-5 %. They take 9 minutes.
PAIRS = 100
SECONDS = 2
HERTZ = 10.0
# The machine calms down after processes came and went; both arms wait alike.
SETTLE_SECONDS = 0.3
# Fewer samples than this part of those due: it was no watching at 10 Hz.
FEWEST_SAMPLES = 0.9
LIMIT = Limit(0.94, at_least=True, judged=Judged.LOW)


class Watch:
    """Both hosts connected and sampled at 10 Hz while the context lasts; every sample goes to the history."""

    def __init__(self, lab: Lab, writer: HistoryWriter) -> None:
        self.writer = writer
        self.samples: dict[Role, int] = dict.fromkeys(Role, 0)
        self.hosts = {
            role: HostConnection(role, LocalTransport(host.name, Reach.LAB, host.enter), self._sample, self._lost)
            for role, host in lab.hosts.items()
        }
        self._run = 0
        self._error: WorkbenchError | None = None

    def _sample(self, role: Role, sample: HostSample) -> None:
        self.samples[role] += 1
        self.writer.add_sample(self._run, role, sample)

    def _lost(self, role: Role, error: WorkbenchError) -> None:
        self._error = error

    async def __aenter__(self) -> "Watch":
        await asyncio.gather(*(host.connect(lambda step: None) for host in self.hosts.values()))
        views = {
            role: HostView(role, host.name, Reach.LAB, host.facts, host.privilege, host.clock)
            for role, host in self.hosts.items()
        }
        self.writer.start_session(LabTarget(), views[Role.SENDER], views[Role.RECEIVER])
        begun = self.writer.start_run(NAME, TrafficTest(seconds=SECONDS), "iperf3", time.time())
        self._run = await asyncio.wrap_future(begun)
        for host in self.hosts.values():
            await host.sample(HERTZ)
            await host.watch(next(nic.name for nic in host.facts.nics if nic.kind != "loopback"))
        return self

    async def __aexit__(self, *trouble: object) -> None:
        await asyncio.gather(*(host.close() for host in self.hosts.values()))
        result = RunResult(RunState.FINISHED, TrafficTest(seconds=SECONDS), "iperf3")
        await asyncio.wrap_future(self.writer.finish_run(self._run, result))
        self.writer.end_session()

    def require(self, seconds: float) -> None:
        """Raises BenchmarkFailed unless both hosts were watched all the time."""
        if self._error:
            raise BenchmarkFailed(f"an agent was lost: {self._error.message}")
        if min(self.samples.values()) < FEWEST_SAMPLES * HERTZ * seconds:
            raise BenchmarkFailed(f"only {min(self.samples.values())} samples came in {seconds:.1f} s")


async def _with(lab: Lab, writer: HistoryWriter, own_cpu: list[float]) -> float:
    """`own_cpu` gets what this process, as the workbench, used meanwhile: per cent of one CPU."""
    async with Watch(lab, writer) as watch:
        started, used = time.monotonic(), time.process_time()
        value = await _without(lab)
        seconds = time.monotonic() - started
        own_cpu.append(100 * (time.process_time() - used) / seconds)
        watch.require(seconds)
    return value


async def _without(lab: Lab) -> float:
    await asyncio.sleep(SETTLE_SECONDS)
    return await iperf3.throughput(lab, SECONDS)


async def _measure(plan: Plan, own_cpu: list[float]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {"without": [], "with": []}
    with temporary_folder() as folder:
        writer = HistoryWriter(Path(folder) / "history.db", lambda error: None)
        try:
            async with await Lab.start(LabTarget()) as lab:
                await iperf3.throughput(lab, 1)  # the first run after a build is slower: in neither arm
                for arm in plan.order(NAME, PAIRS, tuple(values)):
                    values[arm].append(await (_with(lab, writer, own_cpu) if arm == "with" else _without(lab)))
            if writer.lost:
                raise BenchmarkFailed(f"{writer.lost} samples were not written to the history")
        finally:
            writer.close()
    return values


def run(plan: Plan) -> list[Finding]:
    own_cpu: list[float] = []
    values = asyncio.run(_measure(plan, own_cpu))
    medians = {arm: statistics.median(found) / 1e9 for arm, found in values.items()}
    change = paired_change(values["without"], values["with"])
    notes = (
        f"medians {medians['with']:.1f} and {medians['without']:.1f} Gbit/s; the workbench's process used "
        f"{statistics.median(own_cpu):.1f} % of a CPU, without a screen",
        "both hosts, both agents and the workbench share this machine's CPUs: two real hosts are disturbed less",
    )
    return [Finding(NAME, f"iperf3 watched at {HERTZ:g} Hz / no agent", Figure.ratio(change), PAIRS, LIMIT, notes)]
