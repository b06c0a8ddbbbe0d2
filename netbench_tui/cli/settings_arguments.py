"""The grammar of the verbs about settings: inspect, get, set, diff, restore. Used by arguments.py."""

import argparse
from collections.abc import Callable

HOST = "a host of ssh_config, user@host:port, `local` or `lab`"
NIC = "a NIC, or `machine`"


def add_settings_verbs(add: Callable[..., argparse.ArgumentParser]) -> None:
    """`add` makes the parser of one verb."""
    _inspect(add("inspect", help="a host as it is: CPUs, NICs, features, queues, IRQs, steering"))
    _get(add("get", help="settings of a NIC or of the machine"))
    _set(add("set", help="change settings, and put them back at the end unless they are kept"))
    _diff(add("diff", help="what differs between two hosts or NICs"))
    _restore(add("restore", help="put back what was changed and kept, or left behind by a crash"))


def _inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", nargs="?", metavar="HOST", help=HOST)
    parser.add_argument("nics", nargs="*", metavar="NIC", help="default: physical and veth NICs that are up")
    parser.add_argument("--root", default="", metavar="DIR", help="read a captured tree, DIR/proc and DIR/sys, instead")
    parser.add_argument("--without", default="", metavar="LIST", help="leave aside netlink, netdev or ioctl")
    parser.add_argument("--paths", action="store_true", help="with which kernel interface gave what")
    _common(parser)


def _get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=HOST)
    parser.add_argument("nic", metavar="NIC|machine", help=NIC)
    parser.add_argument(
        "keys", nargs="*", default=[], metavar="KEY", help="e.g. tso, ring.rx, ring, 'queue.*.rps_cpus'"
    )
    _common(parser)


def _set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=HOST)
    parser.add_argument("nic", metavar="NIC|machine", help=NIC)
    parser.add_argument("wishes", nargs="+", metavar="KEY=VALUE", help="e.g. tso=off ring.rx=4096")
    other = "on a second host too, its NIC the same if not named; with `lab` on both of its hosts"
    parser.add_argument("--both", nargs="?", const="", metavar="HOST2[:NIC2]", help=other)
    parser.add_argument("--keep", action="store_true", help="for good: it stays when the command has ended")
    parser.add_argument("--seconds", type=float, metavar="N", help="put it back after so long")
    parser.add_argument("--all-or-nothing", action="store_true", help="put all back at once if one item is refused")
    _dry_run(parser)
    _common(parser)


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("left", metavar="HOST[:NIC]")
    parser.add_argument("right", metavar="HOST[:NIC]")
    _common(parser)


def _restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", nargs="?", metavar="HOST", help="only on this host, named as it was then")
    _dry_run(parser)
    _common(parser)


def _dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="print it as a shell script and change nothing")


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ask-pass", action="store_true", help="ask for passwords and passphrases on this terminal")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
