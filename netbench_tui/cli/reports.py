"""`history`, `show` and `presets`: what is kept, as tables or JSON. Reads the history without an engine."""

import argparse
import shutil
import sys
from pathlib import Path

from netbench_tui.cli.terminal import complain
from netbench_tui.config import list_presets
from netbench_tui.errors import RunNotFound, UsageError
from netbench_tui.export.documents import history_document, stored_run_document, to_text
from netbench_tui.export.tables import history_table, run_table
from netbench_tui.history.repository import History
from netbench_tui.model.codec import to_plain
from netbench_tui.model.session import StoredRun
from netbench_tui.model.units import plain

# SQLite counts in 64 bits.
LARGEST = (1 << 63) - 1


def report(arguments: argparse.Namespace, file: Path) -> int:
    """Prints the report that the verb names; returns the exit code."""
    if arguments.verb == "presets":
        return _presets(arguments.json)
    with History(file) as history:
        if arguments.verb == "history":
            if not 1 <= arguments.limit <= LARGEST:
                raise UsageError(f"--limit {arguments.limit}: 1 to {LARGEST}")
            runs = history.runs(arguments.limit, 0, arguments.text)
            sys.stdout.write(to_text(history_document(runs)) if arguments.json else history_table(runs))
            return 0
        stored = history.stored_run(_number(history, arguments.run))
    if arguments.json:
        sys.stdout.write(to_text(stored_run_document(stored, with_outputs=True)))
    else:
        _show(stored, arguments.output)
    return 0


def _number(history: History, word: str) -> int:
    if word == "latest":
        latest = history.latest()
        if latest is None:
            raise RunNotFound("the history holds no runs yet", "netbench-tui run quick-tcp --lab makes one")
        return latest.id
    if not (word.isascii() and word.isdigit()):
        raise UsageError(f"{word!r} is not a run's number", "give a number of `netbench-tui history`, or latest")
    if len(word) > len(str(LARGEST)) or int(word) > LARGEST:
        raise RunNotFound(f"there is no run {word} in the history")
    return int(word)


def _show(stored: StoredRun, with_output: bool) -> None:
    sys.stdout.write(run_table(stored.summary, stored.result, stored.hosts))
    if sys.stdout.isatty():
        from netbench_tui.export.charts import throughput_chart

        chart = throughput_chart(stored.result, shutil.get_terminal_size().columns)
        sys.stdout.write(f"\n{chart}\n" if chart else "")
    if with_output:
        for output in stored.outputs:
            print(f"\n{output.role.value}: {plain(' '.join(output.argv))}")
            for text in (output.stdout, output.stderr):
                print("\n".join(plain(line) for line in text.splitlines()))


def _presets(as_json: bool) -> int:
    complaints: list[UsageError] = []
    presets = list_presets(complaints)
    if as_json:
        sys.stdout.write(to_text({"schema": 1, "kind": "presets", "presets": to_plain(presets)}))
    else:
        width = max((len(preset.name) for preset in presets), default=0)
        for preset in presets:
            print(f"{plain(preset.name):{width}}  {plain(preset.title)}  ({plain(preset.source)})")
    for complaint in complaints:
        complain("! ", complaint)
    return 0
