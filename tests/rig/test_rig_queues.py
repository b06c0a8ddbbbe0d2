"""What a reset of queues does to what was set on them, and an irqbalance that runs on the host."""

import json
from collections.abc import Iterator

import pytest
import tools_say
from rig import Guest, Rig, poll

from netbench_tui.engine.engine import Engine
from netbench_tui.model.change import Applied, Change, ChangeKind, Held
from netbench_tui.model.host import Role
from netbench_tui.model.setting import MACHINE

SECONDS = 120
many_queues = pytest.mark.parametrize("pair", ["many-queues"], indirect=True)


def apply(workbench: Engine, role: Role, scope: str, wishes: dict[str, str]) -> Applied:
    changes = [Change(role, scope, key, value) for key, value in wishes.items()]
    applied = workbench.apply(changes, ChangeKind.LEASE).result(SECONDS)
    assert all(outcome.took for outcome in applied.outcomes), applied
    return applied


def restore(workbench: Engine) -> None:
    restored = workbench.restore().result(SECONDS)
    assert restored and all(part.whole for part in restored), restored


STAYING = {
    "queue.rx-0.rps_cpus": "2",
    "queue.rx-1.rps_flow_cnt": "512",
    "queue.tx-1.xps_cpus": "0,3",
    "queue.rx-1.irq_affinity": "3",
    "queue.tx-0.irq_affinity": "2",
}
GOING = {"queue.rx-3.rps_cpus": "1", "queue.tx-2.xps_cpus": "none", "queue.rx-2.irq_affinity": "0"}


@many_queues
def test_fewer_channels_keep_what_was_set_where_the_queue_stays(pair: Rig, workbench: Engine) -> None:
    """virtio sets XPS and affinities anew with each number of channels."""
    guest, role = pair.alpha, Role.SENDER
    before = tools_say.everything(guest)
    assert tools_say.numbers(guest, "-l")[1]["Combined"] == "4"
    apply(workbench, role, "nic0", STAYING | GOING)
    apply(workbench, role, "nic0", {"channels.combined": "2"})
    try:
        assert tools_say.numbers(guest, "-l")[1]["Combined"] == "2"
        settings = workbench.read_settings(role, ("nic0",)).result(SECONDS)
        found = {key: settings.get("nic0", key) for key in STAYING}
        assert {key: setting and setting.value for key, setting in found.items()} == STAYING
        assert not any(settings.get("nic0", key) for key in GOING)
        assert sorted(guest.ssh("ls", "/sys/class/net/nic0/queues").split()) == ["rx-0", "rx-1", "tx-0", "tx-1"]
        assert guest.read("/sys/class/net/nic0/queues/rx-0/rps_cpus").strip() == "4"
    finally:
        restore(workbench)
    assert tools_say.everything(guest) == before


@many_queues
def test_a_ring_that_takes_the_link_down_keeps_what_was_set(pair: Rig, workbench: Engine) -> None:
    """vmxnet3 takes the device down and up, and gets other interrupts."""
    guest, role = pair.beta, Role.RECEIVER
    before, most = tools_say.everything(guest), tools_say.numbers(guest, "-g")
    wanted = str(int(most[1]["RX"]) * 2)
    set_before = {"queue.rx-0.rps_cpus": "2", "queue.rx-0.irq_affinity": "3", "mtu": "1400"}
    apply(workbench, role, "nic0", set_before)
    apply(workbench, role, "nic0", {"ring.rx": wanted})
    try:
        assert tools_say.numbers(guest, "-g")[1]["RX"] == wanted
        settings = workbench.read_settings(role, ("nic0",)).result(SECONDS)
        found = {key: settings.get("nic0", key) for key in set_before}
        assert {key: setting and setting.value for key, setting in found.items()} == set_before
        assert pair.alpha.ssh("hostname", via=guest) == "alpha\n"
    finally:
        restore(workbench)
    assert tools_say.everything(guest) == before


# A command to irqbalance's own socket, without anything of ours; its answer on standard output.
ASK = """
import glob, os, socket, struct, sys
line = socket.socket(socket.AF_UNIX)
line.connect(glob.glob("/run/irqbalance/irqbalance%s.sock" % sys.argv[1])[0])
line.sendmsg([b"setup"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("3i", os.getpid(), 0, 0))])
words = line.recv(65536).decode().split()
print([int(words[place + 1]) for place, word in enumerate(words) if word == "IRQ"])
"""


def irqbalances(guest: Guest) -> list[int]:
    return [int(word) for word in guest.ssh("pgrep", "-x", "irqbalance", check=False).split()]


def banned(guest: Guest) -> set[int]:
    (pid,) = irqbalances(guest)
    return set(json.loads(guest.ssh("python3", "-I", "-c", ASK, str(pid))))


@pytest.fixture
def irqbalance(pair: Rig) -> Iterator[Guest]:
    """alpha with an irqbalance that is up. Its first round is an hour away, so that it moves nothing meanwhile."""
    guest = pair.alpha
    start = "mkdir -p /run/irqbalance; setsid irqbalance --foreground --interval=3600 </dev/null >/dev/null 2>&1 &"
    guest.ssh("sh", "-c", start)
    try:
        poll(lambda: "sock" in guest.ssh("ls", "/run/irqbalance"), 30, "irqbalance listens")
        yield guest
    finally:
        for pid in irqbalances(guest):
            guest.ssh("kill", str(pid), check=False)
        poll(lambda: not irqbalances(guest), 30, "irqbalance has ended")


@many_queues
def test_irqbalance_leaves_a_nic_alone_and_stops_and_comes_back(
    pair: Rig, workbench: Engine, irqbalance: Guest
) -> None:
    role, before, none = Role.SENDER, tools_say.everything(irqbalance), banned(irqbalance)
    (pid,) = irqbalances(irqbalance)
    words = irqbalance.read(f"/proc/{pid}/cmdline")
    mine = {irq.number for irq in workbench.read_queues(role, "nic0").result(SECONDS).irqs}
    assert mine and not none & mine
    apply(workbench, role, "nic0", {"irqbalance.ban": "all"})
    assert banned(irqbalance) == none | mine
    apply(workbench, role, MACHINE, {"service.irqbalance": "stopped"})
    assert not irqbalances(irqbalance)
    restored = [entry for part in workbench.restore().result(SECONDS) for entry in part.entries]
    assert {entry.state for entry in restored} == {Held.RESTORED}, restored
    (pid,) = irqbalances(irqbalance)
    assert irqbalance.read(f"/proc/{pid}/cmdline") == words
    assert banned(irqbalance) == none
    assert tools_say.everything(irqbalance) == before


@many_queues
def test_without_irqbalance_there_is_no_ban_to_set(pair: Rig, workbench: Engine) -> None:
    settings = workbench.read_settings(Role.SENDER, ("nic0",)).result(SECONDS)
    service = settings.get(MACHINE, "service.irqbalance")
    assert service and service.value == "stopped"
    assert settings.get("nic0", "irqbalance.ban") is None
