"""What rings.py and coalesce.py share: parts of a NIC whose settings are numbers, or words for numbers, with limits.

Whether a number may be written is the kernel's word, not ours: limits are for screens.
"""

import re

from . import sources
from .context import Refused

ON_OFF = ("off", "on")
# In the order of the numbers that they stand for.
WORDS = {
    "ring.tcp-data-split": ("auto", "off", "on"),
    "ring.tx-push": ON_OFF,
    "ring.rx-push": ON_OFF,
    "coalesce.adaptive-rx": ON_OFF,
    "coalesce.adaptive-tx": ON_OFF,
    "coalesce.cqe-mode-rx": ON_OFF,
    "coalesce.cqe-mode-tx": ON_OFF,
    "pause.autoneg": ON_OFF,
    "pause.rx": ON_OFF,
    "pause.tx": ON_OFF,
}
LARGEST = 0xFFFFFFFF
DECIMAL = re.compile(r"[0-9]+\Z")


def read(context, scope, part):
    found = reading(context, scope, part)
    if found is None:
        return []
    via, numbers = found
    refusal = context.refusal()
    return [_row(context, scope, "%s.%s" % (part, name), via, pair, refusal) for name, pair in numbers.items()]


def read_one(context, scope, key):
    part, _dot, name = key.partition(".")
    found = reading(context, scope, part)
    if found is None or name not in found[1]:
        return None
    return _row(context, scope, key, found[0], found[1][name], context.refusal())


def write(context, scope, key, value, along=()):
    """Sets one number, and the pairs of (name, number) that must change in the same breath."""
    part, _dot, name = key.partition(".")
    number, found = _number(key, value), reading(context, scope, part)
    if found is None or name not in found[1]:
        raise Refused("this NIC has no %s" % key, "EOPNOTSUPP")
    values = dict(along)
    values[name] = number
    sources.change(context, lambda source: source.set_numbers(part, scope, values))


def reading(context, scope, part):
    """(interface, {name: (number, most)}), or None."""
    return sources.reading(context, scope, part, lambda source: source.numbers(part, scope))


def _number(key, value):
    words = WORDS.get(key)
    if words:
        if value not in words:
            raise Refused("%s is one of %s, not %s" % (key, ", ".join(words), value))
        return words.index(value)
    if not DECIMAL.match(value):
        raise Refused("%s is a number, not %s" % (key, value))
    if int(value) > LARGEST:
        raise Refused("%s: more than the kernel can take" % value, "ERANGE")
    return int(value)


def _row(context, scope, key, via, pair, refusal):
    number, most = pair
    words = WORDS.get(key, ())
    return context.row(
        scope,
        key,
        words[number] if number < len(words) else str(number),
        via,
        minimum=None if most is None else 0,
        maximum=most,
        choices=words if words and words != ON_OFF else None,
        refusal=refusal,
    )
