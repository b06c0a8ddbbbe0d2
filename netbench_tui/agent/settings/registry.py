"""Finds the module that knows a setting. Used by main.py (op `settings`) and by changes/.

A module of this folder that knows a kind of setting has

    SCOPE        "device" or "machine": where its keys live
    PREFIXES     its keys begin with one of these
    SUFFIXES     and end with one of these, where several modules share a prefix; may be left out
    RANK         order of writing: lower first (what makes or resets others goes before them)
    RESETS       True if writing it may move settings of other modules on the same device
    REACHES      True if writing it may move its own settings of NICs above and below; may be left out
    read(context, scope)                     rows of all its settings of that scope, made by Context.row
    read_one(context, scope, key)            one row, or None where there is no such setting
    write(context, scope, key, value)        raises OSError with the kernel's errno, or Refused
"""

import errno

from . import (
    affinity,
    coalesce,
    cpu,
    features,
    irqbalance,
    irqbalance_service,
    link,
    napi,
    qdisc,
    rings,
    rss,
    steering,
    sysctl,
)
from .context import MACHINE as MACHINE
from .context import Refused

# In the order in which a screen lists them.
KINDS = (
    features,
    rings,
    coalesce,
    rss,
    link,
    qdisc,
    steering,
    affinity,
    napi,
    irqbalance,
    irqbalance_service,
    sysctl,
    cpu,
)


def kind_of(scope, key):
    """The module for a key; raises Refused where there is none."""
    where = "machine" if scope == MACHINE else "device"
    for kind in KINDS:
        if where == kind.SCOPE and key.startswith(kind.PREFIXES) and key.endswith(getattr(kind, "SUFFIXES", "")):
            return kind
    raise Refused("%s: no such setting of a %s" % (key, where), "ENOENT")


def read_scope(context, scope):
    """All settings of a NIC or of the machine. A kind that fails becomes a note: it must not hide the others."""
    rows, where = [], "machine" if scope == MACHINE else "device"
    for kind in KINDS:
        if where != kind.SCOPE:
            continue
        try:
            rows.extend(kind.read(context, scope))
        except Exception as error:
            name = kind.__name__.rpartition(".")[2]
            context.notes.append("%s: %s: %s: %s" % (scope, name, type(error).__name__, error))
    return rows


def read_one(context, scope, key):
    """One setting's row; None where the host has no such one, or no such NIC (any more)."""
    try:
        return kind_of(scope, key).read_one(context, scope, key)
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
        return None


def write(context, scope, key, value):
    """Writes and forgets what was read. Raises OSError or Refused."""
    try:
        kind_of(scope, key).write(context, scope, key, value)
    finally:
        context.forget()
