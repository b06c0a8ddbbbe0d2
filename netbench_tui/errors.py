"""What can go wrong, in words for the person at the keyboard.

Every error that may reach a user is a `WorkbenchError`: a sentence that says what and why, a hint that says what to
do, and an exit code of its own for scripts. Used by every part except the agent, which answers in its own protocol.
"""

from typing import ClassVar


class WorkbenchError(Exception):
    """An expected failure. `message` says what and why; `hint` says what to do (may be empty)."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(WorkbenchError):
    """The command line, a preset or a configuration file asks for something that does not exist."""

    exit_code = 2


class HostUnreachable(WorkbenchError):
    """No answer from the host's address: refused, no route, unknown name, timed out."""

    exit_code = 10


class HostKeyUnknown(WorkbenchError):
    """The host's key stands in no known_hosts file."""

    exit_code = 11


class HostKeyChanged(WorkbenchError):
    """known_hosts holds another key for this host."""

    exit_code = 12


class LoginRefused(WorkbenchError):
    """The host answered and refused every way to log in that was tried."""

    exit_code = 13


class NoPythonOnHost(WorkbenchError):
    """The host has no Python 3.6 or later to run the agent with."""

    exit_code = 14


class AgentDied(WorkbenchError):
    """The agent on the host ended or broke its protocol while the connection may still stand."""

    exit_code = 15


class HostLost(WorkbenchError):
    """The connection to the host broke."""

    exit_code = 16


class HostRefused(WorkbenchError):
    """The host's agent answered a request with an error. `code` is an errno name or `malformed`."""

    exit_code = 17

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class LabImpossible(WorkbenchError):
    """This machine cannot build the lab: no privilege, or the kernel forbids user namespaces."""

    exit_code = 20


class TrafficImpossible(WorkbenchError):
    """The asked test cannot be run by any generator that both hosts have."""

    exit_code = 30


class RunFailed(WorkbenchError):
    """A run was started and gave no valid result; it stands in history with its raw output."""

    exit_code = 31


class HistoryError(WorkbenchError):
    """The history database cannot be read or written."""

    exit_code = 40


class RunNotFound(WorkbenchError):
    """No run of that number in the history."""

    exit_code = 41
