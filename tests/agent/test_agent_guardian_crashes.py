"""Crashes in the middle of a change: between a write and its reading back, and at moments of chance."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# An agent's transactions over settings that are files; its process is killed inside one of the writes. The channels
# reset the affinities, as a driver does, and the kill comes before the agent could read that back.
CRASHING = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from netbench_tui.agent.changes import reports
from netbench_tui.agent.changes.transactions import Transactions
from netbench_tui.agent.reactor import Reactor
from netbench_tui.agent.settings import registry
from netbench_tui.agent.settings.context import Context

folder, fatal = Path(sys.argv[1]), sys.argv[2]
agent = os.getpid()

class Kind(SimpleNamespace):
    __hash__ = object.__hash__

def kind(name, rank, resets):
    def read(context, scope):
        paths = sorted(folder.glob(name + ".*"))
        return [context.row("nic0", path.name, path.read_text(), "test") for path in paths]
    def read_one(context, scope, key):
        return next((row for row in read(context, scope) if row["key"] == key), None)
    def write(context, scope, key, value):
        (folder / key).write_text(value)
        if resets:
            for path in folder.glob("queue.*"):
                path.write_text("reset")
        if key == fatal and os.getpid() == agent:
            os.kill(agent, signal.SIGKILL)
    return Kind(__name__=name, SCOPE="device", PREFIXES=(name + ".",), RANK=rank, RESETS=resets,
                read=read, read_one=read_one, write=write)

reports.folders = lambda: [str(folder / "reports")]
registry.KINDS = (kind("channels", 10, True), kind("feature", 30, False), kind("queue", 60, False))
transactions = Transactions(Reactor(), SimpleNamespace(send=print), lambda request: Context())
changes = [("queue.a", "3"), ("channels.combined", "2"), ("feature.tso", "off")]
request = {"kind": sys.argv[3], "seconds": 10, "on_refusal": "rest"}
for group in (changes[:1], changes[1:]):
    request["changes"] = [{"scope": "nic0", "key": key, "value": value} for key, value in group]
    transactions.apply(request)
print("survived")
"""
# From the request until it is answered, with the modules loaded and the guardian forked for it.
LONGEST_APPLY_SECONDS = 0.2
FOUND = {"channels.combined": "4", "feature.tso": "on", "queue.a": "0", "queue.b": "1"}


@pytest.mark.parametrize("kind", ["trial", "lease", "permanent"])
@pytest.mark.parametrize("fatal", ["channels.combined", "feature.tso"])
def test_a_crash_between_write_and_read_back(
    tmp_path: Path, eventually: Callable[..., Any], fatal: str, kind: str
) -> None:
    for key, value in FOUND.items():
        (tmp_path / key).write_text(value)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    argv = [sys.executable, "-c", CRASHING, str(tmp_path), fatal, kind]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")
    expected = {**FOUND, "queue.a": "3"} if kind == "permanent" else FOUND

    def now() -> dict[str, str]:
        return {key: (tmp_path / key).read_text() for key in FOUND}

    eventually(lambda: now() == expected, "everything is as it was found")
    eventually(lambda: list(tmp_path.glob("reports/*.json")), "a report")
    (report,) = tmp_path.glob("reports/*.json")
    assert {entry["state"] for entry in json.loads(report.read_text())["entries"]} == {"restored"}


def test_an_agent_killed_at_any_moment_leaves_no_change(
    namespace: Any, start_inside: Callable[[], Any], eventually: Callable[..., Any]
) -> None:
    names = ["tcp_sack", "tcp_timestamps", "tcp_window_scaling", "tcp_autocorking", "tcp_no_metrics_save"]
    paths = {name: f"/proc/sys/net/ipv4/{name}" for name in names}

    def state() -> dict[str, str]:
        return {name: namespace.read(path) for name, path in paths.items()}

    found, chance = state(), random.Random(4)
    changes = [
        {"scope": "machine", "key": f"sysctl.net.ipv4.{name}", "value": "0" if value == "1" else "1"}
        for name, value in found.items()
    ]
    for number in range(10):
        agent = start_inside()
        agent.send("apply", transaction="t", changes=changes, kind="lease", seconds=10, on_refusal="rest")
        if number % 2:  # at the first write, with the others under way
            eventually(lambda: state() != found, "something is written")
        else:
            until = time.monotonic() + chance.uniform(0.0, LONGEST_APPLY_SECONDS)
            while time.monotonic() < until:
                time.sleep(0.001)
        agent.process.kill()
        agent.process.wait()
        eventually(lambda: not namespace.members(), "no guardian is left", 1.5)
        assert state() == found
