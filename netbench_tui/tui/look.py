"""The look: palettes, heat ramps and glyphs, with twins for poor terminals. Used by every widget; holds no layout.

Hue says which host, lightness how much, shape what state, weight what matters, and the one accent where you are.
"""

import functools
import locale
import os
from collections.abc import Mapping
from typing import NamedTuple

from rich.style import Style

from netbench_tui.model.host import Role

HEAT_STEPS = 10
# From this step on a heat cell of two or more columns prints its number, so that hot has a shape as well as a colour.
NUMBERED_FROM_PERCENT = 90.0
# Locales in which terminals commonly draw the ambiguous-width signs two columns wide.
_WIDE_AMBIGUOUS = ("zh", "ja", "ko")


class Palette(NamedTuple):
    """Colours by their role, as `#rrggbb`. `heat_sender` and `heat_receiver` have ten steps, 0 % to 90 % and above."""

    name: str
    dark: bool
    background: str
    band: str
    cursor: str
    rule: str
    faint: str
    dim: str
    text: str
    strong: str
    accent: str
    accent2: str
    sender: str
    receiver: str
    good: str
    bad: str
    heat_sender: tuple[str, ...]
    heat_receiver: tuple[str, ...]


def _ramp(text: str) -> tuple[str, ...]:
    return tuple(f"#{step}" for step in text.split())


DARK = Palette(
    name="dark",
    dark=True,
    background="#12151a",
    band="#191c22",
    cursor="#252a34",
    rule="#3c4048",
    faint="#676c75",
    dim="#969ba7",
    text="#d0d4dc",
    strong="#f5f7fb",
    accent="#ddaefa",
    accent2="#76518c",
    sender="#5fb1f3",
    receiver="#f4b261",
    good="#84dfa5",
    bad="#f06b6c",
    heat_sender=_ramp("162029 15344e 104874 0d5e98 1b75b8 368cd3 57a4e7 7ebcf6 a8d4fe d6ebff"),
    heat_receiver=_ramp("261d13 462b0b 643b04 804d06 9e6005 bc740f d28d3f e4a96c f1c69b fbe3cd"),
)
LIGHT = Palette(
    name="light",
    dark=False,
    background="#fbfaf7",
    band="#f2f1ec",
    cursor="#e1e2eb",
    rule="#c8c7c3",
    faint="#8d8c87",
    dim="#606369",
    text="#32353c",
    strong="#0d0f15",
    accent="#71169f",
    accent2="#bc8fdd",
    sender="#1a6dbc",
    receiver="#ae5e18",
    good="#287c42",
    bad="#a50d1c",
    heat_sender=_ramp("eaf3fd c0deff 96c9fe 71b3f6 4e9dea 2d87d8 0a71c1 015da1 034980 043761"),
    heat_receiver=_ramp("fdefe6 f8d2b8 f0b68e e49b66 d48141 c0691c a65602 894708 6d3704 532802"),
)
OKABE = Palette(
    name="okabe",
    dark=True,
    background="#141414",
    band="#1c1c1c",
    cursor="#2b2b2b",
    rule="#424242",
    faint="#6f6f6f",
    dim="#a1a1a1",
    text="#dbdbdb",
    strong="#fcfcfc",
    accent="#cc79a7",
    accent2="#8d5375",
    sender="#56b4e9",
    receiver="#e69f00",
    good="#009e73",
    bad="#d55e00",
    heat_sender=_ramp("152028 0f364a 054b6b 00628b 0d79a9 2191c7 4ba9dc 76c0ec a3d7f7 d2ecfd"),
    heat_receiver=_ramp("261d12 442c04 5e3e04 7a5102 966508 b37a0f cd9131 dfac63 edc896 f8e5ca"),
)
PALETTES: Mapping[str, Palette] = {palette.name: palette for palette in (DARK, LIGHT, OKABE)}

# Meaning -> (glyph, its ASCII twin). All are one column wide in every locale whose ambiguous width is narrow.
_GLYPHS: Mapping[str, tuple[str, str]] = {
    "sender": ("▲", "^"),
    "receiver": ("▼", "v"),
    "changed": ("◆", "#"),
    "follows": ("↳", "&"),
    "open": ("▾", "-"),
    "closed": ("▸", "+"),
    "lint": ("!", "!"),
    "remark": ("·", "-"),
    "passed": ("✓", "+"),
    "failed": ("×", "x"),
    "absent": ("–", "-"),
    "barred": ("⊘", "="),
    "chosen": ("●", "o"),
    "unchosen": ("○", "."),
    "bar": ("▌", ">"),
    "event": ("┊", ":"),
    "foot": ("▴", "^"),
    "heavy": ("━", "="),
    "light": ("─", "-"),
    "arrow": ("→", ">"),
    "no_data": ("·", "."),
    "staged": ("◇", "*"),
    "differs": ("≠", "!"),
    "lands": ("▾", "+"),
    "process": ("•", "a"),
    "nic": ("▪", "N"),
    "isolated": ("□", "i"),
    "tickless": ("◌", "n"),
}
_ASCII_SIGNS = str.maketrans("−–µ±→←·…↑↓", "--u~><-.^v")


class Look:
    """A palette and a set of glyphs, bound together for one terminal.

    `ascii_only` swaps every glyph for its twin; `no_color` asks for shapes wherever colour alone would carry a fact.
    """

    def __init__(self, palette: Palette = DARK, ascii_only: bool = False, no_color: bool = False) -> None:
        self.palette = palette
        self.ascii_only = ascii_only
        self.no_color = no_color

    def glyph(self, meaning: str) -> str:
        return _GLYPHS[meaning][self.ascii_only]

    def mark(self, role: Role) -> str:
        """The sign that always stands before a host's name."""
        return self.glyph("sender" if role is Role.SENDER else "receiver")

    def hue(self, role: Role) -> str:
        """The palette's name for the host's colour."""
        return "sender" if role is Role.SENDER else "receiver"

    def words(self, text: str) -> str:
        """Text of ours with its typographic signs put into ASCII where the terminal needs it."""
        return text.translate(_ASCII_SIGNS) if self.ascii_only else text

    def style(self, ink: str = "text", paper: str = "background", bold: bool = False) -> Style:
        """A style by palette names, e.g. `style("strong", "cursor")`; `strong` is always bold."""
        return _style(getattr(self.palette, ink), getattr(self.palette, paper), bold or ink == "strong")

    def heat(self, role: Role, percent: float) -> Style:
        """The style of a heat cell; its ink is readable on its paper."""
        ramp = self.palette.heat_sender if role is Role.SENDER else self.palette.heat_receiver
        step = heat_step(percent)
        if step < 5:
            return _style(ramp[8], ramp[step], True)
        return _style(self.palette.background if self.palette.dark else "#ffffff", ramp[step], True)


@functools.lru_cache(maxsize=512)
def _style(ink: str, paper: str, bold: bool) -> Style:
    return Style(color=ink, bgcolor=paper, bold=bold)


def heat_step(percent: float) -> int:
    """0..9: ten linear steps of 10 %, always of 0 to 100."""
    return max(0, min(HEAT_STEPS - 1, int(percent // 10)))


def heat_digit(percent: float) -> str:
    """The cell's value as one sign for terminals without colour: the tens digit, `.` below 5 %, `#` from 95 %."""
    if percent < 5:
        return "."
    return "#" if percent >= 95 else str(round(percent / 10) if percent >= 10 else 1)


def needs_ascii(environment: Mapping[str, str] | None = None, encoding: str | None = None) -> bool:
    """True on the Linux console, without UTF-8, and in locales where ambiguous signs may be two columns wide."""
    env = os.environ if environment is None else environment
    if env.get("TERM") == "linux":
        return True
    language = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if language.split("_")[0].lower() in _WIDE_AMBIGUOUS:
        return True
    found = encoding if encoding is not None else locale.getpreferredencoding(False)
    return found.lower().replace("-", "") != "utf8"
