"""Area 1 with a pair connected: both hosts side by side as they are, and the path between them."""

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region

from netbench_tui.analysis.goodput import Wire, tcp_goodput
from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.host import HostFacts, Nic, Privilege, Role
from netbench_tui.model.run import TrafficTest
from netbench_tui.model.session import HostView, Reach
from netbench_tui.model.units import link_speed
from netbench_tui.tui.actions import bindings
from netbench_tui.tui.face import face
from netbench_tui.tui.look import Look
from netbench_tui.tui.screens.run_texts import limit_gbits, returned_notes
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.status import clock_words
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.facts import Fact, FactsPanel, fact
from netbench_tui.tui.widgets.notes import Note, NotesPanel
from netbench_tui.tui.widgets.panel import Panel, Piece

_REACHES = {Reach.SSH: "ssh", Reach.LOCAL: "this machine", Reach.LAB: "lab"}
_RIGHTS = {
    Privilege.ROOT: "root",
    Privilege.SUDO: "sudo",
    Privilege.NONE: "read-only",
}


def host_facts(view: HostView) -> list[Fact]:
    """A host's rows: machine, CPUs, NIC, way in. Text of the host is passed on as it came."""
    facts = view.facts
    reached = f"{_REACHES[view.reach]}  {view.transport_note}".rstrip()
    return [
        fact("kernel", f"{facts.kernel}  {facts.machine}".strip()),
        fact("system", facts.distribution),
        fact("machine", facts.product),
        fact("CPU", facts.cpu_model),
        *_cpu_facts(view),
        Fact(),
        *_nic_facts(view),
        Fact(),
        fact("agent", f"python {facts.python}" if facts.python else ""),
        *_rights_facts(view),
        fact("reached by", reached),
        *_clock_facts(view),
        fact("tools", ", ".join(tool.name for tool in facts.tools) or "none found, the built-in generator works"),
    ]


def _rights_facts(view: HostView) -> list[Fact]:
    """What limits is red, and says why there is no more."""
    if view.privilege is not Privilege.NONE:
        return [fact("rights", _RIGHTS[view.privilege])]
    return [Fact("rights", (("! ", "bad"), (_RIGHTS[view.privilege], "bad")))]


def _cpu_facts(view: HostView) -> list[Fact]:
    facts = view.facts
    online = [cpu for cpu in facts.cpus if cpu.online]
    cores = {(cpu.socket, cpu.core) for cpu in online if cpu.core is not None}
    words = f"{len(online)} CPUs" if len(online) != 1 else "1 CPU"
    if cores:
        words += f", {len(cores)} {'core' if len(cores) == 1 else 'cores'}"
    shared: tuple[Piece, ...] = (("   shared by both hosts", "strong"),) if view.shares_cpus else ()
    rows = [Fact("", ((words, "text"), *shared))]
    nic = view.nic
    for node in facts.nodes:
        here = nic is not None and nic.node == node.index
        memory = f"  {node.memory_kib / (1 << 20):.0f} GiB" if node.memory_kib else ""
        cpus = format_cpu_list(node.cpus) if node.cpus else "no CPUs"
        pieces: tuple[Piece, ...] = ((cpus, "text"), (memory, "dim"), ("  NIC" if here else "", "strong"))
        rows.append(Fact(f"node {node.index}", pieces))
    return rows


def _nic_facts(view: HostView) -> list[Fact]:
    nic = view.nic
    if nic is None:
        return [fact("NIC", view.data_nic)]
    rows = [Fact("NIC", ((nic.name, "strong"), (f"  {nic.driver}", "text"), (f"  {nic.firmware}", "dim")))]
    speed = link_speed(nic.speed_mbit) or "speed unknown"
    link = [f"{speed} in name only" if nic.kind == "virtual" and nic.speed_mbit else speed, nic.duplex, nic.state]
    rows.append(fact("link", "  ".join(part for part in link if part)))
    rows.append(Fact("MTU", ((str(nic.mtu) if nic.mtu else "–", "text"),)))
    rows.append(fact("queues", f"{nic.rx_queues} receive, {nic.tx_queues} transmit" if nic.rx_queues else ""))
    if nic.kind != "virtual":
        rows.append(fact("bus", "  ".join(part for part in (nic.bus, _node_words(nic, view.facts)) if part)))
    for version, address in sorted(view.addresses.items()):
        rows.append(fact(f"IPv{version}", address))
    if view.management_nic:
        rows.append(fact("ssh over", view.management_nic))
    return rows


def _node_words(nic: Nic, facts: HostFacts) -> str:
    if nic.node is not None:
        return f"node {nic.node}"
    return "node unknown" if len(facts.nodes) > 1 else ""


def _clock_facts(view: HostView) -> list[Fact]:
    clock = view.clock
    trip: Piece = (f"{1000 * clock.round_trip:.2f}", "strong")
    offset: Piece = (clock_words(clock), "text")
    return [Fact("round trip", (trip, (" ms", "faint"))), Fact("clock", (offset, (" ms", "faint")))]


def path_facts(look: Look, bench: Workbench) -> list[Fact]:
    """Addresses, MTU, and what share of the line TCP can carry."""
    sender, receiver = bench.views.get(Role.SENDER), bench.views.get(Role.RECEIVER)
    if sender is None or receiver is None:
        return []
    rows = []
    for version in (4, 6):
        if version in sender.addresses and version in receiver.addresses:
            rows.append(
                Fact(
                    f"IPv{version}",
                    (
                        (f"{look.mark(Role.SENDER)} {sender.addresses[version]}", "sender"),
                        ("   →   ", "faint"),
                        (f"{look.mark(Role.RECEIVER)} {receiver.addresses[version]}", "receiver"),
                    ),
                )
            )
    mtus = [view.nic.mtu for view in (sender, receiver) if view.nic is not None and view.nic.mtu]
    if len(mtus) == 2:
        wired = all(view.nic is not None and view.nic.kind != "virtual" for view in (sender, receiver))
        carries = f"   TCP over IPv4 carries {100 * tcp_goodput(Wire(min(mtus))):.2f} % of the line" if wired else ""
        words = f"MTU {min(mtus)}" if mtus[0] == mtus[1] else f"MTU {mtus[0]} and {mtus[1]}: they differ"
        rows.append(Fact("frames", ((words, "text"), (carries, "dim"))))
    return rows


def overview_notes(bench: Workbench) -> list[Note]:
    """Lost hosts first, then warnings, then what could not be read."""
    notes = [
        Note(failure.message, failure.hint, role, failure.name, wants_action=True)
        for role, failure in bench.failures.items()
    ]
    if bench.trouble is not None:
        notes.append(Note(bench.trouble.message, bench.trouble.hint, wants_action=True))
    if bench.warning:
        notes.append(Note(bench.warning, wants_action=True))
    notes += rights_notes(bench)
    if bench.history_trouble is not None:
        notes.append(Note(bench.history_trouble.message, bench.history_trouble.hint, wants_action=True))
    notes += returned_notes(bench)
    for role, view in bench.views.items():
        notes += [Note(text, role=role, host=view.name) for text in view.facts.notes]
    return notes


def rights_notes(bench: Workbench) -> list[Note]:
    """A host that can be watched and not changed, and why there is no more."""
    return [
        Note(f"read-only: {view.privilege_note or 'neither root nor sudo'}", "", role, view.name, wants_action=True)
        for role, view in bench.views.items()
        if view.privilege is Privilege.NONE
    ]


class OverviewArea(Area):
    """Area 1 while a pair is connected (or was, with its age in the title)."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("overview")]
    FIRST_FOCUS = "host-sender"

    def compose(self) -> ComposeResult:
        for role in Role:
            yield _focus(FactsPanel(label_width=12, id=f"host-{role.value}"))
        yield _focus(FactsPanel("The path between them", 12, id="path"))
        yield _focus(NotesPanel(id="notes"))

    def regions(self, width: int, height: int) -> Mapping[str | None, Region]:
        inner = min(width, 160) - 2
        left = (width - inner) // 2
        half = (inner - 3) // 2
        roomy = height >= 30
        path, notes = (4, 6) if roomy else (3, 2)
        wanted = 1 + max((len(panel.facts) for panel in self.query(FactsPanel) if panel.id != "path"), default=20)
        gaps = 4 if roomy else 0
        hosts = max(3, min(wanted, height - path - notes - gaps))
        y = 1 if roomy else 0
        regions: dict[str | None, Region] = {
            "host-sender": Region(left, y, half, hosts),
            "host-receiver": Region(left + inner - half, y, half, hosts),
        }
        y += hosts + (1 if roomy else 0)
        regions["path"] = Region(left, y, inner, path)
        y += path + (1 if roomy else 0)
        regions["notes"] = Region(left, y, inner, max(1, height - y - (1 if roomy else 0)))
        return regions

    def update_area(self) -> None:
        app = face(self)
        bench, look = app.bench, app.look
        for role in Role:
            view = bench.views.get(role)
            panel = self.query_one(f"#host-{role.value}", FactsPanel)
            if view is None:
                continue
            age = bench.age(role)
            remark = role.value if age is None else f"{role.value}, {age:.0f} s old"
            panel.show(host_facts(view), f"{look.mark(role)} {view.name}", remark, ink=look.hue(role))
        preset = bench.preset
        limit = limit_gbits(bench.views, preset.test if preset else TrafficTest())
        right: tuple[Piece, ...] = ()
        if limit is not None:
            right = (("theoretical goodput ", "dim"), (f"{limit:.2f}", "strong"), (" Gbit/s", "faint"))
        path = self.query_one("#path", FactsPanel)
        path.show(path_facts(look, bench), right=right)
        self.query_one(NotesPanel).show(overview_notes(bench))
        self.arrange_again()

    def action_choose_path(self) -> None:
        from netbench_tui.tui.screens.paths import PathChooser

        self.app.push_screen(PathChooser(face(self).bench.views))

    def action_connect_others(self) -> None:
        face(self).connect_others()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        bench = face(self).bench
        if action == "choose_path":
            return bench.whole and not bench.running
        return not bench.running if action == "connect_others" else True


def _focus(panel: Panel) -> Panel:
    panel.can_focus = True
    return panel
