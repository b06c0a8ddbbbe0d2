"""Features of a NIC (`ethtool -k`), by the kernel's own names: `feature.tx-tcp-segmentation`.

A row's value is what is wanted, `active` what is in force where that differs: another feature that it needs is off, or
the driver cannot. What is fixed is shown as it is in force. Writing one may move others, also on devices above this.
"""

from . import sources
from .context import Refused

SCOPE, PREFIXES, RANK, RESETS = "device", ("feature.",), 30, True
# A VLAN above loses what it needs of this one; a bond or bridge takes LRO from its members.
REACHES = True
WORDS = ("off", "on")


def read(context, scope):
    found = _reading(context, scope)
    if found is None:
        return []
    name, features = found
    refusal = context.refusal()
    rows = enumerate(features.names)
    return [_row(context, scope, name, features, place, refusal) for place, feature in rows if feature]


def read_one(context, scope, key):
    found = _reading(context, scope)
    place = _place(found[1], key) if found else None
    return None if place is None else _row(context, scope, found[0], found[1], place, context.refusal())


def write(context, scope, key, value):
    if value not in WORDS:
        raise Refused("%s is on or off, not %s" % (key, value))
    found = _reading(context, scope)
    place = _place(found[1], key) if found else None
    if place is None:
        raise Refused("this kernel has no such feature", "ENOENT")
    features = found[1]
    if not features.changeable >> place & 1:
        if value == WORDS[features.active >> place & 1]:
            return
        raise Refused("the driver does not let it change", "EOPNOTSUPP")
    name = features.names[place]
    sources.change(context, lambda source: source.set_feature(scope, name, value == "on"))


def _reading(context, scope):
    return sources.reading(context, scope, "features", lambda source: source.features(scope))


def _place(features, key):
    name = key[len("feature.") :]
    return features.names.index(name) if name and name in features.names else None


def _row(context, scope, via, features, place, refusal):
    active = WORDS[features.active >> place & 1]
    fixed = not features.changeable >> place & 1
    wanted = active if fixed else WORDS[features.wanted >> place & 1]
    return context.row(
        scope,
        "feature." + features.names[place],
        wanted,
        via,
        active=active if active != wanted else None,
        fixed=True if fixed else None,
        refusal=refusal,
    )
