"""The views below the queues, of which one stands there at a time: RSS, steering, softnet, counters. Used by the area.

`show_view` brings the state into the panel in sight; `rows_wanted` says how high it would be.
"""

import enum
from collections.abc import Iterator, Mapping

from textual.widget import Widget

from netbench_tui.model.host import Role
from netbench_tui.model.setting import MACHINE
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.panel import Panel, Piece
from netbench_tui.tui.widgets.queue_data import QueueTable
from netbench_tui.tui.widgets.rate_rows import CountersPanel, SoftnetPanel, SoftnetRow
from netbench_tui.tui.widgets.rows import RowList
from netbench_tui.tui.widgets.rss import RssPanel
from netbench_tui.tui.widgets.steering_rows import SteeringPanel, steering_rows

_RFS_ENTRIES = "sysctl.net.core.rps_sock_flow_entries"
_RSS_TABLE = "rss.indirection"
# Blocks of RSS weights that stand there at once; more are reached by moving.
_MOST_BLOCKS = 2


class View(enum.Enum):
    """In the order in which `v` goes through them; the value is the panel's id."""

    RSS = "rss"
    STEERING = "steering"
    SOFTNET = "softnet"
    COUNTERS = "counters"

    @property
    def words(self) -> str:
        return "ethtool -S" if self is View.COUNTERS else "RSS" if self is View.RSS else self.value

    def after(self, step: int, lists: bool = False) -> "View":
        """The next one; of the lists alone where RSS stands there anyway."""
        views = [view for view in View if view.fills or not lists]
        return views[(views.index(self) + step) % len(views)]

    @property
    def fills(self) -> bool:
        """Lists take the room there is; RSS has its own height."""
        return self is not View.RSS


def make_views() -> Iterator[Panel]:
    yield RssPanel(id=View.RSS.value)
    yield SteeringPanel(id=View.STEERING.value)
    yield SoftnetPanel(id=View.SOFTNET.value)
    yield CountersPanel(id=View.COUNTERS.value)


def show_view(area: Widget, bench: Workbench, view: View, table: QueueTable, text: str, after: View | None) -> None:
    """`table` is that of the receive queues for RSS, `text` the filter of the counters, `after` where `v` goes."""
    right: tuple[Piece, ...] = (("v", "strong"), (f" {after.words}", "dim")) if after is not None else ()
    role = table.role
    settings, queues = bench.settings.get(role), bench.queues.get(role)
    rates = bench.queue_rates.get(role)
    match view:
        case View.RSS:
            staged = bench.staged.value(role, queues.nic, _RSS_TABLE) if queues is not None else None
            shares = {row.queue.index: row.share for row in table.rows if row.share is not None}
            why = "" if queues is None else "this NIC has no RSS table: the driver offers none"
            area.query_one(RssPanel).show_rss(
                queues.rss if queues is not None else None, shares, staged_words(staged), why, right
            )
        case View.STEERING:
            entries = settings.get(MACHINE, _RFS_ENTRIES) if settings is not None else None
            rows = steering_rows(role, queues, settings, bench.staged)
            area.query_one(SteeringPanel).show_steering(rows, entries.value if entries is not None else None, right)
        case View.SOFTNET:
            measured = rates is not None and rates.seconds > 0
            area.query_one(SoftnetPanel).show_rates(softnet_rows(bench, role), measured, right)
        case View.COUNTERS:
            found: Mapping[str, float] = rates.statistics() if rates is not None else {}
            moved = rates.statistics_seen if rates is not None else {}
            keys = (("/", "strong"), (" filter   ", "dim"), *right)
            area.query_one(CountersPanel).show_counters(found, moved, text, keys)


def staged_words(value: str | None) -> str:
    """What is staged for the indirection table (`equal 4`, or runs such as `0*384,1*128`), as weights."""
    if value is None:
        return ""
    if value.startswith("equal "):
        return f"staged: equal over {value[6:]} queues"
    weights: dict[int, int] = {}
    for run in value.split(","):
        queue, _, number = run.partition("*")
        if not (queue.isdecimal() and (number or "1").isdecimal()):
            return f"staged: {value}"
        weights[int(queue)] = weights.get(int(queue), 0) + int(number or 1)
    return f"staged: weights {' '.join(str(weights.get(queue, 0)) for queue in range(max(weights) + 1))}"


def softnet_rows(bench: Workbench, role: Role) -> list[SoftnetRow]:
    view, rates = bench.views.get(role), bench.queue_rates.get(role)
    if view is None or rates is None:
        return []
    several = len(view.facts.nodes) > 1
    nodes = {cpu.index: str(cpu.node) for cpu in view.facts.cpus if several and cpu.node is not None}
    return [SoftnetRow(cpu, nodes.get(cpu, ""), rate) for cpu, rate in rates.softnet().items()]


def rows_wanted(area: Widget, view: View, compact: bool) -> tuple[int, int]:
    """Rows that the view would fill, and how many of them belong together."""
    panel: RowList[object] = area.query_one(f"#{view.value}", RowList)
    most = len(panel.items) if view.fills else 1 if compact else _MOST_BLOCKS
    return panel.title_rows + max(1, min(len(panel.items), most) * panel.rows_each), panel.rows_each
