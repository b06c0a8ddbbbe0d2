"""The agent's protocol on plain pipes: hello, requests good and bad, ends."""

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from netbench_tui.hosts.payload import agent_argv, payload


def test_hello_says_who_speaks(agent: Any) -> None:
    hello = agent.hello
    assert hello["protocol"] == 1
    assert hello["uid"] == os.geteuid()
    assert hello["pid"] == agent.pid
    assert hello["python"] == platform.python_version()
    assert (hello["kernel"], hello["name"]) == (os.uname().release, os.uname().nodename)
    with open("/proc/sys/kernel/random/boot_id") as handle:
        assert hello["boot_id"] == handle.read().strip()
    assert abs(hello["t"] - time.monotonic()) < 10


def test_ping_tells_the_monotonic_clock(agent: Any) -> None:
    before = time.monotonic()
    assert before <= agent.ok("ping")["t"] <= time.monotonic()


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1, 2]",
        b'"text"',
        b"null",
        b"",
        b'{"id": 1, "op": "ping"',
        b'{"id": 1, "op": "\xff\xfe"}',
        b"\x00\x01\x02",
        b"[" * 100_000,
        b'{"id": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda line: repr(line[:16]),
)
def test_a_line_that_is_no_request_is_refused_and_the_agent_lives(lasting_agent: Any, line: bytes) -> None:
    agent = lasting_agent
    seen = len(agent.messages)
    agent.send_bytes(line + b"\n")
    assert "t" in agent.ok("ping")
    refusal, _ping = agent.messages[seen:]
    assert refusal["re"] is None
    assert refusal["error"]["code"] == "malformed"


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("dance", {}),
        (None, {}),
        (["ping"], {}),
        ({"a": 1}, {}),
        ("sample", {}),
        ("sample", {"hz": "fast"}),
        ("sample", {"hz": 11}),
        ("sample", {"hz": 0.5}),
        ("sample", {"hz": float("nan")}),
        ("sample", {"hz": float("inf")}),
        ("sample", {"hz": [1]}),
        ("port", {}),
        ("port", {"address": 7}),
        ("listening", {"port": 1}),
        ("listening", {"port": float("inf"), "key": "k", "patience": 1}),
        ("spawn", {}),
        ("spawn", {"key": "k"}),
        ("spawn", {"key": ["k"], "argv": ["true"]}),
        ("spawn", {"key": "k", "argv": "true"}),
        ("spawn", {"key": "k", "argv": []}),
        ("spawn", {"key": "k", "argv": ["true", 1]}),
        ("spawn", {"key": "k", "argv": ["true"], "cpus": "all"}),
        ("spawn", {"key": "k", "argv": ["true"], "cpus": 3}),
        ("spawn", {"key": "k", "stream": 7}),
        ("spawn", {"key": "k", "stream": {"role": "spy"}}),
        ("spawn", {"key": "k", "stream": {"role": "receive", "address": "127.0.0.1", "port": 1, "streams": 0}}),
        ("stop", {}),
        ("stop", {"key": {}}),
        ("inspect", {"root": 5}),
        ("inspect", {"root": "\0"}),
    ],
)
def test_a_request_with_wrong_arguments_is_refused(
    lasting_agent: Any, operation: Any, arguments: dict[str, Any]
) -> None:
    agent = lasting_agent
    error = agent.refused(operation, **arguments)
    assert error["code"] == "malformed"
    assert error["text"]
    assert "t" in agent.ok("ping")


def test_an_unknown_operation_is_named(agent: Any) -> None:
    assert agent.refused("dance")["text"] == "no such operation: 'dance'"


def test_one_long_line_gives_one_error_and_no_more(agent: Any) -> None:
    request = json.dumps({"id": 77, "op": "ping", "padding": "x" * (2 << 20)}).encode()
    agent.send_bytes(request + b"\n")
    assert "t" in agent.ok("ping")
    errors = [m for m in agent.messages if "error" in m]
    assert [(m["re"], m["error"]["code"]) for m in errors] == [(None, "malformed")]


def test_many_requests_in_one_piece_are_answered_in_order(agent: Any) -> None:
    lines = [json.dumps({"id": number, "op": "ping"}).encode() for number in range(100, 600)]
    agent.send_bytes(b"\n".join(lines) + b"\n")
    agent.find(lambda m: m.get("re") == 599, "the last answer")
    assert [m["re"] for m in agent.messages if "re" in m] == list(range(100, 600))


def test_a_request_may_come_in_pieces(agent: Any, eventually: Any) -> None:
    for byte in b'{"id": 5, "op": "ping"}\n':
        agent.send_bytes(bytes([byte]))
    assert agent.find(lambda m: m.get("re") == 5, "the answer")["ok"]


def test_closed_stdin_is_the_end(agent: Any) -> None:
    began = time.monotonic()
    agent.close_stdin()
    assert agent.process.wait(5) == 0
    assert time.monotonic() - began < 1.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_is_an_orderly_end(agent: Any, number: int) -> None:
    os.kill(agent.pid, number)
    assert agent.process.wait(5) == 0


def test_a_reader_that_goes_away_is_the_end() -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen(agent_argv(sys.executable), stdin=subprocess.PIPE, stdout=writer)
    os.close(writer)
    assert process.stdin
    process.stdin.write(payload())
    process.stdin.flush()
    spoken = b""
    while b"hello" not in spoken:
        spoken += os.read(reader, 1 << 16)
    os.close(reader)
    process.stdin.write(b'{"id": 1, "op": "sample", "hz": 10}\n')
    process.stdin.flush()
    assert process.wait(5) == 0
    process.stdin.close()


def test_port_is_free_and_bindable(agent: Any) -> None:
    port = agent.ok("port", address="127.0.0.1")["port"]
    with socket.create_server(("127.0.0.1", port)):
        assert 1024 <= port <= 65535


def test_port_on_an_address_that_is_not_ours_is_refused(agent: Any) -> None:
    assert agent.refused("port", address="192.0.2.1")["code"] == "EADDRNOTAVAIL"


def test_listening_waits_for_the_listener(agent: Any) -> None:
    port = agent.ok("port", address="127.0.0.1")["port"]
    program = (
        "import socket,time;time.sleep(0.3);s=socket.socket();s.setsockopt(1,2,1);"
        f"s.bind(('127.0.0.1',{port}));s.listen();time.sleep(60)"
    )
    agent.ok("spawn", key="server", argv=[sys.executable, "-S", "-c", program])
    assert agent.ok("listening", port=port, key="server", patience=10) == {}


def test_listening_ends_when_the_process_ends_or_time_is_up(agent: Any) -> None:
    port = agent.ok("port", address="127.0.0.1")["port"]
    assert agent.refused("listening", port=port, key="nobody", patience=5)["code"] == "ESRCH"
    agent.ok("spawn", key="idler", argv=["sleep", "60"])
    assert agent.refused("listening", port=port, key="idler", patience=0.1)["code"] == "ETIMEDOUT"
