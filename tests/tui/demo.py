"""The screens with the lively paper engine, to look at.

`python tests/tui/demo.py [pair|connect|failed|big|lab|questions|lost|readonly] [dark|light|okabe]`
"""

import importlib.util
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from netbench_tui.engine import events
from netbench_tui.model.host import Privilege, Role
from netbench_tui.model.question import Prompt, Question, QuestionKind
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
    if scene in ("pair", "lost", "readonly"):
        engine.views = {role: paper.with_more_nics(view) for role, view in engine.views.items()}
    if scene == "readonly":
        words = "sudo asked for a password and none was given"
        beta = engine.views[Role.RECEIVER]
        engine.views[Role.RECEIVER] = replace(beta, privilege=Privilege.NONE, privilege_note=words)
    if scene == "failed":
        words = "beta answered at 10.0.0.2 port 22 with a host key that differs from the one in known_hosts"
        hint = "if the host was installed anew, remove its line: ssh-keygen -R beta"
        engine.fail_connect = events.HostFailed(Role.RECEIVER, "beta", words, hint, 12)


QUESTIONS = (
    Question(
        Role.SENDER,
        "alpha",
        QuestionKind.HOST_KEY,
        "alpha.example.org (10.0.0.1) shows a key that no known_hosts file holds.",
        detail="ssh-ed25519 SHA256:uNiVztksCsDhcc0u9e8BgrJXVGwvB5UBFWq2IYxkQpA\n"
        "Compare it with what the host itself says: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
    ),
    Question(
        Role.RECEIVER,
        "beta",
        QuestionKind.PROMPTS,
        "beta asks before it lets root in.",
        (Prompt("Password: "), Prompt("One-time code (6 digits), or press [b]enter[/b] for a push: ", echo=True)),
        detail="Welcome to rack 3.\nAll that is done here is recorded.",
    ),
    Question(Role.RECEIVER, "beta", QuestionKind.SUDO, "[sudo] password for tuner on beta", (Prompt("Password"),)),
)


def _ask(engine: Any) -> None:
    """After the screens are there, as the engine would: a question at any time, two of them at once."""
    time.sleep(1.5)
    for number, question in enumerate(QUESTIONS, 1):
        engine.deliver(events.Asked(number, question))


def _lose(engine: Any) -> None:
    """A host is lost, tried three times, and is back after half a minute."""
    time.sleep(3.0)
    words = "the connection to beta broke: no answer for 6 s"
    engine.silent = {Role.RECEIVER}
    engine.deliver(events.HostFailed(Role.RECEIVER, "beta", words, "it is tried again", 16, was_connected=True))
    for attempt, wait in ((1, 1.0), (2, 2.0), (3, 12.0)):
        engine.deliver(events.Reconnecting(Role.RECEIVER, "beta", attempt, wait))
        time.sleep(wait)
    engine.silent = set()
    engine.deliver(events.HostReturned(engine.views[Role.RECEIVER], "▼ beta was rebooted while it was away"))


def main() -> int:
    scene = sys.argv[1] if len(sys.argv) > 1 else "pair"
    paper = _paper()
    engine = paper.FakeEngine(lively=True)
    engine.recent = paper.recent_pairs()
    _shape(engine, paper, scene)
    for number in range(1, 4 if scene == "big" else 31):
        state = RunState.FAILED if number == 5 else RunState.FINISHED
        engine.stored[number] = paper.make_stored(number, state=state, views=engine.views)
    target = None if scene in ("connect", "failed", "questions") else paper.pair()
    script = {"questions": _ask, "lost": _lose}.get(scene)
    if script is not None:
        threading.Thread(target=script, args=(engine,), daemon=True).start()
    return run_app(engine, target, sys.argv[2] if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    sys.exit(main())
