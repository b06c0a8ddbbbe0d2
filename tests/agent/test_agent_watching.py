"""What is counted of a watched NIC, tick by tick: its queues, its interrupts, the driver's own statistics."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.queues import counters
from netbench_tui.agent.queues.watching import Watch

FIRST, SECOND = [10, 20, 30, 40, 50, 60], [11, 22, 33, 44, 55, 66]


@pytest.mark.parametrize(
    "names",
    [
        ["rx_queue_0_packets", "rx_queue_0_bytes", "tx_queue_0_packets", "tx_queue_0_bytes", "rx_packets", "tx_bytes"],
        ["rx0_packets", "rx0_bytes", "tx0_packets", "tx0_bytes", "rx0_xdp_drop", "tx0_nop"],
        ["rx-0.packets", "rx-0.bytes", "tx-0.packets", "tx-0.bytes", "rx-0.dropped", "veb.rx_bytes"],
        ["rx-0.rx_packets", "rx-0.rx_bytes", "tx-0.tx_packets", "tx-0.tx_bytes", "port.rx_bytes", "port.tx_bytes"],
        ["rx_packets[0]", "rx_bytes[0]", "tx_packets[0]", "tx_bytes[0]", "rx_drops[0]", "tx_stop[0]"],
        ["queue_0_rx_cnt", "queue_0_rx_bytes", "queue_0_tx_cnt", "queue_0_tx_bytes", "queue_0_rx_bad_csum", "x"],
        ["rxq0: rx_pkts", "rxq0: rx_bytes", "txq0: tx_pkts", "txq0: tx_bytes", "rxq0: rx_compl", "txq0: tx_stops"],
        ["Queue[0] InPackets", "Queue[0] InOctets", "Queue[0] OutPackets", "Queue[0] OutOctets", "InPackets", "y"],
    ],
)
def test_queues_by_the_names_that_drivers_give(names: list[str]) -> None:
    plan = counters.plan(names, FIRST)
    taken = {queue: counters.take(places, FIRST) for queue, places in plan.items()}
    assert taken == {"rx-0": [10, 20], "tx-0": [30, 40]}


def test_unicast_multicast_and_broadcast_are_added_up() -> None:
    names = [
        f"[1]: {kind}_{cast}_{what}"
        for kind in ("rx", "tx")
        for what in ("packets", "bytes")
        for cast in ("ucast", "mcast", "bcast")
    ]
    values = list(range(1, 13))
    plan = counters.plan([*names, "[1]: rx_discards", "[1]: tpa_bytes"], [*values, 5, 6])
    assert {queue: counters.take(places, values) for queue, places in plan.items()} == {
        "rx-1": [6, 15],
        "tx-1": [24, 33],
    }


def test_queues_under_headings() -> None:
    names = ["Tx Queue#", "  ucast pkts tx", "  ucast bytes tx", "Rx Queue#", "  ucast pkts rx", "  ucast bytes rx"]
    names += ["Rx Queue#", "  ucast pkts rx", "  ucast bytes rx", "  bcast bytes rx", "tx timeout count"]
    values = [0, 1, 2, 0, 3, 4, 1, 5, 6, 7, 8]
    plan = counters.plan(names, values)
    taken = {queue: counters.take(places, values) for queue, places in plan.items()}
    assert taken == {"tx-0": [1, 2], "rx-0": [3, 4], "rx-1": [5, 13]}
    told = counters.unique(names, values)
    assert len(set(told)) == len(told)
    assert told[7] == "Rx Queue# 1: ucast pkts rx"


@pytest.mark.parametrize("names", [["rx_packets", "tx_bytes"], ["rx0_packets"], ["rx_queue_0_xdp_packets"], []])
def test_queues_that_nobody_counts_are_not_made_up(names: list[str]) -> None:
    assert counters.plan(names, FIRST) == {}


def test_repeated_names_stay_apart() -> None:
    assert counters.unique([" a", "b ", "a", "a"], [1, 2, 3, 4]) == ["a", "b", "a (2)", "a (3)"]


class CannedInterrupts:
    """Stands for the open files of /sys/kernel/irq and for /proc/interrupts."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def read(self, path: str) -> bytes:
        return self.contents.get(path, b"")

    def close(self) -> None:
        pass


def canned(by_file: bool) -> tuple[Watch, CannedInterrupts]:
    watch, files = Watch("lo"), CannedInterrupts()
    watch.files, watch.by_file, watch.cpus = files, by_file, [0, 2, 5]  # type: ignore[assignment]
    watch.paths = [(7, "/seven"), (8, "/eight")]
    return watch, files


def tick(watch: Watch) -> list[list[int]]:
    found: dict[str, list[list[int]]] = {}
    watch.add(found)
    return found.get("irq", [])


def test_interrupts_by_cpu_and_only_what_moved() -> None:
    watch, files = canned(by_file=True)
    files.contents = {"/seven": b"1,2,3\n", "/eight": b"4,5,6\n"}
    assert tick(watch) == []
    files.contents = {"/seven": b"1,12,4\n", "/eight": b"4,5,6\n"}
    assert tick(watch) == [[7, 2, 10, 5, 1]]
    assert tick(watch) == []
    files.contents["/eight"] = b""
    assert tick(watch) == []
    watch.close()


def test_a_list_cut_off_in_the_middle_of_a_number() -> None:
    watch, files = canned(by_file=True)
    watch.cpus = list(range(2048))
    files.contents = {"/seven": b"1," * 2047 + b"1"}
    assert tick(watch) == []
    files.contents = {"/seven": b"2," + b"1," * 2046 + b"9"}
    assert tick(watch) == [[7, 0, 1]]
    watch.close()


def test_without_those_files_proc_interrupts_is_read() -> None:
    watch, files = canned(by_file=False)
    text = "      CPU0   CPU3\n  7:  %d  %d  IO-APIC  7-edge  eth0\n  9:  5  5  IO-APIC  9-edge  x\nERR:  0\n"
    files.contents = {"/proc/interrupts": (text % (1, 1)).encode()}
    assert tick(watch) == []
    files.contents = {"/proc/interrupts": (text % (1, 4)).encode()}
    assert tick(watch) == [[7, 3, 3]]
    watch.close()


@pytest.fixture
def joined(namespace: Any) -> Callable[[], None]:
    """A veth pair of four queues; gives a function that sends packets."""
    words = ["numtxqueues", "4", "numrxqueues", "4"]
    namespace.run("ip", "link", "add", "nic0", *words, "type", "veth", "peer", "name", "nic1", *words)
    for nic in ("nic0", "nic1"):
        namespace.run("ip", "link", "set", nic, "up")
    namespace.run("ip", "address", "add", "192.0.2.1/24", "dev", "nic0")

    def send() -> None:
        sender = "import socket\nh=socket.socket(2,2)\nh.setsockopt(1,6,1)\n"
        namespace.run("python3", "-S", "-c", sender + "for _ in range(50): h.sendto(b'x'*100,('192.0.2.255',9))")

    return send


def test_watching_needs_ticks_and_ends_when_told(
    namespace: Any, joined: Callable[[], None], start_inside: Callable[[], Any], eventually: Any
) -> None:
    agent = start_inside()
    assert agent.refused("watch", nic="nic0")["code"] == "malformed"
    agent.ok("sample", hz=10)
    agent.ok("watch", nic="nic0", statistics=True)
    joined()
    eventually(lambda: any("nic0" in t.get("nic", {}) for t in agent.ticks()), "packets")
    agent.ok("watch", nic=None)
    count = len(agent.ticks())
    joined()
    eventually(lambda: len(agent.ticks()) > count + 3, "more ticks")
    assert all(not {"stat", "queue", "irq"} & set(tick) for tick in agent.ticks()[count:])


class CannedStatistics:
    """Stands for a driver's own statistics, look by look."""

    names = ("rx_queue_0_packets", "rx_queue_0_bytes", "rx_csum_good")

    def __init__(self, *looks: list[int]) -> None:
        self.looks = list(looks)

    def values(self) -> list[int]:
        return self.looks.pop(0)


def test_queues_and_statistics_from_the_driver_where_netdev_counts_none() -> None:
    watch = Watch("lo", statistics=True, without=("netdev",))
    watch.statistics = CannedStatistics([10, 1000, 5], [10, 1000, 5], [13, 1300, 9])
    ticks: list[dict[str, Any]] = [{}, {}, {}]
    for found in ticks:
        watch.add(found)
    watch.close()
    assert ticks == [
        {},
        {},
        {"queue": {"rx-0": [3, 300]}, "stat": dict(zip(CannedStatistics.names, [3, 300, 4], strict=True))},
    ]


def test_a_nic_that_goes_and_comes_back_with_other_queues(
    namespace: Any, joined: Callable[[], None], start_inside: Callable[[], Any], eventually: Any
) -> None:
    agent = start_inside()
    agent.ok("sample", hz=10)
    agent.ok("watch", nic="nic0", statistics=True)
    namespace.run("ip", "link", "delete", "nic0")
    count = len(agent.ticks())
    eventually(lambda: len(agent.ticks()) > count + 12, "ticks while it is away")
    namespace.run("ip", "link", "add", "nic0", "type", "veth", "peer", "name", "nic1")
    assert [queue["name"] for queue in agent.ok("queues", nic="nic0")["queues"]] == ["rx-0", "tx-0"]
    count = len(agent.ticks())
    eventually(lambda: len(agent.ticks()) > count + 12, "ticks when it is back")
    agent.ok("watch", nic="not there")
    eventually(lambda: len(agent.ticks()) > count + 24, "ticks of a NIC that is not there")


def test_this_machines_interrupts_are_those_of_proc_interrupts() -> None:
    """The first NIC that has interrupts of its own, only read: every delta is what its file says."""
    nics = [nic for nic in os.listdir("/sys/class/net") if Watch(nic).paths]
    if not nics:
        pytest.skip("no NIC of this machine has interrupts")
    watch = Watch(nics[0])

    def totals() -> int:
        return sum(sum(map(int, Path(path).read_text().split(","))) for _, path in watch.paths)

    tick(watch)
    before, moved = totals(), 0
    for _ in range(3):
        moved += sum(sum(row[2::2]) for row in tick(watch))
    moved += sum(sum(row[2::2]) for row in tick(watch))
    after = totals()
    watch.close()
    assert 0 <= moved <= after - before + 1000
