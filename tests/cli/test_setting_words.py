"""Names of hosts and settings as people write them come down to the right places and changes."""

import pytest

from netbench_tui.cli.words import Place, changes_of, chosen, place_of, target_of, unlisted, wish_of
from netbench_tui.errors import UsageError
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, LabTarget, Reach
from netbench_tui.model.setting import MACHINE, HostSettings, Setting

KNOWN = HostSettings(
    (
        Setting("nic0", "feature.tx-tcp-segmentation", "on"),
        Setting("nic0", "feature.tx-tcp6-segmentation", "on"),
        Setting("nic0", "feature.tx-tcp-ecn-segmentation", "off", fixed=True),
        Setting("nic0", "feature.rx-lro", "off", fixed=True),
        Setting("nic0", "ring.rx", "256", minimum=64, maximum=4096),
        Setting("nic0", "ring.tx", "256", maximum=4096),
        Setting("nic0", "mtu", "1500", minimum=68, maximum=9000),
        Setting("nic0", "queue.rx-0.rps_cpus", "none"),
        Setting("nic0", "queue.rx-1.rps_cpus", "none"),
        Setting("nic0", "queue.rx-1.irq_affinity", "0"),
        Setting(MACHINE, "sysctl.net.core.rmem_max", "212992"),
        Setting(MACHINE, "service.irqbalance", "running"),
    )
)


def asked(*words: str) -> dict[tuple[str, str], str]:
    changes = changes_of(Role.RECEIVER, KNOWN, "nic0", [wish_of(word) for word in words])
    assert {change.role for change in changes} <= {Role.RECEIVER}
    return {(change.scope, change.key): change.value for change in changes}


@pytest.mark.parametrize("name", ["tso", "feature.tso", "tcp-segmentation-offload", "tx-tcp*-segmentation"])
def test_a_short_name_switches_every_feature_that_is_there_and_not_fixed(name):
    if "*" in name:
        name = f"feature.{name}"
    assert asked(f"{name}=off") == {
        ("nic0", "feature.tx-tcp-segmentation"): "off",
        ("nic0", "feature.tx-tcp6-segmentation"): "off",
    }


def test_one_feature_by_its_own_name_and_a_fixed_one_is_left_to_the_host():
    assert asked("tx-tcp6-segmentation=off") == {("nic0", "feature.tx-tcp6-segmentation"): "off"}
    assert asked("lro=on") == {("nic0", "feature.rx-lro"): "on"}


def test_patterns_lists_and_the_last_word_counts():
    assert asked("queue.rx-*.rps_cpus=3,1,2", "queue.rx-1.rps_cpus=none") == {
        ("nic0", "queue.rx-0.rps_cpus"): "1-3",
        ("nic0", "queue.rx-1.rps_cpus"): "none",
    }


def test_what_is_the_machines_goes_to_the_machine():
    assert asked("net.core.rmem_max=4194304", "service.irqbalance=stopped") == {
        (MACHINE, "sysctl.net.core.rmem_max"): "4194304",
        (MACHINE, "service.irqbalance"): "stopped",
    }
    assert unlisted(["net.core.rmem_max", "net.ipv4.tcp_ecn", "tso", "sysctl.net.*"], "nic0", KNOWN) == [
        (MACHINE, "sysctl.net.ipv4.tcp_ecn")
    ]


def test_what_another_nic_may_have_is_asked_of_the_host():
    assert asked("channels.combined=4") == {("nic0", "channels.combined"): "4"}


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("ring.rx=32", "64..4096"),
        ("ring.rx=5000", "64..4096"),
        ("ring.tx=many", "a number in ..4096"),
        ("ring=4096", "no setting ring"),
        ("tso=maybe", "on or off"),
        ("queue.rx-0.rps_cpus=x", "not a CPU list"),
        ("mtu=", "needs a value"),
        ("mtuu=1", "no setting mtuu"),
        ("rxhash=on", "no setting rxhash"),
        ("warp*=on", "no setting warp"),
    ],
)
def test_what_cannot_be_is_said(word, text):
    with pytest.raises(UsageError) as raised:
        asked(word)
    assert text in raised.value.message


@pytest.mark.parametrize("text", ["tso", "=on", " =1"])
def test_a_wish_has_a_name_and_a_value(text):
    with pytest.raises(UsageError):
        wish_of(text)


def test_values_may_hold_signs_of_equality_and_blanks():
    assert wish_of("sysctl.net.ipv4.tcp_rmem = 1 2 3") == ("sysctl.net.ipv4.tcp_rmem", "1 2 3")
    assert wish_of("a=b=c") == ("a", "b=c")


def test_get_takes_groups_each_setting_once_and_all_without_names():
    keys = [setting.key for setting in chosen(KNOWN, "nic0", ["ring", "ring.rx", "queue.rx-1"])]
    assert keys == ["ring.rx", "ring.tx", "queue.rx-1.rps_cpus", "queue.rx-1.irq_affinity"]
    assert len(chosen(KNOWN, "nic0", [])) == 10
    with pytest.raises(UsageError, match="no setting rin"):
        chosen(KNOWN, "nic0", ["rin"])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("alpha", Place("alpha")),
        ("alpha:eth1", Place("alpha", "eth1")),
        ("me@alpha:2222", Place("me@alpha:2222")),
        ("me@alpha:2222:eth1.100", Place("me@alpha:2222", "eth1.100")),
        ("::1", Place("::1")),
        ("root@fe80::1%eth0", Place("root@fe80::1%eth0")),
        ("fe80::1:eth0", Place("fe80::1", "eth0")),
        ("[::1]:22", Place("[::1]:22")),
        ("[::1]:eth0", Place("[::1]", "eth0")),
        ("local:[red]", Place("local", "[red]")),
        ("local:@x", Place("local", "@x")),
    ],
)
def test_a_host_and_its_nic(text, place):
    assert place_of(text) == place


def test_targets():
    assert target_of("lab") == LabTarget()
    assert target_of("local") == HostTarget("local", Reach.LOCAL)
    assert target_of("me@alpha:22") == HostTarget("me@alpha:22", Reach.SSH)
