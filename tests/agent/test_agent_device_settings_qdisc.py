"""Root queueing disciplines: in tc's words, put in place of each other, and put back byte for byte."""

import re
import struct
from typing import Any

import pytest

from netbench_tui.agent.kernel.netlink import attribute, attributes
from netbench_tui.agent.settings import qdisc, qdisc_options
from netbench_tui.agent.settings.context import Context, Refused

# As a kernel 6.18 tells them of an fq that nobody gave any options, on an MTU of 1500.
FQ_DEFAULTS = {1: 10000, 2: 100, 3: 3028, 4: 15140, 5: 1, 7: 0xFFFFFFFF, 8: 10, 9: 40000, 10: 1023, 11: 68750}
FQ_MORE = {12: 0xFFFFFFFF, 13: 10000, 14: 10000000}


def read(nic: str) -> dict[str, Any]:
    context = Context()
    try:
        row: dict[str, Any] = qdisc.read_one(context, nic, "qdisc.root")
        return row
    finally:
        context.close()


def write(nic: str, value: str) -> None:
    context = Context()
    try:
        qdisc.write(context, nic, "qdisc.root", value)
    finally:
        context.close()


@pytest.fixture
def nic(namespace: Any) -> str:
    queues = ["numtxqueues", "4", "numrxqueues", "4"]
    namespace.run("ip", "link", "add", "nic0", *queues, "type", "veth", "peer", "name", "nic1", *queues)
    for name in ("nic0", "nic1"):
        namespace.run("ip", "link", "set", name, "up")
    return "nic0"


def told(namespace: Any) -> str:
    """Less what counts packets."""
    return re.sub(r" direct_packets_stat \d+", "", namespace.run("tc", "qdisc", "show"))


@pytest.mark.parametrize(
    "value", ["mq", "pfifo limit 100", "bfifo limit 30000", "pfifo_fast", "handle 77: pfifo limit 9"]
)
def test_over_the_kernels_own_choice_and_back(namespace: Any, nic: str, value: str) -> None:
    before = told(namespace)
    assert namespace.call(read, nic)["value"] == "noqueue"
    namespace.call(write, nic, value)
    assert namespace.call(read, nic)["value"] == value
    kind = value.replace("handle 77: ", "").split()[0]
    assert f"qdisc {kind} " in told(namespace)
    namespace.call(write, nic, "noqueue")
    assert told(namespace) == before


@pytest.mark.parametrize("found", ["handle 8001: pfifo limit 7", "handle 1: mq", "handle 8002: pfifo_fast"])
@pytest.mark.parametrize("value", ["noqueue", "mq", "bfifo limit 3000", "handle 1: pfifo limit 100"])
def test_over_what_someone_else_made_and_back(namespace: Any, nic: str, found: str, value: str) -> None:
    namespace.run("tc", "qdisc", "replace", "dev", nic, "root", *found.split())
    before = told(namespace)
    assert namespace.call(read, nic)["value"] == found
    namespace.call(write, nic, value)
    assert namespace.call(read, nic)["value"] == value
    namespace.call(write, nic, found)
    assert told(namespace) == before


def test_words_are_those_of_tc(namespace: Any, nic: str) -> None:
    namespace.call(write, nic, "handle 5: pfifo limit 100")
    ours = told(namespace)
    namespace.call(write, nic, "noqueue")
    namespace.run("tc", "qdisc", "replace", "dev", nic, "root", "handle", "5:", "pfifo", "limit", "100")
    assert told(namespace) == ours


def test_one_of_ours_over_another_keeps_no_options(namespace: Any, nic: str) -> None:
    for value in ("pfifo limit 100", "pfifo limit 200", "pfifo", "pfifo limit 300"):
        namespace.call(write, nic, value)
        assert namespace.call(read, nic)["value"].startswith(value)


def test_a_device_that_was_never_up(namespace: Any) -> None:
    namespace.run("ip", "link", "add", "down0", "type", "veth", "peer", "name", "down1")
    before = told(namespace)
    assert namespace.call(read, "down0")["value"] == "noop"
    namespace.call(write, "down0", "pfifo limit 5")
    assert "pfifo" in told(namespace)
    namespace.call(write, "down0", "noop")
    assert told(namespace) == before


@pytest.mark.parametrize(
    "commands, words",
    [
        (["root tbf rate 1mbit burst 10k latency 10ms"], "put back exactly: tbf"),
        (["root handle 1: htb"], "put back exactly: htb"),
        (["root handle 1: mq", "parent 1:2 handle 9: pfifo limit 5"], "mq with pfifo below it"),
        (["root stab overhead 4 handle 1: pfifo limit 5"], "pfifo with options that are not known"),
    ],
)
def test_what_could_not_be_put_back_is_not_written_over(
    namespace: Any, nic: str, commands: list[str], words: str
) -> None:
    for command in commands:
        namespace.run("tc", "qdisc", "add", "dev", nic, *command.split())
    before = told(namespace)
    assert words in namespace.call(read, nic)["refusal"]
    for value in ("noqueue", "mq", "pfifo limit 3"):
        with pytest.raises(Refused, match=words):
            namespace.call(write, nic, value)
    assert told(namespace) == before


def test_what_the_kernel_refuses_leaves_what_was_there(namespace: Any) -> None:
    """mq needs several queues."""
    namespace.run("ip", "link", "add", "single", "numtxqueues", "1", "type", "veth", "peer", "name", "other")
    namespace.run("ip", "link", "set", "single", "up")
    namespace.run("tc", "qdisc", "replace", "dev", "single", "root", "handle", "3:", "pfifo", "limit", "5")
    before = told(namespace)
    with pytest.raises(OSError):
        namespace.call(write, "single", "mq")
    assert told(namespace) == before
    with pytest.raises(OSError):
        namespace.call(write, "single", "handle 3: mq")
    assert told(namespace) == before


def fq(changes: dict[int, int], drop: int = 1) -> bytes:
    numbers = {**FQ_DEFAULTS, **FQ_MORE, **changes}
    bands = struct.pack("=i16B", 3, 1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
    packed = [attribute(kind, number) for kind, number in sorted(numbers.items())]
    packed += [
        attribute(15, bytes([drop])),
        attribute(16, bands),
        attribute(17, struct.pack("=iii", 589824, 196608, 65536)),
    ]
    return b"".join(packed)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({}, ""),
        ({7: 125000000}, "maxrate 1gbit"),
        ({7: 1234567}, "maxrate 9876536bit"),
        ({1: 500, 3: 9028, 8: 12}, "limit 500 buckets 4096 quantum 9028"),
        (
            {9: 10000, 12: 1500, 13: 500, 14: 2000000},
            "refill_delay 10ms ce_threshold 1500us timer_slack 500ns horizon 2s",
        ),
        ({5: 0, 11: 0}, "low_rate_threshold 0bit nopacing"),
    ],
)
def test_fq_in_words_and_back(changes: dict[int, int], words: str) -> None:
    raw = fq(changes)
    assert qdisc_options.whole("fq", raw)
    assert " ".join(qdisc_options.words("fq", raw, 1500)) == words
    again = dict(attributes(qdisc_options.parse("fq", words.split())))
    assert {kind: int.from_bytes(value, "little") for kind, value in again.items()} == changes


@pytest.mark.parametrize(
    "value",
    [
        "fq",
        "fq limit 500 flow_limit 50 buckets 4096 quantum 9028 initial_quantum 20000 maxrate 1gbit",
        "handle 7: fq low_rate_threshold 1mbit refill_delay 10ms timer_slack 500ns horizon 2s nopacing horizon_cap",
        "fq_codel limit 100 flows 64 quantum 300 target 10ms interval 50ms ce_threshold 1ms memory_limit 1000000 noecn",
        "pfifo limit 5",
        "mq",
    ],
)
def test_words_are_understood_as_they_are_written(value: str) -> None:
    assert qdisc.words_of(qdisc.settled(qdisc.discipline_of(value)), 1500) == value


def test_fq_of_bands_that_someone_chose_is_not_ours_to_replace() -> None:
    raw = fq({}).replace(struct.pack("=iii", 589824, 196608, 65536), struct.pack("=iii", 1, 2, 3))
    assert not qdisc_options.whole("fq", raw)
    assert not qdisc_options.whole("fq", fq({}) + attribute(99, 1))


def test_fq_codel_that_marks_tells_which_packets() -> None:
    """As seen on a kernel 6.1: two more attributes come with ce_threshold."""
    raw = attribute(1, 4999) + attribute(7, 999) + attribute(10, b"\0") + attribute(11, b"\0")
    assert qdisc_options.whole("fq_codel", raw)
    assert qdisc_options.words("fq_codel", raw, 1500) == ["ce_threshold", "1ms"]
    assert not qdisc_options.whole("fq_codel", raw[:-4] + b"\1\0\0\0")


def test_nobody_is_stuck_with_what_we_made(namespace: Any, nic: str) -> None:
    before = told(namespace)
    namespace.call(write, nic, "mq")
    namespace.run("tc", "qdisc", "add", "dev", nic, "parent", "4e42:1", "handle", "9:", "pfifo", "limit", "5")
    namespace.call(write, nic, "noqueue")
    assert told(namespace) == before


def test_fq_codel_in_words_though_the_kernel_rounds_times() -> None:
    """The kernel keeps times in units of 1024 ns and tells them rounded down."""
    told_by_kernel = {1: 4999, 2: 10240, 3: 99999, 4: 1, 5: 1024, 6: 1514, 8: 64, 9: 32 << 20}
    raw = b"".join(attribute(kind, number) for kind, number in told_by_kernel.items())
    assert qdisc_options.words("fq_codel", raw, 1500) == []
    for written in range(1, 5000):
        kept = (written * 1000 >> 10 << 10) // 1000
        words = qdisc_options.words("fq_codel", attribute(1, kept), 1500)
        parsed = qdisc_options.parse("fq_codel", words)
        again = int.from_bytes(parsed[4:], "little") if parsed else 5000
        assert (again * 1000 >> 10 << 10) // 1000 == kept


@pytest.mark.parametrize(
    "value",
    [
        "",
        "handle",
        "handle 0: mq",
        "handle ffff: mq",
        "fq maxrate",
        "fq maxrate fast",
        "fq maxrate 99999gbit",
        "fq nosuch 1",
        *[
            "pfifo limit",
            "pfifo limit x",
            "pfifo limits 5",
            "fq buckets 1000",
            "fq limit ²",
            "fq refill_delay 1h",
            "mq 5",
        ],
    ],
)
def test_words_that_are_none(namespace: Any, nic: str, value: str) -> None:
    before = told(namespace)
    with pytest.raises(Refused):
        namespace.call(write, nic, value)
    assert told(namespace) == before
