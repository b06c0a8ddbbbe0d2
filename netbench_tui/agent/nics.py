"""The host's network interfaces, from sysfs, one ioctl and rtnetlink. Used by inspection.py.

The shapes are those of model/host.py (Nic, Address).
"""

import os

from .kernel.ethtool_ioctl import EthtoolIoctl
from .kernel.rtnetlink import addresses
from .reading import numbered

NET = "sys/class/net"
ARPHRD_LOOPBACK = 772


def nics(root, live, notes):
    """Every NIC as a list of dicts. `live` is False for a captured tree: then no ioctl and no netlink is tried."""
    known, ioctl = {}, None
    if live:
        ioctl = EthtoolIoctl()
        try:
            known = addresses()
        except OSError as error:
            notes.append("addresses: %s" % error.strerror)
    found = []
    for name in root.names(NET):
        if root.is_folder(NET, name):
            found.append(_nic(root, name, ioctl, known))
    if ioctl:
        ioctl.close()
    return found


def _nic(root, name, ioctl, known):
    index = root.number(NET, name, "ifindex") or 0
    queues = root.names(NET, name, "queues")
    driver = _driver_info(ioctl, name) if ioctl else {}
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
        "node": node_of(root, name),
        "rx_queues": len(numbered(queues, "rx-")),
        "tx_queues": len(numbered(queues, "tx-")),
        "kind": _kind(root, name),
        "addresses": known.get(index, []),
        "lower": [entry[len("lower_") :] for entry in root.names(NET, name) if entry.startswith("lower_")],
    }


def neighbours(root, name):
    """The NICs that this one sits on, and those that sit on it, at any distance: what a change of it may move."""
    found = []
    for sign in ("lower_", "upper_"):
        waiting = [name]
        while waiting:
            entries = root.names(NET, waiting.pop())
            new = [entry[len(sign) :] for entry in entries if entry.startswith(sign)]
            new = [other for other in new if other != name and other not in found]
            found += new
            waiting += new
    return found


def device_folders(root, name):
    """The NIC's device and the folders above it, nearest first, never out of sys/devices: the PCI function may be a
    parent of the net device's own (virtio). Paths are below the root and need not exist in a captured tree."""
    path = root.target(NET, name, "device")
    while path and path.startswith("sys/") and path.count("/") > 1:
        yield path
        path = os.path.dirname(path)


def node_of(root, name):
    """The NUMA node of the NIC's PCI function; None if unknown: -1 is not node 0."""
    for folder in device_folders(root, name):
        if root.exists(folder, "numa_node"):
            node = root.number(folder, "numa_node")
            return node if node is not None and node >= 0 else None
    return None


def _kind(root, name):
    if root.number(NET, name, "type") == ARPHRD_LOOPBACK:
        return "loopback"
    for kind, sign in (("bond", "bonding"), ("bridge", "bridge"), ("physical", "device")):
        if root.exists(NET, name, sign):
            return kind
    return "vlan" if "DEVTYPE=vlan" in (root.text(NET, name, "uevent") or "") else "virtual"


def _driver_info(ioctl, name):
    """Driver, firmware and bus; empty where the device has none."""
    try:
        found = ioctl.driver(name)
    except OSError:
        return {}
    if found["firmware"] == "N/A":
        found["firmware"] = ""
    return found
