"""`run`: a preset without a screen. Progress goes to standard error, the table or the JSON to standard output."""

import argparse
import gc
import queue
import sys
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from netbench_tui.cli.asking import ask, require_terminal
from netbench_tui.cli.terminal import complain, undisturbed
from netbench_tui.cli.ways import make_engine
from netbench_tui.config import load_preset
from netbench_tui.engine import events
from netbench_tui.engine.engine import Engine
from netbench_tui.errors import HistoryError, RunFailed, UsageError
from netbench_tui.model.host import Role
from netbench_tui.model.preset import Preset
from netbench_tui.model.run import RunResult, RunState, TrafficTest
from netbench_tui.model.session import HostView, RunSummary, Target
from netbench_tui.model.units import plain

OVERRIDES = ("streams", "seconds", "message_bytes", "ip_version", "generator")

T = TypeVar("T")


class Progress:
    """Collects what the engine tells, and says it on standard error; most of it only if a person is there to read.

    It prints in the thread that waits, never in the engine's: a terminal that does not read must not stop a run.
    """

    def __init__(self, engine: Engine, talk: bool) -> None:
        self.engine, self.talk = engine, talk
        self.run_id = 0
        self.views: dict[Role, HostView] = {}
        self._waiting: queue.SimpleQueue[events.Event | None] = queue.SimpleQueue()

    def deliver(self, event: events.Event) -> None:
        if not isinstance(event, (events.SampleTaken, events.IntervalSeen)):
            self._waiting.put(event)

    def follow(self, future: "Future[T]") -> T:
        """The future's result, once it is there; until then prints what comes."""
        future.add_done_callback(lambda _: self._waiting.put(None))
        while (event := self._waiting.get()) is not None:
            self._tell(event)
        return future.result()

    def finish(self) -> None:
        """Prints what came last."""
        while not self._waiting.empty():
            if (event := self._waiting.get()) is not None:
                self._tell(event)

    def _tell(self, event: events.Event) -> None:
        if isinstance(event, events.PairConnected):
            self.views = {Role.SENDER: event.sender, Role.RECEIVER: event.receiver}
            if event.warning:
                print(f"! {plain(event.warning)}", file=sys.stderr)
        elif isinstance(event, events.HistoryTrouble):
            complain("! ", HistoryError(event.message, event.hint))
        elif isinstance(event, events.RunStarted):
            self.run_id = event.run_id
            self._say(f"running {event.preset} with {event.generator} for {event.test.seconds:g} s")
        elif isinstance(event, events.Connecting):
            self._say(f"{event.name}: {event.step}")
        elif isinstance(event, events.Asked):
            self.engine.answer(event.number, ask(event.question))
        elif isinstance(event, events.HostFailed) and not event.was_connected:
            self._say(f"{event.message}")

    def _say(self, text: str) -> None:
        if self.talk:
            print(plain(text), file=sys.stderr)


def run_preset(name: str, target: Target, arguments: argparse.Namespace, history: Path) -> int:
    """0 if the run gave figures, else the exit code of RunFailed; what cannot begin is raised."""
    gc.enable()
    preset = load_preset(name)
    test = _overridden(preset.test, arguments)
    may_ask = getattr(arguments, "ask_pass", False)
    if may_ask:
        require_terminal()
    engine = make_engine(arguments, history, may_ask)
    progress = Progress(engine, sys.stderr.isatty())
    engine.subscribe(progress.deliver)
    engine.start()
    try:
        progress.follow(engine.connect(target))
        if nics := _nics(arguments):
            progress.follow(engine.choose_path(*nics))
        started = time.time()
        result = progress.follow(engine.run(preset.name, test, preset.settings))
        ended = time.time()
    finally:
        with undisturbed():
            engine.close()
            progress.finish()
    summary = _summary(progress, preset, result, (started, ended))
    _print(summary, result, progress.views, getattr(arguments, "json", False))
    return 0 if result.state is RunState.FINISHED else RunFailed.exit_code


def _nics(arguments: argparse.Namespace) -> tuple[str, str] | None:
    """The data path, where the command line says it."""
    nics = getattr(arguments, "sender_nic", None), getattr(arguments, "receiver_nic", None)
    if nics[0] and nics[1]:
        return nics[0], nics[1]
    if any(nics):
        raise UsageError("one NIC of the data path is missing", "name both: --sender-nic NIC --receiver-nic NIC")
    return None


def _overridden(test: TrafficTest, arguments: argparse.Namespace) -> TrafficTest:
    given = {key: getattr(arguments, key, None) for key in OVERRIDES}
    try:
        return replace(test, **{key: value for key, value in given.items() if value is not None})
    except ValueError as error:
        raise UsageError(str(error)) from None


def _summary(progress: Progress, preset: Preset, result: RunResult, times: tuple[float, float]) -> RunSummary:
    return RunSummary(
        id=progress.run_id,
        session=0,
        started=times[0],
        ended=times[1],
        state=result.state,
        preset=preset.name,
        sender=progress.views[Role.SENDER].name,
        receiver=progress.views[Role.RECEIVER].name,
        generator=result.generator,
        test=result.test,
        result=result,
    )


def _print(summary: RunSummary, result: RunResult, views: dict[Role, HostView], as_json: bool) -> None:
    if as_json:
        from netbench_tui.export.documents import run_document, to_text

        sys.stdout.write(to_text(run_document(summary, result, views)))
    else:
        from netbench_tui.export.tables import run_table

        sys.stdout.write(run_table(summary, result, views))
