"""Palettes, heat steps, glyph twins."""

import pytest

from netbench_tui.model.host import Role
from netbench_tui.tui.look import PALETTES, Look, heat_digit, heat_step, needs_ascii
from netbench_tui.tui.themes import palette_of, theme_name, themes


@pytest.mark.parametrize(
    ("percent", "step"), [(0, 0), (9.9, 0), (10, 1), (55, 5), (89.9, 8), (90, 9), (100, 9), (120, 9)]
)
def test_heat_has_ten_linear_steps(percent: float, step: int) -> None:
    assert heat_step(percent) == step


@pytest.mark.parametrize(
    ("percent", "sign"), [(0, "."), (4.9, "."), (5, "1"), (12, "1"), (50, "5"), (94, "9"), (95, "#")]
)
def test_heat_without_colour_is_the_tens_digit(percent: float, sign: str) -> None:
    assert heat_digit(percent) == sign


def test_every_palette_has_full_ramps_and_a_theme() -> None:
    names = {theme.name for theme in themes()}
    for palette in PALETTES.values():
        assert len(palette.heat_sender) == len(palette.heat_receiver) == 10
        assert theme_name(palette) in names
        assert palette_of(theme_name(palette)) is palette


def test_heat_ink_is_the_background_from_step_5_and_white_on_light() -> None:
    dark, light = Look(PALETTES["dark"]), Look(PALETTES["light"])
    assert dark.heat(Role.SENDER, 55).color.name == PALETTES["dark"].background
    assert dark.heat(Role.SENDER, 45).color.name == PALETTES["dark"].heat_sender[8]
    assert light.heat(Role.RECEIVER, 55).color.name == "#ffffff"


@pytest.mark.parametrize(
    ("environment", "encoding", "expected"),
    [
        ({"TERM": "linux", "LANG": "C.UTF-8"}, "UTF-8", True),
        ({"TERM": "xterm", "LANG": "ja_JP.UTF-8"}, "UTF-8", True),
        ({"TERM": "xterm", "LANG": "en_GB.UTF-8"}, "UTF-8", False),
        ({"TERM": "xterm", "LANG": "C"}, "ANSI_X3.4-1968", True),
    ],
)
def test_poor_terminals_get_ascii(environment: dict[str, str], encoding: str, expected: bool) -> None:
    assert needs_ascii(environment, encoding) is expected


def test_ascii_twins_are_ascii() -> None:
    look = Look(ascii_only=True)
    for name in ("sender", "receiver", "lint", "chosen", "bar", "event", "foot", "heavy", "light", "arrow", "failed"):
        assert look.glyph(name).isascii()
    assert look.words("−3 µs → 5 ± 1").isascii()
