"""Opens the workbench on a terminal: an engine in its thread, the screens in this one."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from netbench_tui.cli.terminal import undisturbed
from netbench_tui.model.session import Target
from netbench_tui.tui.app import run_app
from netbench_tui.tui.bridge import EngineFace


class LateEngine:
    """An engine that is made when it is first asked something: the screens ask after their first paint, which need not
    wait for the import of everything that reaches hosts."""

    def __init__(self, make: Callable[[], EngineFace]) -> None:
        self._make = make
        self._engine: EngineFace | None = None

    def __getattr__(self, name: str) -> Any:
        if self._engine is None:
            self._engine = self._make()
        return getattr(self._engine, name)

    def close(self) -> None:
        """Nothing to end where nothing was begun."""
        if self._engine:
            self._engine.close()


def open_workbench(target: Target | None, arguments: argparse.Namespace, history: Path) -> int:
    """Returns when the user quits, with the hosts let go."""

    def start() -> EngineFace:
        from netbench_tui.cli.ways import make_engine

        engine = make_engine(arguments, history, may_ask=True)
        engine.start()
        return engine

    engine = LateEngine(start)
    try:
        return run_app(cast(EngineFace, engine), target, arguments.theme)
    finally:
        with undisturbed():
            engine.close()
