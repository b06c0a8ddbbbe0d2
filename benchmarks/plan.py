"""How often and in which order: pairs fixed beforehand, each in an order drawn at random. Used by all benchmarks."""

import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from netbench_tui.engine.engine import Engine
from netbench_tui.model.run import RunResult, RunState, TrafficTest


class BenchmarkFailed(Exception):
    """A measurement broke: the benchmark has no figures. Says what and why."""


@dataclass
class Plan:
    """`fewer` replaces the announced number of pairs, for trying things out."""

    draw: random.Random
    fewer: int | None = None

    def count(self, announced: int) -> int:
        return self.fewer or announced

    def order(self, name: str, announced: int, arms: tuple[str, ...]) -> Iterator[str]:
        """Every arm once in each block, blocks one after the other: the i-th values of all arms are one block."""
        total = self.count(announced)
        for block in range(1, total + 1):
            for arm in self.draw.sample(arms, len(arms)):
                _say(f"{name}: {block} of {total}, {arm}")
                yield arm
        _say("")


def _say(text: str) -> None:
    """Progress, where a person watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def temporary_folder() -> AbstractContextManager[str]:
    """Holds a history that is not the user's."""
    return tempfile.TemporaryDirectory(prefix="netbench-benchmark-")


class BenchEngine:
    """An engine on a history of its own, as a context manager."""

    def __init__(self) -> None:
        self._folder = temporary_folder()

    def __enter__(self) -> Engine:
        self._engine = Engine(Path(self._folder.__enter__()) / "history.db")
        self._engine.start()
        return self._engine

    def __exit__(self, *trouble: object) -> None:
        self._engine.close()
        self._folder.__exit__(None, None, None)


def finished(engine: Engine, test: TrafficTest) -> RunResult:
    """One run through the engine. BenchmarkFailed unless it gave figures."""
    result = engine.run("benchmark", test).result()
    if result.state is not RunState.FINISHED:
        raise BenchmarkFailed(f"a run with {result.generator} {result.state}: {result.reason}")
    return result
