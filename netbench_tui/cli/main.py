"""Dispatches a verb, and turns every expected failure into a sentence and an exit code. Entry of the program."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from netbench_tui.cli.arguments import parse
from netbench_tui.cli.terminal import complain, speak_any_locale
from netbench_tui.errors import UsageError, WorkbenchError
from netbench_tui.model.session import HostTarget, LabTarget, PairTarget, Reach, Target

# What `lab` and `HOST HOST` run where there is no terminal to draw on.
DEFAULT_PRESET = "quick-tcp"
THIS_MACHINE = "local"
INTERRUPTED_EXIT = 130
SETTINGS_VERBS = ("inspect", "get", "set", "diff", "restore")


def run(words: Sequence[str]) -> int:
    """The whole program; returns its exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, _terminate)
    speak_any_locale()
    try:
        code = _dispatch(parse(words))
        # Here and not at the interpreter's end, where a reader that is gone could no longer be handled.
        sys.stdout.flush()
        return code
    except WorkbenchError as error:
        complain("netbench-tui: ", error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does; Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _terminate(number: int, frame: FrameType | None) -> None:
    """Unwinds like an error, so that the hosts are let go and the lab is removed."""
    raise SystemExit(128 + number)


def _dispatch(arguments: argparse.Namespace) -> int:
    if arguments.verb in ("history", "show", "presets"):
        from netbench_tui.cli import reports

        return reports.report(arguments, history_file(arguments))
    if arguments.verb == "run":
        from netbench_tui.cli.headless import run_preset

        return run_preset(arguments.preset, _run_target(arguments), arguments, history_file(arguments))
    if arguments.verb in SETTINGS_VERBS:
        return _settings(arguments)
    target = _lab(arguments) if arguments.verb == "lab" else _pair(arguments.hosts)
    if sys.stdin.isatty() and sys.stderr.isatty():
        from netbench_tui.cli.workbench import open_workbench

        return open_workbench(target, arguments, history_file(arguments))
    if target is None:
        raise UsageError("there is no terminal to draw on", "name two hosts or `lab`, or use a verb such as run")
    from netbench_tui.cli.headless import run_preset

    return run_preset(DEFAULT_PRESET, target, arguments, history_file(arguments))


def _settings(arguments: argparse.Namespace) -> int:
    """Each verb's module is imported when it is asked for: the others need not wait for it."""
    history = history_file(arguments)
    if arguments.verb == "inspect":
        from netbench_tui.cli.inspecting import inspect_host as act
    elif arguments.verb == "get":
        from netbench_tui.cli.settings_verbs import get_settings as act
    elif arguments.verb == "diff":
        from netbench_tui.cli.settings_verbs import diff_hosts as act
    elif arguments.verb == "set":
        from netbench_tui.cli.changing import set_settings as act
    else:
        from netbench_tui.cli.restoring import restore_changes as act
    return act(arguments, history)


def history_file(arguments: argparse.Namespace) -> Path:
    from netbench_tui.config import history_path

    return Path(arguments.history) if arguments.history else history_path()


def _lab(arguments: argparse.Namespace) -> LabTarget:
    if not 1 <= arguments.queues <= 64:
        raise UsageError(f"--queues {arguments.queues}: a lab NIC has 1 to 64 queues")
    if not 1280 <= arguments.mtu <= 65535:
        raise UsageError(f"--mtu {arguments.mtu}: 1280 (the least that IPv6 allows) to 65535")
    return LabTarget(arguments.queues, arguments.mtu, arguments.ssh)


def _pair(hosts: Sequence[str]) -> Target | None:
    if not hosts:
        return None
    if len(hosts) != 2:
        raise UsageError(f"{len(hosts)} host given: a sender and a receiver are needed", "netbench-tui SENDER RECEIVER")
    return PairTarget(host_target(hosts[0]), host_target(hosts[1]))


def host_target(name: str) -> HostTarget:
    """`local` is this machine, anything else an SSH host."""
    return HostTarget(name, Reach.LOCAL if name == THIS_MACHINE else Reach.SSH)


def _run_target(arguments: argparse.Namespace) -> Target:
    named = [host for host in (arguments.sender, arguments.receiver) if host]
    if arguments.lab and not named:
        return _lab(arguments)
    if arguments.lab or len(named) != 2:
        raise UsageError("say where to run", "either --lab, or --sender HOST --receiver HOST")
    target = _pair(named)
    assert target
    return target
