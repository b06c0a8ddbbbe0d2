"""The right end of the identity band: by what right and how far away both hosts are, or which of them was lost.

Pure texts, longest first; the band takes the longest that it has room for. Used by the app.
"""

from collections.abc import Sequence

from netbench_tui.model.host import Clock, Privilege, Role
from netbench_tui.model.session import HostView
from netbench_tui.model.units import fixed
from netbench_tui.tui.changing import held_entries
from netbench_tui.tui.look import Look
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.panel import Piece

Pieces = tuple[Piece, ...]
# A host's monotonic clock counts from its boot: beyond this the offset is an uptime, and only its error tells.
_OFFSET_SHOWN_SECONDS = 1.0


def status(look: Look, bench: Workbench) -> Sequence[Pieces]:
    """What the band may say now, from the longest to the shortest."""
    if bench.connecting:
        return [(("connecting", "text"),)]
    if not bench.connected:
        return [(("not connected", "dim"),)]
    if bench.lost_at:
        # With one host lost there is no shorter form: the hosts' part of the band gives way.
        briefer = [_lost(look, bench, brief=True)] if len(bench.lost_at) > 1 else []
        return [_lost(look, bench, brief=False), *briefer]
    run: Pieces = ()
    if bench.running and bench.trace is not None:
        run = (("   ", "dim"), (look.glyph("chosen"), "accent"), (f" {bench.trace.name}", "strong"))
    rights = (*_rights(look, bench), *_changed(look, bench))
    trips = _trips(look, bench, clocks=False)
    return [
        (*rights, *_trips(look, bench, clocks=True), *run),
        (*rights, *trips, *run),
        (*rights, *run),
        rights if _read_only(bench) else run or rights,
    ]


def _lost(look: Look, bench: Workbench, brief: bool) -> Pieces:
    pieces: list[Piece] = [(f"{look.glyph('lint')} ", "bad")]
    for role in bench.lost_at:
        gap = "   " if len(pieces) > 1 else ""
        pieces.append((f"{gap}{look.mark(role)} {bench.views[role].name}", look.hue(role)))
        pieces.append((lost_words(bench, role).split(",")[0] if brief else lost_words(bench, role), "strong"))
    return tuple(pieces)


def lost_words(bench: Workbench, role: Role) -> str:
    """` lost 14 s, trying again in 4 s (3rd)`."""
    words = f" lost {bench.age(role) or 0.0:.0f} s"
    retry = bench.retries.get(role)
    if retry is None:
        return words
    wait = round(retry.due - bench.clock())
    when = f"trying again in {wait} s" if wait > 0 else "trying again now"
    return f"{words}, {when} ({ordinal(retry.attempt)})"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `11th`."""
    last = 0 if 10 < number % 100 < 14 else number % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def _read_only(bench: Workbench) -> list[HostView]:
    return [view for view in bench.views.values() if view.privilege is Privilege.NONE]


def _rights(look: Look, bench: Workbench) -> Pieces:
    """What limits comes first and in red: a host without rights can be watched and not changed."""
    limited = _read_only(bench)
    if limited:
        marks = "".join(f"{look.mark(view.role)} " for view in limited) if len(limited) == 1 else ""
        return ((f"{look.glyph('lint')} {marks}{Privilege.NONE.value}", "bad"),)
    return ((", ".join(dict.fromkeys(view.privilege.value for view in bench.views.values())), "dim"),)


def _changed(look: Look, bench: Workbench) -> Pieces:
    """How many settings differ by our doing from how the session found them."""
    number = len(held_entries(bench.journal))
    return (("  ", "dim"), (f"{look.glyph('changed')} {number} changed", "strong")) if number else ()


def _trips(look: Look, bench: Workbench, clocks: bool) -> Pieces:
    pieces: list[Piece] = []
    for role, view in bench.views.items():
        pieces += [(f"   {look.mark(role)} ", look.hue(role)), (f"{1000 * view.clock.round_trip:.2f}", "strong")]
        pieces.append((" ms", "dim"))
        if clocks:
            pieces.append((f", clock {clock_words(view.clock)}", "dim"))
    return tuple(pieces)


def clock_words(clock: Clock) -> str:
    """`3.20 ±0.04` in milliseconds; `±0.04` alone where the clocks count from different boots."""
    error = f"±{1000 * clock.error:.2f}"
    near = abs(clock.offset) < _OFFSET_SHOWN_SECONDS
    return f"{fixed(1000 * clock.offset, 2)} {error}" if near else error
