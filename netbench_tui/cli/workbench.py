"""Opens the workbench on a terminal: an engine in its thread, the screens in this one."""

import argparse
from pathlib import Path

from netbench_tui.cli.terminal import undisturbed
from netbench_tui.cli.ways import make_engine
from netbench_tui.model.session import Target
from netbench_tui.tui.app import run_app


def open_workbench(target: Target | None, arguments: argparse.Namespace, history: Path) -> int:
    """Returns when the user quits, with the hosts let go."""
    engine = make_engine(arguments, history, may_ask=True)
    engine.start()
    try:
        return run_app(engine, target, arguments.theme)
    finally:
        with undisturbed():
            engine.close()
