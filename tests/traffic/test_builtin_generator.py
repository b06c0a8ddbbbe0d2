"""The built-in generator's arguments, and its output read back, whatever the output is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netbench_tui.agent import streams
from netbench_tui.model.host import HostFacts, Role
from netbench_tui.model.run import Interval, ProcessOutput, TrafficTest
from netbench_tui.traffic.base import Path
from netbench_tui.traffic.builtin import MOST_STREAMS, Builtin, BuiltinReader

HERE = HostFacts("here")
PATH = Path("192.0.2.1", "192.0.2.2", 5201)
TEST = TrafficTest(streams=2, message_bytes=65536, seconds=5.0, sender_cpus=(1,), receiver_cpus=(2, 3))
INTERVALS = [{"interval": [0.0, 0.1, 1000, 1]}, {"interval": [0.1, 0.2, 2000, 0]}]
GOOD = [{"streams": 2, "mss": 1448}, *INTERVALS, {"end": [0.25, 3500, 1]}]


def output(role: Role, *messages: Any, stderr: str = "", **fields: Any) -> ProcessOutput:
    text = "".join((message if isinstance(message, str) else json.dumps(message)) + "\n" for message in messages)
    return ProcessOutput(role, "builtin", ("builtin",), text, stderr, **fields)


def read(receiver: list[Any], sender: list[Any], **fields: Any) -> Any:
    return Builtin().read(TEST, output(Role.RECEIVER, *receiver, **fields), output(Role.SENDER, *sender))


def test_the_agent_takes_the_arguments() -> None:
    for spec in (Builtin().receiver(TEST, PATH, HERE), Builtin().sender(TEST, PATH, HERE)):
        assert spec.builtin is not None
        assert callable(streams.prepare(dict(spec.builtin), lambda: None))
        assert spec.argv[0] == "builtin"
    assert Builtin().sender(TEST, PATH, HERE).cpus == (1,)
    assert Builtin().receiver(TEST, PATH, HERE).cpus == (2, 3)


@pytest.mark.parametrize("count", [1, MOST_STREAMS])
def test_what_is_offered_is_what_the_agent_accepts(count: int) -> None:
    test = TrafficTest(streams=count, message_bytes=1 << 20, seconds=86400)
    assert Builtin().refusal(test, HERE, HERE) == ""
    arguments = Builtin().sender(test, PATH, HERE).builtin
    assert arguments and callable(streams.prepare(dict(arguments), lambda: None))


def test_more_streams_are_refused_by_both() -> None:
    test = TrafficTest(streams=MOST_STREAMS + 1)
    assert "513" in Builtin().refusal(test, HERE, HERE)
    with pytest.raises(ValueError, match="streams"):
        streams.prepare(dict(Builtin().receiver(test, PATH, HERE).builtin or {}), lambda: None)


def test_a_good_run() -> None:
    report = read(GOOD, GOOD)
    assert report.error == ""
    assert report.received == (Interval(0.0, 0.1, 1000.0, 1), Interval(0.1, 0.2, 2000.0, 0))
    assert (report.retransmits, report.mss) == (1, 1448)
    assert report.own["receiver.bytes"] == 3500


@pytest.mark.parametrize(
    ("receiver", "sender", "error"),
    [
        (GOOD[:-1], GOOD, "receiver: the built-in generator ended early"),
        ([], GOOD, "receiver: the built-in generator ended early"),
        (GOOD, GOOD[:2], "sender: the built-in generator ended early"),
        (GOOD, [{"error": "Connection refused"}], "sender: Connection refused"),
        ([*GOOD, {"error": "1 of 2 streams broke"}], GOOD, "receiver: 1 of 2 streams broke"),
        ([GOOD[0], GOOD[-1]], GOOD, "the receiver reported no interval"),
    ],
)
def test_runs_that_failed(receiver: list[Any], sender: list[Any], error: str) -> None:
    assert read(receiver, sender).error == error


def test_a_signal_and_the_last_complaint_are_told() -> None:
    assert read([], GOOD, signal=9).error == "receiver: the built-in generator ended early by signal 9"
    failed = read([{"error": "broke"}], GOOD, stderr="stream 1: one\nstream 2: Connection reset by peer\n")
    assert failed.error == "receiver: broke (stream 2: Connection reset by peer)"


@settings(deadline=None)  # other work on the machine is no failure
@given(st.lists(st.integers(1, 30)))
def test_the_reader_does_not_care_how_text_is_cut(cuts: list[int]) -> None:
    text = "".join(json.dumps(message) + "\n" for message in GOOD)
    reader, found, start = BuiltinReader(), [], 0
    for cut in [*cuts, len(text)]:
        found += reader.feed(text[start : start + cut])
        start += cut
    assert found == [Interval(0.0, 0.1, 1000.0, 1), Interval(0.1, 0.2, 2000.0, 0)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
LINES = st.lists(
    st.text() | st.dictionaries(st.sampled_from(["interval", "end", "mss", "error", "streams"]), JSON), max_size=6
)


@settings(deadline=None)  # other work on the machine is no failure
@given(LINES, LINES, st.text())
def test_any_output_is_a_report(receiver: list[Any], sender: list[Any], stderr: str) -> None:
    report = read(receiver, sender, stderr=stderr)
    assert report.error or (report.received and report.own)
    assert all(interval.bytes >= 0 and interval.start >= 0 for interval in (*report.received, *report.sent))


@settings(deadline=None)  # other work on the machine is no failure
@given(st.lists(st.text()))
def test_the_reader_never_raises(pieces: list[str]) -> None:
    reader = BuiltinReader()
    for piece in [*pieces, "[" * 100_000 + "\n", '{"interval": [NaN, 1, 2, 3]}\n']:
        assert reader.feed(piece) == [] or '"interval"' in piece


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    reader = BuiltinReader()
    for _ in range(100):
        reader.feed("x" * 100_000)
    assert len(reader.rest) <= 1 << 12
    assert reader.feed('\n{"interval": [0, 0.1, 5, null]}\n') == [Interval(0.0, 0.1, 5.0, None)]
