"""Generators under the agent: started, pinned, streamed, ended, and never left behind."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

# DESIGN 3: what it started is gone this soon after standard input closes.
END_SECONDS = 1.0


def python(program: str) -> list[str]:
    return [sys.executable, "-S", "-c", program]


def two_pids(agent: Any, key: str, eventually: Any) -> list[int]:
    eventually(lambda: agent.output(key).endswith("\n"), "both process ids")
    return [int(word) for word in agent.output(key).split()]


def test_output_exit_code_and_times(agent: Any) -> None:
    program = "import sys; sys.stdout.write('out é\\n'); sys.stderr.write('err\\n'); sys.exit(7)"
    before = time.monotonic()
    started = agent.ok("spawn", key="p", argv=[sys.executable, "-X", "utf8", "-S", "-c", program])
    exit_event = agent.event("exit", "p")
    assert (agent.output("p"), agent.output("p", 2)) == ("out é\n", "err\n")
    assert (exit_event["code"], exit_event["signal"]) == (7, None)
    assert before <= started["t"] <= exit_event["t"] <= time.monotonic()
    assert exit_event["user"] + exit_event["system"] > 0


def test_output_comes_as_it_is_printed(agent: Any, eventually: Any) -> None:
    agent.ok("spawn", key="p", argv=python("import os,time; os.write(1,b'first'); time.sleep(60)"))
    eventually(lambda: agent.output("p") == "first", "output before the end")
    assert not [m for m in agent.messages if m.get("ev") == "exit"]


def test_output_is_decoded_across_pieces_and_bad_bytes_are_replaced(agent: Any) -> None:
    program = "import os,time; os.write(1,b'\\xc3'); time.sleep(0.1); os.write(1,b'\\xa9\\xff.')"
    agent.ok("spawn", key="p", argv=python(program))
    agent.event("exit", "p")
    assert agent.output("p") == "é\ufffd."


def test_end_by_a_signal_is_told_apart(agent: Any) -> None:
    agent.ok("spawn", key="p", argv=python("import os; os.kill(os.getpid(), 9)"))
    exit_event = agent.event("exit", "p")
    assert (exit_event["code"], exit_event["signal"]) == (None, signal.SIGKILL)


def test_rusage_holds_the_grandchildren(agent: Any) -> None:
    program = (
        "import os,time\n"
        "if os.fork()==0:\n"
        "  end=time.process_time()+0.3\n"
        "  while time.process_time()<end: pass\n"
        "  os._exit(0)\n"
        "os.wait()"
    )
    agent.ok("spawn", key="p", argv=python(program))
    exit_event = agent.event("exit", "p")
    assert exit_event["user"] + exit_event["system"] >= 0.3


def test_standard_input_is_empty_and_the_session_its_own(agent: Any) -> None:
    agent.ok("spawn", key="p", argv=python("import os,sys; print([sys.stdin.read(), os.getsid(0)==os.getpid()])"))
    agent.event("exit", "p")
    assert agent.output("p") == "['', True]\n"


def test_pinning_is_what_the_kernel_says(agent: Any) -> None:
    cpu = max(os.sched_getaffinity(0))
    started = agent.ok("spawn", key="p", argv=["sleep", "60"], cpus=[cpu])
    assert started["cpus"] == [cpu]
    status = Path(f"/proc/{started['pid']}/status").read_text()
    assert f"Cpus_allowed_list:\t{cpu}\n" in status


def test_without_pinning_all_cpus_are_allowed(agent: Any) -> None:
    assert agent.ok("spawn", key="p", argv=["sleep", "60"])["cpus"] == sorted(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("arguments", "code", "about"),
    [
        ({"argv": ["/nonexistent/iperf3", "-s"]}, "ENOENT", "/nonexistent/iperf3"),
        ({"argv": ["no-such-program-anywhere"]}, "ENOENT", "no-such-program-anywhere"),
        ({"argv": ["/etc/passwd"]}, "EACCES", "/etc/passwd"),
        ({"argv": ["sleep", "1"], "cpus": [4000]}, "EINVAL", "4000"),
        ({"argv": ["sleep", "1"], "cpus": [-1]}, "EINVAL", "-1"),
        ({"argv": ["sleep", "1"], "cpus": [10**30]}, "EINVAL", str(10**30)),
        ({"argv": ["sleep", "1\0"]}, "EINVAL", "sleep"),
    ],
)
def test_what_cannot_be_started_says_why(lasting_agent: Any, arguments: dict[str, Any], code: str, about: str) -> None:
    error = lasting_agent.refused("spawn", key="p", **arguments)
    assert error["code"] == code
    assert about in error["text"]
    key = f"after {about}"
    lasting_agent.ok("spawn", key=key, argv=["true"])
    assert lasting_agent.event("exit", key)["code"] == 0


def test_a_key_in_use_is_refused_and_the_first_process_lives(agent: Any, process_state: Any) -> None:
    pid = agent.ok("spawn", key="p", argv=["sleep", "60"])["pid"]
    assert agent.refused("spawn", key="p", argv=["true"])["code"] == "malformed"
    assert process_state(pid) in "SR"


def test_stop_ends_a_group_that_ignores_sigterm(
    agent: Any, eventually: Any, process_state: Any, stubborn: list[str], end_processes: list[int]
) -> None:
    agent.ok("spawn", key="p", argv=stubborn)
    pids = two_pids(agent, "p", eventually)
    end_processes += pids
    assert agent.ok("stop", key="p") == {"found": True}
    assert agent.event("exit", "p")["signal"] == signal.SIGKILL
    eventually(lambda: not any(process_state(pid) in ("S", "R") for pid in pids), "the whole group gone", END_SECONDS)


def test_stop_ends_a_stubborn_grandchild_of_a_polite_leader(
    agent: Any, eventually: Any, process_state: Any, end_processes: list[int]
) -> None:
    program = (
        "import os,signal,time\n"
        "child=os.fork()\n"
        "if not child:\n"
        "  signal.signal(signal.SIGTERM,signal.SIG_IGN); os.write(1,b'%d %d\\n'%(os.getppid(),os.getpid()))\n"
        "time.sleep(300)"
    )
    agent.ok("spawn", key="p", argv=python(program))
    pids = two_pids(agent, "p", eventually)
    end_processes += pids
    agent.ok("stop", key="p")
    assert agent.event("exit", "p")["signal"] == signal.SIGTERM
    eventually(lambda: not any(process_state(pid) in ("S", "R") for pid in pids), "the whole group gone", END_SECONDS)


def test_stop_ends_a_stopped_process(agent: Any) -> None:
    pid = agent.ok("spawn", key="p", argv=["sleep", "60"])["pid"]
    os.kill(pid, signal.SIGSTOP)
    agent.ok("stop", key="p")
    assert agent.event("exit", "p")["signal"] == signal.SIGTERM


def test_stop_of_nobody(agent: Any) -> None:
    assert agent.ok("stop", key="nobody") == {"found": False}


def test_an_escaped_grandchild_does_not_hold_the_exit_up(agent: Any, eventually: Any, end_processes: list[int]) -> None:
    program = (
        "import os,time\n"
        "if os.fork()==0:\n"
        "  os.setsid(); os.write(1,b'%d\\n'%os.getpid()); time.sleep(300)\n"
        "time.sleep(0.2)"
    )
    agent.ok("spawn", key="p", argv=python(program))
    eventually(lambda: agent.output("p").endswith("\n"), "its process id")
    end_processes.append(int(agent.output("p")))
    assert agent.event("exit", "p")["code"] == 0
    agent.ok("spawn", key="p", argv=["true"])


@pytest.mark.parametrize("way", ["closed stdin", "SIGTERM", "SIGKILL"])
def test_the_agents_end_is_the_end_of_all_it_started(
    agent: Any, eventually: Any, process_state: Any, stubborn: list[str], end_processes: list[int], way: str
) -> None:
    agent.ok("spawn", key="stubborn", argv=stubborn)
    sleeper = agent.ok("spawn", key="sleeper", argv=["sleep", "300"])["pid"]
    port = agent.ok("port", address="127.0.0.1")["port"]
    waiting = {"role": "receive", "address": "127.0.0.1", "port": port, "streams": 2}
    receiver = agent.ok("spawn", key="receiver", stream=waiting)["pid"]
    leader, grandchild = two_pids(agent, "stubborn", eventually)
    end_processes += [leader, grandchild]
    if way == "closed stdin":
        agent.close_stdin()
    else:
        os.kill(agent.pid, getattr(signal, way))
    # After SIGKILL only the children proper go: PR_SET_PDEATHSIG does not reach what they have started themselves.
    doomed = [leader, sleeper, receiver] + ([] if way == "SIGKILL" else [grandchild])
    alive = lambda: [pid for pid in doomed if process_state(pid) not in ("", "Z", "X")]  # noqa: E731
    eventually(lambda: not alive(), f"all gone after {way}", END_SECONDS)
    agent.process.wait(5)


def test_two_hundred_processes_leave_no_descriptor_and_little_memory(agent: Any, eventually: Any) -> None:
    descriptors = Path(f"/proc/{agent.pid}/fd")
    before = len(list(descriptors.iterdir()))
    for batch in range(20):
        for number in range(10):
            agent.send("spawn", key=f"{batch}.{number}", argv=["echo", "x"])
        agent.send("spawn", key="missing", argv=["/nonexistent"])
        eventually(lambda n=10 * (batch + 1): sum(m.get("ev") == "exit" for m in agent.messages) == n, "exits", 20)
    agent.ok("ping")
    assert len(list(descriptors.iterdir())) == before
    assert all(agent.output(f"{batch}.{n}") == "x\n" for batch in range(20) for n in range(10))
    assert resident_mib(agent.pid) < 25


def test_sampling_on_and_off_leaves_no_descriptor(agent: Any) -> None:
    before = len(os.listdir(f"/proc/{agent.pid}/fd"))
    for _ in range(30):
        agent.ok("sample", hz=10)
        agent.ok("sample", hz=0)
    assert len(os.listdir(f"/proc/{agent.pid}/fd")) == before


def resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def test_many_children_that_end_at_once_are_all_reaped(agent: Any, eventually: Any) -> None:
    for number in range(60):
        agent.send("spawn", key=str(number), argv=["sleep", "300"])
    eventually(lambda: sum("ok" in m for m in agent.messages) == 60, "all started", 20)
    pids = [m["ok"]["pid"] for m in agent.messages if "ok" in m]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: sum(m.get("ev") == "exit" for m in agent.messages) == 60, "all exits")
    assert {m["signal"] for m in agent.messages if m.get("ev") == "exit"} == {signal.SIGKILL}
    assert not Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()


def test_a_flood_of_output_waits_for_a_slow_reader(agent: Any, eventually: Any) -> None:
    """20 MB of output while nobody reads: the agent holds little of it, and every byte comes in the end."""
    size = 20_000_000
    agent.reading.clear()
    agent.send("spawn", key="p", argv=python(f"import os\nfor _ in range({size}//10000): os.write(1,b'x'*10000)"))
    pid = agent.pid
    peaks: list[float] = []
    until = time.monotonic() + 1.0
    eventually(lambda: peaks.append(resident_mib(pid)) or time.monotonic() > until, "a second of flood")
    assert max(peaks) < 25
    agent.reading.set()
    assert agent.event("exit", "p")["code"] == 0
    assert len(agent.output("p")) == size


def test_silence_ends_the_agent_and_what_it_started(agent: Any) -> None:
    child = agent.ok("spawn", key="sleeper", argv=["/bin/sleep", "600"])["pid"]
    agent.ok("patience", silence=0.5)
    began = time.monotonic()
    while time.monotonic() - began < 1.0:  # each request gives another half second
        agent.ok("ping")
        time.sleep(0.1)
    assert agent.process.poll() is None
    assert agent.process.wait(5) == 0
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.parametrize("silence", [0, -1, 3601, "long", None])
def test_a_patience_that_is_none_is_refused(agent: Any, silence: Any) -> None:
    assert agent.refused("patience", silence=silence)["code"] == "malformed"
