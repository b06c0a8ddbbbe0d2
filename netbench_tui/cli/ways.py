"""The engine as the command line asks for it. Used by headless.py and workbench.py."""

import argparse
from pathlib import Path

from netbench_tui.engine.engine import Engine
from netbench_tui.errors import UsageError


def make_engine(arguments: argparse.Namespace, history: Path, may_ask: bool) -> Engine:
    """`may_ask` promises that the caller answers questions. Raises UsageError."""
    pythons = dict(_python(word) for word in arguments.python or ())
    return Engine(
        history,
        arguments.ssh_config,
        accept_new=bool(arguments.accept_new),
        may_ask=may_ask,
        pythons=pythons,
    )


def _python(word: str) -> tuple[str, str]:
    """`HOST=PATH`, or `PATH` for every host, as (host, path); the host of the latter is empty."""
    host, equals, path = word.rpartition("=")
    if not path or (equals and not host):
        raise UsageError(f"--python {word}: write PATH or HOST=PATH")
    return host, path
