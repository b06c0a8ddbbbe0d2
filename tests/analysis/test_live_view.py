"""The rolling view: never over less than a second, and exact over what it covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.analysis.live import RollingHost
from netbench_tui.model.sample import CpuTicks, HostSample


def test_nothing_is_shown_before_a_second_is_full(make_samples) -> None:
    host = RollingHost()
    for sample in make_samples(9):
        host.add(sample)
    assert (host.seconds, host.cpus(), host.busy_cores(), host.nic("eth0")) == (0.0, {}, None, None)
    assert host.softnet_drops() is None
    host.add(make_samples(10)[9])
    assert host.seconds == pytest.approx(1.0)


def test_rates_by_hand(make_samples) -> None:
    host = RollingHost()
    for sample in make_samples(57):
        host.add(sample)
    load = host.cpus()[3]
    assert (load.busy, load.user, load.system, load.softirq) == (100, 10, 10, 80)
    assert host.cpus()[1].busy == 30
    assert host.busy_cores() == pytest.approx(1.3)
    nic = host.nic("eth0")
    assert nic is not None
    assert nic.rx_packets == pytest.approx(10_000)
    assert nic.tx_bits == pytest.approx(4_000_000)
    assert nic.drops == pytest.approx(40)
    assert (host.softnet_drops(), host.softnet_squeezes()) == (pytest.approx(10), pytest.approx(20))
    assert host.time == pytest.approx(5.7)


def test_a_nic_that_did_not_move_rates_zero(make_samples) -> None:
    host = RollingHost()
    for sample in make_samples(12):
        host.add(sample)
    quiet = host.nic("eth7")
    assert quiet is not None
    assert quiet.rx_packets == 0


def test_a_silence_or_a_step_back_starts_anew(make_samples) -> None:
    for start in (10.0, -3.0):
        host = RollingHost()
        for sample in make_samples(20) + make_samples(3, start):
            host.add(sample)
        assert host.seconds == 0.0
        assert host.cpus() == {}


def test_a_window_under_a_second_is_refused() -> None:
    with pytest.raises(ValueError, match="less than"):
        RollingHost(0.5)


# Parts of 64 add up without rounding, so that both sides agree on what a full second is.
SPANS = st.integers(3, 96).map(lambda parts: parts / 64)
SAMPLES = st.lists(st.tuples(SPANS, st.integers(0, 150), st.integers(0, 150)), min_size=1, max_size=40)


@given(SAMPLES)
def test_running_sums_equal_a_fresh_sum_over_the_newest_samples(rows: list[tuple[float, int, int]]) -> None:
    host, samples, now = RollingHost(), [], 0.0
    for span, user, idle in rows:
        now += span
        samples.append(HostSample(now, span, cpus={0: CpuTicks(user=user, idle=idle)}))
        host.add(samples[-1])
    kept: list[HostSample] = []
    for sample in reversed(samples):
        kept.append(sample)
        if sum(item.span for item in kept) >= 1.0:
            break
    total = sum(item.span for item in kept)
    if total >= 1.0:
        user, passed = (sum(f(item.cpus[0]) for item in kept) for f in (lambda t: t.user, lambda t: t.total))
        assert host.seconds == pytest.approx(total)
        assert host.cpus()[0].busy == pytest.approx(100 * user / passed) if passed else host.cpus() == {}
