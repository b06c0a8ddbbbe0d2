"""Runs one traffic test between the two hosts of a session and makes the result. Used by engine.py.

Whatever happens (a generator that hangs, dies or prints garbage, a host that is lost, a person who presses stop), the
outcome is a RunResult with a reason and the raw output, and no process of the run is left on a host.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from netbench_tui.analysis.metrics import compute
from netbench_tui.engine.session import IDLE_HERTZ, RUN_HERTZ, Session
from netbench_tui.errors import HostRefused, RunFailed, TrafficImpossible, WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.process import RemoteProcess
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, ProcessOutput, RunResult, RunState, TrafficReport, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.model.units import plain
from netbench_tui.traffic.base import Generator, Path, ProcessSpec

LISTEN_SECONDS = 5.0
# Beyond its own duration a generator may take this long to connect and to say goodbye.
PATIENCE_SECONDS = 10.0
# After one side's end the other follows at once, or has a problem.
FOLLOW_SECONDS = 3.0
# A port that was free a moment ago may be taken by now: then another one is tried.
PORT_TRIES = 3
PORT_TAKEN = "in use"

_log = logging.getLogger(__name__)


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
    ) -> None:
        self.session, self.test, self.generator, self.on_interval = session, test, generator, on_interval
        self.samples: dict[Role, list[HostSample]] = {role: [] for role in Role}
        self.origin: float | None = None
        self.stop_asked = asyncio.Event()
        self.over = asyncio.Event()
        self._seen: list[Interval] = []
        self._live = generator.live(test)
        self._processes: dict[Role, RemoteProcess] = {}

    def add_sample(self, role: Role, sample: HostSample) -> None:
        self.samples[role].append(sample)

    async def execute(self) -> RunResult:
        """Runs to the end. Raises nothing but what cancels the engine itself."""
        failure: Exception | None = None
        try:
            await self._traffic()
        except Exception as error:
            failure = error
        finally:
            await self._end_processes()
            with contextlib.suppress(WorkbenchError):
                await self.session.set_rate(IDLE_HERTZ)
        try:
            return self._judge() if failure is None else self._failed(failure)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> RunResult:
        if isinstance(error, Stopped):
            return self._result(RunState.STOPPED, "stopped by the user", "")
        if isinstance(error, WorkbenchError):
            state = RunState.INTERRUPTED if self.session.lost else RunState.FAILED
            return self._result(state, error.message, error.hint)
        _log.error("a run broke off", exc_info=error)
        return self._result(RunState.FAILED, f"a fault of the workbench: {error!r}", "please report it")

    async def _traffic(self) -> None:
        await self.session.measure_clocks()
        await self.session.set_rate(RUN_HERTZ)
        receiver = await self._start_receiver()
        sender = await self._start(
            Role.SENDER, self.generator.sender(self.test, self.path, self.session.hosts[Role.SENDER].facts)
        )
        await self._follow(sender, receiver)

    async def _start_receiver(self) -> RemoteProcess:
        host = self.session.hosts[Role.RECEIVER]
        sender_address, address = self._addresses()
        for attempt in range(1, PORT_TRIES + 1):
            self.path = Path(sender_address, address, await host.free_port(address))
            process = await self._start(
                Role.RECEIVER, self.generator.receiver(self.test, self.path, host.facts), self._output
            )
            try:
                await self._unless_stopped(host.wait_listening(self.path.port, process.key, LISTEN_SECONDS))
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

    async def _unless_stopped(self, work: Coroutine[None, None, None]) -> None:
        """Waits for `work`, but no longer than until the user presses stop."""
        working, stop = asyncio.create_task(work), asyncio.create_task(self.stop_asked.wait())
        try:
            await asyncio.wait([working, stop], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise Stopped
            working.result()
        finally:
            await _cancelled(working, stop)

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
        process = await host.spawn(role.value, spec.tool, spec.argv, builtin, spec.cpus, on_output)
        self._processes[role] = process
        return process

    def _output(self, text: str, host_time: float) -> None:
        """The receiver's report as it comes. A report is late by a little, never early: the earliest start is true."""
        now = self.session.hosts[Role.RECEIVER].workbench_time(host_time)
        for interval in self._live.feed(text):
            start = now - interval.end
            self.origin = start if self.origin is None else min(self.origin, start)
            self._seen.append(interval)
            self.on_interval(interval, self.origin + interval.end)

    async def _follow(self, sender: RemoteProcess, receiver: RemoteProcess) -> None:
        """Until both have ended by themselves; what hangs, or outlives its peer, is complained about."""
        limit = self.test.seconds + PATIENCE_SECONDS
        ends = [asyncio.create_task(process.wait(limit)) for process in (sender, receiver)]
        stop = asyncio.create_task(self.stop_asked.wait())
        try:
            await asyncio.wait([*ends, stop], return_when=asyncio.FIRST_COMPLETED)
            if stop.done():
                raise Stopped
            await asyncio.wait(ends, timeout=FOLLOW_SECONDS)
            lost = next((task.exception() for task in ends if task.done() and task.exception()), None)
            if lost:
                raise lost
            if not (sender.ended and receiver.ended):
                raise self._hanging(sender, receiver)
        finally:
            await _cancelled(*ends, stop)

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
        for process in self._processes.values():
            with contextlib.suppress(WorkbenchError):
                await process.stop()
        for process in self._processes.values():
            with contextlib.suppress(WorkbenchError):
                await process.wait(FOLLOW_SECONDS)

    def _outputs(self) -> tuple[ProcessOutput, ...]:
        return tuple(self._processes[role].output() for role in Role if role in self._processes)

    def _judge(self) -> RunResult:
        """Both processes have ended: their report says whether the run is valid."""
        outputs = {output.role: output for output in self._outputs()}
        report = self.generator.read(self.test, outputs[Role.RECEIVER], outputs[Role.SENDER])
        if report.error:
            return self._result(RunState.FAILED, report.error, "see the whole output with show", report)
        window, metrics = compute(report, self.origin, self.samples, self.session.views)
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
            lost_samples=self._skipped(),
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
            lost_samples=self._skipped(),
        )

    def _skipped(self) -> int:
        """Looks that an agent left out because its link was slow."""
        return sum(sample.skipped for samples in self.samples.values() for sample in samples)


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _last_line(output: ProcessOutput) -> str:
    """The last line that says something: iperf3 ends its complaints with `iperf3: exiting`."""
    lines = [line.strip() for line in (output.stderr or output.stdout).splitlines()]
    return next((plain(line) for line in reversed(lines) if line and not line.endswith("exiting")), "")
