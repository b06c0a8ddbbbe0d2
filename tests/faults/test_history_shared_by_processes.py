"""Another process that looks into the history of a running workbench, and leaves again, takes nothing from it."""

import subprocess
import sys
from typing import Any

from netbench_tui.engine import events
from netbench_tui.model.run import RunState, TrafficTest
from netbench_tui.model.session import LabTarget

LOOK = "import sys; from pathlib import Path; from netbench_tui.history.repository import History; \
h = History(Path(sys.argv[1])); print(len(h.runs(-1))); h.close()"


def look_from_outside(bench: Any) -> int:
    argv = [sys.executable, "-c", LOOK, str(bench.history)]
    return int(subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout)


def test_a_reader_of_ours_and_one_of_another_process(bench: Any) -> None:
    """A reader inside the workbench opens and closes the file; that must not take away the writer's locks, without
    which the other process would believe that it is the last to use the file and remove its write-ahead log."""
    bench.connect(LabTarget(queues=1))
    assert bench.engine.runs().result(10) == []
    assert look_from_outside(bench) == 0
    for number in (1, 2):
        result = bench.engine.run("kept", TrafficTest(seconds=1, generator="builtin")).result(30)
        assert result.state is RunState.FINISHED
        assert len(bench.engine.runs().result(10)) == number
        assert look_from_outside(bench) == number, "what the workbench has kept, others can see"
    assert not bench.of(events.HistoryTrouble)
