"""An engine made of paper for the screens: it answers at once, or drives a lively run for a person to look at."""

import importlib.util
import math
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.analysis.metrics import compute
from netbench_tui.engine import events
from netbench_tui.errors import AgentDied, WorkbenchError
from netbench_tui.model.host import Address, Clock, Cpu, HostFacts, Nic, NumaNode, Privilege, Role, Tool
from netbench_tui.model.preset import Preset
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.run import Interval, RunEvent, RunResult, RunState, TrafficReport, TrafficTest
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, QueueCounts
from netbench_tui.model.session import (
    HostTarget,
    HostView,
    LabTarget,
    PairTarget,
    Reach,
    RecentPair,
    RunSummary,
    StoredRun,
    Target,
)
from netbench_tui.model.setting import QueueMap


def beside(name: str) -> Any:
    """A module beside this one: test folders are no packages."""
    spec = importlib.util.spec_from_file_location(f"tui_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


paper_settings = beside("paper_settings")
PaperChanges: Any = paper_settings.PaperChanges
make_settings, make_queue_map = paper_settings.make_settings, paper_settings.make_queue_map
with_values = paper_settings.with_values


def answered(value: Any = None, error: Exception | None = None) -> "Future[Any]":
    future: Future[Any] = Future()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
    return future


def make_cpus(
    nodes: int = 2, caches: int = 3, cores: int = 4, threads: int = 2, sockets: int | None = None
) -> tuple[Cpu, ...]:
    """CPUs numbered as Linux does: first threads of all cores, then second threads. A socket a node unless told;
    `nodes=8, sockets=2` is two sockets of four nodes each."""
    made, whole = [], nodes * caches * cores
    per_socket = max(1, nodes // (sockets or nodes))
    for sibling in range(threads):
        for core in range(whole):
            node, cache = core // (caches * cores), core // cores
            socket = node // per_socket
            number = core % (caches * cores * per_socket)
            made.append(Cpu(sibling * whole + core, True, node, socket, number, cache, sibling))
    return tuple(made)


def make_facts(name: str, cpus: tuple[Cpu, ...] | None = None, **changes: Any) -> HostFacts:
    cpus = make_cpus() if cpus is None else cpus
    members = {node: tuple(c.index for c in cpus if c.node == node) for node in sorted({c.node or 0 for c in cpus})}
    sockets = {c.node or 0: c.socket for c in cpus}
    far = {a: tuple(10 if a == b else 12 if sockets[a] == sockets[b] else 32 for b in members) for a in members}
    nic = Nic(
        "ens2f0np0", 4, "mlx5_core", "26.41.1000", "0000:41:00.0", "02:00:00:00:00:01", 1500, "up", 100_000, "full",
        0 if name == "alpha" else 1, 16, 16, "physical",
    )  # fmt: skip
    facts = HostFacts(
        name=name, kernel="6.12.48+deb13-amd64", distribution="Debian GNU/Linux 13 (trixie)", machine="x86_64",
        product="PowerEdge R7525", cpu_model="AMD EPYC 7413 24-Core Processor", uid=0, python="3.13.5",
        cpus=cpus, nodes=tuple(NumaNode(n, held, 131_000_000, far[n]) for n, held in members.items()), nics=(nic,),
        tools=(Tool("iperf3", "/usr/bin/iperf3"), Tool("ethtool", "/usr/sbin/ethtool")),
        notes=("microcode: permission denied",) if name == "beta" else (),
    )  # fmt: skip
    return replace(facts, **changes)


def with_more_nics(view: HostView) -> HostView:
    """The view with a management NIC, a second data NIC, one that is down, one without an address, and loopback."""
    last = 1 if view.role is Role.SENDER else 2
    fast = replace(
        view.facts.nics[0], addresses=(Address(f"10.0.0.{last}", 24, 4), Address(f"fe80::{last}", 64, 6, "link"))
    )
    nics = (
        Nic("lo", 1, kind="loopback", state="unknown", addresses=(Address("127.0.0.1", 8, 4, "host"),)),
        Nic("eno1", 2, "tg3", state="up", speed_mbit=1000, node=0, kind="physical",
            addresses=(Address(f"192.0.2.{last}", 24, 4),)),
        Nic("eno2", 3, "tg3", state="down", node=0, kind="physical", addresses=(Address(f"192.0.2.1{last}", 24, 4),)),
        fast,
        replace(fast, name="ens2f1np1", index=5, addresses=(Address(f"10.0.9.{last}", 24, 4),)),
        Nic("virbr0", 6, "bridge", state="up", kind="bridge"),
    )  # fmt: skip
    return replace(view, facts=replace(view.facts, nics=nics, boot_id=view.name))


def make_view(role: Role, facts: HostFacts | None = None, **changes: Any) -> HostView:
    name = "alpha" if role is Role.SENDER else "beta"
    view = HostView(
        role=role, name=name, reach=Reach.SSH, facts=facts or make_facts(name), privilege=Privilege.SUDO,
        clock=Clock(0.0032, 0.00004, 0.00018), data_nic="ens2f0np0",
        addresses={4: "10.0.0.1" if role is Role.SENDER else "10.0.0.2"}, management_nic="eno1",
        transport_note="OpenSSH_10.0p2",
    )  # fmt: skip
    return replace(view, **changes)


def make_sample(
    view: HostView, at: float, level: float, span: float = 0.1, seed: int = 0, watched: QueueMap | None = None
) -> HostSample:
    """A sample in which the CPUs of the NIC's node are busy by `level` (0..1), each in its own measure. `watched` adds
    what its queues and IRQs did, the first queues more than the last."""
    nic, ticks = view.nic, max(1, round(span * 100))
    cpus = {}
    for cpu in view.facts.cpus:
        own = random.Random(cpu.index * 7919 + (view.role is Role.SENDER)).random()
        here = nic is not None and nic.node == cpu.node and cpu.sibling == 0
        share = level * (own**0.8 if here and own > 0.25 else 0.04 * own)
        busy = min(ticks, int(share * ticks * 1.25 + random.Random(seed * 131 + cpu.index).random()))
        soft = round(busy * (0.8 if view.role is Role.RECEIVER else 0.2))
        cpus[cpu.index] = CpuTicks(system=busy - soft, softirq=soft, idle=ticks - busy)
    moved = round(level * 7.3e9 * span)
    counts = NicCounts(rx_bytes=moved, rx_packets=moved // 1514, tx_bytes=moved, tx_packets=moved // 1514)
    irqs, queues = _of_queues(watched, moved) if watched is not None else ({}, {})
    statistics = {"rx_packets": moved // 1514, "rx_discards_phy": seed % 11 == 3} if watched is not None else {}
    return HostSample(
        at, span, cpus=cpus, nics={view.data_nic: counts}, protocols={"Tcp.RetransSegs": seed % 23 == 7},
        irqs=irqs, queues=queues, statistics=statistics,
    )  # fmt: skip


def _of_queues(watched: QueueMap, moved: int) -> tuple[dict[int, dict[int, int]], dict[str, QueueCounts]]:
    irqs: dict[int, dict[int, int]] = {}
    queues: dict[str, QueueCounts] = {}
    whole = sum(1 / (1 + queue.index) for queue in watched.of_kind("rx")) or 1.0
    for queue in watched.queues:
        size = int(moved / (1 + queue.index) / whole)
        irq = watched.irq(queue.irq)
        if size >= 1514:
            queues[queue.name] = QueueCounts(size // 1514, size)
        if irq is not None and irq.effective and size >= 1514:
            irqs.setdefault(irq.number, {})[irq.effective[0]] = size // 1514 // 20 + 1
    return irqs, queues


def level_at(second: float, seconds: float) -> float:
    """Throughput as a share of the line: up quickly, then a step down past the middle."""
    noise = 0.012 * math.sin(37 * second) + 0.01 * math.sin(91 * second)
    return min(1.0, 0.62 + second * 1.5) * 0.93 + noise if second < 0.62 * seconds else 0.58 + noise


class FakeEngine(PaperChanges):  # type: ignore[misc]
    """The engine's face. `lively` runs in threads at true speed; otherwise a test calls `deliver` itself."""

    def __init__(self, lively: bool = False) -> None:
        self.lively = lively
        self.views = {role: make_view(role) for role in Role}
        self.deliver: Callable[[events.Event], None] = lambda event: None
        self.calls: list[tuple[Any, ...]] = []
        self.stored: dict[int, StoredRun] = {}
        self.fail_connect: events.HostFailed | None = None
        self.fail_run: WorkbenchError | None = None
        self.fail_path: WorkbenchError | None = None
        self.hold_connect: Future[None] | None = None
        self.answers: list[tuple[int, tuple[str, ...] | None]] = []
        self.recent: list[RecentPair] = []
        self.silent: set[Role] = set()
        self._stop = threading.Event()
        self._closed = threading.Event()
        self.begin_changes()

    def subscribe(self, deliver: Callable[[events.Event], None]) -> Callable[[], None]:
        self.deliver = deliver
        return lambda: None

    def connect(self, target: Target) -> "Future[None]":
        self.calls.append(("connect", target))
        for role in Role:
            for step in ("opening ssh", "starting the agent", "reading the host"):
                self.deliver(events.Connecting(role, self.views[role].name, step))
        if self.hold_connect is not None:
            return self.hold_connect
        if self.fail_connect is not None:
            failed = self.fail_connect
            self.deliver(failed)
            return answered(error=WorkbenchError(failed.message, failed.hint))
        for role in Role:
            self.deliver(events.HostConnected(self.views[role]))
        self.deliver(events.PairConnected(target, self.views[Role.SENDER], self.views[Role.RECEIVER]))
        if self.lively:
            threading.Thread(target=self._idle, daemon=True).start()
        return answered()

    def disconnect(self) -> "Future[None]":
        self.calls.append(("disconnect",))
        if self.hold_connect is not None:
            self.hold_connect.set_exception(AgentDied("the connection was given up"))
            self.hold_connect = None
        else:
            self.deliver(events.Disconnected())
        return answered()

    def answer(self, number: int, answers: tuple[str, ...] | None) -> None:
        self.answers.append((number, answers))
        self.deliver(events.QuestionOver(number))

    def choose_path(self, sender_nic: str, receiver_nic: str) -> "Future[None]":
        self.calls.append(("choose_path", sender_nic, receiver_nic))
        if self.fail_path is not None:
            return answered(error=self.fail_path)
        for role, nic in zip(Role, (sender_nic, receiver_nic), strict=True):
            self.views[role] = replace(self.views[role], data_nic=nic)
        warning = (
            "the path carries the SSH connections: runs disturb them" if "eno1" in (sender_nic, receiver_nic) else ""
        )
        self.deliver(events.PairConnected(pair(), self.views[Role.SENDER], self.views[Role.RECEIVER], warning))
        return answered()

    def run(self, preset: str, test: TrafficTest, settings: Sequence[PresetSetting] = ()) -> "Future[RunResult]":
        self.calls.append(("run", preset, test, *settings))
        if self.fail_run is not None:
            return answered(error=self.fail_run)
        future: Future[RunResult] = Future()
        if self.lively:
            threading.Thread(target=self._run, args=(preset, test, future), daemon=True).start()
        return future

    def stop_run(self) -> "Future[None]":
        self.calls.append(("stop_run",))
        self._stop.set()
        return answered()

    def runs(self, limit: int = 500, text: str = "") -> "Future[list[RunSummary]]":
        found = [run.summary for run in reversed(self.stored.values())]
        held = [s for s in found if text in f"{s.preset} {s.sender} {s.receiver} {s.generator} {s.state.value}"]
        return answered(held[:limit])

    def stored_run(self, run_id: int) -> "Future[StoredRun]":
        return answered(self.stored[run_id])

    def recent_pairs(self, limit: int = 8) -> "Future[list[RecentPair]]":
        return answered(self.recent)

    def presets(self) -> list[Preset]:
        return [
            Preset("quick-tcp", "One TCP stream, an answer in seconds", "ours", TrafficTest()),
            Preset("quick-tcp-16", "Sixteen TCP streams", "ours", TrafficTest(streams=16, seconds=30.0)),
            Preset("long-tcp", "An hour of TCP", "ours", TrafficTest(streams=4, seconds=3600.0)),
        ]

    def known_hosts(self) -> list[str]:
        return ["alpha", "beta", "gamma", "rack3-n1", "rack3-n2"]

    def close(self) -> None:
        self._closed.set()

    def _idle(self) -> None:
        tick = 0
        while not self._closed.wait(0.1):
            tick += 1
            level = self.level if hasattr(self, "level") else 0.02
            for role in set(Role) - self.silent:
                watched = self.queue_maps.get(role) if self.watched[0] else None
                sample = make_sample(self.views[role], time.monotonic(), level, seed=tick, watched=watched)
                self.deliver(events.SampleTaken(role, sample))
            if self.deadline is not None and time.monotonic() >= self.deadline:
                self.end_trial()

    def _run(self, preset: str, test: TrafficTest, future: "Future[RunResult]") -> None:
        self._stop.clear()
        number, started = len(self.stored) + 1, time.monotonic()
        self.deliver(events.RunStarted(number, preset, test, "iperf3", started))
        origin = started + 0.2
        done = 0
        while done < test.seconds * 10 and not self._stop.wait(max(0.0, origin + (done + 1) / 10 - time.monotonic())):
            self.level = level_at(done / 10, test.seconds)
            interval = Interval(done / 10, (done + 1) / 10, self.level * 1e10 / 8)
            self.deliver(events.IntervalSeen(number, interval, origin + interval.end))
            done += 1
        self.level = 0.02
        state = RunState.STOPPED if self._stop.is_set() else RunState.FINISHED
        stored = make_stored(number, preset, test, self.views, state, done / 10, origin)
        self.stored[number] = stored
        self.deliver(events.RunEnded(number, preset, stored.result))
        future.set_result(stored.result)


def make_stored(
    number: int,
    preset: str = "quick-tcp",
    test: TrafficTest | None = None,
    views: dict[Role, HostView] | None = None,
    state: RunState = RunState.FINISHED,
    seconds: float | None = None,
    origin: float = 1000.0,
) -> StoredRun:
    """A run with intervals, samples and the metrics that the project's own analysis computes from them."""
    test = test or TrafficTest()
    views = views or {role: make_view(role) for role in Role}
    length = test.seconds if seconds is None else seconds
    steps = range(round(length * 10))
    intervals = tuple(Interval(i / 10, (i + 1) / 10, level_at(i / 10, test.seconds) * 1e10 / 8) for i in steps)
    levels = [level_at(i / 10, test.seconds) for i in steps]
    samples = {
        role: tuple(make_sample(views[role], origin + (i + 1) / 10, level, seed=i) for i, level in enumerate(levels))
        for role in Role
    }
    report = TrafficReport(received=intervals, retransmits=3, mss=1448, version="3.18")
    window, metrics = compute(report, origin, samples, views)
    marks = (RunEvent(origin + 0.62 * test.seconds, "tso off", Role.SENDER),) if length > 0.62 * test.seconds else ()
    result = RunResult(
        state, test, "iperf3", "stopped by hand" if state is RunState.STOPPED else "", "", origin, window, metrics,
        report, events=marks,
    )  # fmt: skip
    summary = RunSummary(
        number, 1, 1_760_000_000.0 + 60 * number, None, state, preset, "alpha", "beta", "iperf3", test, result
    )
    return StoredRun(summary, views, samples, result)


def pair() -> PairTarget:
    return PairTarget(HostTarget("alpha"), HostTarget("beta"))


async def until(pilot: Any, holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Lets the app run until `holds()`; fails with what is on the screen at the deadline."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "not in time; the screen:\n" + screen_text(pilot.app)
        await pilot.pause(0.02)


def screen_text(app: Any) -> str:
    """What stands on the screen in sight, row by row."""
    width, height = app.size
    compositor = app.screen._compositor
    rows = [strip.text for strip in compositor.render_strips()]
    return "\n".join(row[:width] for row in rows[:height])


@pytest.fixture
def fake() -> Any:
    """This module, for its makers: `fake.FakeEngine()`, `fake.make_view(role)`, `fake.make_stored(7)` ..."""
    return sys.modules[__name__]


def recent_pairs() -> list[RecentPair]:
    now = time.time()
    return [
        RecentPair(pair(), now - 4000, 40, "ens2f0np0", "ens2f0np0"),
        RecentPair(PairTarget(HostTarget("rack3-n1"), HostTarget("rack3-n2")), now - 200_000, 200),
        RecentPair(LabTarget(), now - 90_000, 3),
    ]
