"""MTU and transmit queue length of a NIC, with the limits that its driver names: `mtu`, `txqueuelen`.

From rtnetlink; from sysfs, without limits, where a sandbox or a captured tree has no rtnetlink.
"""

from ..kernel.rtnetlink import Route
from . import limits
from .context import Refused

SCOPE, PREFIXES, RANK, RESETS = "device", ("mtu", "txqueuelen"), 20, True
# A VLAN above gives way when the MTU is lowered, and stays there; a bond passes it on to its members.
REACHES = True
NET = "sys/class/net"
FILES = {"mtu": "mtu", "txqueuelen": "tx_queue_len"}
LARGEST = 0x7FFFFFFF


def route_of(context):
    """The pass's rtnetlink socket; OSError where a sandbox allows none."""
    return context.once("rtnetlink", Route)


def link_of(context, scope):
    """The link's numbers, once in a pass."""
    return context.once(("link", scope), lambda: route_of(context).link(scope))


def read(context, scope):
    return [row for row in (read_one(context, scope, key) for key in FILES) if row is not None]


def read_one(context, scope, key):
    if key not in FILES:
        return None
    link = {}
    if context.live:
        try:
            link = link_of(context, scope)
        except OSError:
            pass  # sysfs tells the same, less the limits; a NIC that is gone is missing there as well
    via = "rtnetlink" if link else "sysfs"
    value = link.get(key) if link else context.root.number(NET, scope, FILES[key])
    if value is None:
        return None
    context.paths["%s: %s" % (scope, key)] = via
    bounds = {"minimum": link.get("min_mtu"), "maximum": link.get("max_mtu")} if key == "mtu" else {}
    return context.row(scope, key, str(value), via, refusal=context.refusal(), **bounds)


def write(context, scope, key, value):
    if key not in FILES:
        raise Refused("%s: no such setting of a NIC" % key, "ENOENT")
    if not limits.DECIMAL.match(value) or int(value) > LARGEST:
        raise Refused("%s is a number, not %s" % (key, value))
    if not context.live:
        raise Refused("a captured tree cannot be changed", "EROFS")
    try:
        index = link_of(context, scope)["index"]
    except PermissionError:
        context.write_file("%s/%s/%s" % (NET, scope, FILES[key]), value)
        return
    route_of(context).set_link(index, **{key: int(value)})
