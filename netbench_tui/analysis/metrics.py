"""The figures of a run, by the formulas of DESIGN 6. Used by the engine when a run has ended.

Every figure comes from intervals or counters inside the measured window. A figure that cannot be had is there with no
value, and its note says why.
"""

from collections.abc import Iterator, Mapping, Sequence

from netbench_tui.analysis.window import (
    HostTotals,
    Measured,
    cut_samples,
    full_intervals,
    goodput,
    inside_window,
    measured,
)
from netbench_tui.model.host import Role
from netbench_tui.model.run import Metric, TrafficReport, Window
from netbench_tui.model.sample import HostSample
from netbench_tui.model.session import HostView

CPU_SOURCE = "/proc/stat"
NIC_SOURCE = "/proc/net/dev"
SOFTNET_SOURCE = "/proc/net/softnet_stat"
SHARED_CPUS = "shared by both hosts"
_CPU_METRICS = (
    ("busy_cores", "cores"),
    ("efficiency", "bit/s per core"),
    ("service_demand", "µs/KiB"),
    ("peak_cpu", "%"),
    ("softirq", "%"),
    ("steal", "%"),
)
_DIRECTION = {Role.SENDER: "tx", Role.RECEIVER: "rx"}


def compute(
    report: TrafficReport,
    origin: float | None,
    samples: Mapping[Role, Sequence[HostSample]],
    views: Mapping[Role, HostView],
) -> tuple[Window | None, tuple[Metric, ...]]:
    """The measured window and all figures of a run. `origin` is the streams' start on the time line of the samples;
    None, or a report without usable intervals, gives no window and no figures."""
    cut = measured(report, origin) if origin is not None else None
    if cut is None:
        return None, ()
    metrics = [*_throughput(report, cut)]
    totals = {role: cut_samples(samples.get(role, ()), cut.window) for role in Role}
    metrics += _retransmits(report, cut, totals[Role.SENDER])
    for role in Role:
        view = views.get(role)
        metrics += _cpu(role, totals[role], cut.bits_per_second, bool(view and view.shares_cpus))
        metrics += _network(role, totals[role], view.data_nic if view else "")
    return cut.window, tuple(metrics)


def service_demand(busy_cores: float, bits_per_second: float) -> float | None:
    """Microseconds of CPU per KiB, as netperf prints it: C * 10^6 / (bytes/s / 1024). None without throughput."""
    return busy_cores * 1e6 / (bits_per_second / 8 / 1024) if bits_per_second > 0 else None


def efficiency(busy_cores: float, bits_per_second: float) -> float | None:
    """Bit/s per core that was busy (the thesis's equation 5.1). None where no CPU time was seen."""
    return bits_per_second / busy_cores if busy_cores > 0 else None


def _throughput(report: TrafficReport, cut: Measured) -> Iterator[Metric]:
    first, last = cut.intervals[0].start, cut.intervals[-1].end
    source = f"the {cut.counted_by}'s intervals, {first:.2f} to {last:.2f} s"
    notes = (
        [] if cut.counted_by is Role.RECEIVER else ["the receiver reported no intervals: what the sender handed over"]
    )
    notes += ["the whole run, start-up included"] if cut.whole_run else []
    yield Metric("throughput", cut.bits_per_second, "bit/s", source, note=", ".join(notes))
    sent = full_intervals(report.sent)
    sent = inside_window(sent) or (sent if len(sent) == 1 else ())
    if sent:
        source = f"the sender's intervals, {sent[0].start:.2f} to {sent[-1].end:.2f} s"
        yield Metric("throughput", goodput(sent), "bit/s", source, Role.SENDER)


def _retransmits(report: TrafficReport, cut: Measured, totals: HostTotals) -> Iterator[Metric]:
    counted = [item.retransmits for item in inside_window(full_intervals(report.sent))]
    known = [number for number in counted if number is not None]
    count: float | None = None
    seconds, source, note = cut.window.seconds, "the sender's intervals", ""
    if known and len(known) == len(counted):
        count = sum(known)
    elif report.retransmits is not None:
        count, source, note = report.retransmits, "the sender's report", "the whole run, start-up included"
        seconds = max(item.end for item in report.sent or cut.intervals)
    elif totals.is_covered:
        count = totals.protocols.get("Tcp.RetransSegs", 0.0)
        source, note = "/proc/net/snmp of the sender", "all TCP connections of the host"
    else:
        note = f"the generator does not tell, and {_uncovered(totals)}"
    yield Metric("retransmits", count, "segments", source, note=note)
    yield Metric("retransmits_per_second", None if count is None else count / seconds, "1/s", source, note=note)


def _cpu(role: Role, totals: HostTotals, throughput: float, shared: bool) -> Iterator[Metric]:
    if not totals.is_covered or not totals.cpus:
        why = _uncovered(totals) if totals.cpus or not totals.is_covered else "the samples hold no CPU time"
        for name, unit in _CPU_METRICS:
            yield Metric(name, None, unit, CPU_SOURCE, role, why)
        return
    note = SHARED_CPUS if shared else ""
    cores, machine = totals.busy_cores, totals.machine
    yield Metric("busy_cores", cores, "cores", CPU_SOURCE, role, note)
    per_core = efficiency(cores, throughput)
    yield Metric(
        "efficiency", per_core, "bit/s per core", CPU_SOURCE, role, note if per_core else "no CPU time was used"
    )
    demand = service_demand(cores, throughput)
    yield Metric("service_demand", demand, "µs/KiB", CPU_SOURCE, role, note if demand is not None else "no throughput")
    yield from _peak(role, totals)
    yield Metric("softirq", machine.percent(machine.softirq), "%", CPU_SOURCE, role, "of all CPUs' time")
    guest = machine.percent(machine.guest)
    flag = f"guests took {guest:.1f} % of this host's CPU time" if machine.guest else ""
    yield Metric("steal", machine.percent(machine.steal), "%", CPU_SOURCE, role, flag)


def _peak(role: Role, totals: HostTotals) -> Iterator[Metric]:
    """The busiest CPU over the whole window, and what it was busy with."""
    number, cpu = max(totals.cpus.items(), key=lambda item: (item[1].percent(item[1].busy), -item[0]))
    split = {
        "user": cpu.percent(cpu.user + cpu.nice),
        "system": cpu.percent(cpu.system),
        "softirq": cpu.percent(cpu.softirq + cpu.irq),
    }
    words = " ".join(f"{name} {value:.0f}" for name, value in split.items())
    yield Metric("peak_cpu", cpu.percent(cpu.busy), "%", CPU_SOURCE, role, f"cpu {number}: {words}")
    yield Metric("peak_cpu_number", number, "", CPU_SOURCE, role)
    for name, value in split.items():
        yield Metric(f"peak_cpu_{name}", value, "%", CPU_SOURCE, role)


def _network(role: Role, totals: HostTotals, nic: str) -> Iterator[Metric]:
    why = "" if totals.is_covered else _uncovered(totals)
    counts = totals.nics.get(nic)
    nic_why = why or ("" if nic else "the data NIC is not known")
    direction = _DIRECTION[role]
    values = dict.fromkeys(("packets", "drops", "bits"), 0.0)
    errors = 0.0
    if counts is not None and totals.covered > 0:
        moved = counts._asdict()
        values["packets"] = moved[f"{direction}_packets"] / totals.covered
        values["drops"] = counts.rx_dropped + counts.tx_dropped
        values["bits"] = 8 * moved[f"{direction}_bytes"] / totals.covered
        errors = counts.rx_errors + counts.tx_errors
    source = f"{NIC_SOURCE}, {nic} {direction}"
    both = f"{NIC_SOURCE}, {nic}"

    def metric(name: str, key: str, unit: str, where: str, note: str) -> Metric:
        return Metric(name, None if nic_why else values[key], unit, where, role, nic_why or note)

    yield metric(
        "nic_packets_per_second",
        "packets",
        "1/s",
        source,
        "packets as the kernel hands them over: TSO and GRO join many",
    )
    yield metric("nic_drops", "drops", "packets", both, f"errors {errors:.0f}" if errors else "")
    yield metric("wire_throughput", "bits", "bit/s", source, "with Ethernet headers; without preamble, FCS and gap")
    for name in ("dropped", "squeezed"):
        total = sum(getattr(row, name) for row in totals.softnet.values())
        yield Metric(f"softnet_{name}", None if why else total, "", SOFTNET_SOURCE, role, why)


def _uncovered(totals: HostTotals) -> str:
    return f"samples cover {100 * totals.coverage:.0f} % of the measured window"
