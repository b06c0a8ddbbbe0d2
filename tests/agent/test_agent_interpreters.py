"""The agent under every Python 3.6+ of this machine: it must run on what a host has."""

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

OLDEST, NEWEST = 6, 15


def interpreters() -> Iterator[tuple[str, str]]:
    """(version, path) of the running interpreter, of those on the PATH and of those under ~/.pyenv; one a version."""
    found = {f"3.{sys.version_info.minor}": sys.executable}
    for minor in range(OLDEST, NEWEST):
        path = shutil.which(f"python3.{minor}")
        if path and "shims" not in Path(path).parts:  # a version manager's shim may run nothing
            found.setdefault(f"3.{minor}", path)
    for path in sorted(Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python")):
        version = re.match(r"3\.\d+", path.parts[-3])
        if version and int(version[0][2:]) >= OLDEST:
            found.setdefault(version[0], str(path))
    yield from sorted(found.items())


@pytest.mark.parametrize(("version", "python"), list(interpreters()), ids=lambda value: value if len(value) < 5 else "")
def test_hello_inspect_sample_and_stream(
    start_agent: Callable[..., Any], eventually: Any, version: str, python: str
) -> None:
    agent = start_agent(python)
    assert agent.hello["python"].startswith(version + ".")
    facts = agent.ok("inspect")
    assert facts["cpus"] and facts["nics"] and facts["notes"] == []
    agent.ok("sample", hz=10)
    port = agent.ok("port", address="127.0.0.1")["port"]
    common = {"address": "127.0.0.1", "port": port, "streams": 2}
    agent.ok("spawn", key="in", stream={"role": "receive", **common})
    agent.ok("listening", port=port, key="in", patience=5)
    agent.ok("spawn", key="out", stream={"role": "send", **common, "message": 65536, "seconds": 0.3})
    assert (agent.event("exit", "out")["code"], agent.event("exit", "in")["code"]) == (0, 0)
    assert '"end"' in agent.output("in")
    assert agent.output("in", 2) == agent.output("out", 2) == ""
    eventually(lambda: {tick["kind"] for tick in agent.ticks()} == {"period", "spawn", "exit"}, "ticks of all kinds")
    assert agent.refused("spawn", key="p", argv=["/nonexistent"])["code"] == "ENOENT"
    agent.close_stdin()
    assert agent.process.wait(5) == 0
    assert agent.process.stderr.read() == b""
