"""Options of queueing disciplines as words of tc(8) and as the kernel's attributes. Used by qdisc.py.

Words come out exact: what they make is what they were read from. Layouts and units: linux/pkt_sched.h; defaults: the
kernel's sch_fq.c and sch_fq_codel.c.
"""

import re
import struct

from ..kernel.netlink import attribute, attributes, integer
from .context import Refused

UNLIMITED = 0xFFFFFFFF
# An Ethernet header: the kernel counts it into a packet's size when it derives a quantum from the MTU.
ETHERNET_HEADER = 14
# fq_codel keeps times in units of 1024 ns.
CODEL_SHIFT = 10
NUMBER = re.compile(r"([0-9]{1,12})([a-z]*)\Z")
RATES = {"": 1, "bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


class Option(object):
    """One option: its word for tc, its attribute, and how its number is written. `default` is left out; a function of
    the MTU, or None where the option has to be there."""

    def __init__(self, name, kind, default, style="number"):
        self.name, self.kind, self.default, self.style = name, kind, default, style

    def is_default(self, number, mtu):
        return number == (self.default(mtu) if callable(self.default) else self.default)


def _packets(count):
    return lambda mtu: count * (mtu + ETHERNET_HEADER)


FQ = (
    Option("limit", 1, 10000),
    Option("flow_limit", 2, 100),
    Option("buckets", 8, 10, "power of two"),
    Option("orphan_mask", 10, 1023),
    Option("quantum", 3, _packets(2)),
    Option("initial_quantum", 4, _packets(10)),
    Option("maxrate", 7, UNLIMITED, "bytes per second"),
    Option("low_rate_threshold", 11, 550000 // 8, "bytes per second"),
    Option("refill_delay", 9, 40000, "us"),
    Option("ce_threshold", 12, UNLIMITED, "us"),
    Option("timer_slack", 13, 10000, "ns"),
    Option("horizon", 14, 10000000, "us"),
    Option(("nopacing", "pacing"), 5, 1, "switch"),
    Option(("horizon_cap", "horizon_drop"), 15, 1, "switch of 8 bits"),
)
FQ_CODEL = (
    Option("limit", 2, 10240),
    Option("flows", 5, 1024),
    Option("quantum", 6, _packets(1)),
    Option("target", 1, 5000, "codel time"),
    Option("interval", 3, 100000, "codel time"),
    Option("ce_threshold", 7, None, "codel time"),
    Option("memory_limit", 9, 32 << 20),
    Option("drop_batch", 8, 64),
    Option(("noecn", "ecn"), 4, 1, "switch"),
)
# Those without options that we would have to keep; noop stands where a device was never up.
BARE = ("noop", "noqueue", "mq", "pfifo_fast")
FIFO = ("pfifo", "bfifo")
KINDS = dict(dict.fromkeys(BARE + FIFO, ()), fq=FQ, fq_codel=FQ_CODEL)
# Attributes that the kernel tells besides and that have no words above: they have to be as they are by default.
# fq's obsolete rate of a flow, bands by priority and their weights, how far ahead hardware may be asked to send;
# fq_codel's choice of packets for ce_threshold.
BANDS = struct.pack("=i16B", 3, 1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
CONSTANT = {
    "fq": {6: b"\0" * 4, 16: BANDS, 17: struct.pack("=iii", 589824, 196608, 65536), 18: b"\0" * 4},
    "fq_codel": {10: b"\0", 11: b"\0"},
}


def whole(kind, raw):
    """Whether the words say all that there is."""
    if kind in BARE:
        return True
    if kind in FIFO:
        return len(raw) == 4
    known = {option.kind for option in KINDS[kind]}
    constant = CONSTANT[kind]
    return all(number in known or constant.get(number) == value for number, value in attributes(raw))


def words(kind, raw, mtu):
    """The options as words, without those at their default."""
    if kind in FIFO:
        return ["limit", "%d" % integer(raw)] if raw else []
    found, known = [], dict(attributes(raw)) if KINDS.get(kind) else {}
    for option in KINDS.get(kind, ()):
        if option.kind not in known:
            continue
        number = _from_kernel(option, integer(known[option.kind]))
        if option.is_default(number, mtu):
            continue
        if option.style.startswith("switch"):
            found.append(option.name[number])
        else:
            found += [option.name, _written(option, number)]
    return found


def parse(kind, given):
    """What the kernel takes as TCA_OPTIONS for words; empty where there are none."""
    if kind in FIFO:
        return _parse_fifo(kind, given)
    options, packed, rest = KINDS[kind], [], list(given)
    while rest:
        word = rest.pop(0)
        option = next((item for item in options if word == item.name or word in _switch(item)), None)
        if option is None:
            raise Refused("%s: no option of %s that is known here" % (word, kind))
        if option.style.startswith("switch"):
            number = option.name.index(word)
            packed.append(attribute(option.kind, struct.pack("=B", number) if "8" in option.style else number))
        elif not rest:
            raise Refused("%s needs a value" % word)
        else:
            packed.append(attribute(option.kind, _number(option, rest.pop(0))))
    return b"".join(packed)


def settled(kind, raw):
    """Options that were packed here as the kernel will tell them, once they are set."""
    times = [option.kind for option in KINDS[kind] if option.style == "codel time"]
    if not times:
        return raw
    packed = []
    for number, value in attributes(raw):
        packed.append(attribute(number, _codel(integer(value)) if number in times else value))
    return b"".join(packed)


def _switch(option):
    return option.name if isinstance(option.name, tuple) else ()


def _parse_fifo(kind, given):
    if not given:
        return b""
    if len(given) != 2 or given[0] != "limit":
        raise Refused("%s takes `limit N`" % kind)
    return struct.pack("=I", _plain(given[1]))


def _codel(microseconds):
    """What the kernel reads back of a time that was written."""
    return (microseconds * 1000 >> CODEL_SHIFT << CODEL_SHIFT) // 1000


def _from_kernel(option, number):
    """fq_codel rounds down: the time that makes what was read is the same or one more."""
    if option.style == "codel time" and _codel(number) != number:
        return number + 1
    return number


def _written(option, number):
    if option.style == "power of two":
        return "%d" % (1 << number)
    if option.style == "bytes per second":
        return _unit(number * 8, (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3), ("bit", 1)))
    if option.style == "number":
        return "%d" % number
    unit = "ns" if option.style == "ns" else "us"
    return _unit(number * TIMES[unit], (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)))


def _unit(number, units):
    """In the largest unit that has it as a whole number."""
    name, size = next((name, size) for name, size in units if size == 1 or (number and not number % size))
    return "%d%s" % (number // size, name)


def _number(option, text):
    if option.style == "number":
        return _plain(text)
    if option.style == "power of two":
        number = _plain(text)
        if not number or number & (number - 1):
            raise Refused("%s is a power of two, not %s" % (option.name, text))
        return number.bit_length() - 1
    if option.style == "bytes per second":
        return _bounded(_with_unit(text, RATES, "a rate such as 1gbit") // 8)
    unit = "ns" if option.style == "ns" else "us"
    return _bounded(_with_unit(text, TIMES, "a time such as 10ms") // TIMES[unit])


def _with_unit(text, units, what):
    found = NUMBER.match(text.lower())
    if not found or found.group(2) not in units:
        raise Refused("%s is not %s" % (text, what))
    return int(found.group(1)) * units[found.group(2)]


def _plain(text):
    if not re.match(r"[0-9]{1,10}\Z", text):
        raise Refused("%s is not a number" % text)
    return _bounded(int(text))


def _bounded(number):
    if number > UNLIMITED:
        raise Refused("more than the kernel can take", "ERANGE")
    return number
