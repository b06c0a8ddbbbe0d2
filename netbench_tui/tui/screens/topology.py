"""Area 4: a host's sockets, nodes, caches, cores and threads, what they do, and what sits where.

One host at a time (`o` for the other), both where there is room. Arrows choose a node, enter shows its threads.
"""

from collections.abc import Mapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region

from netbench_tui.errors import UsageError
from netbench_tui.model.host import Role
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.screens import topology_texts as texts
from netbench_tui.tui.screens.topology_layout import Needs, shows_both, thread_regions, topology_regions
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.distances import DistancesPanel, matrix_size
from netbench_tui.tui.widgets.node_card import NodePanel
from netbench_tui.tui.widgets.notes import NotesPanel
from netbench_tui.tui.widgets.panel import Piece
from netbench_tui.tui.widgets.placed import Placed
from netbench_tui.tui.widgets.placement import PlacementPanel
from netbench_tui.tui.widgets.sockets import SocketsPanel
from netbench_tui.tui.widgets.threads import ThreadList, thread_rows


class TopologyArea(Area):
    """`role` is the host that is looked at; `threads_open` while the list of one node's threads is in sight."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("topology")]
    FIRST_FOCUS = "sockets-sender"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.role = Role.SENDER
        self.threads_open = False
        self._placed: dict[Role, Placed] = {}
        self._arranged_for: object = None

    def compose(self) -> ComposeResult:
        for role in Role:
            yield SocketsPanel(role, id=f"sockets-{role}")
            yield PlacementPanel(id=f"placement-{role}")
            yield NodePanel(id=f"node-{role}")
            yield DistancesPanel(id=f"distances-{role}")
        yield ThreadList("Threads", id="threads")
        yield NotesPanel(id="notes")

    # --- where panels stand --------------------------------------------------------------------------------------

    def shown_roles(self, width: int, height: int) -> list[Role]:
        return list(Role) if shows_both(width, height) else [self.role]

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        if self.threads_open:
            return thread_regions(width, height)
        needs = []
        for role in self.shown_roles(width, height):
            placed = self._placed.get(role)
            matrix = matrix_size(placed.facts) if placed else (0, 0)
            needs.append(Needs(role, self._sockets(role).rows_wanted, matrix))
        return topology_regions(width, height, needs)

    def _sockets(self, role: Role) -> SocketsPanel:
        return self.query_one(f"#sockets-{role}", SocketsPanel)

    def on_resize(self) -> None:
        super().on_resize()
        if self._placed:
            self.update_area()

    # --- what they show ------------------------------------------------------------------------------------------

    def seen(self) -> None:
        face(self).changing.need_queues()
        face(self).changing.need_settings()

    def update_area(self) -> None:
        bench = face(self).bench
        found = {role: texts.placed_of(bench, role) for role in Role}
        self._placed = {role: placed for role, placed in found.items() if placed is not None}
        shown = self.shown_roles(*self.size)
        for role in shown:
            self._show_host(role, self._other(role) if len(shown) == 1 else ())
        if self.threads_open:
            self._show_threads()
        order = sorted(shown, key=lambda role: role is not self.role)
        hosts = [(self._placed[r], bench.queues.get(r), self._sockets(r).chosen) for r in order if r in self._placed]
        self.query_one(NotesPanel).show(texts.topology_notes(bench, hosts))
        shape = (self.threads_open, shown, [(p.facts.cpus, p.facts.nodes) for p in self._placed.values()])
        if shape != self._arranged_for:
            self._arranged_for = shape
            self.arrange_again()

    def _show_host(self, role: Role, other: tuple[Piece, ...]) -> None:
        bench, placed = face(self).bench, self._placed.get(role)
        self._sockets(role).show(placed, other)
        if placed is None:
            return
        rows = texts.placement_rows(placed, bench.queues.get(role), texts.pinned_cpus(bench, role))
        remark = "distance to the NIC's node" if placed.nic_node is not None else "NIC's node unknown"
        self.query_one(f"#placement-{role}", PlacementPanel).show(rows, remark)
        self.query_one(f"#distances-{role}", DistancesPanel).show(placed.facts, placed.nic_node)
        self._show_node(role)

    def _show_node(self, role: Role) -> None:
        self.query_one(f"#node-{role}", NodePanel).show(self._placed.get(role), self._sockets(role).chosen)

    def _show_threads(self) -> None:
        placed, node = self._placed.get(self.role), self._sockets(self.role).chosen
        if placed is None or node is None:
            return
        threads, look = self.query_one(ThreadList), face(self).look
        threads.heading, threads.remark = node.name.capitalize(), "threads, % of the last second"
        queues = face(self).bench.queues.get(self.role)
        names = texts.irq_names(queues, placed.irqs)
        serving = {queue.irq for queue in queues.queues if queue.irq is not None} if queues else set()
        host: Piece = (f"{look.mark(self.role)} {placed.view.name}", look.hue(self.role))
        threads.show(thread_rows(placed, node, names, serving), [host], "this node has no CPUs: it is memory only")

    def _other(self, role: Role) -> tuple[Piece, ...]:
        look, view = face(self).look, face(self).bench.views.get(role.other)
        if view is None:
            return ()
        return (("   o", "strong"), (f" {look.mark(role.other)} {view.name}", "dim"))

    # --- choosing ------------------------------------------------------------------------------------------------

    def on_sockets_panel_node_chosen(self, message: SocketsPanel.NodeChosen) -> None:
        message.stop()
        self.role = message.panel.role
        self.update_area()
        face(self).refresh_footer()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Where both hosts are in sight, the focus says which one the keys mean."""
        name = event.widget.id or ""
        for role in Role:
            if name.endswith(f"-{role}") and role is not self.role:
                self.role = role
                self.update_area()

    def _move(self, columns: int, rows: int) -> None:
        self._sockets(self.role).move(columns, rows)

    def action_move_left(self) -> None:
        self._move(-1, 0)

    def action_move_right(self) -> None:
        self._move(1, 0)

    def action_move_up(self) -> None:
        self._move(0, -1)

    def action_move_down(self) -> None:
        self._move(0, 1)

    def action_other_host(self) -> None:
        self.role = self.role.other
        self.update_area()
        if not self.threads_open:
            self._sockets(self.role).focus()

    def action_threads(self) -> None:
        self.threads_open = True
        self.query_one(ThreadList).move_to(0)
        self.update_area()
        self.query_one(ThreadList).focus()

    def action_back(self) -> None:
        self.threads_open = False
        self.update_area()
        self._sockets(self.role).focus()

    def action_spread(self) -> None:
        """Stages; nothing is written. What cannot be is said in the remark."""
        bench, role = face(self).bench, self.role
        view, queues, node = bench.views.get(role), bench.queues.get(role), self._sockets(role).chosen
        if view is None or queues is None or node is None:
            return
        try:
            changes = texts.spread_on(role, view.facts, queues, bench.settings.get(role), node)
        except UsageError as error:
            bench.refused(error.message, error.hint)
            face(self).paint()
        else:
            face(self).stage(changes)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is of use now."""
        bench = face(self).bench
        node = self._sockets(self.role).chosen if self.role in self._placed else None
        if action == "back":
            return self.threads_open
        if action == "other_host":
            return self.role.other in bench.views
        if action == "spread":
            queues = bench.queues.get(self.role)
            has_irqs = queues is not None and any(queue.irq is not None for queue in queues.queues)
            return has_irqs and node is not None and bool(node.cpus)
        if action == "threads":
            return not self.threads_open and node is not None
        return not (self.threads_open and action in ("move_up", "move_down"))
