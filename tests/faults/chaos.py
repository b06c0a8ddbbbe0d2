"""Random faults while runs go on: does the workbench stay alive, bring its hosts back and keep what was measured?

    python tests/faults/chaos.py --rounds 200 --seed 7

Two hosts behind a real sshd each (far_hosts.py); runs follow one another; each round does harm to one host or both
and, once it is over, waits until both are back. The suite runs some rounds of it with small waits
(test_chaos.py); alone it has the real ones.
"""

import argparse
import contextlib
import logging
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from pathlib import Path

from far_hosts import FarHost, FarPair, impossible, signal_to, until

from netbench_tui.engine import events
from netbench_tui.engine.engine import Engine
from netbench_tui.errors import AgentDied, HostLost, UsageError, WorkbenchError
from netbench_tui.model.host import Role
from netbench_tui.model.run import RunState, TrafficTest

# The workbench never hangs for longer than this.
ANSWER_SECONDS = 20.0
# An engine whose loop stands still for longer would show on the screen, and spoil time stamps.
LOOP_SECONDS = 2.0
# After a fault is over: notice it, let the old connection go, wait the longest pause, log in.
BACK_SECONDS = 75.0
GONE_SECONDS = 30.0

Undo = Callable[[], None]


def cut_link(host: FarHost) -> Undo:
    host.set_link("down")
    return lambda: host.set_link("up")


def kill_connection(host: FarHost) -> Undo:
    signal_to(host.connections(), signal.SIGKILL)
    return lambda: None


def kill_sshd(host: FarHost) -> Undo:
    """As a restart that takes its time."""
    host.kill_listener()
    signal_to(host.connections(), signal.SIGKILL)
    return host.start


def kill_agent(host: FarHost) -> Undo:
    signal_to(host.agents(), signal.SIGKILL)
    return lambda: None


def freeze_sshd(host: FarHost) -> Undo:
    """A host that hangs answers nobody, old or new."""
    assert host.process
    frozen = [host.process.pid, *host.connections()]
    signal_to(frozen, signal.SIGSTOP)
    return lambda: signal_to(frozen, signal.SIGCONT)


def freeze_agent(host: FarHost) -> Undo:
    frozen = host.agents()
    signal_to(frozen, signal.SIGSTOP)
    return lambda: signal_to(frozen, signal.SIGCONT)


FAULTS = (cut_link, kill_connection, kill_sshd, kill_agent, freeze_sshd, freeze_agent)


@dataclass
class Kept:
    """What the engine told of one run."""

    preset: str
    intervals: int = 0
    samples: Counter[Role] = field(default_factory=Counter)
    ended: bool = False


class Watcher(logging.Handler):
    """Counts what the engine tells, and keeps every complaint of the program about itself."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.runs: dict[int, Kept] = {}
        self.away: set[Role] = set()
        self.heard: dict[Role, float] = dict.fromkeys(Role, 0.0)
        self.counts: Counter[str] = Counter()
        self.complaints: list[str] = []
        self._run = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.complaints.append(self.format(record))

    def crashed(self, args: threading.ExceptHookArgs) -> None:
        self.complaints.append(f"a thread ended with {args.exc_type.__name__}: {args.exc_value}")

    def see(self, event: events.Event) -> None:
        """Called in the engine's thread."""
        self.counts[type(event).__name__] += 1
        if isinstance(event, events.RunStarted):
            self._run = event.run_id
            self.runs[event.run_id] = Kept(event.preset)
        elif isinstance(event, events.RunEnded):
            self.runs[event.run_id].ended = True
            self.counts[event.result.state.value] += 1
            self._run = 0
        elif isinstance(event, events.IntervalSeen):
            self.runs[event.run_id].intervals += 1
        elif isinstance(event, events.SampleTaken):
            self.heard[event.role] = time.monotonic()
            if self._run:
                self.runs[self._run].samples[event.role] += 1
        elif isinstance(event, events.HostFailed):
            self.away.add(event.role)
        elif isinstance(event, events.HostReturned):
            self.away.discard(event.view.role)
        elif isinstance(event, events.HistoryTrouble):
            self.complaints.append(f"history: {event.message}")

    @contextlib.contextmanager
    def on_duty(self) -> Iterator[None]:
        """Hears the whole program's log (asyncio tells there of exceptions that nobody took) and dying threads."""
        hook, threading.excepthook = threading.excepthook, self.crashed
        logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(self)
            threading.excepthook = hook


class Chaos:
    """One session under fire. `violations` should be empty at its end."""

    def __init__(self, pair: FarPair, history: Path, seed: int, longest: float, tell: Callable[[str], None]) -> None:
        """Faults last up to `longest` seconds."""
        self.pair, self.longest, self.tell = pair, longest, tell
        self.random = random.Random(seed)
        self.engine = Engine(history, str(pair.config))
        self.watcher = Watcher()
        self.violations: list[str] = []
        self.slowest = self.laziest = self.longest_away = 0.0
        self._over = threading.Event()

    def run(self, rounds: int) -> list[str]:
        """All rounds; returns what was violated, in words."""
        with self.watcher.on_duty():
            self.engine.subscribe(self.watcher.see)
            self.engine.start()
            helpers = [threading.Thread(target=work) for work in (self._keep_running, self._keep_asking)]
            try:
                self.engine.connect(self.pair.target).result(60)
                for helper in helpers:
                    helper.start()
                for number in range(1, rounds + 1):
                    self._round(number)
                self._last_run()
            finally:
                self._over.set()
                self._leave(helpers)
            self._compare()
            self.violations += [f"complaint: {text}" for text in self.watcher.complaints]
        return self.violations

    # what goes on all the time

    def _keep_running(self) -> None:
        numbers = random.Random(self.random.random())
        while not self._over.is_set():
            test = TrafficTest(seconds=numbers.choice((1.0, 2.0, 4.0)), generator=numbers.choice(("iperf3", "builtin")))
            try:
                self.engine.run("chaos", test).result(test.seconds + ANSWER_SECONDS)
            except HostLost:
                self._over.wait(0.2)  # refused: a host is away
            except (UsageError, AgentDied):
                return
            except FutureTimeout:
                self.violations.append(f"a run of {test.seconds:g} s gave no result in {ANSWER_SECONDS:.0f} s more")

    def _keep_asking(self) -> None:
        """Whether the engine answers, and whether its loop goes round."""
        while not self._over.wait(0.25):
            before = time.monotonic()
            try:
                self.engine.latest().result(ANSWER_SECONDS)
            except WorkbenchError as error:
                self.violations.append(f"the history was not read: {error.message}")
            except FutureTimeout:
                self.violations.append(f"no answer within {ANSWER_SECONDS:.0f} s")
            self.slowest = max(self.slowest, time.monotonic() - before)
            self.laziest = max(self.laziest, self._loop_delay())

    def _loop_delay(self) -> float:
        turned = threading.Event()
        before = time.monotonic()
        self.engine._loop.call_soon_threadsafe(turned.set)
        if not turned.wait(ANSWER_SECONDS) or time.monotonic() - before > LOOP_SECONDS:
            self.violations.append(f"the engine's loop stood still for {time.monotonic() - before:.1f} s")
        return time.monotonic() - before

    # one round

    def _round(self, number: int) -> None:
        time.sleep(self.random.uniform(0.2, min(3.0, self.longest)))
        fault = self.random.choice(FAULTS)
        roles = self.random.choice([*([role] for role in Role), *([role] for role in Role), list(Role)])
        lasts = self.random.uniform(0.2, self.longest)
        undo = [fault(self.pair.hosts[role]) for role in roles]
        try:
            if self.random.random() < 0.2:
                self._stop()
            time.sleep(lasts)
        finally:
            for mend in undo:
                mend()
        back = self._until_back(time.monotonic())
        self.longest_away = max(self.longest_away, back)
        hit = "+".join(self.pair.hosts[role].name for role in roles)
        self.tell(f"{number:3} {fault.__name__:15} {hit:10} {lasts:4.1f} s, back after {back:4.1f} s {self.trouble()}")

    def trouble(self) -> str:
        """How many things went wrong so far, for one line."""
        count = len(self.violations) + len(self.watcher.complaints)
        return f"VIOLATIONS: {count}" if count else ""

    def _stop(self) -> None:
        before = time.monotonic()
        try:
            self.engine.stop_run().result(ANSWER_SECONDS)
        except FutureTimeout:
            self.violations.append(f"a run was not stopped within {ANSWER_SECONDS:.0f} s")
        self.slowest = max(self.slowest, time.monotonic() - before)

    def _until_back(self, mended: float) -> float:
        """Seconds until both hosts send samples again and neither is known to be away."""

        def are_back() -> bool:
            return not self.watcher.away and min(self.watcher.heard.values()) > mended + 0.6

        try:
            until(are_back, "both hosts are back", BACK_SECONDS)
        except AssertionError:
            self.violations.append(f"{', '.join(self.watcher.away) or 'samples'} not back within {BACK_SECONDS:.0f} s")
        return time.monotonic() - mended

    # the end

    def _last_run(self) -> None:
        """After all that, a run is a run."""
        self._over.set()
        deadline = time.monotonic() + 2 * ANSWER_SECONDS
        while True:
            try:
                result = self.engine.run("last", TrafficTest(seconds=1)).result(ANSWER_SECONDS)
                break
            except (UsageError, HostLost):  # the run before goes on, or the last fault is only noticed now
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        if result.state is not RunState.FINISHED:
            self.violations.append(f"the last run: {result.state}: {result.reason}")

    def _leave(self, helpers: list[threading.Thread]) -> None:
        before = time.monotonic()
        self.engine.close()
        if time.monotonic() - before > ANSWER_SECONDS:
            self.violations.append(f"closing took {time.monotonic() - before:.1f} s")
        for helper in helpers:
            if helper.ident:
                helper.join(2 * ANSWER_SECONDS)
        try:
            until(lambda: not self.pair.leftovers(), "nothing is left on the hosts", GONE_SECONDS)
        except AssertionError:
            self.violations.append(f"left on the hosts: {', '.join(self.pair.leftovers())}")

    def _compare(self) -> None:
        """Everything that the engine told of a run stands in the history."""
        reader = Engine(self.engine.history_path)
        reader.start()
        try:
            for run_id, told in self.watcher.runs.items():
                self.violations += [f"run {run_id}: {text}" for text in _differences(reader, run_id, told)]
        finally:
            reader.close()

    def summary(self) -> str:
        counts = self.watcher.counts
        lost, back, tries = (counts[name] for name in ("HostFailed", "HostReturned", "Reconnecting"))
        runs = ", ".join(f"{counts[state.value]} {state.value}" for state in RunState if counts[state.value])
        intervals = sum(run.intervals for run in self.watcher.runs.values())
        samples = sum(sum(run.samples.values()) for run in self.watcher.runs.values())
        return (
            f"runs: {runs}; {intervals} intervals and {samples} samples, all counted in the history\n"
            f"lost {lost} times, back {back} times in {tries} tries; "
            f"slowest answer {self.slowest:.1f} s, slowest turn of the loop {self.laziest:.2f} s, "
            f"longest way back {self.longest_away:.1f} s"
        )


def _differences(reader: Engine, run_id: int, told: Kept) -> Iterator[str]:
    if not run_id:
        yield "not kept"
        return
    stored = reader.stored_run(run_id).result(ANSWER_SECONDS)
    if not told.ended or stored.result.state is RunState.RUNNING:
        yield "has no end"
    for role in Role:
        if len(stored.samples[role]) != told.samples[role]:
            yield f"{told.samples[role]} samples of the {role} were taken, {len(stored.samples[role])} kept"
    if len(stored.result.report.received) < told.intervals:
        received = len(stored.result.report.received)
        yield f"{told.intervals} intervals were seen, {received} kept ({stored.result.state})"
    if stored.result.state is RunState.INTERRUPTED and not stored.result.reason.startswith(("alpha: ", "beta: ")):
        yield f"the reason does not name the host: {stored.result.reason!r}"
    if stored.result.state is RunState.FAILED:
        yield f"failed, though only hosts were harmed: {stored.result.reason}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--longest", type=float, default=15.0, help="seconds a fault lasts at most")
    chosen = parser.parse_args()
    if why := impossible():
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        pair = FarPair(Path(folder))
        try:
            print(f"seed {chosen.seed}", flush=True)
            tell = lambda line: print(line, flush=True)  # noqa: E731
            chaos = Chaos(pair, Path(folder) / "history.db", chosen.seed, chosen.longest, tell)
            violations = chaos.run(chosen.rounds)
            print(chaos.summary())
        finally:
            pair.close()
    print("\n".join(violations) or "no violation")
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main())
