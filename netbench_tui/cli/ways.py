"""The engine as the command line asks for it. Used by headless.py and workbench.py."""

import argparse
from pathlib import Path

from netbench_tui.engine.engine import Engine


def make_engine(arguments: argparse.Namespace, history: Path, may_ask: bool) -> Engine:
    """`may_ask` promises that the caller answers questions."""
    return Engine(
        history,
        arguments.ssh_config,
        accept_new=bool(arguments.accept_new),
        may_ask=may_ask,
        pythons=dict(arguments.python or ()),
    )
