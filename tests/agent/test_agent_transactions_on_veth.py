"""Transactions on a real driver: a veth pair with four queues, in a namespace of the test's own."""

import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

# Odd, but a name that the kernel allows.
NIC = "[red]@é"


class Host:
    def __init__(self, namespace: Any, agent: Any) -> None:
        self.namespace, self.agent = namespace, agent

    def apply(self, *wishes: str, kind: str = "lease", on_refusal: str = "rest") -> dict[str, dict[str, Any]]:
        changes = [{"scope": NIC, "key": w.split("=")[0], "value": w.split("=")[1]} for w in wishes]
        more = {"transaction": "t", "kind": kind, "seconds": 10, "on_refusal": on_refusal}
        self.answer = self.agent.ok("apply", changes=changes, **more)
        return {row["key"]: row for row in self.answer["outcomes"]}

    def state(self) -> str:
        """As other tools see it."""
        folder = f"/sys/class/net/{NIC}"
        files = self.namespace.run("sh", "-c", 'cd "$1"; grep -r "" queues mtu tx_queue_len | sort', "sh", folder)
        return "".join((files, self.namespace.run("ethtool", "-k", NIC), self.namespace.run("ethtool", "-l", NIC)))

    def held(self) -> dict[str, dict[str, Any]]:
        return {entry["key"]: entry for entry in self.agent.ok("held")["entries"]}


@pytest.fixture
def host(namespace: Any, start_inside: Callable[[], Any]) -> Host:
    queues = ("numrxqueues", "4", "numtxqueues", "4")
    namespace.run("ip", "link", "add", "name", NIC, *queues, "type", "veth", "peer", "name", "peer", *queues)
    return Host(namespace, start_inside())


def test_features_that_hang_together(host: Host) -> None:
    found = host.state()
    outcomes = host.apply("feature.tx-scatter-gather=off", "feature.tx-tcp-segmentation=off")
    moved = outcomes["feature.tx-generic-segmentation"]
    assert (moved["asked"], moved["now"], moved["active"]) == (None, "on", "off")
    assert sorted(host.held()) == ["feature.tx-scatter-gather", "feature.tx-tcp-segmentation"]
    assert "scatter-gather: off" in host.namespace.run("ethtool", "-k", NIC)
    assert {entry["state"] for entry in host.agent.ok("restore")["entries"]} == {"restored"}
    assert host.state() == found


def test_everything_at_once_and_the_agent_is_killed(host: Host, eventually: Callable[..., Any]) -> None:
    found = host.state()
    host.apply("queue.rx-0.rps_cpus=1,0", "queue.rx-3.rps_cpus=0", "queue.tx-3.xps_cpus=0")
    assert host.held()["queue.rx-3.rps_cpus"]["ours"] == "0"
    outcomes = host.apply("channels.rx=2", "channels.tx=2", "mtu=9000", "feature.tx-scatter-gather=off")
    assert not [row for row in outcomes.values() if "code" in row]
    gone = outcomes["queue.rx-3.rps_cpus"]
    assert (gone["old"], gone["asked"], gone["now"]) == ("0", None, None)
    entry = host.held()["queue.rx-3.rps_cpus"]
    assert (entry["found"], entry["ours"]) == ("none", None)
    host.agent.process.kill()
    eventually(lambda: host.state() == found, "the driver is as it was found")


def test_a_refusal_in_the_hosts_own_words_takes_all_of_it_back(host: Host) -> None:
    before = host.state()
    outcomes = host.apply("channels.rx=2", "mtu=99999999", "feature.tx-scatter-gather=off", on_refusal="undo")
    assert host.answer["undone"]
    assert outcomes["mtu"]["code"] == "EINVAL" and "mtu greater than device maximum" in outcomes["mtu"]["error"]
    assert (outcomes["channels.rx"]["asked"], outcomes["channels.rx"]["now"]) == ("2", "4")
    assert host.state() == before
    assert host.held() == {}


def test_the_guardian_keeps_no_netlink_socket(host: Host) -> None:
    host.agent.ok("sample", hz=1)
    host.apply("feature.tx-tcp-segmentation=off")
    pid = host.agent.ok("held")["guardian"]
    opened = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    assert sorted(name.partition(":")[0] for name in opened) == ["/dev/null", "/dev/null", "/dev/null", "socket"]


def test_machine_wide_settings_may_be_out_of_bounds(host: Host) -> None:
    host.agent.ok("protect", machine="the lab shares this machine")
    # What it is already, should it be written after all.
    value = host.namespace.read("/proc/sys/net/core/rmem_max")
    change = {"scope": "machine", "key": "sysctl.net.core.rmem_max", "value": value}
    more = {"transaction": "t", "kind": "lease", "seconds": 10, "on_refusal": "rest"}
    (outcome,) = host.agent.ok("apply", changes=[change], **more)["outcomes"]
    assert (outcome["code"], outcome["error"]) == ("EPERM", "the lab shares this machine")
    assert outcome["old"] == outcome["now"]


@pytest.fixture
def above(host: Host) -> str:
    """A macvlan above the NIC: like a VLAN, it gives way to a lower MTU below and does not come back by itself."""
    try:
        host.namespace.run("ip", "link", "set", NIC, "mtu", "9000")
        host.namespace.run("ip", "link", "add", "above", "link", NIC, "type", "macvlan")
    except subprocess.CalledProcessError:
        pytest.skip("this kernel has no macvlan")
    return "above"


def mtus(host: Host, above: str) -> list[str]:
    return [host.namespace.read(f"/sys/class/net/{nic}/mtu") for nic in (NIC, above)]


@pytest.mark.parametrize("places", [None, [[NIC, "mtu"]]])
def test_what_moved_on_a_nic_above_goes_back_as_well(host: Host, above: str, places: Any) -> None:
    outcomes = host.apply("mtu=1500")
    (moved,) = [row for row in host.answer["outcomes"] if row["scope"] == above]
    assert (outcomes["mtu"]["scope"], len(host.answer["outcomes"])) == (above, 2)
    assert (moved["key"], moved["old"], moved["asked"], moved["now"]) == ("mtu", "9000", None, "1500")
    assert mtus(host, above) == ["1500", "1500"]
    more = {} if places is None else {"places": places}
    assert [entry["state"] for entry in host.agent.ok("restore", **more)["entries"]] == ["restored", "restored"]
    assert mtus(host, above) == ["9000", "9000"]


def test_the_guardian_puts_a_nic_above_back(host: Host, above: str, eventually: Callable[..., Any]) -> None:
    host.apply("mtu=1500")
    host.agent.process.kill()
    eventually(lambda: mtus(host, above) == ["9000", "9000"], "both MTUs are as they were found")


def test_a_refusal_puts_a_nic_above_back(host: Host, above: str) -> None:
    host.apply("mtu=1500", "ring.rx=64", on_refusal="undo")
    assert host.answer["undone"] and mtus(host, above) == ["9000", "9000"]
