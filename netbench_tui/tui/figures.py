"""The figures of the metrics table, from an ended run's metrics or from the last second, under the same names.

The formulas are those of analysis.metrics; this module only picks, scales and names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from netbench_tui.analysis.metrics import efficiency, service_demand
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunResult
from netbench_tui.model.units import ABSENT, count, fixed
from netbench_tui.tui.loads import HostLoad

Figures = Mapping[tuple[str, Role | None], float]


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `name` is the metric's, `scale` brings it to `unit`; `decimals` None writes a count."""

    name: str
    label: str
    short: str
    unit: str
    scale: float = 1.0
    decimals: int | None = 2
    only: Role | None = None
    """The side that can tell it, where the figure belongs to the pair (`role` None)."""


THROUGHPUT = Row("throughput", "throughput", "throughput", "Gbit/s", 1e-9, 2, only=Role.RECEIVER)
BUSY = Row("busy_cores", "busy", "busy", "cores")
PEAK = Row("peak_cpu", "peak CPU", "peak CPU", "%", decimals=0)
SOFTIRQ = Row("softirq", "softirq", "softirq", "% of host", decimals=1)
EFFICIENCY = Row("efficiency", "efficiency", "efficiency", "Gbit/s/core", 1e-9)
DEMAND = Row("service_demand", "service demand", "svc demand", "µs/KiB", decimals=3)
RETRANSMITS = Row("retransmits_per_second", "retransmits", "retransmits", "/s", decimals=None, only=Role.SENDER)
DROPS = Row("nic_drops", "NIC drops", "NIC drops", "/s", decimals=None)
PACKETS = Row("nic_packets_per_second", "packets", "packets", "Mpkt/s", 1e-6)
WIRE = Row("wire_throughput", "on the wire", "wire", "Gbit/s", 1e-9)
SQUEEZED = Row("softnet_squeezed", "softnet squeezed", "squeezed", "/s", decimals=None)
STEAL = Row("steal", "steal", "steal", "% of host", decimals=1)

# Metrics of an ended run that count events over the window.
_COUNTED = ("nic_drops", "softnet_squeezed")
GROUPS: tuple[tuple[Row, ...], ...] = (
    (THROUGHPUT, BUSY, PEAK, SOFTIRQ),
    (EFFICIENCY, DEMAND, RETRANSMITS, DROPS),
    (PACKETS, WIRE, SQUEEZED, STEAL),
)


def value_text(row: Row, figures: Figures, role: Role) -> str:
    """The figure as the table shows it, `–` where it cannot exist or was not measured."""
    value = figures.get((row.name, role))
    if value is None and role is row.only:
        value = figures.get((row.name, None))
    if value is None:
        return ABSENT
    return rate(value) if row.decimals is None else fixed(value * row.scale, row.decimals)


def rate(value: float) -> str:
    """A count per second: rare events keep a decimal, so that they do not read as none."""
    return fixed(value, 1) if 0.05 <= value < 10 and value != round(value) else count(value)


def of_result(result: RunResult) -> Figures:
    """An ended run's metrics; counts become rates over the measured window, as the live table has them."""
    found = {(m.name, m.role): m.value for m in result.metrics if m.value is not None}
    seconds = result.window.seconds if result.window else 0.0
    for name in _COUNTED:
        for role in Role:
            if (name, role) in found:
                counted = found.pop((name, role))
                if seconds > 0:
                    found[name, role] = counted / seconds
    return found


def of_last_second(
    bits_per_second: float | None, retransmits: float | None, loads: Mapping[Role, HostLoad | None]
) -> Figures:
    """`bits_per_second` is the goodput of the last second, `retransmits` the sender's in it."""
    figures: dict[tuple[str, Role | None], float] = {}
    if bits_per_second is not None:
        figures["throughput", None] = bits_per_second
    if retransmits is not None:
        figures["retransmits_per_second", None] = retransmits
    for role, load in loads.items():
        if load is not None:
            figures.update({(name, role): value for name, value in _of_load(load, role, bits_per_second).items()})
    return figures


def _of_load(load: HostLoad, role: Role, bits_per_second: float | None) -> dict[str, float]:
    found = {"busy_cores": load.busy_cores}
    mean = load.mean()
    if mean is not None:
        found["softirq"], found["steal"] = mean.softirq, mean.steal
    if load.peak is not None:
        found["peak_cpu"] = load.cpus[load.peak].busy
    if load.squeezed is not None:
        found["softnet_squeezed"] = load.squeezed
    if load.nic is not None:
        out = role is Role.SENDER
        found["nic_packets_per_second"] = load.nic.tx_packets if out else load.nic.rx_packets
        found["wire_throughput"] = load.nic.tx_bits if out else load.nic.rx_bits
        found["nic_drops"] = load.nic.drops
    if bits_per_second:
        shares = {
            "efficiency": efficiency(load.busy_cores, bits_per_second),
            "service_demand": service_demand(load.busy_cores, bits_per_second),
        }
        found.update({name: value for name, value in shares.items() if value is not None})
    return found
