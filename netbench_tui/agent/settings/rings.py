"""Rings and channels of a NIC (`ethtool -g`, `ethtool -l`), by ethtool's names: `ring.rx`, `channels.combined`.

Drivers take the device down and up for these, and may reset affinities, steering and RSS: they are written first.
"""

from . import limits

SCOPE, PREFIXES, RANK, RESETS = "device", ("ring.", "channels."), 10, True


def read(context, scope):
    return limits.read(context, scope, "ring") + limits.read(context, scope, "channels")


read_one, write = limits.read_one, limits.write
