"""A pair of hosts, samples and a result to store; a deadline instead of sleeping."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netbench_tui.history.repository import History
from netbench_tui.model.host import Clock, HostFacts, Nic, Privilege, Role
from netbench_tui.model.outcome import Outcome
from netbench_tui.model.run import (
    Interval,
    Metric,
    ProcessOutput,
    RunEvent,
    RunResult,
    RunState,
    TrafficReport,
    TrafficTest,
    Window,
)
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, SampleKind, SoftnetCounts
from netbench_tui.model.session import HostTarget, HostView, PairTarget, Reach

Until = Callable[..., None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History(path) as opened:
        yield opened


@pytest.fixture
def until() -> Until:
    def wait(condition: Callable[[], object], seconds: float = 15.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.01)

    return wait


@pytest.fixture
def target() -> PairTarget:
    return PairTarget(HostTarget("alpha"), HostTarget("beta"))


@pytest.fixture
def views() -> tuple[HostView, HostView]:
    def view(role: Role, name: str) -> HostView:
        facts = HostFacts(name, nics=(Nic("eth1", driver="veth", mtu=1500),), environment={"governor": "performance"})
        clock = Clock(1.5, 0.0001, 0.0002)
        return HostView(role, name, Reach.SSH, facts, Privilege.ROOT, clock, "eth1", {4: "192.0.2.1", 6: "2001:db8::1"})

    return view(Role.SENDER, "alpha"), view(Role.RECEIVER, "beta")


@pytest.fixture
def session(history: History, target: PairTarget, views: tuple[HostView, HostView]) -> int:
    return history.start_session(target, *views)


@pytest.fixture
def samples() -> tuple[HostSample, ...]:
    return tuple(
        HostSample(
            1000 + tick / 10,
            0.1,
            SampleKind.SPAWN if tick == 0 else SampleKind.PERIODIC,
            0,
            {0: CpuTicks(1, 0, 2, 5), 7: CpuTicks(softirq=tick)},
            {"eth1": NicCounts(tx_bytes=tick)},
            {0: SoftnetCounts(tick)},
            {"Tcp.RetransSegs": 3},
        )
        for tick in range(30)
    )


@pytest.fixture
def intervals() -> tuple[Interval, ...]:
    return tuple(Interval(tick / 10, (tick + 1) / 10, 1e8 + tick, tick % 2) for tick in range(10))


@pytest.fixture
def result(intervals: tuple[Interval, ...]) -> RunResult:
    return RunResult(
        RunState.FINISHED,
        TrafficTest(streams=4, sender_cpus=(0, 2)),
        "iperf3",
        origin=1000.1,
        window=Window(1000.4, 1001.0),
        metrics=(
            Metric("throughput", 8.0e9, "bit/s", "iperf3 intervals"),
            Metric("peak_cpu", 98.5, "%", "/proc/stat", Role.SENDER, "cpu 3"),
            Metric("efficiency", None, "Gbit/s/core", "throughput / busy_cores", Role.RECEIVER, "no samples"),
        ),
        report=TrafficReport(intervals, intervals[:5], 5, 1448, "iperf 3.12", "", {"cpu_utilization_percent": 12.5}),
        outputs=(
            ProcessOutput(Role.RECEIVER, "iperf3", ("iperf3", "-s", "-1"), "{ }\n" * 9, "", 0, None, 0.5, 1.5, (1,)),
            ProcessOutput(Role.SENDER, "iperf3", ("iperf3", "-c", "192.0.2.1"), "odd \udcff byte", "x", None, 9),
        ),
        events=(RunEvent(1000.5, "TSO off", Role.SENDER), RunEvent(1000.7, "noted")),
        lost_samples=2,
        settings=(
            Outcome(Role.SENDER, "eth1", "feature.rx-lro", "off", "on", "off", "", "", "EOPNOTSUPP", "fixed"),
            Outcome(Role.RECEIVER, "eth1", "queue.rx-3.rps_cpus", "none", None, None, "", ""),
        ),
    )
