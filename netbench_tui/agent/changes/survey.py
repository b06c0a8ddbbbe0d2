"""Reading and writing settings for a transaction: what may move with a change is read with it. Used by applying.py and
putting_back.py."""

import errno
import os

from ..nics import neighbours
from ..reading import parse_list
from ..settings.context import MACHINE, Refused

# Values that are sets of CPUs or queues: `2,0-1` is the same wish as `0-2`.
SETS = (".irq_affinity", ".rps_cpus", ".xps_cpus", ".xps_rxqs")
EMPTY = "none"


class Survey(object):
    """Looks at the given places and at everything that a change of them may move: all settings of the device where a
    kind RESETS, of that kind on that scope elsewhere; with a kind that REACHES others, theirs of that kind as well.
    `failed` holds the (scope, kind) that could not be read last."""

    def __init__(self, registry, context, places):
        self.registry, self.context = registry, context
        self.places = []
        self.parts = []
        self.failed = set()
        for scope, key in places:
            try:
                kind = registry.kind_of(scope, key)
            except Refused:
                continue
            self.places.append((scope, key))
            self._cover(scope, kind)

    def _cover(self, scope, kind):
        where = "machine" if scope == MACHINE else "device"
        kinds = [each for each in self.registry.KINDS if where == each.SCOPE] if kind.RESETS else [kind]
        parts = [(scope, each) for each in kinds]
        if getattr(kind, "REACHES", False):
            parts += [(other, kind) for other in neighbours(self.context.root, scope)]
        self.parts.extend(part for part in parts if part not in self.parts)

    def look(self):
        """Rows by place, as of now. Absent are settings that do not exist, and those that could not be read."""
        self.context.forget()
        self.failed = set()
        rows = {}
        for scope, kind in self.parts:
            try:
                for row in kind.read(self.context, scope):
                    rows[row["scope"], row["key"]] = row
            except Exception:
                self.failed.add((scope, kind))
        for scope, key in self.places:
            if (scope, key) not in rows:
                row = read_one(self.registry, self.context, scope, key)
                if row is not None:
                    rows[scope, key] = row
        return rows

    def unread(self, place):
        """Whether the last look could not tell about this place."""
        return (place[0], self.registry.kind_of(*place)) in self.failed


def read_one(registry, context, scope, key):
    """The row, or None where there is no such setting or it cannot be read."""
    try:
        return registry.read_one(context, scope, key)
    except Exception:
        return None


def value_of(row):
    return None if row is None else row["value"]


def attempt(registry, context, scope, key, value):
    """Writes one setting. None if the host took it, else (errno name, the host's words)."""
    try:
        registry.write(context, scope, key, value)
    except Refused as error:
        return error.code, error.text
    except OSError as error:
        words = error.strerror or (os.strerror(error.errno) if error.errno else str(error))
        return _error_name(error.errno), words
    except Exception as error:  # a value that a kind cannot parse must not end the whole transaction
        return "EINVAL", "%s: %s" % (type(error).__name__, error)
    return None


def _error_name(number):
    """As the kernel calls it. Python has two names for this one and gives the C library's."""
    return "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode.get(number, "EIO")


def canonical(asked, now, key):
    """What was asked, in the host's own form where both mean the same."""
    if now is None or asked == now:
        return asked
    if key.endswith(SETS):
        return now if _members(asked) == _members(now) else asked
    words, other = asked.split(), now.split()
    if words == other or list(map(_number, words)) == list(map(_number, other)):
        return now
    return asked


def _members(text):
    return frozenset(parse_list("" if text.strip() == EMPTY else text.replace(" ", "")))


def _number(word):
    try:
        return int(word)
    except ValueError:
        return word
