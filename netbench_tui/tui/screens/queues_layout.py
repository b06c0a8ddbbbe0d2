"""Where the panels of Queues stand, as a pure function of the size and of how much each wants to show.

normal                          wide
queues and matrix               sender's queues | receiver's queues
the chosen queue's path         path
remarks                         remarks
a view: RSS, steering ...       view
ask line (while it asks)        ask line
staged (while there are some)   staged
"""

from collections.abc import Mapping
from typing import NamedTuple

from textual.geometry import Region

from netbench_tui.model.host import Role

# Sizes of the body from which the fuller layouts stand.
_NORMAL = (100, 32)
_WIDE = (170, 50)
_MARGIN, _GAP = 1, 3
_PATH_ROWS = 3
# Queues that stand there at least, however long the view below is.
_LEAST_QUEUES = 6
_LEAST_VIEW = 2
# A list has its head and some rows.
_LEAST_LIST = 8
_MOST_STAGED = 8


class Wants(NamedTuple):
    """Rows that the panels would fill: the taller of the queue panels, of which `frame` are not queues; remarks; RSS
    above the view (0: it is not there); the view in steps of `unit`, a list that takes all there is if it `fills`; what
    is staged (0: nothing is). `says` and `asks`: the prompt, and the field to type in."""

    queues: int
    frame: int
    notes: int
    rss: int
    view: int
    unit: int
    fills: bool
    staged: int
    says: bool
    asks: bool


def is_compact(width: int, height: int) -> bool:
    return width < _NORMAL[0] or height < _NORMAL[1]


def is_wide(width: int, height: int) -> bool:
    return width >= _WIDE[0] and height >= _WIDE[1]


def queue_regions(width: int, height: int, role: Role, view: str, wants: Wants) -> Mapping[str | None, Region]:
    """Panel id -> region; a panel that has no room is absent. `view` is the id of the view that is shown."""
    compact, wide = is_compact(width, height), is_wide(width, height)
    inner, gap = width - 2 * _MARGIN, 0 if compact else 1
    below: list[tuple[str, int]] = [("path", _PATH_ROWS), ("notes", wants.notes)]
    if wants.rss:
        below.append(("rss", wants.rss))
    last: list[tuple[str, int]] = [("prompt", 1)] if wants.says or wants.asks else []
    last += [("entry", 1)] if wants.asks else []
    last += [("staged", min(wants.staged, _MOST_STAGED if not compact else 3))] if wants.staged else []
    rest = (
        height - sum(rows + gap for _, rows in below) - sum(rows + (0 if name == "ask" else gap) for name, rows in last)
    )
    rest -= gap * 2
    queues, shown = _share(rest, wants)
    regions: dict[str | None, Region] = {}
    y = gap
    regions |= _queue_panels(inner, y, queues, role, wide)
    y += queues + gap
    for name, rows in [*below, *([(view, shown)] if shown else [])]:
        regions[name] = Region(_MARGIN, y, inner, min(rows, max(0, height - y)))
        y += rows + gap
    y = height - sum(rows for _, rows in last)
    for name, rows in last:
        regions[name] = Region(_MARGIN, y, inner, rows)
        y += rows
    return {name: region for name, region in regions.items() if region.height > 0}


def _share(rest: int, wants: Wants) -> tuple[int, int]:
    """Rows of the queues and of the view: a view that fills takes what the queues leave, but never all of them."""
    least = min(wants.queues, wants.frame + _LEAST_QUEUES)
    wanted = max(_LEAST_LIST, rest // 3) if wants.fills else wants.view
    view = min(wanted, max(rest - wants.queues, min(wanted, rest - least)))
    if view > wants.unit:
        view -= (view - 1) % wants.unit
    if view < _LEAST_VIEW:
        view = 0
    queues = max(1, min(wants.queues, rest - view))
    return queues, rest - queues if wants.fills and view else view


def _queue_panels(inner: int, y: int, rows: int, role: Role, wide: bool) -> dict[str | None, Region]:
    if not wide:
        return {f"queues-{role.value}": Region(_MARGIN, y, inner, rows)}
    half = (inner - _GAP) // 2
    return {
        f"queues-{Role.SENDER.value}": Region(_MARGIN, y, half, rows),
        f"queues-{Role.RECEIVER.value}": Region(_MARGIN + inner - half, y, half, rows),
    }
