"""The script of a change does on a real kernel what the change asks for, whatever the NIC is called."""

import json
import subprocess

import pytest

from netbench_tui.agent.settings import registry
from netbench_tui.export import script
from netbench_tui.export.script import ScriptHost, cpu_mask, shell_script, word
from netbench_tui.model.change import Change
from netbench_tui.model.host import Role
from netbench_tui.model.setting import MACHINE, HostSettings, Irq, Queue, QueueMap, Setting

ODD_NAMES = (
    "plain0",
    "[red]",
    "-K",
    "a@b;id>x",
    "$(id)",
    "it's",
    "büro",
    "x\x1b[31m",
    "15bytes-exactly",
    "eth0.100",
)


def lines(*changes: Change, host: ScriptHost | None = None) -> list[str]:
    text = shell_script(changes, {Role.SENDER: host or ScriptHost("alpha")})
    return text.splitlines()[3:]


def wish(key: str, value: str, scope: str = "nic0", role: Role = Role.SENDER) -> Change:
    return Change(role, scope, key, value)


def in_namespace(nic: str, *scripts: str) -> list[str]:
    """Runs scripts in a network and mount namespace of their own, which has a veth of that name; their outputs."""
    head = (
        'ip link add "$1" numrxqueues 4 numtxqueues 4 type veth peer name peer numrxqueues 4 numtxqueues 4 && '
        "mount -t sysfs sysfs /sys && shift && for script; do sh -c \"$script\" || exit 1; printf '\\0'; done"
    )
    argv = ["unshare", "--net", "--mount", "sh", "-c", head, "sh", nic, *scripts]
    found = subprocess.run(argv, capture_output=True)
    assert found.returncode == 0, found.stderr
    return found.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("nic", ODD_NAMES)
def test_a_script_does_what_was_asked_to_a_nic_of_any_name(nic):
    changes = [
        wish("queue.rx-2.rps_cpus", "0-1", nic),
        wish("queue.tx-1.xps_cpus", "1", nic),
        wish("queue.rx-0.rps_flow_cnt", "4096", nic),
        wish("napi.gro_flush_timeout", "20000", nic),
        wish("feature.tx-tcp-segmentation", "off", nic),
        wish("feature.rx-gro", "off", nic),
        wish("mtu", "9000", nic),
        wish("qdisc.root", "pfifo", nic),
        wish("channels.rx", "3", nic),
        wish("sysctl.net.ipv4.tcp_rmem", "4096 65536 1048576", MACHINE),
    ]
    script = shell_script(changes, {Role.SENDER: ScriptHost("alpha")})
    assert all(character.isprintable() or character == "\n" for character in script)
    name = word(nic)
    folder = word(f"/sys/class/net/{nic}")
    files = " ".join(
        f"{folder}/{file}"
        for file in (
            "queues/rx-2/rps_cpus",
            "queues/tx-1/xps_cpus",
            "queues/rx-0/rps_flow_cnt",
            "gro_flush_timeout",
            "mtu",
        )
    )
    out = in_namespace(
        nic,
        f"({script}\n) >/dev/null",
        f"cat {files}",
        f"ethtool -k {name}",
        f"tc qdisc show dev {name} root",
        f"ethtool -l {name} | tail -n 5",
        "cat /proc/sys/net/ipv4/tcp_rmem",
    )
    assert out[1].split() == ["3", "2", "4096", "20000", "9000"]
    assert "tx-tcp-segmentation: off" in out[2]
    assert "generic-receive-offload: off" in out[2]
    assert "tx-tcp6-segmentation: on" in out[2]
    assert out[3].startswith("qdisc pfifo")
    assert "RX:\t\t3" in out[4]
    assert out[5].split() == ["4096", "65536", "1048576"]


def test_channels_come_first_and_adaptive_coalescing_before_its_times():
    found = lines(
        wish("queue.rx-0.rps_cpus", "0"),
        wish("coalesce.rx-usecs", "30"),
        wish("feature.rx-lro", "off"),
        wish("coalesce.adaptive-rx", "off"),
        wish("ring.rx", "4096"),
        wish("ring.tx", "2048"),
        wish("pause.rx", "off"),
        wish("channels.combined", "8"),
    )
    assert found == [
        "ethtool -G nic0 rx 4096 tx 2048",
        "ethtool -L nic0 combined 8",
        "ethtool -K nic0 rx-lro off",
        "ethtool -C nic0 adaptive-rx off rx-usecs 30",
        "ethtool -A nic0 rx off",
        "echo 1 > /sys/class/net/nic0/queues/rx-0/rps_cpus",
    ]


def test_adaptive_coalescing_goes_off_with_the_times_it_would_overrule():
    known = HostSettings(
        (Setting("nic0", "coalesce.adaptive-tx", "on"), Setting("nic0", "coalesce.adaptive-rx", "off"))
    )
    host = ScriptHost("alpha", settings=known)
    assert lines(wish("coalesce.tx-usecs", "8"), wish("coalesce.rx-usecs", "9"), host=host) == [
        "ethtool -C nic0 adaptive-tx off tx-usecs 8 rx-usecs 9"
    ]


def test_irqs_get_their_number_from_the_queue_map():
    known = QueueMap(
        "nic0",
        (Queue("rx-0", "rx", 0, irq=41), Queue("tx-0", "tx", 0, irq=41)),
        (Irq(40, ("virtio0-config",)), Irq(41, ("virtio0-input.0",)), Irq(42, ("nic0",))),
    )
    host = ScriptHost("alpha", {"nic0": known})
    assert lines(wish("queue.rx-0.irq_affinity", "2-3"), host=host) == [
        "echo 2-3 > /proc/irq/41/smp_affinity_list  # rx-0 of nic0"
    ]
    assert lines(wish("irq.config.irq_affinity", "1"), host=host) == [
        "echo 1 > /proc/irq/40/smp_affinity_list  # config of nic0"
    ]
    unknown = lines(wish("queue.rx-7.irq_affinity", "2"), wish("irq.other.irq_affinity", "2"), host=host)
    assert [line[0] for line in unknown] == ["#", "#"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("equal 4", "equal 4"),
        ("default", "default"),
        ("2,3,2,3", "start 2 equal 2"),
        ("0*2,2*6", "weight 2 0 6"),
        ("1*3,2", "start 1 weight 3 1"),
    ],
)
def test_a_table_that_ethtool_can_say_is_said(table, words):
    assert lines(wish("rss.indirection", table)) == [f"ethtool -X nic0 {words}"]


def test_what_no_tool_can_write_is_said_so():
    found = lines(
        wish("rss.indirection", "0,3,1,2"),
        wish("irqbalance.ban", "all"),
        wish("warp.drive", "on\x1b[31m"),
        wish("napi.x", "1"),
    )
    assert all(line.startswith("# ") for line in found)
    assert not any("\x1b" in line for line in found)


def test_each_host_has_its_part_and_services_and_governors_their_commands():
    text = shell_script(
        [wish("service.irqbalance", "stopped", MACHINE, Role.RECEIVER), wish("cpu.governor", "performance", MACHINE)],
        {Role.SENDER: ScriptHost("alpha"), Role.RECEIVER: ScriptHost("be\nta")},
    )
    assert text == (
        "#!/bin/sh\n\n# on alpha, as root:\ncpupower frequency-set -g performance\n"
        "\n# on be?ta, as root:\nsystemctl stop irqbalance\n"
    )
    assert lines(wish("cpu.governor", "0-3,8:powersave,4-7:performance", MACHINE)) == [
        "cpupower -c 0-3,8 frequency-set -g powersave",
        "cpupower -c 4-7 frequency-set -g performance",
    ]


@pytest.mark.parametrize(
    "text", ["a b", "", "\\", "'", '"', "%s", "\x01\x7f", "\u202ex", "a\tb\x1b]0;t\x07", "ä\x1b", "\udcff%"]
)
def test_a_word_comes_through_the_shell_as_it_was(text):
    found = subprocess.run(["sh", "-c", f"printf %s {word(text)}"], capture_output=True, check=True).stdout
    assert found == text.encode("utf-8", "surrogateescape")
    assert word(text).isprintable(), json.dumps(word(text))


@pytest.mark.parametrize(
    ("cpus", "mask"), [((), "0"), ((0, 3), "9"), ((32,), "1,00000000"), ((0, 63, 64), "1,80000000,00000001")]
)
def test_masks_as_the_kernel_writes_them(cpus, mask):
    assert cpu_mask(cpus) == mask


def test_lines_stand_in_the_order_in_which_the_agent_writes():
    keys = [
        "ring.rx", "channels.rx", "mtu", "txqueuelen", "qdisc.root", "feature.rx-gro", "coalesce.rx-usecs", "pause.rx",
        "rss.key", "irqbalance.ban", "queue.rx-0.irq_affinity", "irq.config.irq_affinity", "queue.rx-0.rps_cpus",
        "queue.tx-0.xps_cpus", "napi.threaded",
    ]  # fmt: skip
    of_machine = ["service.irqbalance", "sysctl.net.core.rmem_max", "cpu.governor"]
    ranks = {key: registry.kind_of("nic0", key).RANK for key in keys}
    ranks |= {key: registry.kind_of(MACHINE, key).RANK for key in of_machine}
    wishes = [wish(key, "0", MACHINE if key in of_machine else "nic0") for key in reversed(ranks)]
    ordered = [ranks[change.key] for change in sorted(wishes, key=script._place)]
    assert ordered == sorted(ordered)
