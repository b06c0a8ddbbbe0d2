"""How near the built-in generator comes to iperf3: the engine's own throughput of both, one TCP stream of 128 KiB."""

import statistics

from benchmarks.plan import BenchEngine, BenchmarkFailed, Plan, finished
from benchmarks.report import Figure, Finding, Judged, Limit
from netbench_tui.analysis.statistics import paired_change
from netbench_tui.model.run import TrafficTest
from netbench_tui.model.session import LabTarget

NAME = "builtin"
# Pairs scatter by some 10 %: 40 give an interval of +-4 %.
PAIRS = 40
LIMIT = Limit(0.85, at_least=True, judged=Judged.LOW)


def run(plan: Plan) -> list[Finding]:
    values: dict[str, list[float]] = {"iperf3": [], "builtin": []}
    with BenchEngine() as engine:
        engine.connect(LabTarget()).result()
        for arm in plan.order(NAME, PAIRS, tuple(values)):
            test = TrafficTest(streams=1, message_bytes=131072, seconds=2.0, generator=arm)
            throughput = finished(engine, test).metric("throughput")
            if not throughput:
                raise BenchmarkFailed(f"{arm} gave no throughput")
            values[arm].append(throughput)
    medians = {arm: statistics.median(found) / 1e9 for arm, found in values.items()}
    change = paired_change(values["iperf3"], values["builtin"])
    note = (
        f"medians {medians['builtin']:.1f} and {medians['iperf3']:.1f} Gbit/s; "
        "TCP, 1 stream, 128 KiB, windows of 1.7 s, in the lab"
    )
    compared = "throughput: built-in / iperf3"
    return [Finding(NAME, compared, Figure.ratio(change), PAIRS, LIMIT, (note,))]
