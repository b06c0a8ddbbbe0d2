"""`python -m benchmarks [NAME ...] [--pairs N] [--seed N] [--json]`.

Exit status: 0 if every limit that could be judged is met, 1 if one is not or a benchmark failed, 2 for bad arguments.
"""

import argparse
import json
import random
import sys

from benchmarks import agent_cost, builtin, first_paint, frames, inspecting, overhead, report, watching
from benchmarks.plan import BenchmarkFailed, Plan
from netbench_tui.errors import WorkbenchError

# In the order of their running: what waits for a quiet machine first.
BENCHMARKS = {
    module.NAME: module.run for module in (watching, agent_cost, first_paint, inspecting, frames, overhead, builtin)
}
# Signed ranks need 8 pairs; t needs 2.
FEWEST_PAIRS = 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What is fast, as ratios with intervals.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--pairs", type=int, metavar="N", help="so many pairs only: figures, but no verdict")
    parser.add_argument("--seed", type=int, help="repeats the order of an earlier run")
    parser.add_argument("--json", action="store_true", help="JSON instead of the table")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}: {', '.join(BENCHMARKS)}")
    if arguments.pairs is not None and arguments.pairs < FEWEST_PAIRS:
        parser.error(f"--pairs {arguments.pairs}: at least {FEWEST_PAIRS}")
    return arguments


def main() -> int:
    arguments = _arguments()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    where = report.machine()
    findings: list[report.Finding] = []
    failed = False
    for name in arguments.names or BENCHMARKS:
        try:
            # Seeded anew for each, so that one benchmark alone repeats its order of a run of all.
            findings += BENCHMARKS[name](Plan(random.Random(f"{seed} {name}"), arguments.pairs))
        except (BenchmarkFailed, WorkbenchError) as error:
            failed = True
            print(f"{name} failed: {error}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(report.document(findings, seed, where), indent=2, ensure_ascii=False))
    elif findings:
        report.print_table(findings, f"seed {seed}; {where}")
    return 1 if failed or any(finding.met is False for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
