"""Settings, queues and changes of the paper engine: a 16-queue NIC as its driver shows it. Loaded by conftest.py."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from netbench_tui.engine import events
from netbench_tui.model.change import (
    TRIAL_SECONDS,
    Applied,
    Change,
    ChangeKind,
    Held,
    JournalEntry,
    OnRefusal,
    Outcome,
    Restored,
)
from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.setting import MACHINE, HostSettings, Irq, Lives, Pcie, Queue, QueueMap, RssTable, Setting

QUEUES = 16
FIRST_IRQ = 140
# name: value; a star says that the driver does not let it change.
_FEATURES = """
rx-checksum:on tx-checksum-ip-generic:on* tx-checksum-ipv4:on tx-checksum-ipv6:on tx-checksum-sctp:on
tx-checksum-fcoe-crc:off* tx-scatter-gather:on tx-scatter-gather-fraglist:off* tx-tcp-segmentation:on
tx-tcp-ecn-segmentation:on tx-tcp-mangleid-segmentation:off tx-tcp6-segmentation:on tx-generic-segmentation:on
tx-udp-segmentation:on tx-gso-robust:off* tx-gso-partial:on tx-gso-list:off* tx-sctp-segmentation:off*
tx-esp-segmentation:off* tx-fcoe-segmentation:off* tx-gre-segmentation:on tx-gre-csum-segmentation:on
tx-ipxip4-segmentation:on tx-ipxip6-segmentation:on tx-udp_tnl-segmentation:on tx-udp_tnl-csum-segmentation:on
tx-tunnel-remcsum-segmentation:off* rx-gro:on rx-gro-hw:off* rx-gro-list:off rx-udp-gro-forwarding:off rx-lro:off
rx-hashing:on rx-ntuple-filter:on hw-tc-offload:off l2-fwd-offload:off* rx-vlan-hw-parse:on tx-vlan-hw-insert:on
rx-vlan-filter:on rx-vlan-stag-hw-parse:off tx-vlan-stag-hw-insert:off rx-vlan-stag-filter:on vlan-challenged:off*
rx-udp_tunnel-port-offload:on tls-hw-record:off* tls-hw-tx-offload:off* tls-hw-rx-offload:off* esp-hw-offload:off*
esp-tx-csum-hw-offload:off* macsec-hw-offload:off* highdma:on* tx-nocache-copy:off loopback:off rx-fcs:off rx-all:off*
fcoe-mtu:off* netns-local:off* tx-lockless:off* hsr-tag-ins-offload:off* hsr-tag-rm-offload:off* hsr-fwd-offload:off*
hsr-dup-offload:off*
"""
# Value, minimum and maximum by key.
_NUMBERS = {
    "ring.rx": (2048, 64, 8160),
    "ring.tx": (256, 64, 8160),
    "channels.combined": (QUEUES, 1, 64),
    "channels.other": (1, 1, 1),
    "coalesce.rx-usecs": (50, 0, 8160),
    "coalesce.tx-usecs": (50, 0, 8160),
    "coalesce.rx-frames": (0, 0, None),
    "coalesce.tx-frames": (0, 0, None),
    "coalesce.rate-sample-interval": (0, 0, None),
    "mtu": (1500, 68, 9702),
    "txqueuelen": (1000, 0, None),
    "napi.defer_hard_irqs": (0, 0, None),
    "napi.gro_flush_timeout": (0, 0, None),
}
_WORDS = {
    "coalesce.adaptive-rx": ("on", ("on", "off")),
    "coalesce.adaptive-tx": ("on", ("on", "off")),
    "pause.autoneg": ("off", ("on", "off")),
    "pause.rx": ("off", ("on", "off")),
    "pause.tx": ("off", ("on", "off")),
    "qdisc.root": ("mq", ()),
    "napi.threaded": ("off", ("on", "off")),
}
_SYSCTLS = {
    "net.core.rmem_max": "212992",
    "net.core.wmem_max": "212992",
    "net.core.netdev_max_backlog": "1000",
    "net.core.netdev_budget": "300",
    "net.core.busy_poll": "0",
    "net.core.default_qdisc": "fq_codel",
    "net.core.rps_sock_flow_entries": "0",
    "net.core.flow_limit_cpu_bitmap": "none",
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.tcp_congestion_control": "cubic",
    "kernel.numa_balancing": "1",
}


def nic_cpus(facts: HostFacts, nic: str) -> tuple[int, ...]:
    """The CPUs of the node on which the NIC sits; all where it sits nowhere."""
    found = facts.nic(nic)
    here = [cpu.index for cpu in facts.cpus if found is not None and cpu.node == found.node]
    return tuple(sorted(here or [cpu.index for cpu in facts.cpus]))


def features(nic: str) -> list[Setting]:
    rows = []
    for word in _FEATURES.split():
        name, _, value = word.partition(":")
        rows.append(Setting(nic, f"feature.{name}", value.rstrip("*"), fixed=value.endswith("*"), via="netlink"))
    return rows


def of_queues(queues: QueueMap) -> list[Setting]:
    rows = []
    for queue in queues.queues:
        at = f"queue.{queue.name}"
        irq = queues.irq(queue.irq)
        if irq is not None:
            wanted, effective = format_cpu_list(irq.wanted), format_cpu_list(irq.effective)
            refusal = "managed by the kernel" if irq.managed else ""
            rows.append(Setting(queues.nic, f"{at}.irq_affinity", wanted, effective, refusal=refusal, via="procfs"))
        if queue.kind == "rx":
            rows.append(Setting(queues.nic, f"{at}.rps_cpus", "none", via="sysfs"))
            rows.append(Setting(queues.nic, f"{at}.rps_flow_cnt", "0", minimum=0, via="sysfs"))
        else:
            rows.append(Setting(queues.nic, f"{at}.xps_cpus", format_cpu_list([queue.index]), via="sysfs"))
            rows.append(Setting(queues.nic, f"{at}.xps_rxqs", "none", via="sysfs"))
            rows.append(Setting(queues.nic, f"{at}.bql_limit_max", "1879048192", minimum=0, via="sysfs"))
    return rows


def of_machine(protected: str = "") -> list[Setting]:
    rows = []
    for name, value in _SYSCTLS.items():
        lives = Lives.NAMESPACE if name.startswith("net.ipv4.") else Lives.MACHINE
        choices = ("reno", "cubic", "bbr") if name.endswith("congestion_control") else ()
        minimum = 0 if value.isdecimal() else None
        rows.append(
            Setting(MACHINE, f"sysctl.{name}", value, minimum=minimum, choices=choices, lives=lives, via="procfs")
        )
    governors = ("performance", "powersave", "schedutil")
    rows.append(Setting(MACHINE, "cpu.governor", "schedutil", choices=governors, lives=Lives.MACHINE, via="sysfs"))
    states = ("running", "stopped")
    rows.append(Setting(MACHINE, "service.irqbalance", "running", choices=states, lives=Lives.MACHINE, via="procfs"))
    return [replace(row, refusal=protected) if protected and row.lives is Lives.MACHINE else row for row in rows]


def make_settings(queues: QueueMap, protected: str = "") -> HostSettings:
    """A host's settings: some 60 features, rings, channels, coalescing, steering, sysctls. `protected` says why
    machine-wide ones are refused."""
    nic = queues.nic
    rows = features(nic)
    for key, (value, minimum, maximum) in _NUMBERS.items():
        rows.append(Setting(nic, key, str(value), minimum=minimum, maximum=maximum, via="netlink"))
    rows += [Setting(nic, key, value, choices=choices, via="netlink") for key, (value, choices) in _WORDS.items()]
    if queues.rss is not None:
        table = queues.rss.indirection
        rows.append(Setting(nic, "rss.indirection", " ".join(map(str, table)), via="netlink"))
        rows.append(Setting(nic, "rss.hash_function", "toeplitz", choices=("toeplitz", "xor"), via="netlink"))
    rows += of_queues(queues)
    rows.append(Setting(nic, "irqbalance.ban", "off", choices=("on", "off"), lives=Lives.MACHINE, via="socket"))
    rows += of_machine(protected)
    paths = {f"{nic}: features": "netlink", f"{nic}: rings": "netlink", f"{nic}: rss": "ioctl"}
    return HostSettings(tuple(rows), paths, ())


def with_values(settings: HostSettings, values: Mapping[tuple[str, str], Any]) -> HostSettings:
    """The same with other values by (scope, key): text, or a whole Setting."""

    def changed(row: Setting) -> Setting:
        value = values.get((row.scope, row.key))
        return row if value is None else value if isinstance(value, Setting) else replace(row, value=value, active="")

    return replace(settings, settings=tuple(changed(row) for row in settings.settings))


def make_queue_map(facts: HostFacts, nic: str = "ens2f0np0", queues: int = QUEUES, managed: bool = False) -> QueueMap:
    """`queues` combined queues on the NIC's node, one IRQ each, and the NIC's own two IRQs. IRQ of queue 3 may go to
    all of the node and goes to one CPU of it; that of queue 5 is wanted where it is not."""
    cpus = nic_cpus(facts, nic)
    irqs = [Irq(FIRST_IRQ - 1, (f"mlx5_async@pci:{'0000:41:00.0'}",), "PCI-MSIX-0000:41:00.0", cpus, cpus[:1], 0)]
    for index in range(queues):
        own = cpus[index % len(cpus)]
        wanted = cpus if index == 3 else (cpus[-1],) if index == 5 else (own,)
        name = f"mlx5_comp{index}@pci:0000:41:00.0"
        number = FIRST_IRQ + index
        irqs.append(Irq(number, (name,), "PCI-MSIX-0000:41:00.0", wanted, (own,), 0, managed, 10_000 * index))
    made = [
        Queue(f"{kind}-{index}", kind, index, 8193 + index, FIRST_IRQ + index, "netdev")
        for kind in ("rx", "tx")
        for index in range(queues)
    ]
    table = tuple(index % queues for index in range(512))
    rss = RssTable(table, "6d:5a:56:da:25:5b:0e:c2:41:67", "toeplitz", queues, "netlink")
    pcie = Pcie("0000:41:00.0", speed=16.0, width=8, max_speed=16.0, max_width=16, local_cpus=cpus)
    return QueueMap(nic, tuple(made), tuple(irqs), rss, pcie, {"queues": "netdev", "irqs": "procfs"})


class PaperChanges:
    """The half of the paper engine that reads and changes settings. `refusals` are by key: (code, words); `cascades`
    by key: the keys that follow; `sticky` keys take a value and do not put it in force."""

    views: dict[Role, Any]
    calls: list[tuple[Any, ...]]
    deliver: Callable[[events.Event], None]

    def begin_changes(self) -> None:
        self.settings: dict[Role, HostSettings] = {}
        self.queue_maps: dict[Role, QueueMap] = {}
        self.refusals: dict[str, tuple[str, str]] = {
            "feature.rx-lro": ("EOPNOTSUPP", "Operation not supported"),
            "channels.combined": ("EBUSY", "Device or resource busy"),
        }
        self.cascades: dict[str, tuple[str, ...]] = {
            "feature.tx-tcp-segmentation": ("feature.tx-tcp6-segmentation",),
            "feature.tx-scatter-gather": ("feature.tx-tcp-segmentation", "feature.tx-generic-segmentation"),
        }
        self.sticky: set[str] = {"feature.rx-gro-list"}
        self.journal: dict[tuple[Role, str, str], JournalEntry] = {}
        self.step = 0
        self.past: list[list[tuple[Role, str, str, str]]] = []
        self.deadline: float | None = None
        self.hold_settings: Future[Any] | None = None
        self.watched = (False, False)

    def known_settings(self, role: Role) -> HostSettings:
        if role not in self.settings:
            view = self.views[role]
            self.queue_maps[role] = make_queue_map(view.facts, view.data_nic)
            nic = view.data_nic
            other = (
                {}
                if role is Role.SENDER
                else {
                    (nic, "feature.rx-gro-list"): "on",
                    (nic, "feature.rx-lro"): Setting(nic, "feature.rx-lro", "on", "off", via="netlink"),
                    (nic, "ring.rx"): "4096",
                }
            )
            self.settings[role] = with_values(make_settings(self.queue_maps[role]), other)
        return self.settings[role]

    def read_settings(self, role: Role) -> "Future[HostSettings]":
        self.calls.append(("read_settings", role))
        if self.hold_settings is not None:
            return self.hold_settings
        found = self.known_settings(role)
        self.deliver(events.SettingsRead(role, found))
        return _answered(found)

    def read_queues(self, role: Role) -> "Future[QueueMap]":
        self.calls.append(("read_queues", role))
        self.known_settings(role)
        self.deliver(events.QueuesRead(role, self.queue_maps[role]))
        return _answered(self.queue_maps[role])

    def watch(self, watched: bool, statistics: bool = False) -> "Future[None]":
        self.calls.append(("watch", watched, statistics))
        self.watched = (watched, statistics)
        return _answered(None)

    def apply(
        self,
        changes: Sequence[Change],
        kind: ChangeKind = ChangeKind.TRIAL,
        on_refusal: OnRefusal = OnRefusal.REST,
        seconds: float = TRIAL_SECONDS,
    ) -> "Future[Applied]":
        self.calls.append(("apply", tuple(changes), kind, on_refusal))
        outcomes: list[Outcome] = []
        undone = on_refusal is OnRefusal.UNDO and any(change.key in self.refusals for change in changes)
        before: list[tuple[Role, str, str, str]] = []
        for change in changes:
            outcomes.append(self._one(change, change.value, kind, undone, before))
            if change.key in self.refusals:
                continue
            for key in self.cascades.get(change.key, ()):
                moved = self._one(replace(change, key=key), None, kind, undone, before, change.value)
                outcomes += [moved] if moved.old != moved.now else []
        return self._applied(outcomes, kind, seconds, undone, before)

    def _one(
        self,
        change: Change,
        asked: str | None,
        kind: ChangeKind,
        undone: bool,
        before: list[tuple[Role, str, str, str]],
        value: str = "",
    ) -> Outcome:
        role, scope, key = change.place
        now = self.known_settings(role).get(scope, key)
        old = now.value if now else None
        if key in self.refusals and asked is not None:
            return Outcome(role, scope, key, old, asked, old, "", "", *self.refusals[key])
        wanted = asked or value
        if undone or now is None:
            return Outcome(role, scope, key, old, asked, old)
        active = now.in_force if key in self.sticky else ""
        before.append((*change.place, now.value))
        self._put(change.place, wanted, active)
        self._note(change.place, now.value, wanted, kind)
        return Outcome(role, scope, key, old, asked, wanted, now.active, active)

    def _put(self, place: tuple[Role, str, str], value: str, active: str = "") -> None:
        role, scope, key = place
        known = self.known_settings(role)
        row = known.get(scope, key)
        assert row is not None
        changed = replace(row, value=value, active="" if active == value else active)
        self.settings[role] = with_values(known, {(scope, key): changed})

    def _note(self, place: tuple[Role, str, str], old: str, new: str, kind: ChangeKind) -> None:
        entry = self.journal.pop(place, None)
        found = entry.found if entry else old
        if found != new:
            name = self.views[place[0]].name
            self.journal[place] = JournalEntry(0, place[0], name, *place[1:], found, new, kind, time=time.time())

    def _applied(
        self,
        outcomes: Iterable[Outcome],
        kind: ChangeKind,
        seconds: float,
        undone: bool,
        before: list[tuple[Role, str, str, str]],
    ) -> "Future[Applied]":
        self.step += 1
        self.deadline = time.monotonic() + seconds if kind is ChangeKind.TRIAL and not undone else None
        if before:
            self.past.append(before)
        applied = Applied(self.step, time.monotonic(), kind, tuple(outcomes), undone, self.deadline)
        self.deliver(events.ChangesApplied(applied))
        self.tell({outcome.role for outcome in applied.outcomes})
        return _answered(applied)

    def tell(self, roles: Iterable[Role]) -> None:
        """What follows every change: settings as read back, and the journal."""
        for role in roles:
            self.deliver(events.SettingsRead(role, self.known_settings(role)))
        self.deliver(events.JournalChanged(tuple(self.journal.values())))

    def keep(self, permanent: bool = False) -> "Future[None]":
        self.calls.append(("keep", permanent))
        self.deadline = None
        for place, entry in list(self.journal.items()):
            self.journal[place] = replace(entry, kind=ChangeKind.LEASE)
            if permanent:
                del self.journal[place]
        self.deliver(events.ChangesKept(permanent))
        self.deliver(events.JournalChanged(tuple(self.journal.values())))
        return _answered(None)

    def undo(self) -> "Future[Applied | None]":
        self.calls.append(("undo",))
        if not self.past:
            return _answered(None)
        outcomes = []
        for role, scope, key, value in reversed(self.past.pop()):
            row = self.known_settings(role).get(scope, key)
            assert row is not None
            self._put((role, scope, key), value)
            self._note((role, scope, key), row.value, value, ChangeKind.LEASE)
            outcomes.append(Outcome(role, scope, key, row.value, value, value))
        future = self._applied(outcomes, ChangeKind.LEASE, 0.0, False, [])
        return future

    def restore(self, entries: Sequence[JournalEntry] = (), why: str = "asked") -> "Future[tuple[Restored, ...]]":
        self.calls.append(("restore", tuple(entries)))
        wanted = list(entries) or list(self.journal.values())
        self.deadline = None
        answers = []
        for role in dict.fromkeys(entry.role for entry in wanted):
            done = [self._restore_one(entry) for entry in wanted if entry.role is role]
            answers.append(Restored(role, why, tuple(done)))
            self.deliver(events.SettingsRestored(answers[-1]))
        self.tell({entry.role for entry in wanted})
        return _answered(tuple(answers))

    def _restore_one(self, entry: JournalEntry) -> JournalEntry:
        if entry.key in self.refusals:
            return replace(entry, state=Held.REFUSED, note=self.refusals[entry.key][1])
        if entry.found is not None:
            self._put(entry.place, entry.found)
        self.journal.pop(entry.place, None)
        return replace(entry, state=Held.RESTORED)

    def end_trial(self) -> None:
        """The trial's time is over: the hosts put it back by themselves."""
        self.restore([e for e in self.journal.values() if e.kind is ChangeKind.TRIAL], "the trial ended")
        self.calls.pop()


def _answered(value: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    future.set_result(value)
    return future
