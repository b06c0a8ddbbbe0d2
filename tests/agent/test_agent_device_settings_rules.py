"""Rules that need a NIC with more than this machine has: adaptive coalescing, RSS, the order of kernel interfaces.

The NIC is a stand-in behind the same methods as the kernel's interfaces; what goes to it is looked at.
"""

import errno
from typing import Any

import pytest

from netbench_tui.agent.settings import coalesce, registry, rings, rss
from netbench_tui.agent.settings.context import Context, Refused

NAMES = ["toeplitz", "xor", "crc32"]
NIC = "nic0"


class Nic:
    """`refuses` maps a method to the errno with which it fails."""

    keep = True

    def __init__(self, numbers: dict[str, Any] | None = None, table: list[int] | None = None, rings: int = 4) -> None:
        self.parts = {"coalesce": numbers or {}}
        self.table, self.key, self.function = table or [], bytes(range(4)), 1
        self.rings = rings
        self.refuses: dict[str, int] = {}
        self.asked: list[Any] = []

    def _may(self, method: str) -> None:
        if method in self.refuses:
            raise OSError(self.refuses[method], f"{method} refused")

    def numbers(self, part: str, _nic: str) -> dict[str, Any]:
        self._may("numbers")
        if part not in self.parts:
            raise OSError(errno.EOPNOTSUPP, "no such part")
        return dict(self.parts[part])

    def set_numbers(self, part: str, _nic: str, values: dict[str, int]) -> None:
        self.asked.append(values)
        self._may("set_numbers")
        self.parts[part].update({name: (number, None) for name, number in values.items()})

    def rss(self, _nic: str) -> Any:
        self._may("rss")
        return self.table, self.key, self.function

    def kernel_strings(self, _nic: str, _number: int) -> list[str]:
        return NAMES

    def set_rss(self, _nic: str, **values: Any) -> None:
        self.asked.append(values)
        self._may("set_rss")

    def receive_rings(self, _nic: str) -> int:
        return self.rings

    def close(self) -> None:
        self.asked.append("closed")


def host(netlink: Nic | OSError, ioctl: Nic | OSError) -> Context:
    context = Context()
    context.memory = {"ethtool": netlink, "ethtool_ioctl": ioctl}
    return context


def told(nic: Nic) -> Context:
    return host(nic, nic)


ADAPTIVE = {"rx-usecs": (50, None), "tx-usecs": (50, None), "rx-usecs-high": (9, None), "adaptive-rx": (1, None)}


def test_a_number_that_the_driver_would_overwrite_switches_adaptive_coalescing_off() -> None:
    nic = Nic({**ADAPTIVE, "adaptive-tx": (0, None)})
    context = told(nic)
    registry.write(context, NIC, "coalesce.rx-usecs", "10")
    assert nic.asked == [{"rx-usecs": 10, "adaptive-rx": 0}]
    found = {row["key"]: row["value"] for row in coalesce.read(context, NIC)}
    assert (found["coalesce.rx-usecs"], found["coalesce.adaptive-rx"]) == ("10", "off")


@pytest.mark.parametrize("key", ["coalesce.tx-usecs", "coalesce.rx-usecs-high", "coalesce.adaptive-rx"])
def test_other_numbers_leave_it_alone(key: str) -> None:
    nic = Nic({**ADAPTIVE, "adaptive-tx": (0, None)})
    registry.write(told(nic), NIC, key, "off" if "adaptive" in key else "10")
    assert len(nic.asked[0]) == 1


def test_the_older_interface_answers_where_the_newer_does_not_know() -> None:
    newer, older = Nic(), Nic(ADAPTIVE, [0, 1, 0, 1])
    newer.refuses = {"numbers": errno.EOPNOTSUPP, "rss": errno.EOPNOTSUPP}
    context = host(newer, older)
    assert {row["via"] for row in coalesce.read(context, NIC) + rss.read(context, NIC)} == {"ioctl"}
    assert context.paths == {"nic0: coalesce": "ioctl", "nic0: rss": "ioctl"}


@pytest.mark.parametrize("missing", [errno.ENOENT, errno.EPROTONOSUPPORT, errno.EPERM])
def test_a_kernel_or_a_sandbox_without_netlink(missing: int) -> None:
    context = host(OSError(missing, "none"), Nic(ADAPTIVE))
    assert {row["via"] for row in coalesce.read(context, NIC)} == {"ioctl"}


def test_another_error_is_not_taken_for_no_such_thing() -> None:
    nic = Nic(ADAPTIVE)
    nic.refuses = {"numbers": errno.EIO}
    context = told(nic)
    with pytest.raises(OSError, match="numbers refused"):
        coalesce.read(context, NIC)
    registry.read_scope(context, NIC)
    assert any("coalesce" in note and "refused" in note for note in context.notes)


def test_rss_that_can_be_read_by_netlink_but_set_by_ioctl_alone() -> None:
    newer, older = Nic(table=[0, 1]), Nic(table=[0, 1])
    newer.refuses = {"set_rss": errno.EOPNOTSUPP}
    registry.write(host(newer, older), NIC, "rss.indirection", "1,0")
    assert older.asked == [{"indirection": [1, 0]}]


def test_where_nobody_can_the_first_ones_words_are_told() -> None:
    newer, older = Nic(ADAPTIVE), Nic(ADAPTIVE)
    newer.refuses = older.refuses = {"set_numbers": errno.EOPNOTSUPP}
    with pytest.raises(OSError, match="set_numbers refused"):
        registry.write(host(newer, older), NIC, "coalesce.tx-usecs", "1")


@pytest.mark.parametrize(
    "table, text",
    [
        ([0, 1, 2, 3] * 32, "equal 4"),
        ([0] * 128, "equal 1"),
        ([3] * 128, "3*128"),
        ([0] * 32 + [1] * 96, "0*32,1*96"),
        ([0, 2, 2, 1], "0,2*2,1"),
        ([0, 1, 2, 0, 1], "equal 3"),
        (list(range(16)), "equal 16"),
    ],
)
def test_tables_in_words_and_back(table: list[int], text: str) -> None:
    assert rss.table_text(table) == text
    assert rss.parse_table(text, len(table)) == table
    assert rss.parse_table(", ".join(map(str, table)), len(table)) == table


@pytest.mark.parametrize("value", ["default", "equal 4", "0,1,2,3,0,1,2,3"])
def test_the_drivers_own_table_is_written_as_such(value: str) -> None:
    nic = Nic(table=[3] * 8)
    registry.write(told(nic), NIC, "rss.indirection", value)
    assert nic.asked == [{"indirection": []}]


def test_another_table_is_written_entry_by_entry() -> None:
    nic = Nic(table=[0] * 8)
    for value in ("equal 2", "0*6,3*2"):
        registry.write(told(nic), NIC, "rss.indirection", value)
    assert nic.asked == [{"indirection": [0, 1] * 4}, {"indirection": [0] * 6 + [3] * 2}]


def test_key_and_function() -> None:
    nic = Nic(table=[0] * 8)
    rows = {row["key"]: row for row in rss.read(told(nic), NIC)}
    assert rows["rss.key"]["value"] == "00:01:02:03"
    assert (rows["rss.hash_function"]["value"], rows["rss.hash_function"]["choices"]) == ("toeplitz", NAMES)
    registry.write(told(nic), NIC, "rss.key", "DE:ad:be:ef")
    registry.write(told(nic), NIC, "rss.hash_function", "crc32")
    assert nic.asked == [{"key": b"\xde\xad\xbe\xef"}, {"function": 4}]


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("rss.indirection", "0*7", "8 entries, not 7"),
        ("rss.indirection", "0*999999999", "8 entries"),
        ("rss.indirection", "equal 0", "a table is"),
        ("rss.indirection", "equal 9", "a table is"),
        ("rss.indirection", "equal ²", "a table is"),
        ("rss.indirection", "", "a table is"),
        ("rss.indirection", "a,b", "a table is"),
        ("rss.key", "00:01", "4 bytes, not 2"),
        ("rss.key", "0:1:2:3", "hexadecimal"),
        ("rss.hash_function", "md5", "toeplitz, xor, crc32"),
        ("rss.other", "1", "has no rss.other"),
    ],
)
def test_refusals(key: str, value: str, words: str) -> None:
    nic = Nic(table=[0] * 8)
    with pytest.raises(Refused, match=words):
        registry.write(told(nic), NIC, key, value)
    assert nic.asked == []


def test_the_order_of_writing() -> None:
    """What takes a device down and up goes first."""
    ranks = {
        name: registry.kind_of(NIC, name).RANK for name in ("ring.rx", "mtu", "qdisc.root", "feature.x", "pause.rx")
    }
    assert list(ranks.values()) == sorted(ranks.values())
    assert rings.RESETS and ranks["pause.rx"] < rss.RANK
