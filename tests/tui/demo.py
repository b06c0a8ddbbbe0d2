"""The screens with the lively paper engine, to look at.

`python tests/tui/demo.py [pair|connect|failed|big|lab] [dark|light|okabe]`
"""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from netbench_tui.engine import events
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState
from netbench_tui.tui.app import run_app


def _paper() -> Any:
    spec = importlib.util.spec_from_file_location("tui_paper_engine", Path(__file__).with_name("conftest.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _shape(engine: Any, paper: Any, scene: str) -> None:
    if scene == "big":
        cpus = paper.make_cpus(nodes=2, caches=16, cores=4, threads=2)
        for role in Role:
            facts = paper.make_facts(engine.views[role].name, cpus)
            engine.views[role] = paper.make_view(role, facts)
    if scene == "lab":
        facts = paper.make_facts("lab", paper.make_cpus(1, 1, 2, 1), cpu_model="AMD EPYC [b]7B13")
        nic = replace(facts.nics[0], name="[red]x", driver="veth", node=None, kind="virtual", speed_mbit=10_000)
        for role in Role:
            engine.views[role] = paper.make_view(role, replace(facts, nics=(nic,)), data_nic="[red]x", shares_cpus=True)
    if scene == "failed":
        words = "beta answered at 10.0.0.2 port 22 with a host key that differs from the one in known_hosts"
        hint = "if the host was installed anew, remove its line: ssh-keygen -R beta"
        engine.fail_connect = events.HostFailed(Role.RECEIVER, "beta", words, hint, 12)


def main() -> int:
    scene = sys.argv[1] if len(sys.argv) > 1 else "pair"
    paper = _paper()
    engine = paper.FakeEngine(lively=True)
    engine.recent = paper.recent_pairs()
    _shape(engine, paper, scene)
    for number in range(1, 4 if scene == "big" else 31):
        state = RunState.FAILED if number == 5 else RunState.FINISHED
        engine.stored[number] = paper.make_stored(number, state=state, views=engine.views)
    target = None if scene in ("connect", "failed") else paper.pair()
    return run_app(engine, target, sys.argv[2] if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    sys.exit(main())
