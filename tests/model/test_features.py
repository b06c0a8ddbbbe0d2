"""What is known of features: whole, consistent, and right about what the kernel of this machine does."""

import os
import subprocess

import pytest

from netbench_tui.model.features import FEATURES, GROUPS, LONG_NAMES, SHORT_NAMES, about, expand, group_of, moved_along

# Chapter 2 of the thesis, by the kernel's names.
OF_THE_THESIS = [
    "rx-checksum",
    "tx-checksum-ipv4",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv6",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-generic-segmentation",
    "tx-gso-partial",
    "tx-udp-segmentation",
    "tx-udp-fragmentation",
    "rx-gro",
    "rx-gro-hw",
    "rx-lro",
    "rx-udp-gro-forwarding",
    "rx-hashing",
    "rx-ntuple-filter",
    "rx-vlan-hw-parse",
    "tx-vlan-hw-insert",
    "tx-udp_tnl-segmentation",
    "tx-gre-segmentation",
]


def _ethtool(namespace: str, *words: str) -> str:
    argv = ["ip", "netns", "exec", namespace, "ethtool", *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def veth_namespace():
    name = f"features-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        add = ["ip", "-n", name, "link", "add", "here", "type", "veth", "peer", "name", "there"]
        subprocess.run(add, check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def _active(namespace: str) -> tuple[set[str], set[str]]:
    """Names that are on, and all names, as `ethtool --json` has them under the kernel's names."""
    on, names = set(), set()
    kernel = {long: SHORT_NAMES[short][0] for long, short in LONG_NAMES.items() if "*" not in SHORT_NAMES[short][0]}
    groups = {long for long in LONG_NAMES if long not in kernel}
    for line in _ethtool(namespace, "-k", "here").splitlines()[1:]:
        name, _, state = line.strip().partition(": ")
        if name in groups:
            continue
        names.add(kernel.get(name, name))
        if state.startswith("on"):
            on.add(kernel.get(name, name))
    return on, names


def test_every_feature_has_a_group_that_exists_and_a_sentence():
    keys = [group.key for group in GROUPS]
    assert keys == ["checksum", "segmentation", "receive", "steering", "vlan", "tunnel", "other"]
    assert len(FEATURES) >= 63
    for name, feature in FEATURES.items():
        assert feature.name == name
        assert feature.group in keys
        assert feature.text.endswith(".")
        assert len(feature.text) <= 120
        named = {*feature.moves, *feature.excludes, *(name for choice in feature.needs for name in choice)}
        assert named <= set(FEATURES)


def test_the_features_of_the_thesis_are_known():
    assert set(OF_THE_THESIS) <= set(FEATURES)


def test_an_unknown_feature_stands_in_other_without_words():
    feature = about("tx-warp-drive")
    assert (feature.group, feature.text, feature.needs, feature.short) == ("other", "", (), "")
    assert group_of("rx-gro-hw") == "receive"


def test_a_short_name_stands_for_all_that_match_in_the_order_given():
    present = (
        "rx-gro",
        "tx-tcp6-segmentation",
        "tx-tcp-segmentation",
        "tx-tcp-ecn-segmentation",
        "tx-udp-segmentation",
    )
    assert expand("tso", present) == ("tx-tcp6-segmentation", "tx-tcp-segmentation", "tx-tcp-ecn-segmentation")
    assert expand("tcp-segmentation-offload", present) == expand("tso", present)
    assert expand("gro", present) == ("rx-gro",)
    assert expand("tx-udp-segmentation", present) == ("tx-udp-segmentation",)
    assert expand("lro", present) == ()
    assert expand("nonsense", present) == ()
    assert about("tx-tcp6-segmentation").short == "tso"


def test_groups_name_every_short_name_once():
    assert sorted(word for group in GROUPS for word in group.short) == sorted(SHORT_NAMES)
    for group in GROUPS:
        for word in group.short:
            assert {group_of(name) for name in expand(word, FEATURES)} == {group.key}


def test_moves_are_what_others_need():
    assert {"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-generic-segmentation"} <= set(
        about("tx-scatter-gather").moves
    )
    assert "rx-gro-hw" in about("rx-checksum").moves


def test_ipv4_tso_goes_only_with_the_last_checksum_that_serves_it():
    on = {"tx-scatter-gather", "tx-checksum-ip-generic", "tx-tcp-segmentation"}
    assert moved_along({"tx-checksum-ip-generic": False}, on, on) == {"tx-tcp-segmentation": False}
    own = {"tx-scatter-gather", "tx-checksum-ipv4", "tx-checksum-ipv6", "tx-tcp6-segmentation", "tx-tcp-segmentation"}
    assert moved_along({"tx-checksum-ipv4": False}, own, own) == {"tx-tcp-segmentation": False}


def test_what_the_driver_holds_off_is_not_foretold():
    wanted = {"tx-scatter-gather", "tx-checksum-ip-generic", "tx-tcp-segmentation", "rx-lro"}
    active = wanted - {"rx-lro"}
    assert moved_along({"rx-gro": True}, wanted, active) == {}


@pytest.mark.parametrize("switched", ["tx-scatter-gather", "tx-checksum-ip-generic", "rx-checksum"])
def test_what_moves_along_on_a_real_veth_is_foretold(veth_namespace, switched):
    before, names = _active(veth_namespace)
    assert {"tx-scatter-gather", "tx-tcp-segmentation"} <= before
    foretold = moved_along({switched: False}, before, before)
    _ethtool(veth_namespace, "-K", "here", switched, "off")
    after, _ = _active(veth_namespace)
    moved = {name: name in after for name in before ^ after if name != switched}
    assert {name: on for name, on in foretold.items() if name in names} == moved
    back = moved_along({switched: True}, before - {switched}, after)
    _ethtool(veth_namespace, "-K", "here", switched, "on")
    assert _active(veth_namespace)[0] == before
    assert back == dict.fromkeys(moved, True)
