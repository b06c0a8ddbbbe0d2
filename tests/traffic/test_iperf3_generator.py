"""The generator: argv, refusals, and what it makes of both processes' ends. Ends with real runs on loopback."""

import contextlib
import shutil
import signal
import socket
import subprocess
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netbench_tui.model.host import HostFacts, Role, Tool
from netbench_tui.model.run import ProcessOutput, TrafficTest
from netbench_tui.traffic.base import Path
from netbench_tui.traffic.iperf3 import Iperf3

PATH = Path("10.0.0.1", "10.0.0.2", 5201)
TEST = TrafficTest(seconds=1.5, streams=4, message_bytes=65536, sender_cpus=(1,), receiver_cpus=(2, 3))


def test_argv_of_both_ends(iperf3_host: HostFacts) -> None:
    receiver, sender = (make(TEST, PATH, iperf3_host) for make in (Iperf3().receiver, Iperf3().sender))
    assert " ".join(receiver.argv) == "/usr/bin/iperf3 -s -1 -p 5201 -B 10.0.0.2 -i 0.1 -f k --forceflush"
    assert " ".join(sender.argv) == ("/usr/bin/iperf3 -c 10.0.0.2 -B 10.0.0.1 -p 5201 -t 2 -P 4 -l 65536 -i 0.1 -J -4")
    assert (sender.cpus, receiver.cpus) == ((1,), (2, 3))


def test_refusals_name_the_host(iperf3_host: HostFacts) -> None:
    bare = HostFacts("beta")
    assert Iperf3().refusal(TEST, iperf3_host, iperf3_host) == ""
    assert Iperf3().refusal(TEST, iperf3_host, bare).startswith("beta: iperf3 was not found")
    assert Iperf3().refusal(TEST, HostFacts("gamma"), bare).startswith("gamma and beta: ")
    assert "128 streams" in Iperf3().refusal(TrafficTest(streams=129), iperf3_host, iperf3_host)


def test_a_good_run(make_output, make_server_text, make_client_json) -> None:
    report = Iperf3().read(
        TEST,
        make_output(Role.RECEIVER, make_server_text([8_000_000] * 3, 4)),
        make_output(Role.SENDER, make_client_json([100, 200, 300], 4)),
    )
    assert [round(i.bytes) for i in report.received] == [100_000_000] * 3
    assert [i.bytes for i in report.sent] == [100, 200, 300]
    assert (report.error, report.retransmits, report.mss) == ("", 3, 1448)
    assert report.own["server.receiver.bits_per_second"] == 8e9
    assert report.notes == ("iperf3 takes whole seconds: ran 2 s instead of 1.5 s",)


def test_either_side_may_print_either_form(make_output, make_server_text, make_client_json) -> None:
    received = make_output(Role.RECEIVER, make_client_json([100, 200]))
    sent = make_output(Role.SENDER, make_server_text([8000, 8000], 4))
    report = Iperf3().read(TEST, received, sent)
    assert [i.bytes for i in report.received] == [100, 200]
    assert [round(i.bytes) for i in report.sent] == [100_000, 100_000]
    assert report.error == ""


CLOSED = "error - control socket has closed unexpectedly"


@pytest.mark.parametrize(
    ("receiver", "sender", "error"),
    [
        ({}, {"signal": 9}, "iperf3 on the sender was ended by SIGKILL, signal 9"),
        ({"signal": 15}, {"error": CLOSED}, "iperf3 on the receiver was ended by SIGTERM, signal 15"),
        ({"signal": 250}, {"error": CLOSED}, "iperf3 on the receiver was ended by signal 250"),
        ({}, {"error": CLOSED}, "iperf3 on the sender: control socket has closed unexpectedly"),
        ({}, {"cut": 99}, "iperf3 on the sender ended after 99 bytes of unfinished JSON"),
        ({}, {"stdout": ""}, "iperf3 on the sender reported no interval"),
        ({}, {"stdout": "", "code": 3}, "iperf3 on the sender ended with exit code 3"),
        ({}, {"stdout": "", "code": None}, "iperf3 on the sender did not start"),
        ({}, {"stdout": "", "code": 1, "stderr": "oops\n"}, "iperf3 on the sender: oops"),
        ({}, {"end": {}}, "iperf3 on the sender ended without a result"),
        (
            {"stdout": "", "code": 1, "stderr": "iperf3: error - unable to start listener: Address already in use\n"},
            {},
            "iperf3 on the receiver: unable to start listener: Address already in use",
        ),
        (
            {"stdout": "", "code": 1, "stderr": "iperf3: unrecognized option '--forceflush'\n"},
            {"stdout": "", "code": 1},
            "iperf3 on the receiver is too old: it does not know --forceflush",
        ),
    ],
)
def test_failures_say_what_failed(make_output, make_server_text, make_client_json, receiver, sender, error) -> None:
    def fill(given: dict, text: str) -> dict:
        given = dict(given)
        changes = {key: given.pop(key) for key in ("error", "end") if key in given}
        if "error" in changes:
            changes["end"] = {}
        text = make_client_json([1, 2], **changes) if changes else text
        return {"stdout": text[: given.pop("cut", len(text))], **given}

    report = Iperf3().read(
        TEST,
        make_output(Role.RECEIVER, **fill(receiver, make_server_text([8000, 8000], 4))),
        make_output(Role.SENDER, **fill(sender, make_client_json([1, 2]))),
    )
    assert report.error == error


def test_a_server_that_ends_badly_after_a_whole_test_is_a_note(make_output, make_server_text, make_client_json) -> None:
    received = make_output(Role.RECEIVER, make_server_text([8000], 4), signal=15)
    report = Iperf3().read(TEST, received, make_output(Role.SENDER, make_client_json([1000])))
    assert report.error == ""
    assert "iperf3 on the receiver was ended by SIGTERM, signal 15" in report.notes


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.text(), st.text(), st.integers(0, 3), st.sampled_from([None, 9, 64, 200]))
def test_any_outputs_make_a_report(make_output, out: str, server: str, err: str, code: int, number: int | None) -> None:
    report = Iperf3().read(TEST, make_output(Role.RECEIVER, server), make_output(Role.SENDER, out, err, code, number))
    assert report.error


needs_iperf3 = pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_listener(port: int, server: subprocess.Popen) -> None:
    """Until the kernel lists the listening socket: a connection would use up the one-off server."""
    deadline = time.monotonic() + 10
    wanted = f"0100007F:{port:04X} 00000000:0000 0A"
    while True:
        with open("/proc/net/tcp") as table:
            if wanted in table.read():
                return
        assert server.poll() is None, "the server ended before it listened"
        assert time.monotonic() < deadline, "no listener within 10 s"
        time.sleep(0.02)


def ended(role: Role, process: subprocess.Popen) -> ProcessOutput:
    out, err = process.communicate(timeout=20)
    code = process.returncode
    return ProcessOutput(role, "iperf3", (), out, err, code if code >= 0 else None, -code if code < 0 else None)


def real_run(test: TrafficTest, kill: Role | None = None, refuse: bool = False):
    facts = HostFacts("here", tools=(Tool("iperf3", shutil.which("iperf3") or ""),))
    path = Path("127.0.0.1", "127.0.0.1", free_port())
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen(Iperf3().receiver(test, path, facts).argv, **pipes))
        stack.callback(server.kill)
        wait_for_listener(path.port, server)
        towards = Path("127.0.0.1", "127.0.0.1", free_port()) if refuse else path
        client = stack.enter_context(subprocess.Popen(Iperf3().sender(test, towards, facts).argv, **pipes))
        stack.callback(client.kill)
        if kill:
            live = Iperf3().live(test)
            while not live.feed(server.stdout.readline()):
                pass
            (client if kill is Role.SENDER else server).send_signal(signal.SIGKILL)
        sent = ended(Role.SENDER, client)
        if refuse:
            server.terminate()
        return Iperf3().read(test, ended(Role.RECEIVER, server), sent)


@needs_iperf3
@pytest.mark.parametrize("streams", [1, 4])
def test_real_run_agrees_with_iperf3s_own_total(streams: int) -> None:
    report = real_run(TrafficTest(seconds=1, streams=streams))
    assert report.error == ""
    assert 9 <= len(report.received) <= 12
    total = sum(item.bytes for item in report.received)
    assert total == pytest.approx(report.own["end.sum_received.bytes"], rel=0.02)
    assert report.own["server.receiver.bits_per_second"] > 0
    assert report.retransmits is not None


@needs_iperf3
@pytest.mark.parametrize("role", list(Role))
def test_real_run_with_one_end_killed(role: Role) -> None:
    assert real_run(TrafficTest(seconds=5), kill=role).error == f"iperf3 on the {role} was ended by SIGKILL, signal 9"


@needs_iperf3
def test_real_run_that_is_refused() -> None:
    error = real_run(TrafficTest(seconds=1), refuse=True).error
    assert error.startswith("iperf3 on the sender: unable to connect")
