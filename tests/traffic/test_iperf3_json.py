"""The JSON grammar: clean documents, and the ways in which real ones are not."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netbench_tui.traffic.iperf3_json import documents, read_json


def test_a_clients_document(make_client_json) -> None:
    report = read_json(make_client_json([1000, 2000, 3000]))
    assert report is not None
    assert [i.bytes for i in report.intervals] == [1000, 2000, 3000]
    assert [i.retransmits for i in report.intervals] == [0, 1, 2]
    assert (report.retransmits, report.mss, report.version) == (3, 1448, "iperf 3.12")
    assert report.own["end.sum_received.bits_per_second"] == 480_000
    assert report.own["end.cpu_utilization_percent.host_total"] == 35.5
    assert report.complete
    assert not report.error


@pytest.mark.parametrize(
    "prefix", ["^C", "^[[F", 'a "quote\n', 'send_parameters: {\n\t"tcp":\ttrue\n}\nSENDING\n', "{oops} "]
)
def test_text_in_front(make_client_json, prefix: str) -> None:
    report = read_json(prefix + make_client_json([1000]))
    assert report is not None
    assert report.complete
    assert not report.unfinished
    assert len(report.intervals) == 1


def test_bare_nan_is_an_absent_figure(make_client_json) -> None:
    text = make_client_json([1000, 2000]).replace("35.5", "-nan").replace("52.25", "inf")
    report = read_json(text.replace('"bytes": 1000,', '"bytes": nan,', 2))
    assert report is not None
    assert [i.bytes for i in report.intervals] == [2000]
    assert not [name for name in report.own if "cpu" in name]


def test_nan_inside_a_string_stays(make_client_json) -> None:
    report = read_json(make_client_json([1000], error="nan of it"))
    assert report is not None
    assert report.error == "nan of it"


def test_several_documents_the_last_whole_one_counts(make_client_json) -> None:
    interrupted = make_client_json([], intervals=[], end={}, error="interrupt - the server has terminated")
    report = read_json(make_client_json([1]) + make_client_json([7]) + interrupted)
    assert report is not None
    assert [i.bytes for i in report.intervals] == [7]
    assert not report.error
    assert report.notes == ("iperf3 printed 3 JSON documents: read number 2",)


def test_an_unfinished_document_before_a_whole_one(make_client_json) -> None:
    report = read_json(make_client_json([1, 2, 3])[:300] + "\n" + make_client_json([9]))
    assert report is not None
    assert [i.bytes for i in report.intervals] == [9]
    assert report.unfinished == 0


def test_a_sum_inside_a_damaged_document_is_no_result(make_client_json) -> None:
    report = read_json(make_client_json([1, 2, 3]).replace('"intervals":', '"intervals"', 1))
    assert report is not None
    assert report.intervals == ()
    assert report.unfinished > 0


def test_an_error_with_good_intervals_and_an_empty_end(make_client_json) -> None:
    report = read_json(make_client_json([5, 6], end={}, error="error - control socket has closed unexpectedly"))
    assert report is not None
    assert report.error == "control socket has closed unexpectedly"
    assert len(report.intervals) == 2
    assert not report.complete
    assert report.retransmits == 1


def test_omitted_intervals_are_not_counted(make_client_json) -> None:
    document = json.loads(make_client_json([5, 6]))
    document["intervals"][0]["sum"]["omitted"] = True
    report = read_json(json.dumps(document))
    assert report is not None
    assert [i.bytes for i in report.intervals] == [6]


def test_no_json_is_none_and_a_cut_one_is_counted(make_client_json) -> None:
    assert read_json("") is None
    assert read_json("Connecting to host 10.0.0.2") is None
    cut = make_client_json([1, 2, 3])[:200]
    report = read_json(cut)
    assert report is not None
    assert report.unfinished == 200


@pytest.mark.parametrize("text", ['{"start":' * 5000, '{"a": ' + "9" * 5000, "{" * 20000, '{"end": 1e999}'])
def test_monsters_are_refused_in_peace(text: str) -> None:
    report = read_json(text)
    assert report is None or not report.intervals


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["sum", "end", "bytes", "start"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["start", "intervals", "end", "error", "title"]), JSON_VALUES))
def test_any_json_of_any_shape_is_read(document: dict[str, object]) -> None:
    read_json(json.dumps(document))


@given(st.text(alphabet='{}[]",:\\ \nnaif-0123.e"startend'))
def test_any_text_is_read(text: str) -> None:
    found, unfinished = documents(text)
    assert all(isinstance(document, dict) for document in found)
    assert 0 <= unfinished <= len(text) * 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_cut_or_changed_document_is_read(make_client_json, data: st.DataObject) -> None:
    text = make_client_json([1000, 2000])
    at = data.draw(st.integers(0, len(text)))
    read_json(text[:at])
    read_json(text[:at] + data.draw(st.text(max_size=3)) + text[at + 1 :])
