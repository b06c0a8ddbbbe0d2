"""What a run costs beyond its own duration: the wall time of a 2 s run over SSH, from the request to the result."""

import time

from benchmarks.plan import BenchEngine, Plan, finished
from benchmarks.report import Figure, Finding, Limit
from netbench_tui.analysis.statistics import paired_change
from netbench_tui.model.run import TrafficTest
from netbench_tui.model.session import LabTarget

NAME = "overhead"
# Wall times scatter by some hundredths: more runs would only take longer.
RUNS = 20
SECONDS = 2.0
LIMIT = Limit(1.25, at_least=False)


def run(plan: Plan) -> list[Finding]:
    walls = []
    with BenchEngine() as engine:
        engine.connect(LabTarget(ssh=True)).result()
        for _ in plan.order(NAME, RUNS, ("run",)):
            started = time.perf_counter()
            generator = finished(engine, TrafficTest(seconds=SECONDS)).generator
            walls.append(time.perf_counter() - started)
    change = paired_change([SECONDS] * len(walls), walls)
    note = f"{generator}, set-up and clean-up included, through sshd on one machine; slowest {max(walls):.2f} s"
    return [
        Finding(NAME, f"wall time of a {SECONDS:g} s run / {SECONDS:g} s", Figure.ratio(change), RUNS, LIMIT, (note,))
    ]
