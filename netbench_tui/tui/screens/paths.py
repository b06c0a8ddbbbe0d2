"""Which NICs carry the traffic: both hosts' NICs side by side, the sender's taken first. Used by the Hosts area.

A NIC that cannot carry it is shown with the reason; the engine has the last word, and its refusal shows in place.
"""

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen

from netbench_tui.errors import WorkbenchError
from netbench_tui.model.host import Nic, Role
from netbench_tui.model.session import HostView
from netbench_tui.model.units import link_speed
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens.choosers import sheet_css
from netbench_tui.tui.widgets.facts import TextPanel
from netbench_tui.tui.widgets.line import Line, cut
from netbench_tui.tui.widgets.rows import RowList

_ROWS_EACH = 2


@dataclass(frozen=True, slots=True)
class NicRow:
    """One NIC as the list shows it: `barred` is why it cannot be taken."""

    nic: Nic
    taken: bool = False
    ssh: bool = False
    barred: str = ""


def nic_rows(view: HostView, taken: str, same_machine: bool, other: Nic | None = None) -> list[NicRow]:
    """All NICs of a host, those that cannot be taken last; with `other` they must share a subnet with it."""
    rows = []
    for nic in view.facts.nics:
        barred = _unusable(nic, same_machine) or (_apart(nic, other) if other is not None else "")
        rows.append(NicRow(nic, nic.name == taken, nic.name == view.management_nic, barred))
    return sorted(rows, key=lambda row: bool(row.barred))


def _unusable(nic: Nic, same_machine: bool) -> str:
    """Why no traffic can go through it; virtual devices report `unknown` although they work."""
    if nic.kind == "loopback" and not same_machine:
        return "stays on its host"
    if nic.state not in ("up", "unknown"):
        return nic.state
    return "" if nic.addresses else "no address"


def _apart(nic: Nic, other: Nic) -> str:
    """Why traffic cannot go straight from one to the other. Link-local addresses (IPv6) always share their subnet."""
    common = _subnets(nic) & _subnets(other)
    return "" if common else f"no subnet with {other.name}"


def _subnets(nic: Nic) -> set[object]:
    found: set[object] = set()
    for address in nic.addresses:
        try:
            found.add(ipaddress.ip_interface(f"{address.text.partition('%')[0]}/{address.prefix}").network)
        except ValueError:
            continue
    return found


class NicList(RowList[NicRow]):
    """A NIC takes two rows: what it is, and its addresses or why it cannot be taken."""

    rows_each = _ROWS_EACH

    def __init__(self, view: HostView, *, id: str | None = None) -> None:
        super().__init__("", id=id)
        self.view = view
        self.heading_ink = "sender" if view.role is Role.SENDER else "receiver"
        self.remark = view.role.value

    def on_mount(self) -> None:
        self.heading = f"{self.look.mark(self.view.role)} {self.view.name}"

    def selectable(self, item: NicRow) -> bool:
        return not item.barred

    def place(self, items: Sequence[NicRow]) -> None:
        """Shows the NICs with the cursor on the one that is taken, or on the first that can be."""
        self.cursor = next((index for index, row in enumerate(items) if row.taken and not row.barred), 0)
        self.show(items, right=(("enter", "strong"), (" take", "dim")), empty="no NIC was found")

    def paint_item(self, item: NicRow, line: Line, row: int, paper: str) -> None:
        quiet = "dim" if paper != "background" else "faint"
        if row:
            addresses = "  ".join(f"{address.text}/{address.prefix}" for address in item.nic.addresses)
            line.put(4, cut(item.barred or addresses, line.width - 4), self.look.style("dim", paper))
            return
        sign, ink = ("chosen", "accent") if item.taken else ("unchosen", quiet)
        if item.barred:
            sign, ink = "barred", "dim"
        line.put(2, self.look.glyph(sign), self.look.style(ink, paper))
        name_ink = "dim" if item.barred else "strong" if item.taken else "text"
        end = line.put_right(line.width, "ssh" if item.ssh else "", self.look.style("strong", paper)) - 1
        column = line.put(4, cut(item.nic.name, end - 4), self.look.style(name_ink, paper)) + 2
        line.put(column, _about(item.nic, end - column), self.look.style(quiet, paper))


def _about(nic: Nic, width: int) -> str:
    """`100G mlx5_core node 0 up`; what has no room goes from the end on."""
    kind = "" if nic.kind in ("physical", nic.driver) else nic.kind
    node = "" if nic.node is None else f"node {nic.node}"
    text = ""
    for part in (link_speed(nic.speed_mbit), kind, nic.driver, node, nic.state):
        longer = f"{text} {part}".strip()
        if len(longer) > width:
            break
        text = longer
    return text


class PathChooser(ModalScreen[None]):
    """Takes the sender's NIC, then the receiver's; goes when the engine has the new path."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("paths")]
    DEFAULT_CSS = (
        sheet_css("PathChooser")
        + """
    PathChooser #lists { height: auto; }
    PathChooser NicList { width: 1fr; }
    PathChooser #nics-receiver { margin-left: 3; }
    PathChooser #says { height: 2; margin-top: 1; }
    """
    )

    def __init__(self, views: Mapping[Role, HostView]) -> None:
        super().__init__()
        self.views = dict(views)
        self.taken = {role: view.data_nic for role, view in views.items()}
        boots = {view.facts.boot_id for view in views.values()}
        self.same_machine = len(boots) == 1 and boots != {""}
        self._asked = self._done = False

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            with Horizontal(id="lists"):
                for role in Role:
                    yield NicList(self.views[role], id=f"nics-{role.value}")
            yield TextPanel(id="says")

    def on_mount(self) -> None:
        # Half of a small terminal stays for what the NICs are chosen for.
        most = max(2, (self.app.size.height * 4 // 5 - 8) // _ROWS_EACH)
        rows = min(most, max(1, *(len(view.facts.nics) for view in self.views.values())))
        for listed in self.query(NicList):
            listed.styles.height = 1 + _ROWS_EACH * rows
        self.call_after_refresh(self._show)
        self._list(Role.SENDER).focus()

    def _list(self, role: Role) -> NicList:
        return self.query_one(f"#nics-{role.value}", NicList)

    def _show(self) -> None:
        sender, receiver = self.views[Role.SENDER], self.views[Role.RECEIVER]
        mine = sender.facts.nic(self.taken[Role.SENDER])
        self._list(Role.SENDER).place(nic_rows(sender, self.taken[Role.SENDER], self.same_machine))
        self._list(Role.RECEIVER).place(nic_rows(receiver, self.taken[Role.RECEIVER], self.same_machine, mine))
        self._say(
            f"The traffic goes from {self._path()}.", "Take the sender's NIC, then the receiver's. esc goes back."
        )

    def _path(self) -> str:
        look = face(self).look
        names = [f"{look.mark(role)} {self.taken[role] or 'none'}" for role in Role]
        return f"{names[0]} to {names[1]}"

    def _say(self, text: str, more: str = "", ink: str = "text") -> None:
        self.query_one("#says", TextPanel).show([(text, ink), *([(more, "dim")] if more else [])])

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        event.stop()
        if self._asked or not isinstance(event.rows, NicList):
            return
        self.taken[event.rows.view.role] = event.item.nic.name
        if event.rows.view.role is Role.SENDER:
            self._sender_taken(event.item.nic.name)
        else:
            self._asked = True
            self._say(f"taking {self._path()} ...")
            self.run_worker(self._take(), group="path", exclusive=True)

    def _sender_taken(self, name: str) -> None:
        self._show()
        receiver = self._list(Role.RECEIVER)
        if any(receiver.selectable(row) for row in receiver.items):
            self._say(f"The sender's NIC is {name}.", "Take the receiver's NIC. esc goes back.")
            receiver.focus()
        else:
            self._say(f"No NIC of the receiver is on a subnet of {name}.", "Take another NIC of the sender.")

    async def _take(self) -> None:
        asked = face(self).engine.choose_path(self.taken[Role.SENDER], self.taken[Role.RECEIVER])
        try:
            await asyncio.wrap_future(asked)
        except WorkbenchError as error:
            self._asked = False
            self._say(f"{face(self).look.glyph('failed')} {error.message}", error.hint, ink="strong")
        else:
            self._done = True
            if self.is_current:
                self.dismiss()

    def on_screen_resume(self) -> None:
        """A question lay over it when the path was there."""
        if self._done:
            self.dismiss()

    def action_dismiss_chooser(self) -> None:
        self.dismiss()
