"""What a frame of Queues and of Topology costs for a very large host, against a plain screen of the larger size.

The host has 512 CPUs in 8 nodes, a NIC of 128 queues and 2,000 IRQs, all queues and CPUs busy; both hosts of the pair
are in sight, and new samples came before every frame. A frame lasts until the terminal has its text. The plain screen
is 60 rows of 200 cells, each written and styled by itself.
"""

import asyncio
import itertools
import statistics
import time
from collections.abc import Callable
from typing import cast

from textual.app import App, ComposeResult

from benchmarks.plan import Plan
from benchmarks.report import Figure, Finding, Limit
from netbench_tui.analysis.statistics import paired_change
from netbench_tui.engine import events
from netbench_tui.model.host import Clock, Cpu, HostFacts, Nic, NumaNode, Privilege, Role
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, QueueCounts, SoftnetCounts
from netbench_tui.model.session import HostView, LabTarget, Reach
from netbench_tui.model.setting import Irq, Queue, QueueMap, RssTable
from netbench_tui.tui.changing import Changing
from netbench_tui.tui.face import Face
from netbench_tui.tui.look import Look
from netbench_tui.tui.screens.areas import area_of
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.themes import theme_name, themes
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.line import Line

NAME = "frames"
PAIRS = 30
COLUMNS, ROWS = 200, 60
SIZES = ((COLUMNS, ROWS), (120, 40))
# The plain screen takes 30 ms of a slow machine's CPU: a frame of 100 ms, which is the aim, is three of them.
LIMIT = Limit(2.5, at_least=False)
NODES, CACHES, CORES, THREADS = 8, 4, 8, 2
QUEUES, IRQS, FIRST_IRQ = 128, 2000, 100
NIC = "nic0"
# Ticks of 0.1 s after which the rolling figures are there.
FULL_SECOND = 11


class Stage(App[None]):
    """Holds one area as the workbench would, without an engine behind it."""

    def __init__(self, area: Area, bench: Workbench) -> None:
        super().__init__()
        self.area, self.bench, self.look = area, bench, Look()
        self.changing = Changing(cast(Face, self))
        for theme in themes():
            self.register_theme(theme)
        self.theme = theme_name(self.look.palette)

    def compose(self) -> ComposeResult:
        yield self.area


def make_cpus() -> tuple[Cpu, ...]:
    """Numbered as Linux does: first threads of all cores, then second threads."""
    cores = NODES * CACHES * CORES
    return tuple(
        Cpu(sibling * cores + core, True, core // (CACHES * CORES), core // (cores // 2), core, core // CORES, sibling)
        for sibling in range(THREADS)
        for core in range(cores)
    )


def make_view(role: Role) -> HostView:
    cpus = make_cpus()
    nodes = tuple(NumaNode(node, tuple(cpu.index for cpu in cpus if cpu.node == node)) for node in range(NODES))
    nic = Nic(NIC, 2, "mlx5_core", speed_mbit=200_000, node=1, rx_queues=QUEUES, tx_queues=QUEUES, kind="physical")
    facts = HostFacts(role.value, cpus=cpus, nodes=nodes, nics=(nic,))
    return HostView(role, role.value, Reach.LAB, facts, Privilege.ROOT, Clock(0.0, 0.0, 0.0), NIC)


def make_queues(cpus: int) -> QueueMap:
    irqs = tuple(Irq(FIRST_IRQ + n, (f"line{n}",), "", (n % cpus,), (n % cpus,)) for n in range(IRQS))
    queues = tuple(
        Queue(f"{kind}-{n}", kind, n, 8000 + n, FIRST_IRQ + n, "netdev") for kind in ("rx", "tx") for n in range(QUEUES)
    )
    return QueueMap(NIC, queues, irqs, RssTable(tuple(n % QUEUES for n in range(1024)), "", "toeplitz", QUEUES))


def make_sample(at: float, cpus: int) -> HostSample:
    """Everything moves, and not all alike."""
    return HostSample(
        at,
        0.1,
        cpus={cpu: CpuTicks(system=cpu % 10, idle=10 - cpu % 10) for cpu in range(cpus)},
        nics={NIC: NicCounts(10_000_000, 10_000, 0, 0, 10_000_000, 10_000)},
        softnet={cpu: SoftnetCounts(100 + cpu, 0, cpu % 7) for cpu in range(cpus)},
        irqs={FIRST_IRQ + n: {n % cpus: 90 + n % 20, (7 * n) % cpus: 10} for n in range(QUEUES)},
        queues={f"{kind}-{n}": QueueCounts(1000 + n, 1_000_000 + n) for kind in ("rx", "tx") for n in range(QUEUES)},
    )


def make_bench() -> Workbench:
    bench = Workbench()
    views = {role: make_view(role) for role in Role}
    bench.apply(events.PairConnected(LabTarget(), views[Role.SENDER], views[Role.RECEIVER]))
    for role, view in views.items():
        bench.apply(events.QueuesRead(role, make_queues(len(view.facts.cpus))))
    for tick in range(FULL_SECOND):
        feed(bench, tick)
    return bench


def feed(bench: Workbench, tick: int) -> None:
    for role, view in bench.views.items():
        bench.apply(events.SampleTaken(role, make_sample(tick / 10, len(view.facts.cpus))))


def plain_screen(look: Look) -> Callable[[], object]:
    styles = [look.heat(Role.SENDER, step) for step in range(0, 100, 10)]

    def paint() -> list[object]:
        rows: list[object] = []
        for row in range(ROWS):
            line = Line(COLUMNS, look.style())
            for column in range(COLUMNS):
                line.put(column, "x", styles[(row + column) % len(styles)])
            rows.append(line.strip())
        return rows

    return paint


async def measure(plan: Plan, key: str, size: tuple[int, int]) -> list[tuple[float, float]]:
    """(area, plain) in seconds of this thread's CPU time, a pair each."""
    bench = make_bench()
    area = area_of(key, connected=True)[1]()
    stage = Stage(area, bench)
    taken: dict[str, list[float]] = {"area": [], "plain": []}
    tick = itertools.count(FULL_SECOND)
    async with stage.run_test(size=size) as pilot:

        async def paint_area() -> None:
            area.update_area()
            await pilot.pause()

        async def paint_plain() -> None:
            plain()

        plain, ways = plain_screen(stage.look), {"area": paint_area, "plain": paint_plain}
        await paint_area()
        for arm in plan.order(f"{NAME} {key}", PAIRS, ("area", "plain")):
            feed(bench, next(tick))
            began = time.thread_time()
            await ways[arm]()
            taken[arm].append(time.thread_time() - began)
    return list(zip(taken["area"], taken["plain"], strict=True))


def run(plan: Plan) -> list[Finding]:
    findings = []
    for key, size in itertools.product(("queues", "topology"), SIZES):
        pairs = asyncio.run(measure(plan, key, size))
        change = paired_change([plain for _, plain in pairs], [area for area, _ in pairs])
        frames = [1000 * area for area, _ in pairs]
        note = f"{statistics.median(frames):.0f} ms of CPU a frame in the middle, {max(frames):.0f} at most"
        compared = f"{key} at {size[0]}x{size[1]}, 512 CPUs, {IRQS} IRQs / a plain {COLUMNS}x{ROWS}"
        findings.append(Finding(NAME, compared, Figure.ratio(change), PAIRS, LIMIT, (note,)))
    return findings
