"""Looking at the queues and interrupts of both data NICs: while a screen asks for it, and during runs. Used by
session.py."""

import contextlib
import logging
from collections.abc import Callable, Mapping

from netbench_tui.errors import HostRefused
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.host import Role

_log = logging.getLogger(__name__)


class Watching:
    """`nic(role)` gives the data NIC, empty where there is none. `lost` are the hosts that are away."""

    def __init__(
        self, hosts: Mapping[Role, HostConnection], nic: Callable[[Role], str], lost: Mapping[Role, Exception]
    ) -> None:
        self._hosts, self._nic, self._lost = hosts, nic, lost
        self._asked = self._statistics = self._running = False
        self._told: dict[Role, tuple[HostConnection, str, bool]] = {}

    async def ask(self, watched: bool, statistics: bool) -> None:
        """On or off for a screen; with what the NIC's driver counts where `statistics` is set."""
        self._asked, self._statistics = watched, watched and statistics
        await self.renew()

    async def run(self, running: bool) -> None:
        """A run keeps the rates of queues and interrupts, whatever is shown."""
        self._running = running
        await self.renew()

    async def renew(self) -> None:
        """Tells every host that is there what to look at, if it does not know yet. Samples must have been asked for."""
        for role, host in list(self._hosts.items()):
            nic = self._nic(role) if self._asked or self._running else ""
            wish = (host, nic, self._statistics)
            known = self._told.get(role, (None, "", False))
            if role in self._lost or known == wish or (known[0] is not host and not nic):
                continue
            with contextlib.suppress(HostRefused):  # the NIC may be gone: its rates are then absent, no more
                await host.watch(nic or None, self._statistics)
            self._told[role] = wish
