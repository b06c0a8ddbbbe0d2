"""What the keys do here and now: for the footer, for help and for the command palette, all out of the one registry."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from textual.app import SystemCommand
from textual.dom import DOMNode
from textual.screen import Screen

from netbench_tui.tui.actions import Action, by_binding_ids
from netbench_tui.tui.face import Face
from netbench_tui.tui.look import PALETTES
from netbench_tui.tui.themes import theme_name
from netbench_tui.tui.widgets.bands import FooterKey


def live_actions(screen: Screen[object]) -> list[Action]:
    """The registry's actions that work where the screen's focus is, in the registry's order."""
    active = screen.active_bindings.values()
    return by_binding_ids(bound.binding.id for bound in active if bound.enabled and bound.binding.id)


def footer_keys(screen: Screen[object], typing: bool) -> list[FooterKey]:
    """The footer's keys. A field takes every letter and sign: while `typing` only an action's other key works."""
    keys = [
        FooterKey("f1" if typing and action.key_text == "?" else action.key_text, action.label, action.name)
        for action in live_actions(screen)
        if action.footer and not (typing and len(action.keys) == 1)
    ]
    return [FooterKey("tab", "next field", "app.focus_next"), *keys] if typing else keys


def palette_commands(app: Face, screen: Screen[object]) -> Iterator[SystemCommand]:
    """What works on `screen` now, every preset, every theme."""
    node: DOMNode = screen.focused or screen
    for action in live_actions(screen):
        if action.palette:
            words = action.help.split(";")[0].split(":")[0]
            yield SystemCommand(words, f"key {action.key_text}", _later(app, node, action))
    for index, preset in enumerate(app.bench.presets):
        yield SystemCommand(f"Take preset {preset.name}", preset.title, partial(app.choose_preset, index))
    for palette in PALETTES.values():
        take = partial(setattr, app, "theme", theme_name(palette))
        yield SystemCommand(f"Theme {palette.name}", "colours", take)


def _later(app: Face, node: DOMNode, action: Action) -> Callable[[], Awaitable[None]]:
    return partial(app.run_from, node, action.name)
