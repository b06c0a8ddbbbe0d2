"""The text grammar: which lines are intervals, in any version's form, whole or in pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.model.run import Interval
from netbench_tui.traffic.iperf3_text import LONGEST_LINE, TextReader, parse_line, read_text

ONE = (
    "Accepted connection from 10.0.0.1, port 40000\n"
    "[  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40002\n"
    "[ ID] Interval           Transfer     Bitrate\n"
    "[  5]   0.00-0.10   sec  85.5 MBytes  8000000 Kbits/sec                  \n"
    "[  5]   0.10-0.20   sec  85.5 MBytes  4000000 Kbits/sec                  \n"
    "[  5]   0.20-0.24   sec  1.62 MBytes  2000000 Kbits/sec                  \n"
    "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
    "[ ID] Interval           Transfer     Bitrate\n"
    "[  5]   0.00-0.24   sec   749 MBytes  5333333 Kbits/sec                  receiver\n"
)


def test_one_stream_gives_its_lines_and_no_summary() -> None:
    report = read_text(ONE, 1)
    assert [(i.start, i.end) for i in report.intervals] == [(0.0, 0.1), (0.1, 0.2), (0.2, 0.24)]
    assert [round(i.bytes) for i in report.intervals] == [100_000_000, 50_000_000, 10_000_000]
    assert report.complete
    assert report.own == {"receiver.bits_per_second": 5333333000.0}


def test_true_lengths_come_from_transfer_and_rate() -> None:
    """0.1041 s are printed as 0.10, then 0.0948 s as 0.20: the totals are still right."""
    rows = (
        "[  5]   0.00-0.10   sec  85.5 MBytes  6889883 Kbits/sec\n"
        "[  5]   0.10-0.20   sec  85.5 MBytes  7565775 Kbits/sec\n"
    )
    intervals = read_text(rows, 1).intervals
    assert [round(i.end, 4) for i in intervals] == [0.1041, 0.1989]
    assert sum(i.bytes for i in intervals) == pytest.approx(2 * 85.5 * 1024**2, rel=1e-4)
    assert [i.bits_per_second for i in intervals] == pytest.approx([6889883e3, 7565775e3])


def test_printed_times_hold_where_the_transfer_is_too_coarse_or_does_not_agree() -> None:
    rows = (
        "[  5]   0.00-1.00   sec  1 MBytes  8000 Kbits/sec\n"
        "[  5]   1.00-2.00   sec  9.54 MBytes  8000 Kbits/sec\n"
        "[  5]   2.00-3.00   sec  0.00 Bytes  0.00 bits/sec\n"
    )
    assert read_text(rows, 1).intervals == (Interval(0, 1, 1e6), Interval(1, 2, 1e6), Interval(2, 3, 0.0))


def test_several_streams_count_only_sums(make_server_text) -> None:
    report = read_text(make_server_text([8_000_000, 4_000_000], streams=4), 4)
    assert [round(i.bytes) for i in report.intervals] == [100_000_000, 50_000_000]


@pytest.mark.parametrize(
    ("printed", "bits"),
    [
        ("7149810 Kbits/sec", 7149810e3),
        ("1.15 Gbits/sec", 1.15e9),
        ("1,15 Gbits/sec", 1.15e9),
        ("996 Mbits/sec", 996e6),
        ("0.00 bits/sec", 0.0),
        ("2.50 Tbits/sec", 2.5e12),
        ("2.00 MBytes/sec", 2 * 1024 * 1024 * 8),
    ],
)
def test_rates_of_every_unit(printed: str, bits: float) -> None:
    line = parse_line(f"[  5]   0.00-1.00   sec   137 MBytes  {printed}  217   1.86 MBytes       ")
    assert line is not None
    assert line.bits_per_second == pytest.approx(bits)


def test_clients_text_has_retransmits_only_under_a_retr_header() -> None:
    row = "[  5]   0.00-1.00   sec   137 MBytes  1.15 Gbits/sec  217   1.86 MBytes       \n"
    head = "Connecting to host 10.0.0.2, port 5201\n[ ID] Interval           Transfer     Bitrate"
    assert read_text(head + "         Retr  Cwnd\n" + row, 1).intervals[0].retransmits == 217
    assert read_text(head + "         Total Datagrams\n" + row, 1).intervals[0].retransmits is None


@pytest.mark.parametrize(
    "line",
    [
        "[  5]   0.00-1.00   sec   137 MBytes  1.15 Gbits/sec  217   1.86 MBytes       (omitted)",
        "[  5][TX-C]   0.00-1.00   sec   137 MBytes  1.15 Gbits/sec  217   1.86 MBytes",
        "[  5]   0.00-10.04  sec  1.13 GBytes   968 Mbits/sec                  sender",
        "[  5]   1.00-1.00   sec  1.62 MBytes  5720306 Kbits/sec                  ",
        "[SUM]   0.00-1.00   sec  1.27 GBytes  10.9 Gbits/sec  816             ",
        "[  5]   0.00-1.00   sec   137 MBytes  -nan Gbits/sec",
        "[SUM]  0.0-10.0 sec  3 datagrams received out-of-order",
    ],
)
def test_lines_that_are_no_interval_of_one_stream(line: str) -> None:
    assert TextReader(1).feed(line + "\n") == []


def test_a_summary_without_its_last_word_is_not_counted_again() -> None:
    reader = TextReader(1)
    reader.feed(
        "[  5]   0.00-1.00   sec   137 MBytes  1000 Kbits/sec\n[  5]   1.00-2.00   sec  1 MBytes  1000 Kbits/sec\n"
    )
    assert reader.feed("[  5]   0.00-2.00   sec   137 MBytes  1000 Kbits/sec\n") == []


def test_a_line_counts_only_when_it_has_ended() -> None:
    reader = TextReader(1)
    assert reader.feed("[  5]   0.00-1.00   sec   137 MBytes  8000 Kbits/sec") == []
    assert reader.feed("   \n") == [Interval(0.0, 1.0, 1_000_000.0)]


def test_of_several_tests_the_last_counts_and_a_note_says_so() -> None:
    report = read_text(ONE + ONE.replace("8000000", "1600000"), 1)
    assert round(report.intervals[0].bytes) == 20_000_000
    assert len(report.intervals) == 3
    assert report.notes == ("the text holds 2 tests: read the last",)


def test_an_endless_line_fills_no_memory_and_spoils_no_other() -> None:
    reader = TextReader(1)
    for _ in range(100):
        assert reader.feed("x" * LONGEST_LINE) == []
    assert len(reader._tail) <= LONGEST_LINE + 1
    assert len(reader.feed("\n" + ONE)) == 3


def test_complaint_in_text() -> None:
    assert read_text("iperf3: error - unable to connect to server: Connection refused\n", 1).error == (
        "unable to connect to server: Connection refused"
    )


PIECES = st.lists(st.sampled_from([*ONE.splitlines(keepends=True), "[SUM]", "\n", "\r\n", "[  5]", "nan", "\x00"]))
CUTS = st.lists(st.integers(0, 400), max_size=12)


@given(st.one_of(st.text(), PIECES.map("".join)), CUTS, st.sampled_from([1, 4]))
def test_pieces_give_what_the_whole_gives(text: str, cuts: list[int], streams: int) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces, whole = TextReader(streams), TextReader(streams)
    got = [item for a, b in itertools.pairwise(places) for item in pieces.feed(text[a:b])]
    assert got == whole.feed(text)


@given(st.text(alphabet="[]SUM 0123456789.,-secKMGBytesbits/\n()omitdrv"))
def test_any_text_is_read_without_a_word(text: str) -> None:
    for item in read_text(text, 1).intervals:
        assert item.end > item.start >= 0
