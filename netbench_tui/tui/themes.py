"""The palettes as Textual themes, so that Textual's own widgets (Input, command palette, scrollbars) match ours.

Used by the app once at start.
"""

from textual.theme import Theme

from netbench_tui.tui.look import PALETTES, Palette

PREFIX = "netbench-"


def theme_name(palette: Palette) -> str:
    return PREFIX + palette.name


def palette_of(theme: str) -> Palette:
    """The palette behind a Textual theme's name; dark for a theme that is not ours."""
    return PALETTES.get(theme.removeprefix(PREFIX), PALETTES["dark"])


def themes() -> list[Theme]:
    return [_theme(palette) for palette in PALETTES.values()]


def _theme(palette: Palette) -> Theme:
    return Theme(
        name=theme_name(palette),
        primary=palette.accent,
        secondary=palette.accent2,
        accent=palette.accent,
        warning=palette.strong,
        error=palette.bad,
        success=palette.good,
        foreground=palette.text,
        background=palette.background,
        surface=palette.band,
        panel=palette.band,
        dark=palette.dark,
        variables=_variables(palette),
    )


def _variables(palette: Palette) -> dict[str, str]:
    return {
        "rule": palette.rule,
        "faint": palette.faint,
        "dim": palette.dim,
        "strong": palette.strong,
        "cursor": palette.cursor,
        "band": palette.band,
        "block-cursor-background": palette.cursor,
        "block-cursor-foreground": palette.strong,
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": palette.cursor,
        "block-cursor-blurred-foreground": palette.strong,
        "block-hover-background": palette.cursor,
        "input-cursor-background": palette.accent,
        "input-cursor-foreground": palette.background,
        "input-selection-background": palette.accent2,
        "border": palette.accent2,
        "border-blurred": palette.band,
        "scrollbar": palette.rule,
        "scrollbar-hover": palette.faint,
        "scrollbar-active": palette.accent,
        "scrollbar-background": palette.background,
        "scrollbar-background-hover": palette.background,
        "scrollbar-background-active": palette.background,
        "scrollbar-corner-color": palette.background,
        "text-disabled": palette.faint,
        "text-muted": palette.dim,
    }
