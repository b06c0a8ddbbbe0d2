"""NIC settings by ioctl SIOCETHTOOL, which every kernel has; and what only it has: driver, statistics, receive rings.

Used by settings/, queues/ and nics.py. The first half of EthtoolIoctl has the same methods as ethtool.py. Layouts:
linux/ethtool.h; all of a device's numbers are in the host's byte order.
"""

import array
import errno
import fcntl
import os
import socket
import struct

from .devices import name_bytes
from .ethtool_names import CHANNEL_NAMES, COALESCE_NAMES, RING_NAMES, SET_FEATURES, SET_STATISTICS, Features

SIOCETHTOOL = 0x8946
GDRVINFO, GSTRINGS, GSTATS, GRXRINGS, GSSET_INFO = 0x3, 0x1B, 0x1D, 0x2D, 0x37
GFEATURES, SFEATURES, GRSSH, SRSSH = 0x3A, 0x3B, 0x46, 0x47
STRING_SIZE = 32
# struct ethtool_rxnfc is 192 bytes.
RXNFC_SIZE = 256
# struct ethtool_rxfh up to its table: command, context, size of table, size of key, function, how the hash's input is
# transformed, reserved.
RSS_HEADER = struct.Struct("=IIIIBBHI")
TABLE_STAYS = 0xFFFFFFFF
FEATURE_WORDS = 8
# The kernel writes as many values as the driver has at that moment, however few were asked for: room for queues that
# are added between our question how many there are and this.
SPARE_ITEMS = 4096


class Part(object):
    """A structure of 32-bit numbers: commands to get and set it, its names in order; where `limited`, as many numbers
    go before them that say how much each may be at most, and 0 there means that the device has no such thing."""

    def __init__(self, get, names, limited=False):
        self.get, self.set, self.names, self.limited = get, get + 1, names, limited
        self.layout = struct.Struct("=%dI" % (1 + len(names) * (2 if limited else 1)))


PARTS = {
    "ring": Part(0x10, RING_NAMES, limited=True),
    "channels": Part(0x3C, CHANNEL_NAMES, limited=True),
    "coalesce": Part(0x0E, COALESCE_NAMES),
    "pause": Part(0x12, ("autoneg", "rx", "tx")),
}


class EthtoolIoctl(object):
    """One socket; `Context.once("ethtool_ioctl", EthtoolIoctl)` shares it in a pass."""

    keep = True

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.names = {}

    def close(self):
        self.socket.close()

    def call(self, nic, data):
        """What the kernel made of `data`, which must be as long as it may write."""
        buffer = array.array("B", data)
        request = bytearray(struct.pack("16sP", name_bytes(nic), buffer.buffer_info()[0]).ljust(40, b"\0"))
        fcntl.ioctl(self.socket.fileno(), SIOCETHTOOL, request)
        return buffer.tobytes()

    def features(self, nic):
        blocks = self._feature_blocks(nic)
        bits = [0, 0, 0, 0]
        for place, block in enumerate(blocks):
            for kind, word in enumerate(block):
                bits[kind] |= word << 32 * place
        return Features(self.kernel_strings(nic, SET_FEATURES), *bits)

    def _feature_blocks(self, nic):
        """[(changeable, wanted, active, never changed)] by words of 32 features."""
        size = 8 + 16 * FEATURE_WORDS
        answer = self.call(nic, struct.pack("=II", GFEATURES, FEATURE_WORDS).ljust(size, b"\0"))
        words = min(FEATURE_WORDS, struct.unpack_from("=I", answer, 4)[0])
        return [struct.unpack_from("=IIII", answer, 8 + 16 * word) for word in range(words)]

    def set_feature(self, nic, name, on):
        """As in ethtool.py; an unknown name is EOPNOTSUPP there as well."""
        names = self.kernel_strings(nic, SET_FEATURES)
        if name not in names:
            raise OSError(errno.EOPNOTSUPP, "%s: this kernel has no such feature" % name)
        word, bit = divmod(names.index(name), 32)
        before = self._feature_blocks(nic)
        # For every word what is to be set, and to what.
        wishes = [(1 << bit, on << bit) if place == word else (0, 0) for place in range(len(before))]
        packed = b"".join(struct.pack("=II", *wish) for wish in wishes)
        self.call(nic, struct.pack("=II", SFEATURES, len(before)) + packed)
        moved = {}
        for place, (old, new) in enumerate(zip(before, self._feature_blocks(nic))):
            for number in range(32):
                if (old[2] ^ new[2]) >> number & 1:
                    moved[names[32 * place + number]] = bool(new[2] >> number & 1)
        return moved

    def numbers(self, part, nic):
        """As in ethtool.py. An ioctl cannot say which of the coalescing parameters the driver knows: all are there,
        the unknown ones as 0."""
        known = PARTS[part]
        found = self._part(known, nic)
        values = found[-len(known.names) :]
        if not known.limited:
            return {name: (number, None) for name, number in zip(known.names, values)}
        return {name: (number, most) for name, most, number in zip(known.names, found[1:], values) if most}

    def _part(self, known, nic):
        data = struct.pack("=I", known.get).ljust(known.layout.size, b"\0")
        return known.layout.unpack(self.call(nic, data))

    def set_numbers(self, part, nic, values):
        known = PARTS[part]
        found = list(self._part(known, nic))
        for name, number in values.items():
            if name not in known.names:
                raise OSError(errno.EOPNOTSUPP, "%s: this kernel has no such setting" % name)
            found[known.names.index(name) - len(known.names)] = number
        found[0] = known.set
        self.call(nic, known.layout.pack(*found))

    def _rss_header(self, nic):
        return RSS_HEADER.unpack(self.call(nic, RSS_HEADER.pack(GRSSH, 0, 0, 0, 0, 0, 0, 0)))

    def rss(self, nic):
        _command, _context, entries, key_size, function, _transform, _, _ = self._rss_header(nic)
        size = RSS_HEADER.size + 4 * entries
        header = RSS_HEADER.pack(GRSSH, 0, entries, key_size, 0, 0, 0, 0)
        answer = self.call(nic, header.ljust(size + key_size, b"\0"))
        indirection = list(struct.unpack_from("=%dI" % entries, answer, RSS_HEADER.size))
        return indirection, answer[size : size + key_size], function

    def set_rss(self, nic, indirection=None, key=None, function=None):
        entries = TABLE_STAYS if indirection is None else len(indirection)
        # How the hash's input is transformed stays as it is; older kernels have 0 there and want it back.
        transform = self._rss_header(nic)[5]
        header = RSS_HEADER.pack(SRSSH, 0, entries, len(key or b""), function or 0, transform, 0, 0)
        self.call(nic, header + struct.pack("=%dI" % len(indirection or ()), *(indirection or ())) + (key or b""))

    def strings(self, nic, number):
        return _strings(self.call, nic, number, self.count(nic, number))

    def kernel_strings(self, nic, number):
        if number not in self.names:
            self.names[number] = self.strings(nic, number)
        return self.names[number]

    def count(self, nic, number):
        """How many names a string set has; 0 where the device has no such set."""
        answer = self.call(nic, struct.pack("=IIQI", GSSET_INFO, 0, 1 << number, 0))
        _command, _reserved, mask, found = struct.unpack("=IIQI", answer)
        return found if mask else 0

    def receive_rings(self, nic):
        """How many rings an indirection table may name."""
        answer = self.call(nic, struct.pack("=I", GRXRINGS).ljust(RXNFC_SIZE, b"\0"))
        return struct.unpack_from("=Q", answer, 8)[0]

    def driver(self, nic):
        """{"driver", "version", "firmware", "bus"} as `ethtool -i` has them."""
        answer = self.call(nic, struct.pack("=I", GDRVINFO).ljust(196, b"\0"))
        places = {"driver": 4, "version": 36, "firmware": 68, "bus": 100}
        return {name: _string(answer, offset) for name, offset in places.items()}


class Statistics(object):
    """The driver's own counters of a NIC (`ethtool -S`), to be read again and again: names are kept. `names` are empty
    where it has none."""

    def __init__(self, ioctl, nic):
        self.ioctl, self.nic = ioctl, nic
        self.names = []

    def values(self):
        """Numbers in the order of `names`, which are read anew when there are more or fewer than before."""
        count = self.ioctl.count(self.nic, SET_STATISTICS)
        if count != len(self.names):
            self.names = _strings(self.ioctl.call, self.nic, SET_STATISTICS, count)
        if not count:
            return []
        data = struct.pack("=II", GSTATS, count).ljust(8 + 8 * (count + SPARE_ITEMS), b"\0")
        answer = self.ioctl.call(self.nic, data)
        if struct.unpack_from("=I", answer, 4)[0] != count:
            raise OSError(errno.EAGAIN, "the NIC's statistics changed while they were read")
        return list(struct.unpack_from("=%dQ" % count, answer, 8))


def _strings(call, nic, number, count):
    if not count:
        return []
    data = struct.pack("=III", GSTRINGS, number, count).ljust(12 + STRING_SIZE * (count + SPARE_ITEMS), b"\0")
    answer = call(nic, data)
    count = min(count, struct.unpack_from("=I", answer, 8)[0])
    return [_string(answer, 12 + STRING_SIZE * place) for place in range(count)]


def _string(data, offset):
    return os.fsdecode(data[offset : offset + STRING_SIZE].split(b"\0", 1)[0])
