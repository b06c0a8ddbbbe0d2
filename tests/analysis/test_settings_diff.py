"""Only what differs and matters is a difference."""

from dataclasses import replace

from netbench_tui.analysis.settings_diff import Difference, Side, differences
from netbench_tui.model.host import Cpu, HostFacts, Nic
from netbench_tui.model.setting import MACHINE, HostSettings, Setting

FACTS = HostFacts(
    "alpha",
    kernel="6.1.0",
    boot_id="one",
    cpus=tuple(Cpu(i, node=0, socket=0, core=i % 2, sibling=i // 2) for i in range(4)),
    nics=(Nic("eth0", driver="ice", mac="02:00:00:00:00:01", node=0, speed_mbit=100000),),
    environment={
        "command line": "BOOT_IMAGE=/a root=UUID=1 quiet mitigations=off",
        "governor": "performance",
        "net.core.rmem_max": "1",
    },
)
SETTINGS = HostSettings(
    (
        Setting("eth0", "mtu", "1500"),
        Setting("eth0", "feature.rx-lro", "on", active="off"),
        Setting(MACHINE, "sysctl.net.core.rmem_max", "1"),
    )
)


def test_two_of_a_kind_do_not_differ():
    other = replace(
        FACTS,
        name="beta",
        boot_id="two",
        nics=(replace(FACTS.nics[0], mac="02:00:00:00:00:02"),),
        environment={**FACTS.environment, "command line": "BOOT_IMAGE=/b root=UUID=2 quiet mitigations=off"},
    )
    assert differences(Side(FACTS, SETTINGS, "eth0"), Side(other, SETTINGS, "eth0")) == []


def test_facts_that_decide_and_settings_of_differently_named_nics():
    other = replace(
        FACTS,
        kernel="6.12.0",
        cpus=(*FACTS.cpus[:3], replace(FACTS.cpus[3], online=False)),
        nics=(replace(FACTS.nics[0], name="ens1", node=None),),
        environment={"command line": "quiet nosmt", "governor": "powersave", "net.core.rmem_max": "2"},
    )
    theirs = HostSettings(
        (
            Setting("ens1", "mtu", "9000"),
            Setting("ens1", "feature.rx-lro", "off"),
            Setting("ens1", "ring.rx", "512"),
            Setting(MACHINE, "sysctl.net.core.rmem_max", "2"),
        )
    )
    assert differences(Side(FACTS, SETTINGS, "eth0"), Side(other, theirs, "ens1")) == [
        Difference("host", "kernel", "6.1.0", "6.12.0"),
        Difference("host", "CPUs online", "0-3", "0-2"),
        Difference("host", "CPUs offline", "none", "3"),
        Difference("host", "governor", "performance", "powersave"),
        Difference("host", "command line", "mitigations=off", "nosmt"),
        Difference("sysctl", "sysctl.net.core.rmem_max", "1", "2"),
        Difference("nic", "node", "0", None),
        Difference("mtu", "mtu", "1500", "9000"),
        Difference("feature", "feature.rx-lro", "off (wanted on)", "off"),
        Difference("ring", "ring.rx", None, "512"),
    ]


def test_without_a_nic_only_the_machines_are_compared():
    other = HostSettings((Setting("eth0", "mtu", "9000"), Setting(MACHINE, "sysctl.net.core.rmem_max", "3")))
    rows = differences(Side(FACTS, SETTINGS), Side(FACTS, other))
    assert rows == [Difference("sysctl", "sysctl.net.core.rmem_max", "1", "3")]
