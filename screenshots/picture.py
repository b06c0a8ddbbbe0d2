"""A screen of cells as SVG. Braille, blocks and rules are drawn: fonts disagree about them. Used by make.py."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from screenshots.terminal import Cell

WIDTH, HEIGHT, PADDING, FONT_SIZE = 10, 21, 12, 16.6
# How far below a cell's top its text stands.
BASELINE = 15.5
FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"
# Dot positions (column, row) of a braille character's bits, lowest bit first.
BRAILLE_DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
RULES = {"─": 1.2, "━": 3.0}
DEFAULT_FOREGROUND = "#cccccc"


def svg(rows: Sequence[Sequence[Cell]], background: str) -> str:
    """The picture of a screen; `background` fills what no cell fills."""
    width = max(len(row) for row in rows) * WIDTH + 2 * PADDING
    height = len(rows) * HEIGHT + 2 * PADDING
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="{FONTS}" font-size="{FONT_SIZE}">',
        f'<rect width="{width}" height="{height}" rx="6" fill="{background}"/>',
    ]
    dots: dict[str, list[str]] = defaultdict(list)
    for number, row in enumerate(rows):
        top = PADDING + number * HEIGHT
        parts += _backgrounds(row, top, background)
    for number, row in enumerate(rows):
        parts += _foregrounds(row, PADDING + number * HEIGHT, dots)
    for color, places in dots.items():
        path = f'<path stroke="{color}" stroke-width="3.4" stroke-linecap="round" d="{"".join(places)}"/>'
        parts.append(path)
    return "\n".join([*parts, "</svg>\n"])


def _backgrounds(row: Sequence[Cell], top: int, background: str) -> Iterator[str]:
    column = 0
    for color, run in groupby(row, lambda cell: cell.background):
        length = len(list(run))
        if color and color != background:
            yield _box(PADDING + column * WIDTH, top, length * WIDTH, HEIGHT, color)
        column += length


def _foregrounds(row: Sequence[Cell], top: int, dots: dict[str, list[str]]) -> Iterator[str]:
    column = 0
    for (color, bold, drawn), run in groupby(row, lambda cell: (cell.foreground, cell.bold, _is_drawn(cell.text))):
        cells = list(run)
        left, fill = PADDING + column * WIDTH, color or DEFAULT_FOREGROUND
        column += len(cells)
        if drawn:
            for offset, cell in enumerate(cells):
                yield from _shape(cell.text, left + offset * WIDTH, top, fill, dots)
            continue
        text = "".join(cell.text for cell in cells)
        if text.strip():
            weight = ' font-weight="bold"' if bold else ""
            yield (
                f'<text x="{left}" y="{top + BASELINE}" fill="{fill}"{weight} textLength="{len(cells) * WIDTH}" '
                f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(text)}</text>'
            )


def _is_drawn(text: str) -> bool:
    return text in RULES or text in "▌█┊" or 0x2800 <= ord(text) < 0x2900


def _shape(text: str, left: float, top: float, fill: str, dots: dict[str, list[str]]) -> Iterator[str]:
    if text in RULES:
        yield _box(left, top + HEIGHT / 2 - RULES[text] / 2, WIDTH, RULES[text], fill)
    elif text in "▌█":
        yield _box(left, top, WIDTH / 2 if text == "▌" else WIDTH, HEIGHT, fill)
    elif text == "┊":
        for quarter in range(4):
            yield _box(left + WIDTH / 2 - 0.6, top + quarter * HEIGHT / 4 + 1, 1.2, 2.4, fill)
    else:
        for bit, (x, y) in enumerate(BRAILLE_DOTS):
            if (ord(text) - 0x2800) >> bit & 1:
                dots[fill].append(f"M{left + 2.5 + 5 * x:g} {top + 2.6 + 5.25 * y:g}h0")


def _box(left: float, top: float, width: float, height: float, fill: str) -> str:
    place = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} fill="{fill}" shape-rendering="crispEdges"/>'
