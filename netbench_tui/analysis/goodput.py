"""Theoretical goodput on Ethernet: the share of the line rate that is left for the application's bytes.

Used by lints.py and, as the theory curve, by charts. Sizes in bytes throughout; the formulas stand in the functions.
"""

import math
from dataclasses import dataclass

# What a frame occupies besides its payload: preamble and delimiter 8, header 14, FCS 4, gap 12.
ETHERNET_OVERHEAD = 38
# Ethernet pads a shorter payload to this.
LEAST_PAYLOAD = 46
VLAN_TAG = 4
TCP_HEADER = 20
TCP_TIMESTAMPS = 12
UDP_HEADER = 8
VXLAN_HEADERS = 8 + 8 + 14
"""Outer UDP, VXLAN, inner Ethernet."""
IPV6_FRAGMENT_HEADER = 8
_IP_HEADER = {4: 20, 6: 40}


@dataclass(frozen=True, slots=True)
class Wire:
    """What lies between an IP packet and the wire. `mtu` is the outer device's. With `vxlan` (the outer IP version, 4
    or 6) the packet travels in VXLAN, and `inner_vlan_tags` are inside it."""

    mtu: int = 1500
    vlan_tags: int = 0
    vxlan: int | None = None
    inner_vlan_tags: int = 0

    @property
    def encapsulation(self) -> int:
        if self.vxlan is None:
            return 0
        return _IP_HEADER[self.vxlan] + VXLAN_HEADERS + VLAN_TAG * self.inner_vlan_tags

    @property
    def packet(self) -> int:
        """The largest IP packet that the application's flow can send."""
        return self.mtu - self.encapsulation

    def occupied(self, packet: int) -> int:
        """Bytes of line time that one IP packet of this size takes: W(x) = max(x + E + V, 46) + 38."""
        return max(packet + self.encapsulation + VLAN_TAG * self.vlan_tags, LEAST_PAYLOAD) + ETHERNET_OVERHEAD


def tcp_goodput(wire: Wire, ip_version: int = 4, timestamps: bool = True) -> float:
    """Share of the line rate, 0 to 1, for full segments: (m - H - O) / W(m). ValueError if no byte fits."""
    payload = wire.packet - _IP_HEADER[ip_version] - TCP_HEADER - (TCP_TIMESTAMPS if timestamps else 0)
    if payload <= 0:
        raise ValueError(f"an MTU of {wire.mtu} leaves no room for TCP")
    return payload / wire.occupied(wire.packet)


def udp_largest_payload(wire: Wire, ip_version: int = 4) -> int:
    """The largest datagram that is not fragmented."""
    return wire.packet - _IP_HEADER[ip_version] - UDP_HEADER


def udp_goodput(wire: Wire, payload: int, ip_version: int = 4) -> float:
    """Share of the line rate, 0 to 1, for datagrams of `payload` bytes, fragmented where they must be.
    ValueError if the payload is negative or the MTU leaves no room."""
    if payload < 0:
        raise ValueError(f"{payload} is no payload")
    header = _IP_HEADER[ip_version]
    if payload <= udp_largest_payload(wire, ip_version):
        return payload / wire.occupied(payload + UDP_HEADER + header)
    return payload / _fragmented(wire, payload + UDP_HEADER, header, IPV6_FRAGMENT_HEADER if ip_version == 6 else 0)


def _fragmented(wire: Wire, size: int, header: int, extra: int) -> int:
    """Line time of a fragmented datagram of `size` bytes: all fragments but the last carry a multiple of 8."""
    room = wire.packet - header - extra
    step = 8 * (room // 8)
    if step <= 0:
        raise ValueError(f"an MTU of {wire.mtu} leaves no room for fragments")
    fragments = 1 + max(0, math.ceil((size - room) / step))
    rest = size - (fragments - 1) * step
    return (fragments - 1) * wire.occupied(step + header + extra) + wire.occupied(rest + header + extra)
