"""Looking at a host starts nothing there, and an agent carries no more than it was asked for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import netbench_tui

ON_DEMAND = ("settings", "queues", "changes")
# An agent in a Python that notes whatever would start a process; the last one is ours, to see that it does.
NOTED = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
started = []
STARTS = ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen")
sys.addaudithook(lambda event, _: started.append(event) if event in STARTS else None)
from netbench_tui.agent import main

agent = main.Agent()
said = {"started": {}, "loaded": {}}

def ask(operation, **request):
    answer = main.OPERATIONS[operation](agent, request)
    said["started"][operation] = list(started)
    said["loaded"][operation] = [name for name in sys.modules if name.startswith("netbench_tui.agent.")]
    return answer

nics = [nic["name"] for nic in ask("inspect")["nics"]]
ask("sample", hz=10)
agent.sampler.tick()
ask("ping")
said["settings"] = len(ask("settings", nics=nics)["settings"])
for nic in nics:
    ask("queues", nic=nic)
ask("interrupts")
ask("watch", nic=nics[0], statistics=True)
agent.sampler.tick()
ask("watch", nic=None)
if os.fork() == 0:
    os._exit(0)
os.wait()
said["at the end"] = started
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said() -> Any:
    folder = str(Path(netbench_tui.__file__).parent.parent)
    words = [sys.executable, "-I", "-S", "-c", NOTED, folder]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("operation", ["inspect", "sample", "ping", "settings", "queues", "interrupts", "watch"])
def test_a_look_starts_no_process(said: Any, operation: str) -> None:
    assert said["started"][operation] == []
    assert said["at the end"] == ["os.fork"] and said["settings"] > 50


def test_settings_queues_and_changes_come_when_they_are_asked_for(said: Any) -> None:
    def rooms(operation: str) -> set[str]:
        return {name.split(".")[2] for name in said["loaded"][operation]} & set(ON_DEMAND)

    assert rooms("inspect") == rooms("sample") == rooms("ping") == set()
    assert {"settings", "queues"} <= rooms("watch")
    assert not any(name == "netbench_tui.agent.changes.transactions" for name in said["loaded"]["watch"])
