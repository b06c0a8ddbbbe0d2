"""Which interrupt serves which queue of a NIC, and how that is known. Used by queue_map.py, watching.py and
settings/affinity.py.

The kernel's netdev family says it where driver and kernel are new enough; else the interrupts' names tell; else there
is one line for all. Asking again costs two folder listings as long as neither queues nor interrupts changed.
"""

import os
import re

from ..kernel import netdev
from ..kernel.genetlink import Genetlink
from ..settings.context import NETDEV
from . import irqs, names

NET = "sys/class/net"
QUEUE = re.compile(r"(rx|tx)-(\d+)\Z")


class Wiring(object):
    """`queues` are rows as of model Queue, receive queues first; `numbers` the NIC's interrupts, `actions` their names
    by number, `index` the interface's, `places` what settings/affinity.py made of them. Stays in a context's memory
    when readings are forgotten, since it is checked at each use."""

    keep = True

    def __init__(self, context, nic, sign):
        self.sign, self.places = sign, None
        self.numbers, _, self.index = sign
        listed = irqs.from_interrupts(context.root) if not context.root.is_folder(irqs.KERNEL) else {}
        self.actions = {number: irqs.actions_of(context.root, number) for number in self.numbers}
        self.actions.update((number, listed[number]["actions"]) for number in self.numbers if number in listed)
        self.queues = _queues(context, nic, sign)
        _join(self, nic, driver_of(context.root, nic))

    def close(self):
        pass

    def serving(self, number):
        """The names of the queues that an interrupt serves."""
        return [queue["name"] for queue in self.queues if queue["irq"] == number]


def wiring(context, nic):
    """The NIC's wiring as it is now."""
    root = context.root
    sign = (tuple(irqs.numbers_of(root, nic)), tuple(root.names(NET, nic, "queues")), root.number(NET, nic, "ifindex"))
    known = context.memory.get(("wiring", nic))
    if known is None or known.sign != sign:
        known = context.memory[("wiring", nic)] = Wiring(context, nic, sign)
    return known


def driver_of(root, nic):
    return os.path.basename(root.target(NET, nic, "device/driver") or "")


def genetlink(context):
    """This pass's netlink socket; OSError where netlink may not be used."""
    return context.once("genetlink", Genetlink)


def _queues(context, nic, sign):
    found, (_, entries, index) = {}, sign
    for entry in entries:
        matched = QUEUE.match(entry)
        if matched:
            found[entry] = _queue(entry, matched.group(1), int(matched.group(2)))
    context.paths["%s: queues" % nic] = "sysfs"
    for row in _by_netdev(context, nic, index):
        queue = found.setdefault(row["name"], _queue(row["name"], row["kind"], row["index"]))
        queue.update({key: row[key] for key in ("napi", "irq", "irq_by") if row[key]})
    return sorted(found.values(), key=lambda queue: (queue["kind"], queue["index"]))


def _queue(name, kind, index):
    return {"name": name, "kind": kind, "index": index, "napi": None, "irq": None, "irq_by": ""}


def _by_netdev(context, nic, index):
    if index is None or not context.may(NETDEV):
        return []
    try:
        rows = netdev.queues(genetlink(context), index)
        lines = {napi: found["irq"] for napi, found in netdev.napis(genetlink(context), index).items()}
    except OSError:
        return []
    if rows:
        context.paths["%s: queues" % nic] = "netdev"
    for row in rows:
        row["irq"] = lines.get(row["napi"])
        row["irq_by"] = "netdev" if row["irq"] else ""
    return rows


def _join(found, nic, driver):
    """Gives a queue without an interrupt that of its name, else the line that serves all."""
    rows = [{"number": number, "actions": found.actions[number]} for number in found.numbers]
    named = names.queues_by_name(rows, nic, driver)
    line = None if named else names.line_of(rows, nic)
    for queue in found.queues:
        if queue["irq"]:
            continue
        if queue["name"] in named:
            queue.update({"irq": named[queue["name"]], "irq_by": "name"})
        elif line is not None:
            queue.update({"irq": line, "irq_by": "line"})
