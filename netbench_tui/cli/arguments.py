"""The command line's grammar. Used by main.py.

`netbench-tui alpha beta` has no verb: a first word that is none of the verbs is a host, and the verb is `connect`. A
host that is named like a verb is reached by saying `connect` outright.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from netbench_tui import __version__
from netbench_tui.cli.settings_arguments import add_settings_verbs
from netbench_tui.errors import UsageError
from netbench_tui.model.preset import parse_size

VERBS = ("connect", "lab", "run", "history", "show", "presets", "inspect", "get", "set", "diff", "restore")
# Options of the program itself that take a value, so that the first word can be found behind them.
VALUED = ("-F", "--ssh-config", "--history", "--theme", "--python")
EXAMPLES = """\
examples:
  netbench-tui                          choose two hosts on the Connect screen
  netbench-tui alpha beta               the workbench on two hosts of ~/.ssh/config
  netbench-tui lab                      the workbench on two namespaces of this machine
  netbench-tui run quick-tcp --lab      a run without a screen
  netbench-tui show latest --json       everything that is known of the last run
  netbench-tui inspect alpha            all of a host that decides its network performance
  netbench-tui set alpha eth1 tso=off   changes it, and puts it back at the end
"""


class _Parser(argparse.ArgumentParser):
    """Complains with our own error, so that every failure looks alike. An option cut short could hide a host's name
    from `_first_word`, so none may be."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        verb = self.prog.partition(" ")[2]
        raise UsageError(f"{verb}: {message}" if verb else message, f"see {self.prog} --help")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Raises UsageError; `--help` and `--version` end the program as usual."""
    first = _first_word(words)
    words = list(words)
    if first is not None and words[first] not in VERBS:
        words.insert(first, "connect")
    parsed = _parser().parse_args(words)
    if parsed.verb is None:
        parsed.verb, parsed.hosts = "connect", []
    return parsed


def _first_word(words: Sequence[str]) -> int | None:
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word in VALUED:
            skip = True
        elif not word.startswith("-"):
            return index
    return None


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="netbench-tui",
        description="See, tune and measure the network performance of two Linux hosts from one terminal.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"netbench-tui {__version__}")
    _add_common(parser, None)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
    connect = verbs.add_parser("connect", help="the workbench on two hosts (the verb may be left out)")
    connect.add_argument("hosts", nargs="*", metavar="HOST", help="sender and receiver; `local` is this machine")
    lab = verbs.add_parser("lab", help="the workbench on two network namespaces of this machine")
    _add_lab(lab)
    _add_run(verbs.add_parser("run", help="run a preset without a screen"))
    history = verbs.add_parser("history", help="list the runs that were kept")
    history.add_argument("text", nargs="?", default="", help="only runs whose row holds this text")
    history.add_argument("--limit", type=int, default=50, help="how many, newest first (default: 50)")
    show = verbs.add_parser("show", help="one run of the history")
    show.add_argument("run", metavar="RUN|latest")
    show.add_argument("--output", action="store_true", help="with what the generators printed")
    presets = verbs.add_parser("presets", help="list the presets: those shipped, and your own")
    for verb in (history, show, presets):
        _add_json(verb)
    add_settings_verbs(verbs.add_parser)
    for verb in verbs.choices.values():
        # Behind the verb as well; what is not said there leaves standing what was said before it.
        _add_common(verb, argparse.SUPPRESS)
    return parser


def _add_common(parser: argparse.ArgumentParser, default: str | None) -> None:
    def add(*names: str, **how: Any) -> None:
        parser.add_argument(*names, **({"default": default} | how))

    add("-F", "--ssh-config", metavar="FILE", help="use this ssh_config instead of ~/.ssh/config")
    accept = "write the key of a host that is not known yet to known_hosts instead of refusing it"
    add("--accept-new", action="store_true", help=accept)
    python = "the Python to run the agent with, on HOST or on both"
    add("--python", action="append", type=_python, metavar="[HOST=]PATH", help=python)
    add("--history", metavar="FILE", help="the history database (default: in the XDG data folder)")
    add("--theme", choices=("dark", "light", "okabe"), help="colours of the workbench")


def _add_lab(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queues", type=int, default=4, help="queues of each NIC of the lab (default: 4)")
    parser.add_argument("--mtu", type=int, default=1500, help="MTU of the lab's link (default: 1500)")
    parser.add_argument("--ssh", action="store_true", help="reach the lab's hosts through a real sshd in each")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", help="a preset's name, or a .toml file")
    parser.add_argument("--lab", action="store_true", help="between two namespaces of this machine")
    parser.add_argument("--sender", metavar="HOST", help="`local` is this machine")
    parser.add_argument("--receiver", metavar="HOST")
    parser.add_argument("--sender-nic", metavar="NIC", help="the NIC that sends, with --receiver-nic (default: chosen)")
    parser.add_argument("--receiver-nic", metavar="NIC")
    parser.add_argument("--ask-pass", action="store_true", help="ask for passwords and passphrases on this terminal")
    _add_lab(parser)
    traffic = parser.add_argument_group("instead of what the preset says")
    traffic.add_argument("--streams", type=int)
    traffic.add_argument("--seconds", type=float)
    traffic.add_argument("--message-bytes", type=_size, metavar="SIZE", help="e.g. 1448 or 128K")
    traffic.add_argument("--ip-version", type=int, choices=(4, 6))
    traffic.add_argument("--generator", help="auto, iperf3 or builtin")
    _add_json(parser)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _python(word: str) -> tuple[str, str]:
    """`HOST=PATH`, or `PATH` for every host, as (host, path); the host of the latter is empty."""
    host, equals, path = word.rpartition("=")
    if not path or (equals and not host):
        raise argparse.ArgumentTypeError(f"{word!r}: write PATH or HOST=PATH")
    return host, path


def _size(text: str) -> int:
    try:
        return parse_size(int(text) if text.isdigit() else text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
