"""iperf3's `-J` output, of a client or of a server. Used by `iperf3.py`.

Real outputs hold more than one clean document: `^C` or debug text in front, several documents in one file, a bare
`nan`, a document cut in the middle. So documents are looked for, not assumed.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from netbench_tui.model.run import Interval
from netbench_tui.traffic.iperf3_side import SideReport, interval, sentence

# Strings are matched so that they are left alone; JSON strings hold no raw line end, which limits what a stray quote
# in front of the document can do.
_STRING_OR_NOT_A_NUMBER = re.compile(r'("(?:[^"\\\n]|\\.)*")|(?<![\w.])-?(?:nan|inf)\b')
_OBJECT = re.compile(r'\{\s*["}]')
# Each failure costs a pass over the text; no real output has more than a few damaged documents.
MOST_FAILURES = 64
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_END_SUMS = ("sum_sent", "sum_received")
_SUM_FIGURES = ("bytes", "bits_per_second", "seconds", "retransmits")


def documents(text: str) -> tuple[list[dict[str, Any]], int]:
    """All JSON objects of `text` in their order, and the bytes from the first one that never ends (0 if none)."""
    clean = _STRING_OR_NOT_A_NUMBER.sub(lambda found: found[1] or "null", text)
    found: list[dict[str, Any]] = []
    unfinished_from: int | None = None
    failures = 0
    begin = _OBJECT.search(clean)
    while begin and failures < MOST_FAILURES:
        try:
            document, end = _DECODER.raw_decode(clean, begin.start())
            found.append(document)
        except (ValueError, RecursionError) as error:
            failures += 1
            unfinished_from = begin.start() if unfinished_from is None else unfinished_from
            # Not a JSONDecodeError: a number of thousands of digits, or brackets nested thousands deep.
            end = error.pos if isinstance(error, json.JSONDecodeError) else len(clean)
        begin = _OBJECT.search(clean, max(begin.start() + 1, end))
    return found, 0 if unfinished_from is None else len(clean) - unfinished_from


def read_json(text: str) -> SideReport | None:
    """The report in `text`, or None where nothing in it looks like iperf3's JSON."""
    found, unfinished = documents(text)
    results = [document for document in found if _is_result(document)]
    if not results:
        return SideReport(unfinished=unfinished) if unfinished else None
    number, chosen = _choose(results)
    intervals = tuple(_intervals(chosen))
    start, end = _object(chosen, "start"), _object(chosen, "end")
    notes = (f"iperf3 printed {len(results)} JSON documents: read number {number}",) if len(results) > 1 else ()
    return SideReport(
        intervals=intervals,
        retransmits=_retransmits(end, intervals),
        mss=_count(start.get("tcp_mss")) or _count(start.get("tcp_mss_default")) or None,
        version=sentence(start.get("version", "")),
        complete=bool(end),
        error=sentence(chosen["error"]) if chosen.get("error") else "",
        unfinished=0 if end else unfinished,
        own=_own(end),
        notes=notes,
    )


def _is_result(document: dict[str, Any]) -> bool:
    """Not so for iperf3's debug output, nor for a sum inside a damaged document: its `start` and `end` are numbers."""
    shape = {"start": dict, "intervals": list, "end": dict, "error": str}
    return any(isinstance(document.get(key), kind) for key, kind in shape.items())


def _choose(results: list[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The last document that came to its end; without one the last that measured; else the last. Counted from 1."""
    numbered = list(enumerate(results, 1))
    for key in ("end", "intervals"):
        having = [(number, document) for number, document in numbered if document.get(key)]
        if having:
            return having[-1]
    return numbered[-1]


def _intervals(document: dict[str, Any]) -> Iterator[Interval]:
    listed = document.get("intervals")
    for item in listed if isinstance(listed, list) else ():
        total = _object(item, "sum") if isinstance(item, dict) else {}
        start, end, size = (_number(total.get(key)) for key in ("start", "end", "bytes"))
        if start is None or end is None or size is None or total.get("omitted") is True:
            continue
        made = interval(start, end, size, _count(total.get("retransmits")))
        if made:
            yield made


def _retransmits(end: dict[str, Any], intervals: tuple[Interval, ...]) -> int | None:
    total = _count(_object(end, "sum_sent").get("retransmits"))
    if total is not None:
        return total
    counted = [item.retransmits for item in intervals if item.retransmits is not None]
    return sum(counted) if counted else None


def _own(end: dict[str, Any]) -> dict[str, float]:
    """iperf3's own figures under their paths in the document, e.g. `end.sum_received.bits_per_second`."""
    figures = {f"end.{part}.{key}": _object(end, part).get(key) for part in _END_SUMS for key in _SUM_FIGURES}
    for key, value in _object(end, "cpu_utilization_percent").items():
        figures[f"end.cpu_utilization_percent.{key}"] = value
    numbers = {name: _number(value) for name, value in figures.items()}
    return {name: value for name, value in numbers.items() if value is not None}


def _object(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count(value: Any) -> int | None:
    """A count; None where iperf3 says -1 or nothing."""
    number = _number(value)
    return int(number) if number is not None and number >= 0 else None
