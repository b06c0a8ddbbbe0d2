"""IP addresses, links and queueing disciplines by rtnetlink. Used by nics.py, settings/link.py and settings/qdisc.py.

Message layouts: linux/rtnetlink.h, linux/if_addr.h, linux/if_link.h, linux/pkt_sched.h.
"""

import socket
import struct

from .devices import name_bytes
from .netlink import CREATE, REPLACE, Netlink, attribute, integer, table, text

RTM_NEWLINK, RTM_GETLINK, RTM_GETADDR = 16, 18, 22
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
IFA_ADDRESS, IFA_LOCAL = 1, 2
SCOPES = {0: "global", 200: "site", 253: "link", 254: "host"}
FAMILIES = {socket.AF_INET: 4, socket.AF_INET6: 6}
IFLA_IFNAME, IFLA_MTU, IFLA_QDISC, IFLA_TXQLEN, IFLA_EXT_MASK, IFLA_MIN_MTU, IFLA_MAX_MTU = 3, 4, 6, 13, 29, 50, 51
# Leave a link's counters out.
SKIP_STATISTICS = 1 << 3
# struct ifinfomsg and struct tcmsg.
LINK = struct.Struct("=BxHiII")
DISCIPLINE = struct.Struct("=BxxxiIII")
TCA_KIND, TCA_OPTIONS, TCA_RATE, TCA_STAB = 1, 2, 5, 8
TCA_INGRESS_BLOCK, TCA_EGRESS_BLOCK = 13, 14
ROOT = 0xFFFFFFFF


class Route(Netlink):
    """A socket for links and queueing disciplines; `Context.once("rtnetlink", Route)` shares one in a pass."""

    def __init__(self):
        super(Route, self).__init__(socket.NETLINK_ROUTE)

    def link(self, nic):
        """{"index", "mtu", "min_mtu", "max_mtu", "txqueuelen", "qdisc"} of a device; None for what the kernel does not
        tell, or does not limit."""
        names = [attribute(IFLA_IFNAME, name_bytes(nic) + b"\0"), attribute(IFLA_EXT_MASK, SKIP_STATISTICS)]
        answer = self.get(RTM_GETLINK, LINK.pack(0, 0, 0, 0, 0) + b"".join(names))
        values = table(answer, LINK.size)

        def number(kind):
            return integer(values[kind]) if kind in values else None

        return {
            "index": LINK.unpack_from(answer)[2],
            "mtu": number(IFLA_MTU),
            "min_mtu": number(IFLA_MIN_MTU),
            "max_mtu": number(IFLA_MAX_MTU) or None,
            "txqueuelen": number(IFLA_TXQLEN),
            "qdisc": text(values.get(IFLA_QDISC, b"")),
        }

    def set_link(self, index, mtu=None, txqueuelen=None):
        packed = LINK.pack(0, 0, index, 0, 0)
        for kind, number in ((IFLA_MTU, mtu), (IFLA_TXQLEN, txqueuelen)):
            if number is not None:
                packed += attribute(kind, number)
        self.exchange(RTM_NEWLINK, packed)

    def qdiscs(self):
        """All visible queueing disciplines of the namespace as Discipline. The kernel lists them all or none."""
        found = []
        for answer in self.dump(RTM_GETQDISC, DISCIPLINE.pack(0, 0, 0, 0, 0)):
            _family, index, handle, parent, _info = DISCIPLINE.unpack_from(answer)
            values = table(answer, DISCIPLINE.size)
            plain = not any(kind in values for kind in (TCA_RATE, TCA_STAB, TCA_INGRESS_BLOCK, TCA_EGRESS_BLOCK))
            options = values.get(TCA_OPTIONS, b"")
            found.append(Discipline(text(values.get(TCA_KIND, b"")), handle, parent, options, index, plain))
        return found

    def set_root(self, index, kind, handle, options):
        """Puts a queueing discipline in place of the root; one with the same handle must not be there."""
        packed = DISCIPLINE.pack(0, index, handle, ROOT, 0) + attribute(TCA_KIND, kind)
        if options:
            packed += attribute(TCA_OPTIONS, options)
        self.exchange(RTM_NEWQDISC, packed, CREATE | REPLACE)

    def delete_root(self, index):
        """The kernel puts the device's default in its place; OSError ENOENT where that is there already."""
        self.exchange(RTM_DELQDISC, DISCIPLINE.pack(0, index, 0, ROOT, 0))


class Discipline(object):
    """A queueing discipline. Handle 0: the kernel itself attached it as the device's default, nobody changed it.
    `plain` is False where it has more than its kind's options: a size table, an estimator, shared filters."""

    def __init__(self, kind, handle, parent=ROOT, options=b"", index=0, plain=True):
        self.kind, self.handle, self.parent, self.options = kind, handle, parent, options
        self.index, self.plain = index, plain


def addresses():
    """{interface index: [{text, prefix, family, scope}]}; raises OSError where netlink is refused."""
    found = {}
    route = Route()
    try:
        answers = route.dump(RTM_GETADDR, struct.pack("=BBBBI", 0, 0, 0, 0, 0))
    finally:
        route.close()
    for body in answers:
        family, prefix, _flags, scope, index = struct.unpack_from("=BBBBI", body)
        values = table(body, 8)
        raw = values.get(IFA_LOCAL, values.get(IFA_ADDRESS))
        if family not in FAMILIES or raw is None:
            continue
        found.setdefault(index, []).append(
            {
                "text": socket.inet_ntop(family, raw),
                "prefix": prefix,
                "family": FAMILIES[family],
                "scope": SCOPES.get(scope, str(scope)),
            }
        )
    return found
