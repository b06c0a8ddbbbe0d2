"""A NIC's way from the wire to the CPUs: answers the `queues` request. Rows have the fields of model/setting.py."""

from ..settings import rss
from . import irqs, pcie
from .wiring import NET, wiring


def read(context, nic):
    """Everything as a dict; a virtual NIC has its own queues and no interrupts: `notes` name whose they are then."""
    found = wiring(context, nic)
    root = context.root
    listed = irqs.from_interrupts(root) if found.numbers and not root.is_folder(irqs.KERNEL) else None
    numbers = sorted(set(found.numbers) | {queue["irq"] for queue in found.queues if queue["irq"]})
    below = sorted(entry[len("lower_") :] for entry in root.names(NET, nic) if entry.startswith("lower_"))
    if below and not numbers:
        context.notes.append("%s: the interrupts are those of %s" % (nic, ", ".join(below)))
    if not root.is_folder(NET, nic):
        context.notes.append("%s: no such NIC" % nic)
    return {
        "queues": found.queues,
        "irqs": [irqs.row(root, number, listed) for number in numbers],
        "rss": _rss(context, nic),
        "pcie": pcie.read(root, nic),
    }


def _rss(context, nic):
    """The NIC's indirection table as a dict; None where it has none."""
    found = rss.reading(context, nic)
    if found is None or not (found[1][0] or found[1][1]):
        return None
    via, (indirection, key, function, functions) = found
    return {
        "indirection": list(indirection),
        "key": ":".join("%02x" % byte for byte in bytearray(key)),
        "hash_function": rss.function_name(function, functions) if function else "",
        "rings": rss.rings(context, nic) or 0,
        "via": via,
    }
