"""Interrupt coalescing and pause frames (`ethtool -c`, `ethtool -a`), by ethtool's names: `coalesce.rx-usecs`.

While coalescing is adaptive the driver overwrites the numbers of that direction, so writing one switches it off.
"""

import re

from . import limits

SCOPE, PREFIXES, RANK, RESETS = "device", ("coalesce.", "pause."), 40, True
# Numbers that adaptive coalescing sets by itself. Its own bounds (-low, -high) and those of other means are not.
GOVERNED = re.compile(r"coalesce\.(rx|tx)-(?:usecs|frames)\Z")


def read(context, scope):
    return limits.read(context, scope, "coalesce") + limits.read(context, scope, "pause")


read_one = limits.read_one


def write(context, scope, key, value):
    governed, along = GOVERNED.match(key), []
    if governed:
        adaptive = "adaptive-" + governed.group(1)
        found = limits.reading(context, scope, "coalesce")
        if found and found[1].get(adaptive, (0, None))[0]:
            along = [(adaptive, 0)]
    limits.write(context, scope, key, value, along)
