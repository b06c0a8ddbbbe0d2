"""The agent as it travels: one compressed JSON of {dotted module: source}, and the command that unpacks and runs it.

The command's own text holds no quote, dollar, bang or newline, so that every login shell passes it on unharmed.
"""

import functools
import importlib.resources
import json
import zlib
from collections.abc import Iterator
from importlib.resources.abc import Traversable

# Said before the payload is read: behind `sudo -S` it is the only sign that the password was right.
READY = "netbench-agent-ready"
STAGE0 = (
    "import sys,json,zlib;"
    f'print("{READY}",flush=True);'
    "payload=json.loads(zlib.decompress(sys.stdin.buffer.read(int(sys.argv[1]))).decode());"
    'exec(payload["bootstrap"])'
)
PROTOCOL = 1


@functools.cache
def payload() -> bytes:
    """The compressed sources of netbench_tui/agent."""
    sources = dict(_sources(importlib.resources.files("netbench_tui") / "agent", ""))
    return zlib.compress(json.dumps(sources).encode(), 6)


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    """(dotted name, source) of every module below a folder."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry, f"{prefix}{entry.name}.")
        elif entry.name.endswith(".py"):
            yield prefix + entry.name.removesuffix(".py"), entry.read_text("utf-8")


def agent_argv(python: str) -> list[str]:
    """Starts the agent with this Python: isolated (-I) and without site-packages (-S), which halves the start."""
    return [python, "-I", "-S", "-c", STAGE0, str(len(payload()))]
