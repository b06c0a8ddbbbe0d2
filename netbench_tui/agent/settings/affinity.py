"""Which CPUs a NIC's interrupts may go to. An interrupt is named by what it serves, never by its number.

`queue.rx-0.irq_affinity` is the interrupt of that queue. One that serves several queues has one key, that of its first
receive queue, else of its first transmit queue; the others get no row. An interrupt that serves no queue is named by
its action: `irq.config.irq_affinity`. The number is found anew at each look and write.
"""

from ..queues import irqs, names
from ..queues.wiring import wiring
from ..reading import format_list
from .context import Refused
from .cpulists import wanted_cpus

SCOPE, PREFIXES, RANK, RESETS = "device", ("queue.", "irq."), 60, False
SUFFIXES = (".irq_affinity",)


def read(context, scope):
    rows = (_row(context, scope, key, number) for key, number in places(context, scope).items())
    return [row for row in rows if row is not None]


def read_one(context, scope, key):
    number = places(context, scope).get(key)
    return None if number is None else _row(context, scope, key, number)


def write(context, scope, key, value):
    number = places(context, scope).get(key)
    if number is None:
        raise Refused("%s: no such interrupt of %s" % (key, scope), "ENOENT")
    cpus = wanted_cpus(value)
    if not cpus:
        raise Refused("an interrupt needs a CPU to go to")
    context.write_file(_path(number), format_list(cpus))


def places(context, scope):
    """{key: interrupt number}, the queues' first."""
    wires = wiring(context, scope)
    if wires.places is None:
        wires.places = _places(wires, scope)
    return wires.places


def _places(wires, scope):
    found, taken = {}, set()
    for queue in wires.queues:
        if queue["irq"] and queue["irq"] not in taken:
            taken.add(queue["irq"])
            found["queue.%s.irq_affinity" % queue["name"]] = queue["irq"]
    for number in wires.numbers:
        if number in taken:
            continue
        actions = names.whole_names(wires.actions[number], scope)
        if actions:
            found.setdefault("irq.%s.irq_affinity" % names.label(actions[0], scope), number)
    return found


def _path(number):
    return "%s/%d/smp_affinity_list" % (irqs.PROC, number)


def _row(context, scope, key, number):
    found = irqs.row(context.root, number, counted=False)
    if not found["wanted"]:
        return None
    value = found["wanted"]
    active = found["effective"] or value
    refusal = "managed by the kernel" if found["managed"] else context.refusal(_path(number))
    return context.row(
        scope,
        key,
        value,
        "procfs",
        active=active if active != value else None,
        fixed=True if found["managed"] else None,
        refusal=refusal,
    )
