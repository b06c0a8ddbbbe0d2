"""A run's throughput over time as a static chart in text. Used by the verb `show` on a terminal.

Drawn by plotext (6.1 or later: its interface was rewritten there), which is slow for live use and fine for one frame.
"""

import math

import plotext

from netbench_tui.model.run import RunResult

# Below this the axis labels leave no room for a curve; above it a curve says nothing more.
NARROWEST, WIDEST = 40, 120
HEIGHT = 14


def throughput_chart(result: RunResult, width: int, height: int = HEIGHT) -> str:
    """Gbit/s over the seconds since the streams' start, as the receiver's generator reported it (the sender's, where
    the receiver reported nothing). Plain text without colour; empty if there are fewer than two intervals or if
    `width` columns are too few.
    """
    intervals = [i for i in result.report.received or result.report.sent if i.end > i.start]
    if len(intervals) < 2 or width < NARROWEST:
        return ""
    times = [interval.end for interval in intervals]
    rates = [interval.bits_per_second / 1e9 for interval in intervals]
    figure = plotext.figure
    figure.clear()
    figure.plot_size(min(width, WIDEST), height)
    figure.theme("colorless")
    figure.axes(False, side=1)
    # Zero always in view: a scale that follows the data makes noise look like a collapse.
    figure.ruler("y").lim(0, _round_up(max(rates)))
    figure.ruler("x").lim(0, times[-1])
    figure.draw(figure.signal(times, rates, marker="braille").lines())
    text = plotext.uncolorize(str(figure.build()))
    lines = [line.rstrip() for line in text.splitlines()]
    counted_by = "receiver" if result.report.received else "sender"
    return "\n".join([f"Gbit/s over seconds, {counted_by}", *lines]).rstrip() + "\n"


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 6, 8 times a power of ten, so that half and quarter ticks are short numbers."""
    if value <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return next(step * scale for step in (1, 2, 4, 6, 8, 10) if value <= step * scale)
