"""The host's network interfaces, from sysfs, one ioctl and rtnetlink. Used by inspection.py.

The shapes are those of model/host.py (Nic, Address).
"""

import array
import fcntl
import os
import socket
import struct

from .kernel.rtnetlink import addresses
from .reading import numbered

NET = "sys/class/net"
SIOCETHTOOL = 0x8946
ETHTOOL_GDRVINFO = 0x3
ARPHRD_LOOPBACK = 772


def nics(root, live, notes):
    """Every NIC as a list of dicts. `live` is False for a captured tree: then no ioctl and no netlink is tried."""
    known = {}
    if live:
        try:
            known = addresses()
        except OSError as error:
            notes.append("addresses: %s" % error.strerror)
    found = []
    for name in root.names(NET):
        if os.path.isdir(root.join(NET, name)):
            found.append(_nic(root, name, live, known))
    return found


def _nic(root, name, live, known):
    index = root.number(NET, name, "ifindex") or 0
    queues = root.names(NET, name, "queues")
    driver = _driver_info(name) if live else {}
    speed = root.number(NET, name, "speed")
    return {
        "name": name,
        "index": index,
        "driver": driver.get("driver") or os.path.basename(root.target(NET, name, "device/driver") or ""),
        "firmware": driver.get("firmware", ""),
        "bus": driver.get("bus", ""),
        "mac": root.text(NET, name, "address") or "",
        "mtu": root.number(NET, name, "mtu") or 0,
        "state": root.text(NET, name, "operstate") or "unknown",
        "speed_mbit": speed if speed and 0 < speed < 0xFFFFFFFF else None,
        "duplex": root.text(NET, name, "duplex") or "",
        "node": _node(root, name),
        "rx_queues": len(numbered(queues, "rx-")),
        "tx_queues": len(numbered(queues, "tx-")),
        "kind": _kind(root, name),
        "addresses": known.get(index, []),
    }


def _node(root, name):
    """The NUMA node of the NIC's PCI function, which may be a parent of the net device's own (virtio); None if
    unknown: -1 is not node 0."""
    path = root.target(NET, name, "device")
    top = os.path.join(os.path.realpath(root.path), "sys/")
    while path and path.startswith(top):
        try:
            with open(os.path.join(path, "numa_node")) as handle:
                node = int(handle.read())
            return node if node >= 0 else None
        except (OSError, ValueError):
            path = os.path.dirname(path)
    return None


def _kind(root, name):
    if root.number(NET, name, "type") == ARPHRD_LOOPBACK:
        return "loopback"
    for kind, sign in (("bond", "bonding"), ("bridge", "bridge"), ("physical", "device")):
        if root.exists(NET, name, sign):
            return kind
    return "vlan" if "DEVTYPE=vlan" in (root.text(NET, name, "uevent") or "") else "virtual"


def _driver_info(name):
    """Driver, firmware and bus by ioctl (struct ethtool_drvinfo); empty where the device has none."""
    buffer = array.array("B", struct.pack("I", ETHTOOL_GDRVINFO) + bytes(192))
    request = struct.pack("16sP", os.fsencode(name), buffer.buffer_info()[0]) + bytes(16)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            fcntl.ioctl(handle.fileno(), SIOCETHTOOL, request)
    except OSError:
        return {}
    data = buffer.tobytes()

    def field(offset):
        return data[offset : offset + 32].split(b"\0")[0].decode("utf-8", "replace")

    firmware = field(68)
    return {"driver": field(4), "firmware": "" if firmware == "N/A" else firmware, "bus": field(100)}
