"""NIC settings by the kernel's `ethtool` family of generic netlink. Used by settings/ and queues/.

Has the same methods as ethtool_ioctl.py, which serves where this family or one of its messages is missing: Linux
before 5.6, or RSS before 6.3. What the device lacks raises OSError EOPNOTSUPP. Layouts: linux/ethtool_netlink.h.
"""

import struct

from .devices import name_bytes
from .ethtool_names import CHANNEL_NAMES, COALESCE_NAMES, RING_NAMES, SET_FEATURES, Features
from .genetlink import Genetlink
from .netlink import attribute, attributes, integer, table, text

FAMILY = "ethtool"
STRSET_GET, FEATURES_GET, FEATURES_SET, RSS_GET, RSS_SET = 1, 11, 12, 38, 48
HEADER, HEADER_NAME, HEADER_FLAGS = 1, 2, 3
# Bit sets as words of 32 bits instead of a list of names: a third of the time to read.
COMPACT_BITSETS = 1
BITSET_BITS, BITSET_VALUE, BITSET_MASK = 3, 4, 5
BIT, BIT_NAME, BIT_VALUE = 1, 2, 3
FEATURES_HW, FEATURES_WANTED, FEATURES_ACTIVE, FEATURES_NOCHANGE = 2, 3, 4, 5
RSS_HFUNC, RSS_INDIR, RSS_HKEY = 3, 4, 5
# What a setter must send as one byte; the rest are 32 bits.
BYTES = frozenset(
    ("tcp-data-split", "tx-push", "rx-push", "adaptive-rx", "adaptive-tx", "cqe-mode-rx", "cqe-mode-tx")
    + ("autoneg", "pause-rx", "pause-tx")
)


class Part(object):
    """A message whose attributes are numbers: how to get it, how to set it, {name: attribute}, {name: attribute of the
    most that it may be}."""

    def __init__(self, get, names, most=()):
        self.get, self.set = get, get + 1
        self.names, self.most = dict(names), dict(most)


RING_MORE = ("rx-buf-len", "tcp-data-split", "cqe-size", "tx-push", "rx-push", "tx-push-buf-len")
COALESCE_MORE = ("cqe-mode-tx", "cqe-mode-rx", "tx-aggr-max-bytes", "tx-aggr-max-frames", "tx-aggr-time-usecs")


def _numbered(names, first):
    return [(name, first + place) for place, name in enumerate(names)]


PARTS = {
    "ring": Part(
        15,
        _numbered(RING_NAMES + RING_MORE, 6) + [("hds-thresh", 17)],
        _numbered(RING_NAMES, 2) + [("tx-push-buf-len", 16), ("hds-thresh", 18)],
    ),
    "channels": Part(17, _numbered(CHANNEL_NAMES, 6), _numbered(CHANNEL_NAMES, 2)),
    "coalesce": Part(19, _numbered(COALESCE_NAMES + COALESCE_MORE, 2)),
    "pause": Part(21, _numbered(("autoneg", "rx", "tx"), 2)),
}


class Ethtool(object):
    """One socket; `Context.once("ethtool", Ethtool)` shares it in a pass."""

    keep = True

    def __init__(self):
        self.genetlink = Genetlink()
        try:
            self.genetlink.family(FAMILY)
        except OSError:
            self.genetlink.close()
            raise
        self.names = {}

    def close(self):
        self.genetlink.close()

    def _get(self, command, nic, flags=0, more=()):
        return self.genetlink.get(FAMILY, command, [_header(nic, flags)] + list(more))

    def strings(self, nic, number):
        """The names in a string set, such as SET_FEATURES."""
        answer = self._get(STRSET_GET, nic, more=[attribute(2, [attribute(1, [attribute(1, number)])])])
        found = []
        for _kind, string_set in attributes(answer.get(2, b"")):
            for _kind, string in attributes(table(string_set).get(3, b"")):
                found.append(text(table(string).get(2, b"")))
        return found

    def kernel_strings(self, nic, number):
        """As `strings`, for sets that are the kernel's and not the device's: asked for once."""
        if number not in self.names:
            self.names[number] = self.strings(nic, number)
        return self.names[number]

    def features(self, nic):
        answer = self._get(FEATURES_GET, nic, COMPACT_BITSETS)
        sets = (FEATURES_HW, FEATURES_WANTED, FEATURES_ACTIVE, FEATURES_NOCHANGE)
        return Features(self.kernel_strings(nic, SET_FEATURES), *(_bits(answer.get(kind, b"")) for kind in sets))

    def set_feature(self, nic, name, on):
        """Names whose active state moved by this, the named one among them if it did, as {name: is active now}."""
        bit = [attribute(BIT_NAME, name)] + ([attribute(BIT_VALUE)] if on else [])
        wanted = attribute(FEATURES_WANTED, [attribute(BITSET_BITS, [attribute(BIT, bit)])])
        answers = self.genetlink.exchange(FAMILY, FEATURES_SET, [_header(nic, COMPACT_BITSETS), wanted])
        moved = answers[0].get(FEATURES_ACTIVE, b"") if answers else b""
        mask, values = _bits(moved, BITSET_MASK), _bits(moved)
        names = self.kernel_strings(nic, SET_FEATURES) if mask else ()
        return {name: bool(values >> place & 1) for place, name in enumerate(names) if mask >> place & 1}

    def numbers(self, part, nic):
        """{name: (number, the most that it may be or None)} of what the device has of PARTS[part]."""
        known, answer = PARTS[part], self._get(PARTS[part].get, nic)
        return {
            name: (integer(answer[kind]), integer(answer[known.most[name]]) if known.most.get(name) in answer else None)
            for name, kind in known.names.items()
            if kind in answer
        }

    def set_numbers(self, part, nic, values):
        """Sets {name: number}, all in one message."""
        known, packed = PARTS[part], [_header(nic)]
        for name, number in sorted(values.items()):
            narrow = name in BYTES or part == "pause"
            packed.append(attribute(known.names[name], struct.pack("=B" if narrow else "=I", number)))
        self.genetlink.exchange(FAMILY, known.set, packed)

    def rss(self, nic):
        """(indirection table, key, hash function as a bit); empty and 0 where the device does not say."""
        answer = self._get(RSS_GET, nic)
        raw = answer.get(RSS_INDIR, b"")
        indirection = list(struct.unpack("=%dI" % (len(raw) // 4), raw))
        return indirection, answer.get(RSS_HKEY, b""), integer(answer.get(RSS_HFUNC, b""))

    def set_rss(self, nic, indirection=None, key=None, function=None):
        """What is None stays. An empty table stands for the driver's default."""
        packed = [_header(nic)]
        if function is not None:
            packed.append(attribute(RSS_HFUNC, function))
        if indirection is not None:
            packed.append(attribute(RSS_INDIR, struct.pack("=%dI" % len(indirection), *indirection)))
        if key is not None:
            packed.append(attribute(RSS_HKEY, key))
        self.genetlink.exchange(FAMILY, RSS_SET, packed)


def _header(nic, flags=0):
    inner = [attribute(HEADER_NAME, name_bytes(nic) + b"\0")]
    return attribute(HEADER, inner + ([attribute(HEADER_FLAGS, flags)] if flags else []))


def _bits(bitset, kind=BITSET_VALUE):
    """A compact bit set as one number: words of 32 bits in the host's byte order, the lowest first."""
    raw, bits = table(bitset).get(kind, b""), 0
    for place, word in enumerate(struct.unpack("=%dI" % (len(raw) // 4), raw)):
        bits |= word << 32 * place
    return bits
