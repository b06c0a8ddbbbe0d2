"""Remarks: each fires at its threshold and not below, and names host and remedy."""

import pytest

from netbench_tui.analysis.lints import Lint, line_goodput, lints
from netbench_tui.model.host import Nic, Role
from netbench_tui.model.run import Metric, TrafficTest


@pytest.fixture
def remarks(make_view):
    """Remarks on figures given as {(name, role): value}; keywords describe both hosts."""

    def make(values: dict[tuple[str, Role | None], float | None], **view: object) -> list[Lint]:
        metrics = [Metric(name, value, "", "", role) for (name, role), value in values.items()]
        return list(lints(TrafficTest(), metrics, {role: make_view(role, **view) for role in Role}))

    return make


def test_quiet_figures_raise_nothing(remarks) -> None:
    assert remarks({("steal", Role.SENDER): 1.0, ("peak_cpu", Role.SENDER): None, ("throughput", None): 5e8}) == []


def test_steal(remarks) -> None:
    (found,) = remarks({("steal", Role.RECEIVER): 1.5})
    assert (found.name, found.role) == ("steal", Role.RECEIVER)
    assert found.sentence.startswith("▼ beta lost 1.5 % of its CPU time")


@pytest.mark.parametrize(
    ("busy", "softirq", "system", "name"),
    [(96, 60, 30, "softirq_bound"), (96, 10, 80, "copy_bound"), (94, 90, 0, None), (99, 30, 30, None)],
)
def test_bound_cpu(remarks, busy: float, softirq: float, system: float, name: str | None) -> None:
    figures = {"peak_cpu": busy, "peak_cpu_number": 3, "peak_cpu_softirq": softirq, "peak_cpu_system": system}
    found = remarks({(key, Role.RECEIVER): value for key, value in figures.items()})
    assert [item.name for item in found] == ([name] if name else [])
    assert all("▼ beta cpu 3 is 96 % busy" in item.sentence for item in found)


@pytest.mark.parametrize(("share", "fires"), [(0.979, False), (0.981, True), (1.0, True), (1.5, False)])
def test_full_line(remarks, share: float, fires: bool) -> None:
    assert bool(remarks({("throughput", None): share * 1e9 * 1448 / 1538})) is fires


def test_a_line_without_timestamps_carries_more(remarks) -> None:
    figures = {("throughput", None): 0.985 * 1e9 * 1448 / 1538}
    assert remarks(figures)
    assert not remarks(figures, environment={"net.ipv4.tcp_timestamps": "0"})


def test_speed_of_a_virtual_nic_is_no_line_rate(remarks) -> None:
    assert not remarks({("throughput", None): 1e9 * 1448 / 1538}, kind="virtual")


def test_line_goodput_takes_the_slower_nic_and_the_smaller_mtu() -> None:
    fast, slow = Nic("a", mtu=9000, speed_mbit=100_000), Nic("b", mtu=1500, speed_mbit=25_000)
    assert line_goodput(TrafficTest(), [fast, slow]) == pytest.approx(25e9 * 1448 / 1538)
    assert line_goodput(TrafficTest(ip_version=6), [fast, slow]) == pytest.approx(25e9 * 1428 / 1538)
    assert line_goodput(TrafficTest(), [fast, Nic("c", mtu=1500)]) is None
    assert line_goodput(TrafficTest(), [fast, Nic("c", mtu=40, speed_mbit=10)]) is None


def test_softnet(remarks) -> None:
    found = remarks({("softnet_dropped", Role.RECEIVER): 0.4, ("softnet_squeezed", Role.SENDER): 12.0})
    assert [(item.name, item.role) for item in found] == [
        ("softnet_squeezed", Role.SENDER),
        ("softnet_dropped", Role.RECEIVER),
    ]
    assert "dropped 1 packets" in found[1].sentence
    assert "netdev_budget" in found[0].remedy


def test_governor_where_known(remarks) -> None:
    found = remarks({}, environment={"governor": "powersave"})
    assert [item.sentence for item in found] == [
        "▲ alpha CPU governor is powersave",
        "▼ beta CPU governor is powersave",
    ]
    assert not remarks({}, environment={"governor": "performance"})


def test_shared_cpus_are_remarked_once(remarks) -> None:
    (found,) = remarks({}, shares_cpus=True)
    assert (found.name, found.role) == ("shared_cpus", None)
