"""Which of a NIC's interrupts irqbalance leaves alone: `irqbalance.ban` is `all`, `none`, or what they serve, with
commas between: `rx-0,rx-1,config`. There is such a setting only while irqbalance runs.

An interrupt's name is that of its key in affinity.py. The bans of other interrupts stay as they are.
"""

from . import affinity, irqbalance_daemon
from .context import Refused

SCOPE, PREFIXES, RANK, RESETS = "device", ("irqbalance.",), 55, False
KEY = "irqbalance.ban"
SUFFIX = ".irq_affinity"


def read(context, scope):
    row = read_one(context, scope, KEY)
    return [] if row is None else [row]


def read_one(context, scope, key):
    if key != KEY:
        raise Refused("%s: no such setting of a NIC" % key, "ENOENT")
    lines, pid = labels(context, scope), _pid(context)
    if pid is None or not lines:
        return None
    try:
        banned = set(context.once("irqbalance bans", lambda: irqbalance_daemon.banned(pid)))
    except OSError as error:
        context.notes.append("irqbalance: %s" % (error.strerror or error))
        return None
    chosen = [label for label, number in lines.items() if number in banned]
    value = "all" if len(chosen) == len(lines) else ",".join(chosen) or "none"
    return context.row(scope, KEY, value, "socket", choices=["all", "none"], refusal=context.refusal(machine=True))


def write(context, scope, key, value):
    if key != KEY:
        raise Refused("%s: no such setting of a NIC" % key, "ENOENT")
    if context.protect:
        raise Refused(context.protect, "EPERM")
    pid, lines = _pid(context), labels(context, scope)
    if pid is None:
        raise Refused("irqbalance does not run", "ESRCH")
    wanted = {"all": list(lines), "none": []}.get(value, value.split(","))
    unknown = [label for label in wanted if label not in lines]
    if unknown:
        raise Refused("%s: no such interrupt of %s" % (", ".join(unknown), scope))
    others = set(irqbalance_daemon.banned(pid)) - set(lines.values())
    irqbalance_daemon.ban(pid, others | {lines[label] for label in wanted})


def labels(context, scope):
    """{label: interrupt number} of a NIC: the middle of its key in affinity.py."""
    places = affinity.places(context, scope)
    return {key.partition(".")[2][: -len(SUFFIX)].replace(",", " "): number for key, number in places.items()}


def _pid(context):
    return context.once("irqbalance", lambda: irqbalance_daemon.running(context.root)) if context.live else None
