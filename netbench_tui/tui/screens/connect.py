"""Area 1 before a pair is connected: choose two hosts, see how far the way to each is, and what failed and why.

Failures show in place and the program stays up. Fields are Textual inputs; everything else is painted.
"""

import textwrap
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region

from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, LabTarget, PairTarget, Reach, RecentPair, Target
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.choices import LOCAL, ChoiceList, choices
from netbench_tui.tui.state import ARRIVED, Workbench
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.facts import TextPanel
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.rows import RowList

if TYPE_CHECKING:
    from textual.widgets import Input


_PROMISE = (
    "Nothing is installed on the hosts and nothing stays: a small agent travels over the connection and ends with it."
)


def host_target(text: str) -> HostTarget:
    """What the user typed as a host: `local` is this machine, all else goes by ssh."""
    return HostTarget(text, Reach.LOCAL if text == LOCAL else Reach.SSH)


class HostSteps(Panel):
    """Under a field: the way to that host, step by step, and where it ended."""

    help_text = "The steps on the way to this host. A red cross says where it ended, and below it why and what to do."

    def __init__(self, role: Role, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.role = role
        self.bench: Workbench | None = None

    def show(self, bench: Workbench) -> None:
        self.bench = bench
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        look, bench = self.look, self.bench
        lines: list[Line] = []
        if bench is None:
            return lines
        steps = bench.steps.get(self.role, [])
        failure = bench.failures.get(self.role)
        for index, step in enumerate(steps):
            last = index == len(steps) - 1 and step != ARRIVED
            sign, ink = ("passed", "good")
            if last:
                waits = ("remark", "accent") if bench.connecting else ("absent", "dim")
                sign, ink = ("failed", "bad") if failure else waits
            line = self.line()
            line.put(0, look.glyph(sign), look.style(ink, bold=True))
            line.put(2, cut(step, width - 2), look.style("text" if last else "dim"))
            lines.append(line)
        if failure is not None:
            lines += self._wrapped(failure.message, "strong", width) + self._wrapped(failure.hint, "dim", width)
        return lines[-height:] if len(lines) > height and failure is None else lines

    def _wrapped(self, text: str, ink: str, width: int) -> list[Line]:
        lines = []
        for row in textwrap.wrap(text, max(10, width - 2)):
            line = self.line()
            line.put(2, self.look.words(row), self.look.style(ink))
            lines.append(line)
        return lines


class FieldHead(Panel):
    """`▲ Sender  local ─────` over its field; heavy while the field has the focus."""

    can_focus = False

    def __init__(self, role: Role, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.role = role
        self.field_focused = False

    def mark(self, focused: bool) -> None:
        self.field_focused = focused
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        word = "Sender" if self.role is Role.SENDER else "Receiver"
        side = "local" if self.role is Role.SENDER else "remote"
        line = self.titled_rule(f"{self.look.mark(self.role)} {word}", side, ink=self.look.hue(self.role))
        if self.field_focused:
            start = len(word) + len(side) + 6
            line.fill(start - 1, width, self.look.glyph("heavy"), self.look.style("accent2"))
        return [line]


class ConnectRow(Panel):
    """The one filled button of the workbench, with its key and what it would do."""

    help_text = "enter connects to both hosts."

    title = "Connect"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.words = ""

    def show(self, words: str) -> None:
        self.words = words
        self.update_rows()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        line, look = self.line(), self.look
        line.fill(0, 11, " ", look.style("background", "accent", bold=True))
        line.put(2, "Connect", look.style("background", "accent", bold=True))
        column = line.put(13, "enter", look.style("strong")) + 3
        line.put(column, cut(self.words, width - column), look.style("text" if self.has_focus else "dim"))
        return [line]

    def on_click(self) -> None:
        face(self).connect_fields()


class ConnectArea(Area):
    """Area 1 while no pair is connected."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("connect")]
    FIRST_FOCUS = "choices"
    DEFAULT_CSS = """
    ConnectArea Input {
        border: none; height: 1; padding: 0 1; background: $surface; color: $foreground;
    }
    ConnectArea Input:focus { border: none; background: $cursor; background-tint: $foreground 0%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._had_steps = False
        self._first = ("", "")
        self._inputs: list[Input] = []
        self._known: Sequence[str] = ()
        self._recent: Sequence[RecentPair] = ()

    def take_target(self, target: Target) -> None:
        """Shows in the fields what is being connected, so that enter can try it again."""
        if isinstance(target, PairTarget):
            self._first = (target.sender.name, target.receiver.name)
            for field, name in zip(self._inputs, self._first, strict=False):
                field.value = name

    def compose(self) -> ComposeResult:
        yield _focus(ChoiceList("Choose", id="choices"))
        for role in Role:
            yield FieldHead(role, id=f"head-{role.value}")
            yield HostSteps(role, id=f"steps-{role.value}")
        yield _focus(ConnectRow(id="button"))
        yield TextPanel(id="promise")

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        inner = min(width, 140) - 2
        left = (width - inner) // 2
        if width < 100 or height < 30:
            return _narrow(left, inner, height, steps=bool(face(self).bench.steps))
        list_width = inner * 36 // 118
        x = left + list_width + 4
        half = (inner - list_width - 4 - 3) // 2
        regions: dict[str | None, Region] = {"choices": Region(left, 1, list_width, height - 2)}
        for role, at in ((Role.SENDER, x), (Role.RECEIVER, x + half + 3)):
            regions[f"head-{role.value}"] = Region(at, 1, half, 1)
            regions[role.value] = Region(at, 3, half, 1)
            regions[f"steps-{role.value}"] = Region(at, 5, half, max(1, height - 13))
        regions["promise"] = Region(x, height - 6, 2 * half + 3, 3)
        regions["button"] = Region(x, height - 3, 2 * half + 3, 1)
        return regions

    def on_mount(self) -> None:
        self.query_one("#promise", TextPanel).show(((_PROMISE, "dim"),))

    async def _mount_fields(self) -> None:
        """When the area is seen, after the first paint: Textual's Input costs as much to load as all the rest."""
        from textual.suggester import SuggestFromList
        from textual.widgets import Input

        if self._inputs:
            return
        known = SuggestFromList([*self._known, LOCAL], case_sensitive=True)
        words = "host, user@host:port or local"
        self._inputs = [
            Input(name, placeholder=words, suggester=known, id=role.value)
            for role, name in zip(Role, self._first, strict=True)
        ]
        for role, field in zip(Role, self._inputs, strict=True):
            await self.mount(field, after=f"#head-{role.value}")

    def seen(self) -> None:
        """Reads ssh_config and the history's pairs anew: both may have changed since."""
        self._known = face(self).engine.known_hosts()
        if not self._inputs:
            self.call_next(self._mount_fields)
        face(self).ask(face(self).engine.recent_pairs(), self._take_recent)
        self.update_area()

    def _take_recent(self, recent: Sequence[RecentPair]) -> None:
        self._recent = recent
        self.update_area()

    def update_area(self) -> None:
        bench = face(self).bench
        rows = choices(self._recent, self._known, time.time())
        listed = self.query_one(ChoiceList)
        if list(listed.items) != rows:
            listed.show(rows)
        for steps in self.query(HostSteps):
            steps.show(bench)
        if self._had_steps != bool(bench.steps):
            self._had_steps = bool(bench.steps)
            self.arrange_again()
        self.query_one(ConnectRow).show(self._words(bench))

    def _words(self, bench: Workbench) -> str:
        if bench.connecting:
            return "connecting ...   esc gives up"
        if bench.trouble is not None:
            return f"{bench.trouble.message}  {bench.trouble.hint}"
        if bench.failures:
            return "try again"
        sender, receiver = self.fields
        return f"{sender or 'sender'} to {receiver or 'receiver'}" if sender or receiver else "name two hosts"

    @property
    def fields(self) -> tuple[str, str]:
        """Sender and receiver as typed; empty where nothing is."""
        sender, receiver = [field.value.strip() for field in self._inputs] or self._first
        return sender, receiver

    def fill_field(self, host: str) -> None:
        """Puts a host into the first empty field, else into the receiver's, and goes on to what waits next."""
        if not self._inputs:
            return
        sender, receiver = self._inputs
        field = sender if not sender.value else receiver
        field.value = host
        (receiver if not receiver.value else self.query_one(ConnectRow)).focus()
        self.query_one(ConnectRow).show(self._words(face(self).bench))

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        event.stop()
        if event.item.target is not None:
            face(self).connect_to(event.item.target)
        else:
            self.fill_field(event.item.host)

    def on_input_changed(self) -> None:
        self.query_one(ConnectRow).show(self._words(face(self).bench))

    def on_input_submitted(self, event: "Input.Submitted") -> None:
        event.stop()
        if all(self.fields):
            face(self).connect_fields()
        else:
            next(field for field in self._inputs if field is not event.input).focus()

    def on_key(self, event: object) -> None:
        if getattr(event, "key", "") == "enter" and isinstance(self.app.focused, ConnectRow):
            face(self).connect_fields()

    def on_descendant_focus(self) -> None:
        self._mark_heads()

    def on_descendant_blur(self) -> None:
        self._mark_heads()

    def _mark_heads(self) -> None:
        for head, field in zip(self.query(FieldHead), self._inputs, strict=False):
            head.mark(field.has_focus)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "cancel_connect":
            return face(self).bench.connecting
        if action == "leave_field":
            return not face(self).bench.connecting and any(field.has_focus for field in self._inputs)
        return True

    def action_cancel_connect(self) -> None:
        face(self).cancel_connect()

    def action_leave_field(self) -> None:
        self.query_one(ChoiceList).focus()

    def action_swap(self) -> None:
        if self._inputs:
            sender, receiver = self._inputs
            sender.value, receiver.value = receiver.value, sender.value

    def action_lab(self) -> None:
        face(self).connect_to(LabTarget())

    def target(self) -> Target | None:
        """What the fields name; None while one is empty."""
        sender, receiver = self.fields
        return PairTarget(host_target(sender), host_target(receiver)) if sender and receiver else None


def _narrow(left: int, inner: int, height: int, steps: bool) -> dict[str | None, Region]:
    """List above, fields side by side below it, then the steps (which take rows from the list once there are any); the
    button on the last row."""
    half = (inner - 3) // 2
    listed = max(4, (height - 4) // 3 if steps else (height - 4) * 3 // 5)
    regions: dict[str | None, Region] = {"choices": Region(left, 0, inner, listed)}
    for role, at in ((Role.SENDER, left), (Role.RECEIVER, left + half + 3)):
        regions[f"head-{role.value}"] = Region(at, listed + 1, half, 1)
        regions[role.value] = Region(at, listed + 2, half, 1)
        regions[f"steps-{role.value}"] = Region(at, listed + 3, half, max(1, height - listed - 4))
    regions["button"] = Region(left, height - 1, inner, 1)
    return regions


def _focus(panel: Panel) -> Panel:
    panel.can_focus = True
    return panel
