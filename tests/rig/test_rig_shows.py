"""What the workbench shows of an emulated host is what the host's own tools say at that moment."""

import re

import pytest
import tools_say
from rig import Guest, Rig, poll

from netbench_tui.engine import events
from netbench_tui.engine.engine import Engine
from netbench_tui.model.host import Role
from netbench_tui.model.sample import HostSample
from netbench_tui.model.setting import HostSettings

SECONDS = 60


@pytest.fixture
def settings(workbench: Engine, role: Role) -> HostSettings:
    return workbench.read_settings(role, nics=("nic0",)).result(SECONDS)


def values(settings: HostSettings, group: str) -> dict[str, str]:
    found = (setting for setting in settings.of("nic0") if setting.group == group)
    return {setting.key.partition(".")[2]: setting.value for setting in found}


@pytest.mark.parametrize("without", [(), ("netlink",)], ids=["netlink", "ioctl"])
def test_features(workbench: Engine, guest: Guest, role: Role, without: tuple[str, ...]) -> None:
    settings = workbench.read_settings(role, nics=("nic0",), without=without).result(SECONDS)
    shown = {
        s.key.removeprefix("feature."): (s.in_force, s.fixed, bool(s.active))
        for s in settings.of("nic0")
        if s.group == "feature"
    }
    assert settings.paths["nic0: features"] == ("ioctl" if without else "netlink")
    assert shown == tools_say.features(guest)


NAMES = {"RX": "rx", "TX": "tx", "RX Mini": "rx-mini", "RX Jumbo": "rx-jumbo", "Other": "other", "Combined": "combined"}


@pytest.mark.parametrize("without", [(), ("netlink",)], ids=["netlink", "ioctl"])
@pytest.mark.parametrize("flag, group", [("-g", "ring"), ("-l", "channels")])
def test_rings_and_channels(
    workbench: Engine, guest: Guest, role: Role, flag: str, group: str, without: tuple[str, ...]
) -> None:
    settings = workbench.read_settings(role, nics=("nic0",), without=without).result(SECONDS)
    most, current = tools_say.numbers(guest, flag)
    for title, name in NAMES.items():
        setting = settings.get("nic0", f"{group}.{name}")
        # The older interface says 0 of 0 where the newer one says nothing.
        assert (setting.value if setting else None) == current.get(title), name
        if setting:
            assert str(setting.maximum) == most[title]


def test_coalescing(guest: Guest, settings: HostSettings) -> None:
    told = tools_say.pairs(guest, "-c")
    shown = values(settings, "coalesce")
    assert bool(told) == bool(shown)
    for name, value in shown.items():
        if name in told:
            assert value == told[name], name
    assert {name for name in told if name.replace("-", "").islower() and name not in shown} <= {"rx", "tx"}


def test_receive_side_scaling(workbench: Engine, guest: Guest, role: Role) -> None:
    rss = workbench.read_queues(role, "nic0").result(SECONDS).rss
    assert (rss.indirection if rss else ()) == tools_say.indirection(guest)


def test_driver(workbench: Engine, guest: Guest, role: Role) -> None:
    nic = workbench.inspect(role).result(SECONDS).nic("nic0")
    told = tools_say.pairs(guest, "-i")
    assert nic is not None
    assert (nic.driver, nic.firmware, nic.bus) == (
        told["driver"],
        told["firmware-version"].replace("N/A", ""),
        told["bus-info"],
    )


def test_topology(workbench: Engine, guest: Guest, role: Role) -> None:
    facts = workbench.inspect(role).result(SECONDS)
    told = tools_say.cpus(guest)
    assert [cpu.index for cpu in facts.cpus if cpu.online] == [row[0] for row in told]
    assert [cpu.node for cpu in facts.cpus] == [row[3] for row in told]
    assert [cpu.socket for cpu in facts.cpus] == [row[2] for row in told]
    assert len({(cpu.socket, cpu.core) for cpu in facts.cpus}) == len({row[1] for row in told})
    nodes = tools_say.nodes(guest)
    assert {node.index: (node.cpus, node.distances) for node in facts.nodes} == {
        index: (cpus, distances) for index, (cpus, _size, distances) in nodes.items()
    }
    assert {node.index: (node.memory_kib or 0) // 1024 for node in facts.nodes} == {i: n[1] for i, n in nodes.items()}


def test_interrupts(workbench: Engine, guest: Guest, role: Role) -> None:
    before = tools_say.interrupts(guest)
    shown = {irq.number: irq for irq in workbench.interrupts(role).result(SECONDS)}
    after, affinities = tools_say.interrupts(guest), tools_say.affinities(guest)
    for number, (action, counts) in before.items():
        assert action in ",".join(shown[number].actions)
        assert sum(counts) <= (shown[number].count or 0) <= sum(after[number][1])
        assert shown[number].wanted == affinities[number]["smp"]
        assert shown[number].effective == affinities[number]["effective"]


EXPECTED_ACTIONS = {
    "virtio": {"rx": "virtio{n}-input.{q}", "tx": "virtio{n}-output.{q}"},
    "vmxnet3": {"rx": "nic0-rxtx-{q}", "tx": "nic0-rxtx-{q}"},
    "e1000e": {"rx": "nic0-rx-0", "tx": "nic0-tx-0"},
    "e1000": {"rx": "nic0", "tx": "nic0"},
}


def test_queue_to_irq_to_cpu(pair: Rig, workbench: Engine, guest: Guest, role: Role) -> None:
    shown = workbench.read_queues(role, "nic0").result(SECONDS)
    told, affinities = tools_say.interrupts(guest), tools_say.affinities(guest)
    queues = guest.ssh("ls", "/sys/class/net/nic0/queues").split()
    assert sorted(queue.name for queue in shown.queues) == sorted(queues)
    device = guest.ssh("readlink", "-f", "/sys/class/net/nic0/device").strip().rpartition("virtio")[2]
    for queue in shown.queues:
        action = EXPECTED_ACTIONS[guest.nic][queue.kind].format(n=device, q=queue.index)
        assert queue.irq is not None and told[queue.irq][0] == action, queue
        irq = shown.irq(queue.irq)
        assert irq is not None
        assert irq.effective == affinities[queue.irq]["effective"]
    facts = workbench.inspect(role).result(SECONDS)
    nic = facts.nic("nic0")
    # With one socket nothing says where the bus is; e1000 hangs on a bus without a node.
    assert nic is not None and nic.node == (1 if guest.nic in ("virtio", "vmxnet3") else None)


def test_which_kernel_interface_told(workbench: Engine, guest: Guest, role: Role) -> None:
    """Debian's kernel is older than the netdev family: queues are found in sysfs, their interrupts by name or line."""
    has_netdev = re.search(r"Name: netdev$", guest.ssh("genl", "ctrl", "list"), re.M) is not None
    for without in ((), ("netdev",), ("netlink", "netdev", "ioctl")):
        shown = workbench.read_queues(role, "nic0", without=without).result(SECONDS)
        netdev = has_netdev and not without
        assert shown.paths["nic0: queues"] == ("netdev" if netdev else "sysfs")
        by = {queue.irq_by for queue in shown.queues}
        assert by <= ({"netdev"} if netdev else {"name", "line"}), shown
        assert netdev or not any(queue.napi for queue in shown.queues)
    settings = workbench.read_settings(role, ("nic0",), True, ("netlink", "ioctl")).result(SECONDS)
    assert not settings.get("nic0", "ring.rx") and not any(s.group == "feature" for s in settings.of("nic0"))
    assert settings.get("nic0", "mtu") and settings.get("nic0", "queue.rx-0.rps_cpus")


def test_rates_of_queues_and_interrupts_and_the_statistics_of_the_driver(
    pair: Rig, workbench: Engine, guest: Guest, role: Role
) -> None:
    names = tools_say.statistics(guest)
    other = pair.beta if role is Role.SENDER else pair.alpha
    seen: list[HostSample] = []

    def collect(event: events.Event) -> None:
        if isinstance(event, events.SampleTaken) and event.role is role:
            seen.append(event.sample)

    leave = workbench.subscribe(collect)
    workbench.watch(True, statistics=True).result(SECONDS)
    try:
        guest.ssh("true", via=other)
        poll(lambda: any(s.irqs for s in seen) and any(s.statistics for s in seen), 30, "something that moved")
    finally:
        workbench.watch(False).result(SECONDS)
        leave()
    assert set().union(*(s.statistics for s in seen)) <= names
    shown = workbench.read_queues(role, "nic0").result(SECONDS)
    assert set().union(*(s.irqs for s in seen)) <= {irq.number for irq in shown.irqs}
    assert set().union(*(s.queues for s in seen)) <= {queue.name for queue in shown.queues}
