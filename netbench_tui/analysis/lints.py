"""What a reader of a run must know before believing or tuning anything: sentences from figures and facts.

Used by the engine after a run and by the screens that show one. A figure that is absent raises no lint.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netbench_tui.analysis.goodput import Wire, tcp_goodput
from netbench_tui.model.host import Nic, Role
from netbench_tui.model.run import Metric, TrafficTest
from netbench_tui.model.session import HostView

CONTAMINATED_STEAL_PERCENT = 1.0
BOUND_CPU_PERCENT = 95.0
LINE_LIMITED_SHARE = 0.98
# Beyond this share the line rate is not what limits: virtual NICs report a speed that nothing enforces.
NOT_A_LIMIT_SHARE = 1.02
_MARK = {Role.SENDER: "▲", Role.RECEIVER: "▼"}


@dataclass(frozen=True, slots=True)
class Lint:
    """One remark: the fact, then the remedy (may be empty). `role` is None where it concerns the pair."""

    name: str
    role: Role | None
    sentence: str
    remedy: str = ""


def lints(test: TrafficTest, metrics: Sequence[Metric], views: Mapping[Role, HostView]) -> tuple[Lint, ...]:
    """All remarks on a run, those that make its figures doubtful first."""
    values = {(metric.name, metric.role): metric.value for metric in metrics}
    found: list[Lint] = []
    for rule in (_steal, _line, _cpu_bound, _softnet, _governor):
        found += rule(test, values, views)
    if any(view.shares_cpus for view in views.values()):
        words = "both hosts share this machine's CPUs: each CPU figure holds the work of both ends"
        found.append(Lint("shared_cpus", None, words, "compare throughput; use two machines for efficiency"))
    return tuple(found)


Values = Mapping[tuple[str, Role | None], float | None]
Views = Mapping[Role, HostView]


def _host(role: Role, views: Views) -> str:
    view = views.get(role)
    return f"{_MARK[role]} {view.name if view else role}"


def _steal(test: TrafficTest, values: Values, views: Views) -> Iterator[Lint]:
    for role in Role:
        steal = values.get(("steal", role))
        if steal is not None and steal > CONTAMINATED_STEAL_PERCENT:
            words = (
                f"{_host(role, views)} lost {steal:.1f} % of its CPU time to its hypervisor: the run is contaminated"
            )
            yield Lint("steal", role, words, "run again when the machine is quiet")


def _line(test: TrafficTest, values: Values, views: Views) -> Iterator[Lint]:
    throughput = values.get(("throughput", None))
    nics = [view.nic for view in views.values()]
    stamps = all(view.facts.environment.get("net.ipv4.tcp_timestamps") != "0" for view in views.values())
    known = [nic for nic in nics if nic is not None]
    limit = line_goodput(test, known, stamps) if len(known) == len(Role) else None
    if not throughput or not limit or not LINE_LIMITED_SHARE <= throughput / limit <= NOT_A_LIMIT_SHARE:
        return
    words = f"the line is full: {100 * throughput / limit:.1f} % of the goodput that it can carry"
    yield Lint("line_limited", None, words, "compare service demand, or raise the MTU")


def line_goodput(test: TrafficTest, nics: Sequence[Nic], timestamps: bool = True) -> float | None:
    """Bit/s of TCP goodput that the slowest of these NICs can carry with the smallest of their MTUs;
    None where a speed or an MTU is not known or not real (a virtual NIC)."""
    if not nics or any(not nic.speed_mbit or not nic.mtu or nic.kind == "virtual" for nic in nics):
        return None
    tags = 1 if any(nic.kind == "vlan" for nic in nics) else 0
    try:
        share = tcp_goodput(Wire(min(nic.mtu for nic in nics), tags), test.ip_version, timestamps)
    except ValueError:
        return None
    return share * 1e6 * min(nic.speed_mbit or 0 for nic in nics)


def _cpu_bound(test: TrafficTest, values: Values, views: Views) -> Iterator[Lint]:
    for role in Role:
        busy, number = values.get(("peak_cpu", role)), values.get(("peak_cpu_number", role))
        if busy is None or number is None or busy < BOUND_CPU_PERCENT:
            continue
        softirq, system = (values.get((f"peak_cpu_{part}", role)) or 0.0 for part in ("softirq", "system"))
        where = f"{_host(role, views)} cpu {number:.0f} is {busy:.0f} % busy"
        if softirq > busy / 2:
            words = f"{where}, {softirq:.0f} % in softirq: bound by packet processing"
            yield Lint("softirq_bound", role, words, "IRQ affinity, RSS or RPS, GRO, interrupt coalescing")
        elif system > busy / 2:
            words = f"{where}, {system:.0f} % in system calls: bound by copying"
            yield Lint("copy_bound", role, words, "larger messages, TSO and GRO, more streams")


def _softnet(test: TrafficTest, values: Values, views: Views) -> Iterator[Lint]:
    for role in Role:
        dropped, squeezed = values.get(("softnet_dropped", role)), values.get(("softnet_squeezed", role))
        if dropped:
            words = f"{_host(role, views)} dropped {_count(dropped)} packets from full backlogs"
            yield Lint("softnet_dropped", role, words, "net.core.netdev_max_backlog, or spread RPS over more CPUs")
        if squeezed:
            words = f"{_host(role, views)} ran out of its NAPI budget {_count(squeezed)} times"
            yield Lint("softnet_squeezed", role, words, "net.core.netdev_budget, or spread the queues over more CPUs")


def _count(value: float) -> str:
    """Prorated counts may be below 1 and did happen."""
    return f"{max(1, round(value))}"


def _governor(test: TrafficTest, values: Values, views: Views) -> Iterator[Lint]:
    for role in Role:
        view = views.get(role)
        governor = view.facts.environment.get("governor", "") if view else ""
        if governor and governor != "performance":
            words = f"{_host(role, views)} CPU governor is {governor}"
            yield Lint("governor", role, words, "set performance: the frequency moves with the load")
