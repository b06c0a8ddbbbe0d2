"""Netlink as the agent speaks it: packing, long and broken answers, the kernel's words, and what the families tell."""

import errno
import os
import re
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.kernel import netdev, netlink, rtnetlink
from netbench_tui.agent.kernel.ethtool import Ethtool
from netbench_tui.agent.kernel.ethtool_ioctl import EthtoolIoctl
from netbench_tui.agent.kernel.genetlink import Genetlink

Sent = list[tuple[int, bytes]]


class Script(socket.socket):
    """A socket whose kernel answers as it was told: an answer is made from the last sequence number."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.answers = list(answers)
        self.asked = 0

    def send(self, data: Any, *_flags: Any) -> int:
        self.asked = struct.unpack_from("=I", data, 8)[0]
        return len(data)

    def recvmsg(self, *_sizes: Any) -> Any:
        answer = self.answers.pop(0)
        data, flags = answer if isinstance(answer, tuple) else (answer, 0)
        return b"".join(part(self.asked) for part in data), [], flags, (0, 0)


def message(kind: int, body: bytes = b"", flags: int = 0, late: int = 0) -> Any:
    def pack(sequence: int) -> bytes:
        head = struct.pack("=IHHII", 16 + len(body), kind, flags, sequence - late, 0)
        return head + body + b"\0" * (-len(body) & 3)

    return pack


def done(code: int = 0) -> Any:
    return message(netlink.NLMSG_DONE, struct.pack("=i", -code))


def talking(*answers: Any) -> netlink.Netlink:
    made = netlink.Netlink(socket.NETLINK_ROUTE)
    made.close()
    made.socket = Script(*answers)
    return made


@pytest.fixture
def generic() -> Any:
    made = Genetlink()
    yield made
    made.close()


def test_attributes_are_read_as_they_were_packed() -> None:
    packed = netlink.attribute(1, 7) + netlink.attribute(2, "ü") + netlink.attribute(3, [netlink.attribute(4, b"abc")])
    found = netlink.table(packed)
    assert (netlink.integer(found[1]), netlink.text(found[2])) == (7, "ü")
    assert netlink.table(found[3]) == {4: b"abc"}
    assert len(packed) % 4 == 0


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_a_number_is_read_by_its_width(width: int) -> None:
    assert netlink.integer((200).to_bytes(width, "little")) == 200


@pytest.mark.parametrize("data", [b"", b"\0" * 3, b"\0" * 8, b"\xff\xff\1\0abc", b"\3\0\1\0"])
def test_broken_attributes_end_the_list(data: bytes) -> None:
    assert len(list(netlink.attributes(data))) <= 1


def test_a_list_may_come_in_many_pieces() -> None:
    answers = [[message(20, b"%04d" % (10 * piece + place)) for place in range(10)] for piece in range(50)]
    found = talking(*answers, [done()]).dump(18, b"")
    assert found == [b"%04d" % number for number in range(500)]


def test_what_is_left_of_an_earlier_answer_is_passed_over() -> None:
    talk = talking([message(20, b"old!", late=1), message(20, b"new!")], [done()])
    assert talk.dump(18, b"") == [b"new!"]


def test_a_list_that_changed_is_read_again_but_not_for_ever() -> None:
    moved = [message(20, b"half", flags=netlink.DUMP_INTERRUPTED), done()]
    assert talking(moved, [message(20, b"whole..."), done()]).dump(18, b"") == [b"whole..."]
    with pytest.raises(OSError) as caught:
        talking(*[moved] * netlink.DUMP_ATTEMPTS).dump(18, b"")
    assert caught.value.errno == errno.EAGAIN


def test_a_list_may_end_in_an_error() -> None:
    with pytest.raises(OSError) as caught:
        talking([message(20, b"some"), done(errno.ENOBUFS)]).dump(18, b"")
    assert caught.value.errno == errno.ENOBUFS


def test_a_truncated_answer_is_an_error() -> None:
    with pytest.raises(OSError) as caught:
        talking(([message(20, b"some")], socket.MSG_TRUNC)).get(18, b"")
    assert caught.value.errno == errno.EMSGSIZE


@pytest.mark.parametrize("capped", [True, False])
def test_the_kernels_words_are_in_the_error(capped: bool) -> None:
    request = (
        struct.pack("=IHHII", 23, 18, 5, 1, 0) + b""
        if capped
        else struct.pack("=IHHII", 23, 18, 5, 1, 0) + b"7 bytes\0"
    )
    words = netlink.attribute(2, 4) + netlink.attribute(1, "no such thing")
    flags = netlink.ACK_ATTRIBUTES | (netlink.CAPPED if capped else 0)
    body = struct.pack("=i", -errno.EINVAL) + request + words
    with pytest.raises(OSError) as caught:
        talking([message(netlink.NLMSG_ERROR, body, flags)]).exchange(18, b"")
    assert (caught.value.errno, caught.value.strerror) == (errno.EINVAL, "Invalid argument: no such thing")


def test_a_consent_may_carry_words_and_is_no_error() -> None:
    body = struct.pack("=i", 0) + bytes(16) + netlink.attribute(1, "a warning")
    flags = netlink.ACK_ATTRIBUTES | netlink.CAPPED
    talk = talking([message(20, b"told")], [message(netlink.NLMSG_ERROR, body, flags)])
    assert talk.exchange(18, b"") == [b"told"]


def test_a_family_that_is_missing_is_said_each_time(generic: Any) -> None:
    for _time in range(2):
        with pytest.raises(OSError, match="no netlink family nosuch"):
            generic.family("nosuch")
    assert generic.netlink.sequence == 1


def veth(namespace: Any, queues: int) -> int:
    words = ["numtxqueues", str(queues), "numrxqueues", str(queues)]
    namespace.run("ip", "link", "add", "nic0", *words, "type", "veth", "peer", "name", "nic1", *words)
    for name in ("nic0", "nic1"):
        namespace.run("ip", "link", "set", name, "up")
    return int(namespace.read("/sys/class/net/nic0/ifindex"))


@pytest.mark.parametrize("queues", [1, 64, 1024])
def test_all_queues_of_a_device(namespace: Any, queues: int) -> None:
    index = veth(namespace, queues)
    generic = namespace.call(Genetlink)
    try:
        found = namespace.call(netdev.queues, generic, index)
    except FileNotFoundError:
        pytest.skip("this kernel has no netdev family")
    finally:
        generic.close()
    listed = [os.fsencode(row["name"]) for row in found]
    assert sorted(listed) == sorted(
        os.fsencode(name) for name in namespace.run("ls", "/sys/class/net/nic0/queues").split()
    )


def test_counters_by_queue_are_those_of_the_device(generic: Any) -> None:
    """Where this machine has a NIC that counts by queue."""
    for nic in os.listdir("/sys/class/net"):
        try:
            first = total(netdev.queue_counters(generic, socket.if_nametoindex(nic)), "rx-")
        except OSError as error:
            assert error.errno in (errno.EOPNOTSUPP, errno.ENOENT)
            continue
        counted = int(Path(f"/sys/class/net/{nic}/statistics/rx_packets").read_text())
        assert first <= counted <= total(netdev.queue_counters(generic, socket.if_nametoindex(nic)), "rx-")


def total(counters: dict[str, list[int]], kind: str) -> int:
    return sum(packets for name, (packets, _bytes) in counters.items() if name.startswith(kind))


@pytest.mark.parametrize("nic", sorted(os.listdir("/sys/class/net")))
def test_both_ways_to_a_nic_tell_the_same(nic: str) -> None:
    newer, older = Ethtool(), EthtoolIoctl()
    try:
        assert vars(newer.features(nic)) == vars(older.features(nic))
        for number in (4, 5):
            assert newer.strings(nic, number) == older.strings(nic, number)
        for part in ("ring", "channels", "coalesce", "pause"):
            first, second = told(newer, part, nic), told(older, part, nic)
            assert {name: first[name] for name in first if name in second} == {
                name: second[name] for name in first if name in second
            }
    finally:
        newer.close()
        older.close()


def told(source: Any, part: str, nic: str) -> dict[str, Any]:
    try:
        return dict(source.numbers(part, nic))
    except OSError as error:
        assert error.errno == errno.EOPNOTSUPP
        return {}


@pytest.mark.parametrize("nic", sorted(set(os.listdir("/sys/class/net")) - {"lo"}))
def test_the_driver_is_that_of_ethtool(nic: str) -> None:
    ioctl = EthtoolIoctl()
    found = ioctl.driver(nic)
    ioctl.close()
    said = subprocess.run(["ethtool", "-i", nic], check=True, capture_output=True, text=True).stdout
    assert dict(re.findall(r"^(driver|version|bus-info|firmware-version): (.*)$", said, re.M)) == {
        "driver": found["driver"],
        "version": found["version"],
        "bus-info": found["bus"],
        "firmware-version": found["firmware"],
    }


@pytest.mark.parametrize("source", [Ethtool, EthtoolIoctl])
def test_what_moves_with_a_feature_is_told(namespace: Any, source: Any) -> None:
    veth(namespace, 1)
    made = namespace.call(source)
    try:
        off = namespace.call(made.set_feature, "nic0", "tx-scatter-gather", False)
        assert off["tx-scatter-gather"] is False and off["tx-tcp-segmentation"] is False
        on = namespace.call(made.set_feature, "nic0", "tx-scatter-gather", True)
        assert on == dict.fromkeys(off, True)
        with pytest.raises(OSError) as caught:
            namespace.call(made.set_feature, "nic0", "nosuch", True)
        assert caught.value.errno == errno.EOPNOTSUPP
    finally:
        made.close()


def test_a_link_of_a_name_that_ends_early_is_not_found() -> None:
    route = rtnetlink.Route()
    for nic in ("lo\0x", "", "l/o", "x" * 16):
        with pytest.raises(OSError) as caught:
            route.link(nic)
        assert caught.value.errno == errno.ENODEV
    assert route.link("lo")["index"] == 1
    route.close()
