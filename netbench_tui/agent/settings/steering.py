"""RPS, RFS, XPS and byte queue limits of a NIC's queues, from /sys/class/net/NIC/queues.

`queue.rx-0.rps_cpus`, `queue.rx-0.rps_flow_cnt`, `queue.tx-0.xps_cpus`, `queue.tx-0.xps_rxqs` and
`queue.tx-0.bql_limit_max`, `.bql_limit_min` (bytes). Sets are lists such as `0-3,8`, `none` where empty.
"""

import re

from ..reading import format_list, format_mask, parse_mask
from .context import Refused
from .cpulists import wanted_cpus
from .privileges import only_on_the_host

SCOPE, PREFIXES, RANK, RESETS = "device", ("queue.",), 70, False
NET = "sys/class/net"
SETS = {"rps_cpus": "rps_cpus", "xps_cpus": "xps_cpus", "xps_rxqs": "xps_rxqs"}
NUMBERS = {
    "rps_flow_cnt": "rps_flow_cnt",
    "bql_limit_max": "byte_queue_limits/limit_max",
    "bql_limit_min": "byte_queue_limits/limit_min",
}
OF_KIND = {
    "rx": ("rps_cpus", "rps_flow_cnt"),
    "tx": ("xps_cpus", "xps_rxqs", "bql_limit_max", "bql_limit_min"),
}
SUFFIXES = tuple("." + name for names in OF_KIND.values() for name in names)
KEY = re.compile(r"queue\.((rx|tx)-\d+)\.([a-z_]+)\Z")
QUEUE = re.compile(r"(rx|tx)-(\d+)\Z")
# The kernel wants the privilege for these on the host itself, not in a user namespace.
OF_THE_HOST = ("rps_cpus", "rps_flow_cnt", "xps_cpus")


def read(context, scope):
    entries = filter(None, (QUEUE.match(name) for name in context.root.names(NET, scope, "queues")))
    ordered = sorted((found.group(1), int(found.group(2)), found.group(0)) for found in entries)
    rows = (_row(context, scope, queue, name) for kind, _, queue in ordered for name in OF_KIND[kind])
    return [row for row in rows if row is not None]


def read_one(context, scope, key):
    queue, name = _place(key)
    return _row(context, scope, queue, name)


def write(context, scope, key, value):
    queue, name = _place(key)
    if name in SETS:
        text = format_mask(wanted_cpus(value))
    elif value.isdecimal():
        text = value
    else:
        raise Refused("%s: no number" % value)
    context.write_file(_path(scope, queue, name), text)


def _place(key):
    matched = KEY.match(key)
    if not matched or matched.group(3) not in OF_KIND[matched.group(2)]:
        raise Refused("%s: no such setting of a queue" % key, "ENOENT")
    return matched.group(1), matched.group(3)


def _path(scope, queue, name):
    return "%s/%s/queues/%s/%s" % (NET, scope, queue, SETS.get(name) or NUMBERS[name])


def _row(context, scope, queue, name):
    """None where there is no such file, or the kernel has nothing to say: XPS needs more than one queue."""
    path = _path(scope, queue, name)
    text = context.root.text(path)
    if not text:
        return None
    value = format_list(parse_mask(text)) if name in SETS else text
    refusal = context.refusal(path) or (only_on_the_host(context) if name in OF_THE_HOST else None)
    return context.row(scope, "queue.%s.%s" % (queue, name), value, "sysfs", refusal=refusal)
