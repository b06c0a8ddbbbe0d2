"""A generator process on a host, followed by its events. Used by engine/runner.py through connection.py."""

import asyncio
from collections.abc import Callable
from typing import Any

from netbench_tui.errors import AgentDied, HostLost, WorkbenchError
from netbench_tui.hosts.client import AgentClient, Message
from netbench_tui.model.host import Role
from netbench_tui.model.run import ProcessOutput

# A generator that prints without end must not fill our memory; real output is a few hundred KiB.
OUTPUT_KEPT = 16 << 20


class RemoteProcess:
    """`on_output(text, host_time)` is called with standard output as it comes."""

    def __init__(
        self,
        client: AgentClient,
        key: str,
        role: Role,
        tool: str,
        argv: tuple[str, ...],
        on_output: Callable[[str, float], None] | None = None,
    ) -> None:
        self.client, self.key, self.role, self.tool, self.argv = client, key, role, tool, argv
        self.on_output = on_output
        self.cpus: tuple[int, ...] = ()
        self.started = 0.0
        self.lost = ""
        self._pieces: dict[int, list[str]] = {1: [], 2: []}
        self._kept = 0
        self._exit: Message | None = None
        self._ended = asyncio.Event()

    async def start(self, request: dict[str, Any], cpus: tuple[int, ...]) -> None:
        """Raises HostRefused where the program or a CPU does not exist, AgentDied where the agent is gone."""
        self.client.listen_to(self.key, self._event)  # before the request: output may overtake its answer
        try:
            answer = await self.client.request("spawn", key=self.key, cpus=list(cpus), **request)
            self.cpus, self.started = tuple(int(cpu) for cpu in answer["cpus"]), float(answer["t"])
        except (KeyError, TypeError, ValueError):
            self.client.forget(self.key)
            raise AgentDied(f"{self.client.name}: the answer to spawn cannot be read") from None
        except WorkbenchError:
            self.client.forget(self.key)
            raise

    def _event(self, message: Message) -> None:
        if message["ev"] == "out":
            text = str(message.get("text", ""))
            self._kept += len(text)
            if self._kept <= OUTPUT_KEPT:
                self._pieces[2 if message.get("fd") == 2 else 1].append(text)
            if message.get("fd") == 1 and self.on_output:
                self.on_output(text, float(message.get("t", 0.0)))
            return
        if message["ev"] == "exit":
            self._exit = message
        else:
            self.lost = str(message.get("text", "")) or "the host was lost"
        self._ended.set()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    async def wait(self, seconds: float) -> bool:
        """True if the process ended within `seconds`. Raises HostLost if its host was lost."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        if self.lost:
            raise HostLost(self.lost)
        return True

    async def stop(self) -> None:
        """Ends the process and its group, if it still runs."""
        if not self.ended:
            await self.client.request("stop", key=self.key)

    def output(self) -> ProcessOutput:
        """What there is of it by now."""
        ended = self._exit or {}
        return ProcessOutput(
            role=self.role,
            tool=self.tool,
            argv=self.argv,
            stdout="".join(self._pieces[1]),
            stderr="".join(self._pieces[2]),
            exit_code=ended.get("code"),
            signal=ended.get("signal"),
            user_seconds=ended.get("user"),
            system_seconds=ended.get("system"),
            cpus=self.cpus,
        )
