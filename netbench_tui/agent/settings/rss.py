"""Receive-side scaling of a NIC (`ethtool -x`): `rss.indirection`, `rss.key`, `rss.hash_function`.

A table is written `equal N` where its entries count 0, 1, .. N-1, 0, 1, .., otherwise as runs `0*32,1*32` (`0,3*2` for
0, 3, 3); `default` writes the driver's own.
"""

import re

from ..kernel.ethtool_ioctl import EthtoolIoctl
from ..kernel.ethtool_names import SET_HASH_FUNCTIONS
from . import sources
from .context import IOCTL, Refused

SCOPE, PREFIXES, RANK, RESETS = "device", ("rss.",), 50, False
EQUAL = re.compile(r"equal +([0-9]{1,9})\Z")
RUN = re.compile(r"([0-9]{1,9})(?:\*([0-9]{1,9}))?\Z")
KEY = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2})*\Z")


def read(context, scope):
    found = reading(context, scope)
    if found is None:
        return []
    via, (indirection, key, function, names) = found
    rows, refusal = [], context.refusal()

    def add(name, value, **more):
        rows.append(context.row(scope, "rss." + name, value, via, refusal=refusal, **more))

    if indirection:
        add("indirection", table_text(indirection))
    if key:
        add("key", ":".join("%02x" % byte for byte in bytearray(key)))
    if function:
        add("hash_function", function_name(function, names), choices=names)
    return rows


def read_one(context, scope, key):
    return next((row for row in read(context, scope) if row["key"] == key), None)


def write(context, scope, key, value):
    row, found = read_one(context, scope, key), reading(context, scope)
    if row is None:
        raise Refused("this NIC has no %s" % key, "EOPNOTSUPP")
    indirection, old_key, _function, names = found[1]
    if key == "rss.indirection":
        wanted = {"indirection": _table(context, scope, value, len(indirection))}
    elif key == "rss.key":
        wanted = {"key": _key(value, len(old_key))}
    elif value in names:
        wanted = {"function": 1 << names.index(value)}
    else:
        raise Refused("no such hash function here: %s (there are %s)" % (value, ", ".join(names)))
    sources.change(context, lambda source: source.set_rss(scope, **wanted))


def table_text(table):
    """The canonical text of an indirection table."""
    queues = max(table) + 1
    if all(queue == place % queues for place, queue in enumerate(table)):
        return "equal %d" % queues
    runs = []
    for queue in table:
        if runs and runs[-1][0] == queue:
            runs[-1][1] += 1
        else:
            runs.append([queue, 1])
    return ",".join("%d*%d" % (queue, count) if count > 1 else "%d" % queue for queue, count in runs)


def parse_table(text, entries):
    """The table of that many entries; Refused where the text is none."""
    equal = EQUAL.match(text)
    if equal and 0 < int(equal.group(1)) <= entries:
        return [place % int(equal.group(1)) for place in range(entries)]
    runs = [RUN.match(part.strip()) for part in text.split(",")]
    if not all(runs):
        raise Refused("a table is `equal N` (at most %d), `default`, or runs such as 0*32,1*32" % entries)
    counts = [int(run.group(2) or 1) for run in runs]
    if sum(counts) != entries:
        raise Refused("the table has %d entries, not %d" % (entries, sum(counts)))
    return [int(run.group(1)) for run, count in zip(runs, counts) for _ in range(count)]


def _table(context, scope, text, entries):
    """An empty one is the driver's default: all rings equally. It is written as such, since a table of one's own keeps
    the number of channels from being lowered later."""
    if text == "default":
        return []
    table = parse_table(text, entries)
    if table == [place % (rings(context, scope) or entries + 1) for place in range(entries)]:
        return []
    return table


def rings(context, scope):
    """How many rings there are to spread over, which only the ioctl says; None where nobody does."""
    if not context.may(IOCTL):
        return None
    try:
        return context.once("ethtool_ioctl", EthtoolIoctl).receive_rings(scope)
    except OSError:
        return None


def _key(text, size):
    if not KEY.match(text.lower()):
        raise Refused("a key is bytes in hexadecimal with colons, such as 6d:5a:56:da")
    raw = bytes(bytearray(int(byte, 16) for byte in text.split(":")))
    if len(raw) != size:
        raise Refused("the key has %d bytes, not %d" % (size, len(raw)))
    return raw


def function_name(function, names):
    place = function.bit_length() - 1
    return names[place] if place < len(names) else "function %d" % place


def reading(context, scope):
    """(kernel interface, (indirection, key, function, names of functions)), once in a pass; None where there is none.
    queues/ shows the same."""

    def ask(source):
        return source.rss(scope) + (source.kernel_strings(scope, SET_HASH_FUNCTIONS),)

    return sources.reading(context, scope, "rss", ask)
