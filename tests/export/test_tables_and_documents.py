"""Tables say every figure in its form and align; documents hold everything; nothing from a host acts on a terminal."""

import dataclasses
import json
import unicodedata

import pytest

from netbench_tui.export.charts import throughput_chart
from netbench_tui.export.documents import history_document, run_document, stored_run_document, to_text
from netbench_tui.export.tables import history_table, metric_text, run_table, traffic_text
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, Metric, RunState, TrafficReport, TrafficTest
from netbench_tui.model.session import StoredRun


def _row(table: str, name: str) -> str:
    return next(line for line in table.splitlines() if line.startswith(name))


def test_a_run_table_says_who_what_and_how_much(stored: StoredRun) -> None:
    table = run_table(stored.summary, stored.result, stored.hosts)
    lines = table.splitlines()
    assert lines[0].startswith("run 12  quick-tcp  finished  2023-11-1")
    assert lines[1] == "▲ alpha eth1 → ▼ beta eth1"
    assert lines[2] == "TCP over IPv4, 4 streams, 128 KiB, 5 s, ▲ on CPU 0-2,8, by iperf3 (iperf 3.12)"
    assert lines[3:5] == ["measured window 4.60 s", "· the length was rounded up"]
    assert _row(table, "throughput").split() == ["throughput", "94.15", "Gbit/s"]
    assert _row(table, "efficiency").split() == ["efficiency", "12.69", "Gbit/s/core"]
    assert _row(table, "service demand").split()[2:5] == ["1.042", "–", "µs/KiB"]
    assert "▼ samples are missing" in _row(table, "service demand")
    assert _row(table, "peak CPU").split()[2:5] == ["98", "46", "%"]
    assert "▲ cpu 3: user 1   ▼ cpu 7: user 2" in _row(table, "peak CPU")
    assert _row(table, "NIC packets per second").split()[4:6] == ["5030.0", "k"]
    assert _row(table, "joules per gigabyte").split()[3:] == ["3.50", "J/GB"]
    assert "peak CPU number" not in table
    assert lines[-1].split() == ["┊", "2.50", "s", "▲", "TSO", "off"]
    assert table.index("throughput") < table.index("efficiency") < table.index("peak CPU") < table.index("joules")


def test_columns_line_up(stored: StoredRun) -> None:
    lines = run_table(stored.summary, stored.result, stored.hosts).splitlines()
    head = next(line for line in lines if line.rstrip().endswith("pair"))
    ends = {line.index(number) + len(number) for line in lines for number in ("94.15",) if number in line}
    assert ends == {len(head.rstrip())}
    sender_end = head.index("▲ alpha") + len("▲ alpha")
    for number in ("12.69", "1.042"):
        line = next(line for line in lines if number in line)
        assert line.index(number) + len(number) == sender_end


def test_a_failed_run_says_why_and_what_to_do(stored: StoredRun) -> None:
    result = dataclasses.replace(
        stored.result,
        state=RunState.FAILED,
        reason="iperf3 on beta ended at once",
        hint="is port 5201 free",
        metrics=(),
    )
    summary = dataclasses.replace(stored.summary, id=0, result=result)
    table = run_table(summary, result)
    assert table.startswith("run (not kept)  quick-tcp  failed")
    assert "failed: iperf3 on beta ended at once\nis port 5201 free\n" in table


def test_nothing_from_a_host_can_act_on_the_terminal(stored: StoredRun) -> None:
    evil = "\x1b]0;owned\x07\u202ename\n"
    metric = Metric("x\x1b[2J", 1.0, "u\x9b", "", Role.SENDER, evil)
    result = dataclasses.replace(stored.result, reason=evil, hint=evil, metrics=(metric,), generator=evil)
    summary = dataclasses.replace(stored.summary, sender=evil, receiver=evil, note=evil, preset=evil, result=result)
    for text in (run_table(summary, result), history_table([summary])):
        bad = {char for char in text if unicodedata.category(char) in ("Cc", "Cf") and char != "\n"}
        assert not bad
        assert "\nname" not in text


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (Metric("throughput", 9.4e8, "bit/s", ""), ("0.94", "Gbit/s")),
        (Metric("busy_cores", 14.274, "cores", ""), ("14.27", "cores")),
        (Metric("softirq", 12.6, "%", ""), ("13", "%")),
        (Metric("retransmits", 0, "segments", ""), ("0", "segments")),
        (Metric("retransmits", 12_400, "segments", ""), ("12.4 k", "segments")),
        (Metric("anything", None, "bit/s", ""), ("–", "Gbit/s")),
        (Metric("anything", -2.25, "W", ""), ("−2.25", "W")),
    ],
)
def test_a_quantity_has_its_form(metric: Metric, text: tuple[str, str]) -> None:
    assert metric_text(metric) == text


def test_a_test_in_words() -> None:
    assert (
        traffic_text(TrafficTest(ip_version=6, message_bytes=1448, seconds=2.5))
        == "TCP over IPv6, 1 stream, 1448 B, 2.5 s"
    )


def test_the_history_is_a_line_a_run(stored: StoredRun) -> None:
    failed = dataclasses.replace(
        stored.summary, id=9, state=RunState.FAILED, result=dataclasses.replace(stored.result, metrics=())
    )
    lines = history_table([stored.summary, failed]).splitlines()
    assert len(lines) == 3
    assert lines[1].split()[0] == "12" and "94.15" in lines[1]
    assert lines[2].split()[0] == "9" and "failed" in lines[2] and "–" in lines[2]
    assert history_table([]) == "no runs in the history\n"


def test_a_run_document_holds_everything(stored: StoredRun) -> None:
    document = json.loads(to_text(stored_run_document(stored, with_outputs=True)))
    assert (document["schema"], document["kind"], document["id"], document["session"]) == (1, "run", 12, 3)
    assert document["started"] == "2023-11-14T22:13:20.000Z" and document["ended"] == "2023-11-14T22:13:26.500Z"
    assert document["test"]["streams"] == 4 and document["test"]["sender_cpus"] == [0, 1, 2, 8]
    assert document["window"] == {"start": 100.3, "end": 104.9, "seconds": pytest.approx(4.6)}
    throughput = next(metric for metric in document["metrics"] if metric["name"] == "throughput")
    assert throughput == {
        "name": "throughput",
        "value": 94.154e9,
        "unit": "bit/s",
        "source": "iperf3 intervals",
        "role": None,
        "note": "",
    }
    assert document["hosts"]["receiver"]["driver"] == "mlx5_core" and document["hosts"]["sender"]["mtu"] == 9000
    assert document["generator_notes"] == ["the length was rounded up"]
    assert len(document["intervals"]["received"]) == 50
    assert document["intervals"]["received"][0]["bits_per_second"] == pytest.approx(88e9)
    assert document["events"] == [{"time": 102.5, "text": "TSO off", "role": "sender"}]
    assert document["outputs"][0]["stdout"] == "raw \udcff text"
    assert "outputs" not in stored_run_document(stored)


def test_a_run_that_was_not_kept_has_no_number(stored: StoredRun) -> None:
    summary = dataclasses.replace(stored.summary, id=0, session=0, ended=None)
    document = run_document(summary, stored.result, stored.hosts)
    assert document["id"] is None and document["session"] is None and document["ended"] is None


def test_documents_are_valid_json_whatever_the_figures(stored: StoredRun) -> None:
    odd = (Metric("a", float("nan"), "", ""), Metric("b", float("inf"), "", ""))
    result = dataclasses.replace(stored.result, metrics=odd)
    document = json.loads(to_text(history_document([dataclasses.replace(stored.summary, result=result)])))
    assert document["kind"] == "history"
    assert [metric["value"] for metric in document["runs"][0]["metrics"]] == [None, None]


def test_the_chart_fits_and_starts_at_zero(stored: StoredRun) -> None:
    for width in (40, 80, 500):
        lines = throughput_chart(stored.result, width).splitlines()
        assert max(map(len, lines)) <= min(width, 120)
        assert "\x1b" not in "".join(lines)
        labels = [line.partition("┤")[0].strip() for line in lines if "┤" in line]
        assert float(labels[0]) == 100 and float(labels[-1]) == 0
        assert any(0x2800 < ord(char) < 0x2900 for line in lines for char in line), "no curve was drawn"


def test_no_chart_where_there_is_nothing_to_draw_or_no_room(stored: StoredRun) -> None:
    assert throughput_chart(stored.result, 39) == ""
    one = dataclasses.replace(stored.result, report=TrafficReport((Interval(0, 1, 5.0),)))
    assert throughput_chart(one, 80) == ""
