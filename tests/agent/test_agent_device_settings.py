"""What the agent shows and sets of a NIC is what ethtool, ip and tc say, by netlink and by ioctl, and goes back."""

import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.kernel.ethtool_ioctl import EthtoolIoctl, Statistics
from netbench_tui.agent.settings import coalesce, features, link, qdisc, registry, rings, rss
from netbench_tui.agent.settings.context import Context, Refused

KINDS = (features, rings, coalesce, rss, link, qdisc)
PATHS = pytest.mark.parametrize("without", [(), ("netlink",)], ids=["netlink", "ioctl"])
Row = dict[str, Any]
# `ethtool -k` sums some features up, and has older names for others.
SUMS = {"tx-checksumming", "scatter-gather", "tcp-segmentation-offload"}
OLDER = {
    "rx-checksumming": "rx-checksum",
    "generic-segmentation-offload": "tx-generic-segmentation",
    "generic-receive-offload": "rx-gro",
    "large-receive-offload": "rx-lro",
    "rx-vlan-offload": "rx-vlan-hw-parse",
    "tx-vlan-offload": "tx-vlan-hw-insert",
    "ntuple-filters": "rx-ntuple-filter",
    "receive-hashing": "rx-hashing",
}
RING_TITLES = {"RX": "rx", "RX Mini": "rx-mini", "RX Jumbo": "rx-jumbo", "TX": "tx", "TX Push": "tx-push"}
CHANNEL_TITLES = {"RX": "rx", "TX": "tx", "Other": "other", "Combined": "combined"}
# The interface's name carries its own traps: markup, spaces of names, bytes that are not ASCII, the longest one.
NAMES = ["[red]", "a@b", "fifteen-bytes-x", "ü-0", "<b>"]
KNOBS = [("feature.rx-gro", "on"), ("feature.tx-scatter-gather", "off"), ("channels.rx", "2"), ("mtu", "1400")]


def rows(nic: str, without: tuple[str, ...] = ()) -> dict[str, Row]:
    """All settings of this module's kinds, by key."""
    context = Context(without=without)
    try:
        return {row["key"]: row for kind in KINDS for row in kind.read(context, nic)}
    finally:
        context.close()


def set_to(nic: str, key: str, value: str, without: tuple[str, ...] = ()) -> Row | None:
    """Writes through the registry and reads back."""
    context = Context(without=without)
    try:
        registry.write(context, nic, key, value)
        found: Row | None = registry.read_one(context, nic, key)
        return found
    finally:
        context.close()


def said(run: Callable[..., str], *argv: str) -> str:
    """What a tool prints, be it that the device has no such thing."""
    return run("sh", "-c", '"$@" 2>&1 || true', "sh", *argv)


def told_features(text: str) -> dict[str, tuple[str, bool, bool]]:
    """{name: (in force, fixed, wanted otherwise)} of `ethtool -k`."""
    found = {}
    for line in text.splitlines()[1:]:
        name, _, rest = line.strip().partition(": ")
        if name not in SUMS:
            found[OLDER.get(name, name)] = (rest.split()[0], "[fixed]" in rest, "requested" in rest)
    return found


def shown_features(found: dict[str, Row]) -> dict[str, tuple[str, bool, bool]]:
    return {
        key.removeprefix("feature."): (row.get("active", row["value"]), row.get("fixed", False), "active" in row)
        for key, row in found.items()
        if key.startswith("feature.")
    }


def told_numbers(text: str, titles: dict[str, str]) -> dict[str, str]:
    """Current values of `ethtool -g` or `-l`, less what is n/a."""
    current = text.partition("Current hardware settings:")[2]
    pairs = dict(re.findall(r"^([^:\n]+):\s+(\S+)$", current, re.M))
    return {name: pairs[title] for title, name in titles.items() if pairs.get(title, "n/a") != "n/a"}


def told_most(text: str, titles: dict[str, str]) -> dict[str, int]:
    pairs = dict(re.findall(r"^([^:\n]+):\s+(\S+)$", text.partition("Current hardware settings:")[0], re.M))
    return {name: int(pairs[title]) for title, name in titles.items() if pairs.get(title, "n/a") != "n/a"}


def told_coalesce(text: str) -> dict[str, str]:
    """`ethtool -c` less what is n/a, by the names that `ethtool -C` takes."""
    found = dict(re.findall(r"^((?:rx|tx|stats|sample|pkt)[^:\n]+): (\d+)$", text, re.M))
    adaptive = re.search(r"Adaptive RX: (\S+)  TX: (\S+)", text)
    if adaptive:
        found.update({"adaptive-rx": adaptive[1], "adaptive-tx": adaptive[2]})
    names = {name.replace("-frame-", "-frames-"): value for name, value in found.items()}
    return {name: value for name, value in names.items() if value != "n/a"}


def group(found: dict[str, Row], name: str) -> dict[str, str]:
    return {key.partition(".")[2]: row["value"] for key, row in found.items() if key.startswith(name + ".")}


def compare(run: Callable[..., str], nic: str, found: dict[str, Row]) -> None:
    """Everything that netlink shows, against the tools."""
    assert shown_features(found) == told_features(run("ethtool", "-k", nic))
    for name, flag, titles in (("ring", "-g", RING_TITLES), ("channels", "-l", CHANNEL_TITLES)):
        text = said(run, "ethtool", flag, nic)
        # ethtool 6.1 does not know rx-push yet.
        assert {key: value for key, value in group(found, name).items() if key in titles.values()} == told_numbers(
            text, titles
        )
        assert {
            key.partition(".")[2]: row["maximum"]
            for key, row in found.items()
            if key.startswith(name) and "maximum" in row
        } == told_most(text, titles)
    assert group(found, "coalesce") == told_coalesce(said(run, "ethtool", "-c", nic))
    pause = dict(re.findall(r"^(Autonegotiate|RX|TX):\s+(\S+)$", said(run, "ethtool", "-a", nic), re.M))
    assert sorted(group(found, "pause").values()) == sorted(pause.values())
    compare_link(run, nic, found)


def compare_link(run: Callable[..., str], nic: str, found: dict[str, Row]) -> None:
    text = run("ip", "-d", "link", "show", "dev", nic)
    numbers = re.search(r"minmtu (\d+) maxmtu (\d+)", text)
    assert numbers
    assert found["mtu"]["value"] == re.findall(r" mtu (\d+) ", text)[0]
    assert (found["mtu"]["minimum"], found["mtu"].get("maximum", 0)) == (int(numbers[1]), int(numbers[2]))
    assert found["txqueuelen"]["value"] == re.findall(r" qlen (\d+)", text)[0]
    roots = re.findall(r"^qdisc (\S+) .* root", run("tc", "qdisc", "show", "dev", nic), re.M)
    assert found["qdisc.root"]["value"].split()[0] in roots or re.findall(r" qdisc (\S+)", text)


def poll(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, f"not within 10 s: {what}"
        time.sleep(0.005)


def plain(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def make(namespace: Any, kind: str) -> str:
    """A device of that kind, set up and up; its name."""
    name = "kind-0"
    if kind == "veth":
        veth(namespace, name)
    elif kind == "tap":
        namespace.run("ip", "tuntap", "add", name, "mode", "tap", "multi_queue")
    elif kind in ("macvlan", "vlan"):
        veth(namespace, "below")
        more = ["id", "5"] if kind == "vlan" else []
        add(namespace, name, "link", "below", "type", kind, *more)
    else:
        add(namespace, name, "type", kind)
    namespace.run("ip", "link", "set", name, "up")
    return name


def add(namespace: Any, name: str, *words: str) -> None:
    try:
        namespace.run("ip", "link", "add", "name", name, *words)
    except subprocess.CalledProcessError as error:
        if "Unknown device type" in error.stderr or "not supported" in error.stderr:
            pytest.skip(f"this kernel has none: {error.stderr.strip()}")
        raise


def veth(namespace: Any, name: str) -> None:
    queues = ["numtxqueues", "4", "numrxqueues", "4"]
    namespace.run("ip", "link", "add", "name", name, *queues, "type", "veth", "peer", "name", "other-end", *queues)
    for each in (name, "other-end"):
        namespace.run("ip", "link", "set", each, "up")
    # The state of a link that has its other end follows a little later.
    poll(lambda: namespace.read(f"/sys/class/net/{name}/operstate") == "up", f"{name} up")


def everything(namespace: Any, nic: str) -> str:
    """All that the tools say of a NIC."""
    flags = ("-k", "-g", "-l", "-c", "-a", "-x")
    words = [said(namespace.run, "ethtool", flag, nic) for flag in flags]
    return "".join(words) + namespace.run("ip", "-d", "link", "show") + namespace.run("tc", "qdisc", "show")


@pytest.mark.parametrize("kind", ["veth", "tap", "bridge", "macvlan", "ifb", "dummy", "bond", "vlan"])
def test_every_kind_of_device_equals_the_tools_on_both_paths(namespace: Any, kind: str) -> None:
    nic = make(namespace, kind)
    found = namespace.call(rows, nic)
    compare(namespace.run, nic, found)
    older = namespace.call(rows, nic, ("netlink",))
    assert_same_on_both_paths(found, older)


def assert_same_on_both_paths(newer: dict[str, Row], older: dict[str, Row]) -> None:
    """Of what an ioctl can tell. It cannot say which coalescing the driver knows: what it does not know is 0."""
    paths = ("netlink", "ioctl")
    for key, row in older.items():
        if key in newer:
            assert {**row, "via": newer[key]["via"]} == newer[key]
            assert (newer[key]["via"], row["via"]) in (paths, (row["via"], row["via"]))
        else:
            assert key.startswith("coalesce.") and row["value"] in ("0", "off"), row
    assert {key for key in newer if key not in older} <= {"ring.tx-push", "ring.rx-push"}


def test_this_machines_own_nics_are_only_read() -> None:
    for nic in os.listdir("/sys/class/net"):
        found = rows(nic)
        compare(plain, nic, found)
        assert_same_on_both_paths(found, rows(nic, ("netlink",)))


@pytest.mark.parametrize("nic", NAMES)
@PATHS
def test_a_change_is_seen_by_the_tools_and_goes_back(namespace: Any, nic: str, without: tuple[str, ...]) -> None:
    veth(namespace, nic)
    before, found = everything(namespace, nic), namespace.call(rows, nic, without)
    for key, value in KNOBS:
        row = namespace.call(set_to, nic, key, value, without)
        assert row["value"] == value != found[key]["value"]
        compare(namespace.run, nic, namespace.call(rows, nic))
    assert everything(namespace, nic) != before
    for key, _value in reversed(KNOBS):
        namespace.call(set_to, nic, key, found[key]["value"], without)
    poll(lambda: everything(namespace, nic) == before, "all as it was")


@PATHS
def test_what_moves_along_is_wanted_but_not_active(namespace: Any, without: tuple[str, ...]) -> None:
    veth(namespace, "nic0")
    namespace.call(set_to, "nic0", "feature.tx-scatter-gather", "off", without)
    row = namespace.call(rows, "nic0", without)["feature.tx-tcp-segmentation"]
    assert (row["value"], row["active"]) == ("on", "off")
    namespace.call(set_to, "nic0", "feature.tx-scatter-gather", "on", without)
    assert "active" not in namespace.call(rows, "nic0", without)["feature.tx-tcp-segmentation"]


@PATHS
def test_coalescing_of_a_device_that_has_one_number(namespace: Any, without: tuple[str, ...]) -> None:
    nic = make(namespace, "tap")
    assert namespace.call(set_to, nic, "coalesce.rx-frames", "8", without)["value"] == "8"
    assert "rx-frames: 8" in namespace.run("ethtool", "-c", nic)
    assert refused(namespace, nic, "coalesce.rx-usecs", "8", without)


def refused(namespace: Any, nic: str, key: str, value: str, without: tuple[str, ...] = ()) -> str:
    """The words of a refusal; nothing may have moved."""
    before = namespace.call(rows, nic, without)
    with pytest.raises((OSError, Refused)) as caught:
        namespace.call(set_to, nic, key, value, without)
    assert namespace.call(rows, nic, without) == before
    return str(getattr(caught.value, "text", caught.value))


@PATHS
@pytest.mark.parametrize(
    "key, value, words",
    [
        ("feature.no-such-thing", "on", "no such feature"),
        ("feature.", "on", "no such feature"),
        ("feature.rx-gro", "yes", "on or off"),
        ("feature.highdma", "other", "on or off"),
        ("feature.netns-local", "on", "no such feature|does not let"),
        ("feature.rx-vlan-filter", "on", "does not let"),
        ("ring.rx", "512", "has no ring.rx"),
        ("channels.rx", "-1", "is a number"),
        ("channels.rx", "²", "is a number"),
        ("channels.rx", "99999999999", "more than"),
        ("channels.combined", "2", "has no"),
        ("coalesce.rx-usecs", "5", "has no"),
        ("pause.rx", "on", "has no"),
        ("rss.indirection", "equal 2", "has no"),
        ("mtu", "67", "Invalid argument"),
        ("mtu", "x", "is a number"),
        ("mtu-of-another", "1", "no such setting"),
        ("qdisc.root", "htb", "not a queueing discipline"),
        ("qdisc.leaf", "fq", "no such setting"),
    ],
)
def test_refusals_have_words(namespace: Any, key: str, value: str, words: str, without: tuple[str, ...]) -> None:
    veth(namespace, "nic0")
    assert re.search(words, refused(namespace, "nic0", key, value, without))


def test_the_kernels_own_words_reach_us(namespace: Any) -> None:
    veth(namespace, "nic0")
    assert "requested channel count exceeds maximum" in refused(namespace, "nic0", "channels.rx", "5")
    assert "mtu greater than device maximum" in refused(namespace, "nic0", "mtu", "70000")


def test_a_fixed_feature_may_be_asked_to_stay_as_it_is(namespace: Any) -> None:
    veth(namespace, "nic0")
    row = namespace.call(set_to, "nic0", "feature.rx-vlan-filter", "off")
    assert row["fixed"] and row["value"] == "off"


def test_no_device_is_named_by_what_goes_before_a_nul(namespace: Any) -> None:
    veth(namespace, "nic0")
    for nic in ("nic0\0", "", "nic0/", "sixteen-bytes-xy", "gone"):
        with pytest.raises((OSError, ValueError)):
            namespace.call(set_to, nic, "mtu", "1400")
        with pytest.raises((OSError, Refused)):
            namespace.call(set_to, nic, "feature.rx-gro", "off")
    assert namespace.call(rows, "nic0")["mtu"]["value"] == "1500"


def test_statistics_are_those_of_ethtool(namespace: Any) -> None:
    veth(namespace, "nic0")
    reader = Statistics(namespace.call(EthtoolIoctl), "nic0")
    values = namespace.call(reader.values)
    told = re.findall(r"^ +(\S.*): (\d+)$", namespace.run("ethtool", "-S", "nic0"), re.M)
    assert list(zip(reader.names, map(str, values), strict=True)) == told
    namespace.run("ethtool", "-L", "nic0", "rx", "1", "tx", "1")
    fewer = namespace.call(reader.values)
    assert len(fewer) == len(reader.names) < len(values)
    reader.ioctl.close()


@PATHS
def test_one_pass_asks_the_kernel_little(namespace: Any, without: tuple[str, ...], tmp_path: Path) -> None:
    veth(namespace, "nic0")
    context = Context(without=without)
    calls: list[Any] = []

    def pass_over() -> None:
        try:
            for kind in KINDS:
                kind.read(context, "nic0")
            for key in ("feature.rx-gro", "feature.tx-scatter-gather", "channels.rx", "mtu", "qdisc.root"):
                assert registry.read_one(context, "nic0", key)
            for name in ("ethtool", "ethtool_ioctl", "rtnetlink"):
                calls.append(context.memory.get(name))
            netlink = calls[0].genetlink.netlink.sequence if calls[0] else 0
            assert netlink + calls[2].sequence <= 10
        finally:
            context.close()

    namespace.call(pass_over)


@PATHS
def test_a_nic_that_is_gone_has_no_settings(namespace: Any, without: tuple[str, ...]) -> None:
    for key in ("feature.rx-gro", "ring.rx", "coalesce.rx-usecs", "rss.key", "mtu", "qdisc.root"):
        context = Context(without=without)
        assert namespace.call(registry.read_one, context, "gone0", key) is None
        context.close()


def test_a_captured_tree_has_what_its_files_say(tmp_path: Path) -> None:
    nic = tmp_path / "sys/class/net/nic0"
    nic.mkdir(parents=True)
    (nic / "mtu").write_text("9000\n")
    context = Context(str(tmp_path))
    found = [row for kind in KINDS for row in kind.read(context, "nic0")]
    assert [(row["key"], row["value"], row["refusal"]) for row in found] == [("mtu", "9000", "a captured tree")]
    for key, value in (("mtu", "1500"), ("qdisc.root", "mq"), ("feature.rx-gro", "on")):
        with pytest.raises((OSError, Refused)):
            registry.write(context, "nic0", key, value)
    assert (nic / "mtu").read_text() == "9000\n"
