"""Where the Run view's panels stand, by size alone. Pure; used by screens.run and its tests.

120 x 40                          80 x 24                      200 x 60
Throughput ━━━━━━━━ now mean      Throughput ━━━━ now          Throughput ━━━━━━━━━   This run ──────
  chart, 13 rows, axis              chart, 7 rows, axis          chart, softirq,      Events ────────
▲ alpha ────   ▼ beta ─────       ▲ alpha  a row a node          retransmits          Runs before ───
Metrics ───────────────────       ▼ beta                       ▲ alpha ────────   ▼ beta ────────────
Remarks ───────────────────       Metrics ──────────           Metrics, three groups
● run ━━━━────                    ! remark                     Remarks
                                  ● run ━━───                  ● run ━━━━────
"""

from collections.abc import Callable, Mapping

from textual.geometry import Region

# Sizes of the body (without the identity row, the areas and the keys) from which the fuller layouts stand.
_NORMAL = (100, 32)
_WIDE = (170, 50)
_MARGIN, _GAP = 1, 3
_METRICS_ROWS = 6
_SMALL_CHART_ROWS = 5
_SIDE_SHARE = 0.34

HeatRows = Callable[[int, int, bool], int]
"""(width, most rows, compact) -> rows that the taller of both hosts' heat wants."""


def is_compact(width: int, height: int) -> bool:
    return width < _NORMAL[0] or height < _NORMAL[1]


def is_wide(width: int, height: int) -> bool:
    return width >= _WIDE[0] and height >= _WIDE[1]


def run_regions(width: int, height: int, heat_rows: HeatRows) -> Mapping[str | None, Region]:
    """Panel id -> region; a panel that has no room is absent."""
    if is_compact(width, height):
        return _compact(width, height, heat_rows)
    return _full(width, height, heat_rows)


def _compact(width: int, height: int, heat_rows: HeatRows) -> dict[str | None, Region]:
    inner = width - 2 * _MARGIN
    heat = heat_rows(inner, max(1, (height - 13) // 4), True)
    fixed = 2 * heat + 4 + 1 + 1
    # The chart gives up rows first, then the remark goes, then the metrics.
    keep_note, keep_metrics = height - fixed >= 4, height - fixed >= 3
    rows: list[tuple[str, int]] = [("heat-sender", heat), ("heat-receiver", heat)]
    rows += [("metrics", 4)] if keep_metrics else []
    rows += [("notes", 1)] if keep_note else []
    rows += [("runline", 1)]
    used = sum(size for _, size in rows)
    chart = max(0, height - used)
    gaps = min(2, max(0, chart - 9))
    chart -= gaps
    rows.insert(0, ("chart", chart))
    regions: dict[str | None, Region] = {}
    y = 0
    for name, size in rows:
        if (name == "heat-sender" and gaps) or (name == "notes" and gaps > 1):
            y += 1
        if size > 0:
            regions[name] = Region(_MARGIN, y, inner, min(size, max(0, height - y)))
        y += size
    return {name: region for name, region in regions.items() if region.height > 0}


def even_plot(rows: int) -> int:
    """The most plot rows up to `rows` that four even grid steps divide."""
    return max(5, rows - (rows - 1) % 4) if rows >= 5 else rows


def _full(width: int, height: int, heat_rows: HeatRows) -> dict[str | None, Region]:
    inner, wide = width - 2 * _MARGIN, is_wide(width, height)
    half = (inner - _GAP) // 2
    heat = heat_rows(half, height // 3 if wide else max(6, height // 4), False)
    # Blank rows: on top, after chart, heat, metrics and remarks, and below the run line.
    upper = height - 6 - heat - _METRICS_ROWS - 2 - 1
    side = int(inner * _SIDE_SHARE) if wide else 0
    left = inner - side - (_GAP if wide else 0)
    small = 2 * (_SMALL_CHART_ROWS + 1) if wide else 0
    plot = even_plot(upper - small - 2)
    spare = upper - small - 2 - plot
    regions: dict[str | None, Region] = {"chart": Region(_MARGIN, 1, left, plot + 2)}
    y = 1 + plot + 2 + 1
    if wide:
        for name in ("softirq", "retransmits"):
            regions[name] = Region(_MARGIN, y, left, _SMALL_CHART_ROWS)
            y += _SMALL_CHART_ROWS + 1
        regions |= _side(_MARGIN + left + _GAP, side, y - 2)
    regions["heat-sender"] = Region(_MARGIN, y, half, heat)
    regions["heat-receiver"] = Region(_MARGIN + inner - half, y, half, heat)
    y += heat + 1
    regions["metrics"] = Region(_MARGIN, y, inner, _METRICS_ROWS)
    y += _METRICS_ROWS + 1
    regions["notes"] = Region(_MARGIN, y, inner, 2 + spare)
    regions["runline"] = Region(_MARGIN, height - 2, inner, 1)
    return regions


def _side(x: int, width: int, bottom: int) -> dict[str | None, Region]:
    details, events = 10, 6
    regions: dict[str | None, Region] = {
        "details": Region(x, 1, width, details),
        "events": Region(x, 2 + details, width, events),
    }
    top = 3 + details + events
    regions["before"] = Region(x, top, width, max(1, bottom - top))
    return regions
