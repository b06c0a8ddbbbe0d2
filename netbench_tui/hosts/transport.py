"""What a way to a host is: it opens channels, each running one command. Implemented by local.py and ssh.py."""

from collections.abc import Sequence
from typing import Protocol

from netbench_tui.errors import WorkbenchError
from netbench_tui.model.session import Reach

# What a program says before it dies is in the last lines.
STDERR_KEPT = 4000


class Channel(Protocol):
    """One running command: bytes in, bytes out."""

    async def read(self) -> bytes:
        """The next piece of standard output; empty at its end. Raises nothing: a broken link reads as an end."""
        ...

    def write(self, data: bytes) -> None: ...

    def complaint(self) -> str:
        """The end of what came on standard error."""
        ...

    async def wait(self, seconds: float) -> int | None:
        """The exit status (negative: a signal), or None if it is not known within `seconds`."""
        ...

    async def close(self) -> None:
        """Closes standard input, waits a little, then cuts. Idempotent."""
        ...


class Transport(Protocol):
    """A way to one host."""

    @property
    def reach(self) -> Reach: ...

    @property
    def name(self) -> str:
        """The host as the user named it."""
        ...

    @property
    def pythons(self) -> Sequence[str]:
        """Interpreters to try, in order."""
        ...

    @property
    def note(self) -> str:
        """What there is to say of the connection, e.g. the server's version."""
        ...

    async def open(self, argv: Sequence[str]) -> Channel: ...

    def breakage(self) -> WorkbenchError | None:
        """Why the connection as a whole is gone; None while it stands."""
        ...

    async def close(self) -> None: ...
