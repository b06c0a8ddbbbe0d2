"""The kernel's `netdev` family: queues, NAPI instances with their IRQs, and counters per queue. Used by queues/.

Linux 6.7 and later, and more of it with each; where there is none every call raises OSError ENOENT. Layouts:
linux/netdev.h. What a kernel or a driver does not tell is None or left out.
"""

from .netlink import attribute, integer

FAMILY = "netdev"
QUEUE_GET, NAPI_GET, QSTATS_GET = 10, 11, 12
QUEUE_ID, QUEUE_IFINDEX, QUEUE_TYPE, QUEUE_NAPI_ID = 1, 2, 3, 4
NAPI_IFINDEX, NAPI_ID, NAPI_IRQ, NAPI_PID = 1, 2, 3, 4
NAPI_DEFER_HARD_IRQS, NAPI_GRO_FLUSH_TIMEOUT, NAPI_THREADED = 5, 6, 8
QSTATS_IFINDEX, QSTATS_QUEUE_TYPE, QSTATS_QUEUE_ID, QSTATS_SCOPE = 1, 2, 3, 4
QSTATS_RX_PACKETS, QSTATS_RX_BYTES, QSTATS_TX_PACKETS, QSTATS_TX_BYTES = 8, 9, 10, 11
SCOPE_QUEUE = 1
KINDS = {0: "rx", 1: "tx"}


def queues(genetlink, index):
    """[{"name", "kind", "index", "napi"}] of an interface, in the kernel's order."""
    found = []
    for values in genetlink.dump(FAMILY, QUEUE_GET, [attribute(QUEUE_IFINDEX, index)]):
        kind, number = KINDS.get(_number(values, QUEUE_TYPE)), _number(values, QUEUE_ID)
        if kind is not None and number is not None:
            name = "%s-%d" % (kind, number)
            found.append({"name": name, "kind": kind, "index": number, "napi": _number(values, QUEUE_NAPI_ID)})
    return found


def napis(genetlink, index):
    """{NAPI id: {"irq", "pid", "defer_hard_irqs", "gro_flush_timeout", "threaded"}} of an interface."""
    names = {
        NAPI_IRQ: "irq",
        NAPI_PID: "pid",
        NAPI_DEFER_HARD_IRQS: "defer_hard_irqs",
        NAPI_GRO_FLUSH_TIMEOUT: "gro_flush_timeout",
        NAPI_THREADED: "threaded",
    }
    found = {}
    for values in genetlink.dump(FAMILY, NAPI_GET, [attribute(NAPI_IFINDEX, index)]):
        found[_number(values, NAPI_ID)] = {name: _number(values, kind) for kind, name in names.items()}
    found.pop(None, None)
    return found


def queue_counters(genetlink, index):
    """{"rx-0": [packets, bytes]} since the queue was made; OSError EOPNOTSUPP where the driver counts by NIC only."""
    request = [attribute(QSTATS_IFINDEX, index), attribute(QSTATS_SCOPE, SCOPE_QUEUE)]
    kinds = {"rx": (QSTATS_RX_PACKETS, QSTATS_RX_BYTES), "tx": (QSTATS_TX_PACKETS, QSTATS_TX_BYTES)}
    found = {}
    for values in genetlink.dump(FAMILY, QSTATS_GET, request):
        kind, number = KINDS.get(_number(values, QSTATS_QUEUE_TYPE)), _number(values, QSTATS_QUEUE_ID)
        if kind is None or number is None:
            continue
        packets, size = (_number(values, item) for item in kinds[kind])
        if packets is not None and size is not None:
            found["%s-%d" % (kind, number)] = [packets, size]
    return found


def _number(values, kind):
    return integer(values[kind]) if kind in values else None
