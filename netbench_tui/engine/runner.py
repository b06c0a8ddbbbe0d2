"""Runs one traffic test between the two hosts of a session and makes the result. Used by engine.py.

Whatever happens (a generator that hangs, dies or prints garbage, a host that is lost, a person who presses stop), the
outcome is a RunResult with a reason and the raw output, and no process of the run is left on a host.
"""

import asyncio
import contextlib
from collections.abc import Callable

from netbench_tui.analysis.metrics import compute
from netbench_tui.engine.session import IDLE_HERTZ, RUN_HERTZ, Session
from netbench_tui.errors import HostRefused, RunFailed, TrafficImpossible, WorkbenchError
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.process import RemoteProcess
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, ProcessOutput, RunResult, RunState, TrafficReport, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.traffic.base import Generator, Path, ProcessSpec

LISTEN_SECONDS = 5.0
# Beyond its own duration a generator may take this long to connect and to say goodbye.
PATIENCE_SECONDS = 10.0
# After one side's end the other follows at once, or has a problem.
FOLLOW_SECONDS = 3.0
# A port that was free a moment ago may be taken by now: then another one is tried.
PORT_TRIES = 3
PORT_TAKEN = "in use"


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
        try:
            self.session.require()
            await self.session.measure_clocks()
            await self.session.set_rate(RUN_HERTZ)
            await self._traffic()
        except Stopped:
            return self._result(RunState.STOPPED, "stopped by the user", "")
        except WorkbenchError as error:
            with contextlib.suppress(WorkbenchError):
                await self._end_processes()
            state = RunState.INTERRUPTED if self.session.lost else RunState.FAILED
            return self._result(state, error.message, error.hint)
        finally:
            with contextlib.suppress(WorkbenchError):
                await self._end_processes()
                await self.session.set_rate(IDLE_HERTZ)
        return self._judge()

    async def _traffic(self) -> None:
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
                await host.wait_listening(self.path.port, process.key, LISTEN_SECONDS)
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
            for process, task in zip((sender, receiver), ends, strict=True):
                if not task.done() or not task.result():
                    raise RunFailed(
                        f"{self.generator.name} on the {process.role.value} did not end and was killed",
                        "see its output with show; was the other side killed, or is the path cut?",
                    )
        finally:
            for task in (*ends, stop):
                task.cancel()
            await asyncio.gather(*ends, stop, return_exceptions=True)

    async def _end_processes(self) -> None:
        for process in self._processes.values():
            await process.stop()
        for process in self._processes.values():
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
        )


def _last_line(output: ProcessOutput) -> str:
    lines = [line.strip() for line in (output.stderr or output.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else ""
