"""The Textual application: one screen of four parts, engine events in, keys to the engine. Entry: `run_app`.

    identity            who is connected
    areas               1 Hosts  2 Features ...
    body                the area; made when it is first seen
    change bar          while a trial runs: when it is put back, and what keeps it
    keys                of the focused panel

The app owns the state (`bench`) and is the only one that talks to the engine. Painting follows data: events wake the
app at most every REDRAW_SECONDS, and only the area in sight paints.
"""

import asyncio
import gc
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import ClassVar, TypeVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.containers import Container
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.screen import Screen

from netbench_tui.errors import WorkbenchError
from netbench_tui.model.change import Change
from netbench_tui.model.host import Role
from netbench_tui.model.session import RunSummary, Target
from netbench_tui.tui.actions import bindings, in_scope
from netbench_tui.tui.bridge import Bridge, EngineFace, EventsWaiting
from netbench_tui.tui.changing import ChangeActions, Changing
from netbench_tui.tui.commands import footer_keys, live_actions, palette_commands
from netbench_tui.tui.desk import QuestionDesk
from netbench_tui.tui.frame import CSS, MainScreen, frame
from netbench_tui.tui.leaving import ask_to_leave, leave_on_signals
from netbench_tui.tui.look import PALETTES, Look, needs_ascii
from netbench_tui.tui.quiet import QuietApp
from netbench_tui.tui.screens.areas import area_of
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.status import status
from netbench_tui.tui.themes import palette_of, theme_name, themes
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.bands import AreaTabs, FooterBand, IdentityBand
from netbench_tui.tui.widgets.change_bar import ChangeBar
from netbench_tui.tui.widgets.panel import Panel, Piece

T = TypeVar("T")
# The screen changes when data came, at most this often: people read no faster, and SSH carries every cell.
REDRAW_SECONDS = 0.25
# An overlay that a quick hand opened before the first paint holds that paint back: then the engine is asked without it.
_LATEST_START_SECONDS = 1.0
# Runs listed beside the present one on a wide screen.
_BEFORE = 24
_STAGED = frozenset(action.name for action in in_scope("staged"))
_FIELD_HELP = "A host of ~/.ssh/config, user@host:port, or local for this machine. The right arrow takes a suggestion."


class WorkbenchApp(ChangeActions, QuietApp):
    """`target` is connected at once when it is given; otherwise the Connect screen waits."""

    TITLE = "netbench"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("staged"), *bindings("app")]
    CSS = CSS

    def __init__(self, engine: EngineFace, target: Target | None = None, theme: str | None = None) -> None:
        self._desk: QuestionDesk | None = None
        super().__init__()
        self.engine = engine
        self.bench = Workbench()
        self.changing = Changing(self)
        self.before: list[RunSummary] = []
        self.area = "hosts"
        self.look = Look(PALETTES["dark"], needs_ascii(), self.no_color)
        self._first_target = target
        self._desk = QuestionDesk(self)
        self._bridge = Bridge(lambda: self.post_message(EventsWaiting()))
        self._unsubscribe: Callable[[], None] | None = None
        self._own_loop: asyncio.AbstractEventLoop | None = None
        self._painted_at = 0.0
        self._paint_waits = False
        for made in themes():
            self.register_theme(made)
        self.theme = theme_name(PALETTES.get(theme or "", PALETTES["dark"]))

    def compose(self) -> ComposeResult:
        yield from frame(area_of(self.area, connected=False)[1]())

    def on_load(self) -> None:
        """Before the first paint: a signal that comes right after it must find the way out."""
        self._own_loop = asyncio.get_running_loop()

    def on_mount(self) -> None:
        self.set_interval(1.0, self._show_ages)
        self._brought(self.main.query_one(Area))
        self.call_after_refresh(self._after_first_paint)
        self.set_timer(_LATEST_START_SECONDS, self._after_first_paint)

    def _after_first_paint(self) -> None:
        """All that the first screen stands without: from here on the engine is asked. The objects of the start never
        go: a collector that was held back for it need not look at them."""
        if self._unsubscribe is not None:
            return
        self._unsubscribe = self.engine.subscribe(self._bridge.deliver)
        self.bench.presets = self.engine.presets()
        self.main.query_one(Area).seen()
        if self._first_target is not None:
            self.connect_to(self._first_target)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()

    def on_unmount(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    def watch_theme(self, theme: str) -> None:
        self.look = Look(palette_of(theme), self.look.ascii_only, self.look.no_color)
        for screen in self.screen_stack if self.is_running else ():
            for panel in screen.query(Panel):
                panel.update_rows()

    # --- engine events -------------------------------------------------------------------------------------------

    def on_events_waiting(self) -> None:
        if self._paint_waits:
            return
        self._paint_waits = True
        wait = REDRAW_SECONDS - (time.monotonic() - self._painted_at)
        self.set_timer(max(0.001, wait), self._take_events)

    async def _take_events(self) -> None:
        self._paint_waits = False
        if not self.screen_stack:
            return
        was = (self.bench.connected, self.bench.running)
        for event in self._bridge.drain():
            self.bench.apply(event)
            self.changing.saw(event)
        connected, running = self.bench.connected, self.bench.running
        if connected and not was[0]:
            await self._arrived()
        elif was[0] and not connected:
            await self.show_area("hosts")
        if was[1] and not running:
            self._load_before()
        self._show_questions()
        self.paint()

    async def _arrived(self) -> None:
        """A pair is there: show both hosts, unless the person is looking at something else."""
        if self.area == "hosts":
            await self.show_area("hosts")
        self._load_before()

    @property
    def hushed(self) -> bool:
        return self._desk is not None and self._desk.shown is not None

    def _show_questions(self) -> None:
        if self._desk is not None and self.screen_stack:
            self._desk.update(self.bench.questions)

    def _show_ages(self) -> None:
        if self.bench.lost_at or self.bench.trial is not None:
            self.paint()

    def paint(self) -> None:
        """Shows the state in the bands and in the area in sight."""
        if not self.screen_stack:
            return
        self._painted_at = time.monotonic()
        views = self.bench.views if self.bench.connected else {}
        try:
            self.main.query_one(IdentityBand).show(
                views.get(Role.SENDER), views.get(Role.RECEIVER), status(self.look, self.bench)
            )
            self.main.query_one(ChangeBar).follow(self.bench)
        except NoMatches:
            return
        for screen in self.screen_stack[1:]:
            getattr(screen, "update_overlay", lambda: None)()
        area = self.current_area
        if area is not None and area.is_mounted:
            area.update_area()
        self.refresh_footer()

    # --- areas ---------------------------------------------------------------------------------------------------

    def get_default_screen(self) -> Screen[object]:
        return MainScreen(id="_default")

    @property
    def main(self) -> Screen[object]:
        """The screen of the four parts, also while an overlay lies on it."""
        return self.screen_stack[0]

    @property
    def current_area(self) -> Area | None:
        if not self.is_running or not self.screen_stack:
            return None
        found = self.main.query("#body > .area").results(Area)
        return next((area for area in found if area.display), None)

    async def show_area(self, key: str) -> None:
        """Brings an area to sight, made now if it is new, and puts the focus where it was or on its first panel."""
        body = self.main.query_one("#body", Container)
        self.area = key
        name, make = area_of(key, self.bench.connected)
        found = list(body.query(f"#{name}").results(Area))
        area = found[0] if found else make()
        if not found:
            await body.mount(area)
        for other in body.children:
            other.display = other is area
        self.main.query_one(AreaTabs).show(key)
        self._brought(area)
        area.seen()

    def _brought(self, area: Area) -> None:
        self.paint()
        self.call_after_refresh(self._focus_in, area, area.last_focus)

    def _focus_in(self, area: Area, selector: str) -> None:
        """Moves the focus into the area, unless a quick hand was there first."""
        if not self.screen_stack or not area.display or (self.focused is not None and area in self.focused.ancestors):
            return
        for widget in area.query(selector):
            if widget.focusable:
                widget.focus()
                return

    async def action_area(self, key: str) -> None:
        if key != self.area:
            await self.show_area(key)

    async def on_area_tabs_chosen(self, message: AreaTabs.Chosen) -> None:
        await self.action_area(message.key)

    async def on_footer_band_pressed(self, message: FooterBand.Pressed) -> None:
        await self.run_from(self.focused or self.screen, message.action)

    def on_descendant_focus(self) -> None:
        if not self.screen_stack:
            return
        self.refresh_footer()
        area, focused = self.current_area, self.focused
        if area is not None and focused is not None and focused.id and area in focused.ancestors:
            area.last_focus = f"#{focused.id}"

    # --- footer, help, palette: all from the registry ------------------------------------------------------------

    @property
    def typing(self) -> bool:
        """A text field has the focus: all that is not a panel of ours is one."""
        return self.focused is not None and not isinstance(self.focused, Panel)

    def subject(self) -> Piece:
        """The focused panel's name and its ink."""
        focused = self.focused
        if isinstance(focused, Panel):
            return focused.name_in_footer, focused.ink_in_footer
        return (focused.id or "").capitalize() if focused is not None else "", "accent"

    def refresh_footer(self) -> None:
        if len(self.screen_stack) != 1 or not self.main.query(FooterBand):
            return
        typing = self.typing
        keys = footer_keys(self.screen, typing)
        self.query_one(FooterBand).show(self.subject(), keys)

    def action_help(self) -> None:
        from netbench_tui.tui.screens.choosers import HelpScreen

        text = self.focused.help_now if isinstance(self.focused, Panel) else _FIELD_HELP
        self.push_screen(HelpScreen(self.subject()[0] or "netbench", text, live_actions(self.screen)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        return palette_commands(self, screen)

    async def run_from(self, node: DOMNode, action: str) -> None:
        """Runs an action as its key would: on the first of the node and its ancestors that has it."""
        for place in node.ancestors_with_self:
            if await self.run_action(action, default_namespace=place):
                return

    def action_next_theme(self) -> None:
        names = [theme_name(palette) for palette in PALETTES.values()]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    # --- what the engine is asked --------------------------------------------------------------------------------

    def ask(self, future: "Future[T]", done: Callable[[T], None] | None = None) -> None:
        """Waits for an answer beside the screen. An expected failure is shown in place unless an event told it."""

        async def wait() -> None:
            try:
                answer = await asyncio.wrap_future(future)
            except WorkbenchError as error:
                await self._take_events()
                self.bench.refused(error.message, error.hint)
                self.paint()
            else:
                if done is not None:
                    done(answer)

        self.run_worker(wait(), group="engine", exclusive=False)

    def connect_to(self, target: Target) -> None:
        if self.bench.connecting:
            return
        self.bench.begin_connect(target)
        for area in self.main.query("#area-connect"):
            area.take_target(target)  # type: ignore[attr-defined]
        self.ask(self.engine.connect(target))
        self.paint()

    def connect_fields(self) -> None:
        """Connects what the Connect screen's fields name; without two names nothing happens."""
        from netbench_tui.tui.screens.connect import ConnectArea

        target = self.main.query_one(ConnectArea).target()
        if target is not None:
            self.connect_to(target)

    def cancel_connect(self) -> None:
        """Gives up connecting; that the engine gave up shows in place."""
        if self.bench.connecting:
            self.ask(self.engine.disconnect())

    def answer(self, number: int, answers: tuple[str, ...] | None) -> None:
        """Passes on what a host asked for, and asks the next question. Nothing of it is kept."""
        self.bench.questions.pop(number, None)
        self.engine.answer(number, answers)
        self._show_questions()

    def connect_others(self) -> None:
        self.ask(self.engine.disconnect())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "run":
            return self.bench.whole and not self.bench.running and self.bench.preset is not None
        return self.changing.can(action) if action in _STAGED else True

    def stage(self, changes: Sequence[Change]) -> None:
        self.changing.stage(changes)

    async def action_run(self) -> None:
        preset = self.bench.preset
        if preset is None or not self.bench.whole or self.bench.running:
            return
        self.bench.trouble = None
        if self.area != "run":
            await self.show_area("run")
        self.ask(self.engine.run(preset.name, preset.test, preset.settings))

    def stop_run(self) -> None:
        self.ask(self.engine.stop_run())

    def choose_preset(self, index: int) -> None:
        if self.bench.presets and not self.bench.running:
            self.bench.chosen = index % len(self.bench.presets)
            self.paint()

    def _load_before(self) -> None:
        def show(runs: list[RunSummary]) -> None:
            self.before = runs
            self.paint()

        self.ask(self.engine.runs(limit=_BEFORE), show)

    # --- leaving -------------------------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Quits; asks while a run is in progress, and while hosts hold changes of ours."""
        ask_to_leave(self)

    async def action_quit(self) -> None:
        self.action_leave()

    def leave_by_signal(self, number: int) -> bool:
        """Leaves with the exit code of a program that a signal ended. From a signal handler; False if it cannot."""
        if self._own_loop is None or self._own_loop.is_closed():
            return False
        self._own_loop.call_soon_threadsafe(self.exit, 128 + number)
        return True


def run_app(engine: EngineFace, target: Target | None, theme: str | None = None) -> int:
    """Runs the workbench until the person leaves; the caller starts the engine before and closes it after.
    Gives the exit code: 0, or what Textual ended with."""
    app = WorkbenchApp(engine, target, theme)
    with leave_on_signals(app.leave_by_signal):
        result = app.run()
    return result if isinstance(result, int) else app.return_code or 0
