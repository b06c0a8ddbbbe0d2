"""Where the Topology panels stand, by size and by what the hosts need. Pure; used by screens.topology and its tests.

120 x 40, one host                     80 x 24, one host     200 x 60, both hosts
socket 0 ━━━━━━━━━━━━━━━━ ▼ beta       socket 0 ━━ ▼ beta    socket 0 ━━━ ▲ alpha   socket 0 ─── ▼ beta
  nodes with their cells                 nodes               ...                    ...
socket 1 ───────────────────────       socket 1 ──── 2 %     Placement ──────────   Placement ─────────
Placement ──────   Distance ────       Placement ───────     Node 2 ─  Distance ─   Node 0 ─  Distance ─
Node 2 ─────────   matrix              Node 2 ──────────
! remark                               distances, ! remark   ! remark
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from textual.geometry import Region

from netbench_tui.model.host import Role
from netbench_tui.tui.widgets.distances import SHORT_ROWS

# Sizes of the body (without the identity row, the areas and the keys) from which the fuller layouts stand.
_NORMAL = (100, 30)
_BOTH = (170, 45)
_MARGIN, _GAP = 1, 4
# Title and five things.
PLACEMENT_ROWS = 6
_NODE_ROWS, _NODE_COLUMNS = 5, 44
# Under a small screen's sockets the node keeps its title, all of it, and one thing more.
_LEAST_NODE_ROWS = 3
# The matrix stands beside placement and node where these keep at least so many columns.
_LEAST_LEFT = 66

Regions = dict[str | None, Region]


@dataclass(frozen=True, slots=True)
class Needs:
    """What one host's panels want: rows of the sockets by (width, most rows), and the matrix's columns and rows."""

    role: Role
    sockets: Callable[[int, int], int]
    matrix: tuple[int, int] = (0, 0)


def shows_both(width: int, height: int) -> bool:
    return width >= _BOTH[0] and height >= _BOTH[1]


def topology_regions(width: int, height: int, needs: Sequence[Needs]) -> Mapping[str | None, Region]:
    """Panel id -> region for the hosts of `needs`, side by side; a panel that has no room is absent."""
    if not needs:
        return {"notes": Region(_MARGIN, max(0, height - 2), max(1, width - 2 * _MARGIN), 1)}
    if width < _NORMAL[0] or height < _NORMAL[1]:
        return _compact(width, height, needs[0])
    inner = width - 2 * _MARGIN
    each = (inner - _GAP * (len(needs) - 1)) // len(needs)
    far = max((SHORT_ROWS + 1 for need in needs if need.matrix[0] and each - need.matrix[0] < _LEAST_LEFT), default=0)
    limit = height - 5 - PLACEMENT_ROWS - 1 - _NODE_ROWS - far
    sockets = max(need.sockets(each + 2 * _MARGIN, limit) for need in needs)
    regions: Regions = {"notes": Region(_MARGIN, height - 2, inner, 1)}
    for place, need in enumerate(needs):
        x = _MARGIN + place * (each + _GAP)
        regions[f"sockets-{need.role}"] = Region(x - _MARGIN, 1, each + 2 * _MARGIN, sockets)
        regions |= _lower(need, Region(x, sockets + 2, each, height - 3 - sockets - 2))
    return regions


def _lower(need: Needs, room: Region) -> Regions:
    """Placement, node and distances: the matrix right of both, right of the node, or its short form below."""
    role, (columns, rows) = need.role, need.matrix
    below = room.y + PLACEMENT_ROWS + 1
    rest = max(1, room.bottom - below)
    left = room.width - columns - _GAP
    placement = Region(room.x, room.y, room.width, PLACEMENT_ROWS)
    node = Region(room.x, below, room.width, rest)
    regions: Regions = {}
    if columns and left >= _LEAST_LEFT and rows - 2 <= room.height:
        regions[f"distances-{role}"] = Region(room.right - columns, room.y, columns, min(rows, room.height))
        placement, node = (Region(part.x, part.y, left, part.height) for part in (placement, node))
    elif columns and left >= _NODE_COLUMNS and rows - 2 <= rest:
        regions[f"distances-{role}"] = Region(room.right - columns, below, columns, min(rows, rest))
        node = Region(room.x, below, left, rest)
    elif columns and rest > SHORT_ROWS + _LEAST_NODE_ROWS:
        regions[f"distances-{role}"] = Region(room.x, room.bottom - SHORT_ROWS, room.width, SHORT_ROWS)
        node = Region(room.x, below, room.width, rest - SHORT_ROWS - 1)
    return regions | {f"placement-{role}": placement, f"node-{role}": node}


def _compact(width: int, height: int, need: Needs) -> Regions:
    """Sockets keep what they need of the rows that the others leave; placement goes first where rows are few."""
    inner, role = max(1, width - 2 * _MARGIN), need.role
    notes = int(height > 6)
    far = SHORT_ROWS if need.matrix[0] and height >= 20 else 0
    placement = PLACEMENT_ROWS if height >= 18 else 0
    least = _LEAST_NODE_ROWS if height >= 12 else 0
    limit = max(1, height - notes - far - placement - least)
    sockets = min(need.sockets(width, limit), limit)
    spare = height - notes - far - placement - least - sockets
    gap = min(1, spare) if placement else 0
    y = sockets + gap
    regions: Regions = {f"sockets-{role}": Region(0, 0, width, sockets)}
    for name, rows in ((f"placement-{role}", placement), (f"node-{role}", least and least + spare - gap)):
        if rows:
            regions[name] = Region(_MARGIN, y, inner, rows)
            y += rows
    if far:
        regions[f"distances-{role}"] = Region(_MARGIN, height - notes - far, inner, far)
    if notes:
        regions["notes"] = Region(_MARGIN, height - notes, inner, notes)
    return regions


def thread_regions(width: int, height: int) -> Mapping[str | None, Region]:
    """The list of one node's threads, and the remark below it."""
    top = 1 if height >= _NORMAL[1] else 0
    inner = max(1, width - 2 * _MARGIN)
    return {
        "threads": Region(_MARGIN, top, inner, max(1, height - 2 - 2 * top)),
        "notes": Region(_MARGIN, height - 1 - top, inner, 1),
    }
