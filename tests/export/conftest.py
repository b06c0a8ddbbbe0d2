"""A finished run between alpha and beta, as history gives it back."""

import pytest

from netbench_tui.model.host import Clock, HostFacts, Nic, Privilege, Role
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
from netbench_tui.model.session import HostView, Reach, RunSummary, StoredRun


@pytest.fixture
def stored() -> StoredRun:
    test = TrafficTest(streams=4, sender_cpus=(0, 1, 2, 8))
    metrics = (
        Metric("peak_cpu", 98.4, "%", "/proc/stat", Role.SENDER, "cpu 3: user 1"),
        Metric("peak_cpu", 45.6, "%", "/proc/stat", Role.RECEIVER, "cpu 7: user 2"),
        Metric("peak_cpu_number", 3, "", "/proc/stat", Role.SENDER),
        Metric("throughput", 94.154e9, "bit/s", "iperf3 intervals"),
        Metric("efficiency", 12.694e9, "bit/s per core", "derived", Role.SENDER),
        Metric("service_demand", 1.0416, "µs/KiB", "derived", Role.SENDER),
        Metric("service_demand", None, "µs/KiB", "derived", Role.RECEIVER, "samples are missing"),
        Metric("nic_packets_per_second", 5_030_000.0, "1/s", "/proc/net/dev", Role.RECEIVER),
        Metric("joules_per_gigabyte", 3.5, "J/GB", "RAPL", Role.SENDER),
    )
    report = TrafficReport(
        tuple(Interval(i / 10, (i + 1) / 10, 1.1e9 + 1e7 * (i % 5), 0) for i in range(50)),
        version="iperf 3.12",
        mss=1448,
        notes=("the length was rounded up",),
    )
    result = RunResult(
        RunState.FINISHED,
        test,
        "iperf3",
        origin=100.0,
        window=Window(100.3, 104.9),
        metrics=metrics,
        report=report,
        outputs=(ProcessOutput(Role.SENDER, "iperf3", ("iperf3", "-c"), "raw \udcff text", "", 0),),
        events=(RunEvent(102.5, "TSO off", Role.SENDER),),
    )
    summary = RunSummary(
        12, 3, 1_700_000_000.0, 1_700_000_006.5, result.state, "quick-tcp", "alpha", "beta", "iperf3", test, result
    )
    hosts = {
        role: HostView(
            role,
            name,
            Reach.SSH,
            HostFacts(name, kernel="6.1.0", nics=(Nic("eth1", driver="mlx5_core", mtu=9000, speed_mbit=100_000),)),
            Privilege.ROOT,
            Clock(0, 0, 0),
            "eth1",
            {4: "192.0.2.1"},
        )
        for role, name in ((Role.SENDER, "alpha"), (Role.RECEIVER, "beta"))
    }
    return StoredRun(summary, hosts, {}, result, result.outputs)
