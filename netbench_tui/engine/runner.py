"""Runs one traffic test between the two hosts of a session and makes the result. Used by engine.py.

Whatever happens (a generator that hangs, dies or prints garbage, a host that is lost, a person who presses stop), the
outcome is a RunResult with a reason and the raw output, and no process of the run is left on a host.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from netbench_tui.analysis.metrics import compute
from netbench_tui.engine.kept import KeptSamples
from netbench_tui.engine.preset_settings import PresetSettings
from netbench_tui.engine.session import IDLE_HERTZ, Session
from netbench_tui.errors import HostRefused, RunFailed, TrafficImpossible, WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.process import RemoteProcess
from netbench_tui.model.host import Role
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.run import Interval, ProcessOutput, RunEvent, RunResult, RunState, TrafficReport, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.units import plain
from netbench_tui.traffic.base import Generator, Path, ProcessSpec

LISTEN_SECONDS = 5.0
# Beyond its own duration a generator may take this long to connect and to say goodbye.
PATIENCE_SECONDS = 10.0
# After one side's end the other follows at once, or has a problem.
FOLLOW_SECONDS = 3.0
# So long may a host that hangs, and is not known to be lost yet, hold up the end of a run; what it was asked to do it
# does when it goes on.
END_SECONDS = 4.0
# Traffic that stopped for longer than this does not come back; a link that negotiates anew needs some five seconds.
STALL_SECONDS = 10.0
# What lies this deep inside what the receiver has reported so far is in the measured window, wherever the window will
# be cut: the warm-up, an interval that is left out and an origin that moves are all shorter.
SURE_SECONDS = 5.0
# A host that takes longer to answer did not just have a slow link.
SILENCE_SECONDS = 0.5
# A port that was free a moment ago may be taken by now: then another one is tried.
PORT_TRIES = 3
PORT_TAKEN = "in use"

T = TypeVar("T")
_log = logging.getLogger(__name__)
# A process that hung and could not be ended in time must not stand in the way of the next run's.
_numbers = itertools.count(1)


class Stopped(Exception):
    """The user pressed stop."""


class Run:
    """One run in progress. `on_interval(interval, time)` is called live with what the receiver reports."""

    def __init__(
        self,
        session: Session,
        test: TrafficTest,
        generator: Generator,
        on_interval: Callable[[Interval, float], None],
        settings: Sequence[PresetSetting] = (),
    ) -> None:
        self.session, self.test, self.generator, self.on_interval = session, test, generator, on_interval
        self.settings = PresetSettings(session.changes, session.views, settings)
        self.samples = {role: KeptSamples() for role in Role}
        self.lost_samples = 0
        self.origin: float | None = None
        self.over = asyncio.Event()
        self.lost: WorkbenchError | None = None
        self._ending = asyncio.Event()
        self._stopped = False
        self._judged = False
        self._events: list[RunEvent] = []
        self._moved: float | None = None
        self._seen: list[Interval] = []
        self._live = generator.live(test)
        self._processes: dict[Role, RemoteProcess] = {}

    def add_sample(self, role: Role, sample: HostSample) -> None:
        self.samples[role].add(sample)
        self.lost_samples += sample.skipped

    def add_event(self, event: RunEvent) -> None:
        """Something that happened meanwhile, for the mark on the graph."""
        self._events.append(event)

    def stop(self) -> None:
        self._stopped = self._stopped or self.lost is None
        self._ending.set()

    def host_lost(self, error: WorkbenchError) -> None:
        """Ends the run at once: nothing that comes now would be a measurement."""
        self.lost = self.lost or error
        self._ending.set()

    async def execute(self) -> RunResult:
        """Runs to the end. Raises nothing but what cancels the engine itself."""
        failure: Exception | None = None
        try:
            await self._traffic()
        except Exception as error:
            failure = error
        finally:
            await self._end_processes()
            with contextlib.suppress(WorkbenchError, TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self.session.set_rate(IDLE_HERTZ)
            self._events += await self.settings.take_back()
        self._judged = True
        return replace(self._outcome(failure), settings=self.settings.outcomes)

    def _outcome(self, failure: Exception | None) -> RunResult:
        try:
            return self._judge() if failure is None else self._failed(failure)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> RunResult:
        if isinstance(error, Stopped):
            return self._result(RunState.STOPPED, "stopped by the user", "")
        if self.lost and isinstance(error, WorkbenchError):
            return self._result(RunState.INTERRUPTED, self.lost.message, self.lost.hint)
        if isinstance(error, WorkbenchError):
            return self._result(RunState.FAILED, error.message, error.hint)
        _log.error("a run broke off", exc_info=error)
        return self._result(RunState.FAILED, f"a fault of the workbench: {error!r}", "please report it")

    async def _traffic(self) -> None:
        self._go_on()
        await self.settings.apply()
        self._go_on()
        await self.session.prepare_run()
        self._go_on()
        receiver = await self._start_receiver()
        sender = await self._start(
            Role.SENDER, self.generator.sender(self.test, self.path, self.session.hosts[Role.SENDER].facts)
        )
        await self._follow(sender, receiver)

    def _go_on(self) -> None:
        """Raises what ends the run before its time, if something does."""
        if self._stopped:
            raise Stopped
        if self.lost:
            raise self.lost

    async def _start_receiver(self) -> RemoteProcess:
        host = self.session.hosts[Role.RECEIVER]
        sender_address, address = self._addresses()
        for attempt in range(1, PORT_TRIES + 1):
            self.path = Path(sender_address, address, await host.free_port(address))
            process = await self._start(
                Role.RECEIVER, self.generator.receiver(self.test, self.path, host.facts), self._output
            )
            try:
                await self._unless_ending(host.wait_listening(self.path.port, process.key, LISTEN_SECONDS))
                return process
            except HostRefused as error:
                await self._end_processes()
                said = process.output()
                if PORT_TAKEN not in said.stdout + said.stderr or attempt == PORT_TRIES:
                    why = _last_line(said) or error.message
                    raise RunFailed(
                        f"{host.name}: {self.generator.name} did not begin to listen: {why}", "see its output with show"
                    ) from None
        raise AssertionError("the last attempt returns or raises")

    async def _unless_ending(self, work: Coroutine[None, None, T]) -> T:
        """Waits for `work`, but no longer than until the user presses stop or a host is lost."""
        working, ending = asyncio.create_task(work), asyncio.create_task(self._ending.wait())
        try:
            await asyncio.wait([working, ending], return_when=asyncio.FIRST_COMPLETED)
            self._go_on()
            return working.result()
        finally:
            await _cancelled(working, ending)

    def _addresses(self) -> tuple[str, str]:
        version = self.test.ip_version
        found = [self.session.views[role].addresses.get(version) for role in Role]
        if not found[0] or not found[1]:
            raise TrafficImpossible(
                f"the two hosts have no IPv{version} addresses on a common subnet",
                "give both data NICs an address of one subnet, or use the other IP version",
            )
        return found[0], found[1]

    async def _start(
        self, role: Role, spec: ProcessSpec, on_output: Callable[[str, float], None] | None = None
    ) -> RemoteProcess:
        host: HostConnection = self.session.hosts[role]
        builtin = dict(spec.builtin) if spec.builtin is not None else None
        process = await host.spawn(
            f"{role.value} {next(_numbers)}", spec.tool, spec.argv, builtin, spec.cpus, on_output
        )
        self._processes[role] = process
        return process

    def _output(self, text: str, host_time: float) -> None:
        """The receiver's report as it comes. A report is late by a little, never early: the earliest start is true."""
        if self._judged:  # a host that hung goes on only now: the run's record is closed
            return
        now = self.session.hosts[Role.RECEIVER].workbench_time(host_time)
        for interval in self._live.feed(text):
            start = now - interval.end
            self.origin = start if self.origin is None else min(self.origin, start)
            self._seen.append(interval)
            if interval.bytes:
                self._moved = time.monotonic()
            for samples in self.samples.values():
                samples.fold(self.origin + SURE_SECONDS, self.origin + interval.end - SURE_SECONDS)
            self.on_interval(interval, self.origin + interval.end)

    async def _follow(self, sender: RemoteProcess, receiver: RemoteProcess) -> None:
        """Until both have ended by themselves; what hangs, or outlives its peer, is complained about."""
        limit = self.test.seconds + PATIENCE_SECONDS
        ends = [asyncio.create_task(process.wait(limit)) for process in (sender, receiver)]
        ending, stalled = asyncio.create_task(self._ending.wait()), asyncio.create_task(self._stalled())
        try:
            await asyncio.wait([*ends, ending, stalled], return_when=asyncio.FIRST_COMPLETED)
            self._go_on()
            if stalled.done():
                raise RunFailed(
                    f"no data arrived at the receiver for {STALL_SECONDS:g} s: {self.generator.name} was killed",
                    "is the link up, and does the sender still run?",
                )
            await asyncio.wait(ends, timeout=FOLLOW_SECONDS)
            lost = next((task.exception() for task in ends if task.done() and task.exception()), None)
            if lost:
                raise lost
            await self._wait_for_silent_hosts(sender, receiver)
            if not (sender.ended and receiver.ended):
                raise self._hanging(sender, receiver)
        finally:
            await _cancelled(*ends, ending, stalled)

    async def _wait_for_silent_hosts(self, *processes: RemoteProcess) -> None:
        """A host that hangs for a while is not its generator's fault: once it answers, the generator gets its time."""
        for process in processes:
            if not process.ended:
                silence = await self._unless_ending(self.session.hosts[process.role].ping())
                if silence > SILENCE_SECONDS:
                    await self._unless_ending(process.wait(FOLLOW_SECONDS))

    async def _stalled(self) -> None:
        """Ends when the traffic has stopped though both hosts answer, which is no fault of theirs. A generator that
        reports nothing live is not judged."""
        while True:
            moved = self._moved
            quiet = 0.0 if moved is None else time.monotonic() - moved
            await asyncio.sleep(max(SILENCE_SECONDS, STALL_SECONDS - quiet))
            if quiet >= STALL_SECONDS and await self._both_answer() and self._moved == moved:
                return

    async def _both_answer(self) -> bool:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                await asyncio.gather(*(self.session.hosts[role].ping() for role in Role))
        except (WorkbenchError, TimeoutError):
            return False
        return True

    def _hanging(self, *processes: RemoteProcess) -> RunFailed:
        """Who did not end; behind what the other side said, which ended and may have had the trouble first."""
        roles = " and on the ".join(process.role.value for process in processes if not process.ended)
        complaints = [self._complaint(process) for process in processes if process.ended]
        hanging = f"{self.generator.name} on the {roles} did not end and was killed"
        return RunFailed("; ".join([*filter(None, complaints), hanging]), "see the whole output with show")

    def _complaint(self, ended: RemoteProcess) -> str:
        """What one side's output says is wrong, with the other side taken as blameless."""
        outputs = {output.role: output for output in self._outputs()}
        other = ended.role.other
        outputs[other] = replace(outputs[other], stderr="", exit_code=0, signal=None)
        error = self.generator.read(self.test, outputs[Role.RECEIVER], outputs[Role.SENDER]).error
        if ended.role.value in error:
            return error
        return _last_line(outputs[ended.role]) if outputs[ended.role].exit_code else ""

    async def _end_processes(self) -> None:
        """Each for itself, so that a host that was lost does not keep the other one from being cleaned."""
        await asyncio.gather(*(self._end_process(process) for process in self._processes.values()))

    async def _end_process(self, process: RemoteProcess) -> None:
        """A lost host's agent ends all by itself."""
        if process.role in self.session.lost:
            return
        with contextlib.suppress(WorkbenchError, TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.stop()
                await process.wait(FOLLOW_SECONDS)

    def _outputs(self) -> tuple[ProcessOutput, ...]:
        return tuple(self._processes[role].output() for role in Role if role in self._processes)

    def _judge(self) -> RunResult:
        """Both processes have ended: their report says whether the run is valid."""
        outputs = {output.role: output for output in self._outputs()}
        report = self.generator.read(self.test, outputs[Role.RECEIVER], outputs[Role.SENDER])
        if report.error:
            # A report that breaks off must not cost what was seen of it live.
            received = max(report.received, tuple(self._seen), key=len)
            report = replace(report, received=received)
            return self._result(RunState.FAILED, report.error, "see the whole output with show", report)
        window, metrics = compute(
            report, self.origin, {role: kept.all() for role, kept in self.samples.items()}, self.session.views
        )
        if window is None:
            reason = "the generator reported nothing after the first 0.3 s, which are not measured"
            return self._result(RunState.FAILED, reason, "run longer", report)
        return RunResult(
            RunState.FINISHED,
            self.test,
            self.generator.name,
            origin=self.origin,
            window=window,
            metrics=metrics,
            report=report,
            outputs=self._outputs(),
            events=tuple(self._events),
            lost_samples=self.lost_samples,
        )

    def _result(self, state: RunState, reason: str, hint: str, report: TrafficReport | None = None) -> RunResult:
        return RunResult(
            state,
            self.test,
            self.generator.name,
            reason,
            hint,
            origin=self.origin,
            report=report or TrafficReport(received=tuple(self._seen)),
            outputs=self._outputs(),
            events=tuple(self._events),
            lost_samples=self.lost_samples,
        )


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _last_line(output: ProcessOutput) -> str:
    """The last line that says something: iperf3 ends its complaints with `iperf3: exiting`."""
    lines = [line.strip() for line in (output.stderr or output.stdout).splitlines()]
    return next((plain(line) for line in reversed(lines) if line and not line.endswith("exiting")), "")
