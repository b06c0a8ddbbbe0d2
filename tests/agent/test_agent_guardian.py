"""The guardian: whatever ends the agent, the host puts itself back. Real agents, in a namespace of the test's own."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.changes import guardian, reports

SACK, RMEM = "net.ipv4.tcp_sack", "net.ipv4.tcp_rmem"
# How soon after the agent's end the host is as it was.
PROMPT_SECONDS = 1.0


class Host:
    """One agent in the namespace, the settings that the tests change, and the guardians that it had."""

    def __init__(self, namespace: Any, start: Callable[[], Any], poll: Callable[..., Any]) -> None:
        self.namespace, self.start, self.poll = namespace, start, poll
        self.found = {name: self.value(name) for name in (SACK, RMEM)}
        self.agent = start()
        self.guardians: set[int] = set()

    def value(self, name: str) -> str:
        path = "/proc/sys/" + name.replace(".", "/")
        return " ".join(self.namespace.read(path).split())

    def set_by_hand(self, name: str, value: str) -> None:
        self.namespace.write("/proc/sys/" + name.replace(".", "/"), value)

    def apply(self, kind: str = "lease", seconds: float = 10.0, **wishes: Any) -> dict[str, Any]:
        more = {name: wishes.pop(name) for name in ("silence", "on_refusal") if name in wishes}
        named = {"sack": SACK, "rmem": RMEM}
        changes = [{"scope": "machine", "key": "sysctl." + named[n], "value": v} for n, v in wishes.items()]
        request = {"transaction": "t", "changes": changes, "kind": kind, "seconds": seconds, "on_refusal": "rest"}
        answer: dict[str, Any] = self.agent.ok("apply", **{**request, **more})
        self.guardian()
        return answer

    def guardian(self) -> int | None:
        pid: int | None = self.agent.ok("held")["guardian"]
        if pid is not None:
            self.guardians.add(pid)
        return pid

    def held(self) -> dict[str, dict[str, Any]]:
        return {entry["key"]: entry for entry in self.agent.ok("held")["entries"]}

    def is_as_found(self) -> bool:
        return all(self.value(name) == value for name, value in self.found.items())

    def restored(self, within: float = PROMPT_SECONDS) -> None:
        self.poll(self.is_as_found, "the settings are as they were found", within)

    def gone(self) -> None:
        for pid in self.guardians:
            self.poll(lambda pid=pid: has_ended(pid), f"guardian {pid} is gone")

    def reports(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.namespace.call(reports.take)
        return found


def has_ended(pid: int) -> bool:
    """Gone, or the init process's to collect, which may take its time; never a zombie of ours."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z" and parent == "1"


@pytest.fixture
def host(namespace: Any, start_inside: Callable[[], Any], eventually: Callable[..., Any]) -> Iterator[Host]:
    host = Host(namespace, start_inside, eventually)
    yield host
    host.agent.end()
    host.gone()
    assert not [path for path in Path("/run").glob("netbench-tui/*") if not path.name.endswith(".json")]


def other(value: str) -> str:
    return "0" if value == "1" else "1"


def test_a_killed_agent_leaves_the_host_as_found(host: Host) -> None:
    host.apply(sack=other(host.found[SACK]), rmem="4096 65536 1048576")
    assert not host.is_as_found()
    host.agent.process.kill()
    host.restored()
    host.gone()
    (report,) = host.start().ok("reports")["reports"]
    assert report["why"] == "the agent ended"
    assert report["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs(report["time"] - time.time()) < 60
    told = {entry["key"]: entry for entry in report["entries"]}
    assert told["sysctl." + SACK] == {
        "scope": "machine",
        "key": "sysctl." + SACK,
        "found": host.found[SACK],
        "ours": other(host.found[SACK]),
        "state": "restored",
        "note": "",
    }
    assert {entry["state"] for entry in report["entries"]} == {"restored"}
    assert host.reports() == []


def test_the_end_of_standard_input_restores(host: Host) -> None:
    host.apply(sack=other(host.found[SACK]))
    host.agent.close_stdin()
    host.restored()


def test_a_stopped_agent_is_missed_after_the_silence(host: Host) -> None:
    host.apply(sack=other(host.found[SACK]), silence=1.2)
    began = time.monotonic()
    os.kill(host.agent.pid, signal.SIGSTOP)
    host.restored(1.2 + PROMPT_SECONDS)
    assert time.monotonic() - began > 0.8
    os.kill(host.agent.pid, signal.SIGCONT)
    event = host.agent.event("restored")
    assert event["why"] == "no sign of life for 1.2 s"
    assert [entry["state"] for entry in event["entries"]] == ["restored"]
    assert host.held() == {}
    assert host.guardian() is None
    host.apply(sack=other(host.found[SACK]))
    assert list(host.held()) == ["sysctl." + SACK]


def test_requests_renew_the_lease(host: Host) -> None:
    host.apply(sack=other(host.found[SACK]), silence=1.2)
    until = time.monotonic() + 1.8
    while time.monotonic() < until:
        host.agent.ok("ping")
        assert not host.is_as_found()
        time.sleep(0.1)
    assert not host.is_as_found()
    host.restored(1.2 + PROMPT_SECONDS)


def test_a_trial_ends_at_its_deadline_and_the_agent_hears_of_it(host: Host) -> None:
    host.apply("lease", rmem="4096 65536 1048576")
    began = time.monotonic()
    host.apply("trial", seconds=0.8, sack=other(host.found[SACK]))
    assert 0 < host.held()["sysctl." + SACK]["left"] <= 0.8
    host.poll(lambda: host.value(SACK) == host.found[SACK], "the trial is put back", 0.8 + PROMPT_SECONDS)
    assert time.monotonic() - began >= 0.8
    event = host.agent.event("restored")
    assert (event["why"], [entry["key"] for entry in event["entries"]]) == ("the trial ended", ["sysctl." + SACK])
    assert list(host.held()) == ["sysctl." + RMEM]
    assert host.value(RMEM) == "4096 65536 1048576"
    host.agent.process.kill()
    host.restored()


def test_a_kept_trial_outlives_its_deadline_but_not_the_agent(host: Host) -> None:
    host.apply("trial", seconds=0.6, sack=other(host.found[SACK]))
    host.agent.ok("keep", kind="lease")
    entry = host.held()["sysctl." + SACK]
    assert entry["kind"] == "lease" and "left" not in entry
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        assert host.value(SACK) == other(host.found[SACK])
        time.sleep(0.05)
    host.agent.process.kill()
    host.restored()


def test_a_trial_on_top_of_a_lease_returns_to_what_was_kept(host: Host) -> None:
    host.apply("lease", rmem="4096 65536 1048576")
    host.apply("trial", seconds=0.5, rmem="4096 65536 2097152")
    host.poll(lambda: host.value(RMEM) == "4096 65536 1048576", "what was kept")
    event = host.agent.event("restored")
    assert [(entry["state"], entry["ours"]) for entry in event["entries"]] == [("held", "4096 65536 1048576")]
    entry = host.held()["sysctl." + RMEM]
    assert (entry["kind"], entry["found"], entry["ours"]) == ("lease", host.found[RMEM], "4096 65536 1048576")
    host.agent.process.kill()
    host.restored()


@pytest.mark.parametrize("at_once", [True, False])
def test_permanent_changes_stay(host: Host, at_once: bool) -> None:
    host.apply("permanent" if at_once else "trial", sack=other(host.found[SACK]))
    if not at_once:
        host.agent.ok("keep", kind="permanent")
    assert host.held() == {} and host.guardian() is None
    host.agent.end()
    assert host.value(SACK) == other(host.found[SACK])
    assert host.reports() == []


def test_a_killed_guardian_is_replaced(host: Host) -> None:
    host.apply(sack=other(host.found[SACK]))
    first = host.guardian()
    assert first
    os.kill(first, signal.SIGKILL)
    second = host.poll(lambda: (host.guardian() or first) != first and host.guardian(), "another guardian")
    assert second != first
    assert host.value(SACK) == other(host.found[SACK])
    host.agent.process.kill()
    host.restored()


def test_what_someone_else_changed_is_told_and_left_alone(host: Host) -> None:
    host.apply(sack=other(host.found[SACK]), rmem="4096 65536 1048576")
    host.set_by_hand(RMEM, "4096 77777 1111111")
    host.agent.process.kill()
    host.poll(lambda: host.value(SACK) == host.found[SACK], "ours is restored", PROMPT_SECONDS)
    host.gone()
    assert host.value(RMEM) == "4096 77777 1111111"
    (report,) = host.reports()
    states = {entry["key"]: (entry["state"], entry["note"]) for entry in report["entries"]}
    assert states["sysctl." + RMEM] == ("changed by someone else", "it reads 4096 77777 1111111")
    assert states["sysctl." + SACK][0] == "restored"


def test_standard_output_ends_with_the_agent(host: Host) -> None:
    """Or the SSH channel would not."""
    host.apply(sack=other(host.found[SACK]))
    pid = host.guardian()
    assert pid and os.getsid(pid) != os.getsid(host.agent.pid)
    host.agent.process.kill()
    host.agent.thread.join(PROMPT_SECONDS)
    assert not host.agent.thread.is_alive()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE])
def test_the_guardian_outlives_the_signals_of_a_session_that_ends(host: Host, number: int) -> None:
    host.apply(sack=other(host.found[SACK]))
    pid = host.guardian()
    assert pid
    os.kill(pid, number)
    host.agent.process.kill()
    host.restored()


def test_a_lingering_generator_does_not_delay_the_guardian(host: Host, end_processes: list[int]) -> None:
    """A child that left its group and holds what it inherited."""
    host.apply(sack=other(host.found[SACK]))
    linger = "import os,time; os.setsid(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)"
    program = f"import os,time\nif os.fork()==0:\n  {linger}\ntime.sleep(60)"
    host.agent.ok("spawn", key="g", argv=["python3", "-S", "-c", program])
    host.poll(lambda: host.agent.output("g").endswith("\n"), "the lingering child")
    end_processes.append(int(host.agent.output("g")))
    host.agent.process.kill()
    host.restored()


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("0::/user.slice/user-0.slice/session-3.scope", ["unified"]),
        ("4:memory:/user.slice\n1:name=systemd:/user.slice/user-0.slice/session-3.scope\n0::/", ["systemd"]),
        ("0::/system.slice/ssh.service", []),
        ("broken", []),
    ],
)
def test_the_guardian_leaves_a_logins_scope(tmp_path: Path, lines: str, left: list[str]) -> None:
    """Where systemd ends what a login has left."""
    roots = {"": [str(tmp_path / "unified")], "name=systemd": [str(tmp_path / "systemd")]}
    for name in ("unified", "systemd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    (tmp_path / "cgroup").write_text(lines + "\n")
    guardian.leave_session(str(tmp_path / "cgroup"), roots)
    written = {path.parent.name: path.read_text() for path in tmp_path.glob("*/cgroup.procs") if path.read_text()}
    assert written == {name: f"{os.getpid()}\n" for name in left}
