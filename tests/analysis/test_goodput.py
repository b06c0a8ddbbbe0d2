"""Theoretical goodput against the published table and against frames counted by hand."""

import pytest

from netbench_tui.analysis.goodput import Wire, tcp_goodput, udp_goodput, udp_largest_payload

TCP_TABLE = [
    (Wire(), 4, True, 94.15),
    (Wire(), 4, False, 94.93),
    (Wire(vlan_tags=1), 4, True, 93.90),
    (Wire(), 6, True, 92.85),
    (Wire(vlan_tags=1), 6, True, 92.61),
    (Wire(9000), 4, True, 99.00),
    (Wire(9000), 6, True, 98.78),
    (Wire(vxlan=4), 4, True, 90.90),
]


@pytest.mark.parametrize(("wire", "version", "timestamps", "percent"), TCP_TABLE)
def test_tcp_table(wire: Wire, version: int, timestamps: bool, percent: float) -> None:
    assert round(100 * tcp_goodput(wire, version, timestamps), 2) == percent


def test_tcp_at_1500_is_1448_of_1538() -> None:
    assert tcp_goodput(Wire()) == 1448 / 1538


@pytest.mark.parametrize(("payload", "version", "percent"), [(1472, 4, 95.71), (1452, 6, 94.41), (64, 4, 49.23)])
def test_udp_table(payload: int, version: int, percent: float) -> None:
    assert round(100 * udp_goodput(Wire(), payload, version), 2) == percent


def test_udp_pads_small_frames() -> None:
    assert udp_goodput(Wire(), 1) == 1 / (46 + 38)


def test_udp_fragments_by_hand() -> None:
    """8192 B at MTU 1500: 8200 B after the IP header go as 5 fragments of 1480 and one of 800."""
    assert udp_goodput(Wire(), 8192) == pytest.approx(8192 / (5 * 1538 + 800 + 20 + 38))


def test_udp_fragments_over_ipv6_by_hand() -> None:
    """2000 B at MTU 1500: 2008 B go as a fragment of 1448 and one of 560, each with 48 B of headers."""
    assert udp_goodput(Wire(), 2000, 6) == pytest.approx(2000 / (1448 + 48 + 38 + 560 + 48 + 38))


def test_one_byte_too_many_makes_a_second_fragment() -> None:
    largest = udp_largest_payload(Wire())
    assert largest == 1472
    assert udp_goodput(Wire(), largest + 1) == pytest.approx(1473 / (1538 + 46 + 38))


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="no room for TCP"):
        tcp_goodput(Wire(52))
    with pytest.raises(ValueError, match="no payload"):
        udp_goodput(Wire(), -1)
    with pytest.raises(ValueError, match="no room for fragments"):
        udp_goodput(Wire(24), 100)
