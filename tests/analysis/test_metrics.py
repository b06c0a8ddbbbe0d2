"""The figures of a run, against numbers computed by hand."""

import pytest

from netbench_tui.analysis.metrics import compute, efficiency, service_demand
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, Metric, TrafficReport, Window
from netbench_tui.model.sample import CpuTicks, HostSample


def test_service_demand_as_netperf_prints_it() -> None:
    """netperf: 235.47 Mbit/s at 3.67 % of 8 CPUs is 10.2 microseconds a KiB."""
    assert service_demand(8 * 0.0367, 235.47e6) == pytest.approx(10.2, abs=0.05)
    assert service_demand(1.0, 1e9) == pytest.approx(8192 / 1000)
    assert service_demand(1.0, 0.0) is None


def test_efficiency_without_cpu_time_is_absent() -> None:
    assert efficiency(2.0, 1e10) == 5e9
    assert efficiency(0.0, 1e10) is None


@pytest.fixture
def figures(make_report, make_samples, make_view):
    """The figures of a run at 1 Gbit/s whose hosts both did what `make_samples` says, by name and role."""

    def make(report=None, samples=None, **view) -> tuple[Window | None, dict[tuple[str, Role | None], Metric]]:
        samples = make_samples(25, 99.9) if samples is None else samples
        views = {role: make_view(role, **view) for role in Role}
        window, metrics = compute(report or make_report(), 100.0, dict.fromkeys(Role, samples), views)
        return window, {(metric.name, metric.role): metric for metric in metrics}

    return make


BY_HAND = [
    ("throughput", None, 1e9),
    ("throughput", Role.SENDER, 1e9),
    ("busy_cores", Role.SENDER, 1.3),
    ("efficiency", Role.RECEIVER, 1e9 / 1.3),
    ("service_demand", Role.RECEIVER, 1.3e6 / (125e6 / 1024)),
    ("peak_cpu", Role.SENDER, 100.0),
    ("peak_cpu_number", Role.SENDER, 3.0),
    ("peak_cpu_user", Role.SENDER, 10.0),
    ("peak_cpu_system", Role.SENDER, 10.0),
    ("peak_cpu_softirq", Role.SENDER, 80.0),
    ("softirq", Role.RECEIVER, 100 * 7 / 30),
    ("steal", Role.RECEIVER, 0.0),
    ("retransmits", None, 34.0),
    ("retransmits_per_second", None, 20.0),
    ("nic_packets_per_second", Role.SENDER, 5000.0),
    ("nic_packets_per_second", Role.RECEIVER, 10000.0),
    ("nic_drops", Role.RECEIVER, 4 * 17.0),
    ("wire_throughput", Role.SENDER, 4e6),
    ("wire_throughput", Role.RECEIVER, 80e6),
    ("softnet_dropped", Role.RECEIVER, 17.0),
    ("softnet_squeezed", Role.RECEIVER, 34.0),
]


@pytest.mark.parametrize(("name", "role", "value"), BY_HAND)
def test_figures_by_hand(figures, name: str, role: Role | None, value: float) -> None:
    window, found = figures()
    assert window is not None
    assert (window.start, window.end) == pytest.approx((100.3, 102.0))
    assert found[name, role].value == pytest.approx(value)
    assert not [metric for metric in found.values() if metric.value is None]


def test_peak_cpu_says_which_and_with_what(figures) -> None:
    assert figures()[1]["peak_cpu", Role.SENDER].note == "cpu 3: user 10 system 10 softirq 80"


def test_without_samples_there_are_no_cpu_figures_and_the_reason_is_given(figures, make_samples) -> None:
    _, found = figures(samples=make_samples(10, 99.9))
    for name in ("busy_cores", "efficiency", "service_demand", "peak_cpu", "softirq", "steal", "nic_drops"):
        metric = found[name, Role.SENDER]
        assert metric.value is None
        assert metric.note == "samples cover 35 % of the measured window"
    assert ("peak_cpu_number", Role.SENDER) not in found
    assert found["throughput", None].value == pytest.approx(1e9)


def test_a_host_that_did_nothing_has_no_efficiency(figures) -> None:
    idle = [HostSample(103.0, 4.0, cpus={0: CpuTicks(idle=400)})]
    _, found = figures(samples=idle)
    assert found["busy_cores", Role.SENDER].value == 0.0
    assert found["efficiency", Role.SENDER].value is None
    assert found["efficiency", Role.SENDER].note == "no CPU time was used"
    assert found["service_demand", Role.SENDER].value == 0.0


def test_steal_and_guests_are_flagged(figures) -> None:
    busy = [HostSample(103.0, 4.0, cpus={0: CpuTicks(user=40, guest=20, steal=20, idle=340)})]
    metric = figures(samples=busy)[1]["steal", Role.SENDER]
    assert metric.value == pytest.approx(5.0)
    assert metric.note == "guests took 5.0 % of this host's CPU time"


def test_retransmits_of_the_whole_run_where_intervals_have_none(figures, make_report) -> None:
    whole = tuple(Interval(i / 10, (i + 1) / 10, 1e6) for i in range(20))
    found = figures(make_report(sent=whole, retransmits=10))[1]
    assert found["retransmits", None].value == 10
    assert found["retransmits_per_second", None].value == pytest.approx(5.0)
    assert found["retransmits", None].note == "the whole run, start-up included"


def test_retransmits_of_the_kernel_where_the_generator_has_none(figures, make_report) -> None:
    metric = figures(make_report(sent=()))[1]["retransmits", None]
    assert metric.value == pytest.approx(34.0)
    assert metric.source == "/proc/net/snmp of the sender"


def test_shared_cpus_are_labelled(figures) -> None:
    assert figures(shares_cpus=True)[1]["efficiency", Role.SENDER].note == "shared by both hosts"


def test_a_stand_in_for_the_receivers_count_is_named(figures, make_report) -> None:
    metric = figures(make_report(received=()))[1]["throughput", None]
    assert metric.source.startswith("the sender's intervals, 0.30 to 2.00 s")
    assert metric.note.startswith("the receiver reported no intervals")


def test_no_stream_no_figures(make_report) -> None:
    assert compute(make_report(), None, {}, {}) == (None, ())
    assert compute(TrafficReport(), 1.0, {}, {}) == (None, ())
