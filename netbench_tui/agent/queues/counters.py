"""Packets and bytes per queue from a driver's own statistics (`ethtool -S`), by the names that drivers give them.

Used by watching.py where the kernel's netdev family counts no queues. A queue is there only if both its packets and
its bytes are.
"""

import re

PACKETS, BYTES = 0, 1
# virtio_net, ixgbe, igb, igc, ice, hv_netvsc; mlx5_core, mlx4_en, newer virtio_net; i40e, iavf, sfc; gve; ena; bnxt_en
# and bnx2x; be2net, otx2; atlantic.
FORMS = tuple(
    re.compile(form + r"\Z")
    for form in (
        r"(?P<kind>rx|tx)_queue_(?P<index>\d+)_(?P<what>packets|bytes)",
        r"(?P<kind>rx|tx)(?P<index>\d+)_(?P<what>packets|bytes)",
        r"(?P<kind>rx|tx)-(?P<index>\d+)\.(?:rx_|tx_)?(?P<what>packets|bytes)",
        r"(?P<kind>rx|tx)_(?P<what>packets|bytes)\[(?P<index>\d+)\]",
        r"queue_(?P<index>\d+)_(?P<kind>rx|tx)_(?P<what>cnt|bytes)",
        r"\[(?P<index>\d+)\]: (?P<kind>rx|tx)_(?:(?:ucast|mcast|bcast)_)?(?P<what>packets|bytes)",
        r"(?P<kind>rx|tx)q(?P<index>\d+): (?:rx_|tx_)?(?P<what>pkts|bytes|frames)",
        r"Queue\[(?P<index>\d+)\] (?P<kind>In|Out)(?P<what>Packets|Octets)",
    )
)
KINDS = {"rx": "rx", "tx": "tx", "In": "rx", "Out": "tx"}
OF_BYTES = ("bytes", "Octets")
# vmxnet3 writes a heading whose value is the queue's number, and below it the same names for each queue.
HEADING = re.compile(r"(Rx|Tx) Queue#\Z")
BELOW_HEADING = re.compile(r"(?:ucast|mcast|bcast) (?P<what>pkts|bytes) (?P<kind>rx|tx)\Z")


def plan(names, values):
    """{"rx-0": ([places of packets], [places of bytes])}: what stands there is to be added up."""
    found, heading = {}, None
    for place, name in enumerate(name.strip() for name in names):
        headed = HEADING.match(name)
        if headed:
            heading = "%s-%d" % (headed.group(1).lower(), values[place])
            continue
        queue, what = _meaning(name, heading)
        if queue:
            found.setdefault(queue, ([], []))[BYTES if what in OF_BYTES else PACKETS].append(place)
    return {queue: places for queue, places in found.items() if all(places)}


def _meaning(name, heading):
    """(queue, what it counts) of one name, or (None, None)."""
    if heading:
        matched = BELOW_HEADING.match(name)
        if matched and heading.startswith(matched.group("kind")):
            return heading, matched.group("what")
    for form in FORMS:
        matched = form.match(name)
        if matched:
            return "%s-%s" % (KINDS[matched.group("kind")], matched.group("index")), matched.group("what")
    return None, None


def take(places, values):
    """[packets, bytes] of one queue of a plan."""
    return [sum(values[place] for place in group) for group in places]


def unique(names, values):
    """The names without blanks around them, each different from all others: those below a heading, which are set in,
    say of which queue; further repeats are numbered."""
    heading, counts, found = "", {}, []
    for raw, value in zip(names, values):
        name = raw.strip()
        heading = heading if raw.startswith(" ") else ""
        if HEADING.match(name):
            heading = "%s %d: " % (name, value)
            found.append(name + " %d" % value)
            continue
        whole = heading + name
        counts[whole] = counts.get(whole, 0) + 1
        found.append(whole if counts[whole] == 1 else "%s (%d)" % (whole, counts[whole]))
    return found
