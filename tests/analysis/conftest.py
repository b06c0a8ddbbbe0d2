"""Samples, hosts and reports with figures that a reader can check by hand."""

from collections.abc import Callable

import pytest

from netbench_tui.model.host import Clock, HostFacts, Nic, Privilege, Role
from netbench_tui.model.run import Interval, TrafficReport
from netbench_tui.model.sample import CpuTicks, HostSample, NicCounts, SoftnetCounts
from netbench_tui.model.session import HostView, Reach


@pytest.fixture
def make_samples() -> Callable[..., list[HostSample]]:
    """`count` samples of 0.1 s from `start` on; in each of them every CPU passes 10 ticks.

    cpu 0 idles; cpu 1 is 1 user, 2 system, 1 iowait, 6 idle; cpu 3 is 1 nice, 1 system, 1 irq, 7 softirq. eth0 receives
    1000 packets of 1000 bytes, sends 500 of 100; one is dropped by the backlog and two squeezes happen on cpu 3."""

    def make(count: int, start: float = 0.0) -> list[HostSample]:
        cpus = {
            0: CpuTicks(idle=10),
            1: CpuTicks(user=1, system=2, iowait=1, idle=6),
            3: CpuTicks(nice=1, system=1, irq=1, softirq=7),
        }
        nic = NicCounts(
            rx_bytes=1_000_000, rx_packets=1000, rx_dropped=3, tx_bytes=50_000, tx_packets=500, tx_dropped=1
        )
        return [
            HostSample(
                start + (index + 1) / 10,
                0.1,
                cpus=cpus,
                nics={"eth0": nic},
                softnet={3: SoftnetCounts(1000, 1, 2)},
                protocols={"Tcp.RetransSegs": 2},
            )
            for index in range(count)
        ]

    return make


@pytest.fixture
def make_view() -> Callable[..., HostView]:
    def make(
        role: Role, shares_cpus: bool = False, environment: dict[str, str] | None = None, **nic: object
    ) -> HostView:
        data_nic = Nic("eth0", **{"mtu": 1500, "speed_mbit": 1000, "kind": "physical", **nic})
        name = "alpha" if role is Role.SENDER else "beta"
        facts = HostFacts(name, nics=(data_nic,), environment=environment or {})
        clock = Clock(0.0, 0.0, 0.0)
        return HostView(role, name, Reach.SSH, facts, Privilege.ROOT, clock, "eth0", shares_cpus=shares_cpus)

    return make


@pytest.fixture
def make_report() -> Callable[..., TrafficReport]:
    """A report of `count` intervals of 0.1 s: warm-up at half of `size` bytes, then `size`, then a short rest."""

    def make(count: int = 20, size: float = 12_500_000, **changes: object) -> TrafficReport:
        def intervals(retransmits: int | None) -> tuple[Interval, ...]:
            made = [Interval(i / 10, (i + 1) / 10, size / 2 if i < 3 else size, retransmits) for i in range(count)]
            return (*made, Interval(count / 10, count / 10 + 0.01, 17.0, 0 if retransmits is not None else None))

        return TrafficReport(**{"received": intervals(None), "sent": intervals(2), **changes})

    return make
