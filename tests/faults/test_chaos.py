"""Some rounds of chaos.py with small waits, another sequence each time; a failure names its seed.

With the real waits, and as many rounds as one likes: `python tests/faults/chaos.py --rounds 50 --seed 7`.
"""

import time
from pathlib import Path
from typing import Any

import chaos
import pytest

from netbench_tui.engine import session

ROUNDS = 6
LONGEST_SECONDS = 2.5


@pytest.mark.usefixtures("impatient")
def test_random_faults_neither_stop_the_workbench_nor_cost_a_measurement(far_pair: Any, tmp_path: Path) -> None:
    assert session.PULSE_SECONDS < 1
    seed = int(time.time())
    print(f"seed {seed}")
    fire = chaos.Chaos(far_pair, tmp_path / "history.db", seed, LONGEST_SECONDS, print)
    violations = fire.run(ROUNDS)
    print(fire.summary())
    assert not violations, f"seed {seed}: {violations}"
    assert fire.watcher.counts["IntervalSeen"] and fire.watcher.counts["HostReturned"]
