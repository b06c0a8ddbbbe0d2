"""Outputs as iperf3 prints them, written here from figures that each test chooses."""

import json
from collections.abc import Callable, Sequence

import pytest

from netbench_tui.model.host import HostFacts, Role, Tool
from netbench_tui.model.run import ProcessOutput


def server_text(rates_kbit: Sequence[int], streams: int = 1, summary: bool = True) -> str:
    """A server's text: interval i at `rates_kbit[i]` in all, each stream at its share, then the summary."""
    numbers = [5 + 3 * index for index in range(streams)]
    rows = ["-----------------------", "Server listening on 5201 (test #1)", "-----------------------"]
    rows += ["Accepted connection from 10.0.0.1, port 40000"]
    rows += [f"[{n:3}] local 10.0.0.2 port 5201 connected to 10.0.0.1 port {40001 + n}" for n in numbers]
    rows += ["[ ID] Interval           Transfer     Bitrate"]
    for index, rate in enumerate(rates_kbit):
        when = f"{index / 10:6.2f}-{(index + 1) / 10:<6.2f} sec"
        rows += [f"[{n:3}] {when}  8.5 MBytes  {rate // streams} Kbits/sec                  " for n in numbers]
        if streams > 1:
            rows += [f"[SUM] {when}  85.5 MBytes  {rate} Kbits/sec                  ", "- - - - - - -"]
    if summary:
        mean = sum(rates_kbit) // max(1, len(rates_kbit))
        when = f"  0.00-{len(rates_kbit) / 10:<6.2f} sec"
        rows += ["- - - - - - -", "[ ID] Interval           Transfer     Bitrate"]
        rows += [f"[{n:3}] {when}   749 MBytes  {mean // streams} Kbits/sec                  receiver" for n in numbers]
        rows += [f"[SUM] {when}  1.46 GBytes  {mean} Kbits/sec                  receiver"] * (streams > 1)
    return "\n".join(rows) + "\n"


def client_json(sizes: Sequence[int], streams: int = 1, **changes: object) -> str:
    """A client's JSON: interval i carries `sizes[i]` bytes and i retransmits in 0.1 s. `changes` replace top keys."""
    intervals = [
        {
            "streams": [{"socket": 5, "bytes": size // streams}] * streams,
            "sum": {
                "start": index / 10,
                "end": (index + 1) / 10,
                "seconds": 0.1,
                "bytes": size,
                "bits_per_second": 80 * size,
                "retransmits": index,
                "omitted": False,
                "sender": True,
            },
        }
        for index, size in enumerate(sizes)
    ]
    total = {"start": 0, "end": len(sizes) / 10, "bytes": sum(sizes), "bits_per_second": 80 * sum(sizes)}
    document = {
        "start": {"connected": [], "version": "iperf 3.12", "tcp_mss_default": 1448},
        "intervals": intervals,
        "end": {
            "sum_sent": {**total, "retransmits": sum(range(len(sizes)))},
            "sum_received": total,
            "cpu_utilization_percent": {"host_total": 35.5, "remote_total": 52.25},
        },
        **changes,
    }
    return json.dumps(document, indent="\t") + "\n"


@pytest.fixture
def make_server_text() -> Callable[..., str]:
    return server_text


@pytest.fixture
def make_client_json() -> Callable[..., str]:
    return client_json


@pytest.fixture
def make_output() -> Callable[..., ProcessOutput]:
    """Output of a process that ended with 0 unless told otherwise."""

    def make(role: Role, stdout: str = "", stderr: str = "", code: int | None = 0, signal: int | None = None):
        return ProcessOutput(role, "iperf3", ("iperf3",), stdout, stderr, None if signal else code, signal)

    return make


@pytest.fixture
def iperf3_host() -> HostFacts:
    return HostFacts("alpha", tools=(Tool("iperf3", "/usr/bin/iperf3"),))
