"""What a benchmark found: the figure, its interval, its limit, the verdict; as a table and as JSON. Used by all."""

import enum
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from netbench_tui.analysis.statistics import Change, location

NO_VERDICT = "no verdict"
# A log or a pipe has no width of its own to fold to.
WIDTH_OF_A_PIPE = 120


class Judged(enum.StrEnum):
    """Which part of the figure the limit holds for."""

    ESTIMATE = "estimate"
    LOW = "lower end"


@dataclass(frozen=True, slots=True)
class Limit:
    """`at_least` says on which side of `bound` it is met."""

    bound: float
    at_least: bool
    judged: Judged = Judged.ESTIMATE

    def met(self, figure: "Figure") -> bool:
        value = figure.low if self.judged is Judged.LOW else figure.value
        return value >= self.bound if self.at_least else value <= self.bound

    def words(self, unit: str) -> str:
        sign = "≥" if self.at_least else "≤"
        which = f"{self.judged} " if self.judged is not Judged.ESTIMATE else ""
        return f"{which}{sign} {self.bound:g}{unit and ' ' + unit}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval from `n` pairs or repeats. `unit` is empty for a ratio."""

    value: float
    low: float
    high: float
    n: int
    unit: str = ""
    decimals: int = 3

    @classmethod
    def ratio(cls, change: Change) -> "Figure":
        return cls(change.estimate_ratio, change.low, change.high, change.n)

    @classmethod
    def of(cls, values: Sequence[float], unit: str, decimals: int) -> "Figure":
        return cls(*location(values), len(values), unit, decimals)

    def words(self) -> str:
        d = self.decimals
        return f"{self.value:.{d}f} ({self.low:.{d}f}..{self.high:.{d}f}){self.unit and ' ' + self.unit}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One row. `announced` is the number of pairs fixed beforehand: with another number there is no verdict."""

    name: str
    compared: str
    figure: Figure
    announced: int
    limit: Limit | None = None
    notes: tuple[str, ...] = ()

    @property
    def met(self) -> bool | None:
        """None where there is no limit, or the pairs are not those that were announced."""
        if self.limit is None or self.figure.n != self.announced:
            return None
        return self.limit.met(self.figure)

    @property
    def verdict(self) -> str:
        if self.figure.n != self.announced:
            return NO_VERDICT
        return {True: "met", False: "NOT MET", None: ""}[self.met]


_STYLES = {"met": "green", "NOT MET": "bold red", NO_VERDICT: "yellow"}


def machine() -> str:
    """What the figures depend on, in one line. To be asked before measuring: the load is to be that of others."""
    load = os.getloadavg()[0]
    return (
        f"Linux {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
        f"load {load:.2f} before"
    )


def print_table(findings: Sequence[Finding], origin: str) -> None:
    """`origin`: seed and machine, in words."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH_OF_A_PIPE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("benchmark", "what is compared", "figure (95 % interval)", "n", "limit", ""):
        table.add_column(heading, justify="right" if heading == "n" else "left")
    for finding in findings:
        limit = finding.limit.words(finding.figure.unit) if finding.limit else ""
        verdict = Text(finding.verdict, _STYLES.get(finding.verdict, ""))
        n = str(finding.figure.n)
        table.add_row(finding.name, finding.compared, finding.figure.words(), n, limit, verdict)
    console.print(table)
    for finding in findings:
        for note in finding.notes:
            console.print(Text(f"{finding.name}: {note}"))
    if short := [f for f in findings if f.figure.n != f.announced]:
        names = ", ".join(dict.fromkeys(f.name for f in short))
        console.print(Text(f"fewer or more pairs than announced ({names}): not a verdict", "yellow"))
    console.print(Text(origin, "dim"))


def document(findings: Sequence[Finding], seed: int, where: str) -> dict[str, Any]:
    """Plain values for --json; an interval that has no end is null there."""
    rows = []
    for finding in findings:
        figure, limit = finding.figure, finding.limit
        rows.append(
            {
                "name": finding.name,
                "compared": finding.compared,
                "unit": figure.unit or "ratio",
                "estimate": figure.value,
                "low": _finite(figure.low),
                "high": _finite(figure.high),
                "n": figure.n,
                "announced": finding.announced,
                "limit": limit and {"bound": limit.bound, "at_least": limit.at_least, "judged": limit.judged.value},
                "met": finding.met,
                "notes": list(finding.notes),
            }
        )
    return {"seed": seed, "machine": where, "findings": rows}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
