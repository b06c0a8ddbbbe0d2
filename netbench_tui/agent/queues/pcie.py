"""Where a NIC sits: its PCI function and the link to it. Used by queue_map.py; the fields are those of Pcie in
model/setting.py, CPU sets as text such as `0-3,8`."""

import os
import re

from ..nics import device_folders, node_of
from ..reading import canonical_list

ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
# What the kernel writes where it does not know the number of lanes.
NO_WIDTH = (0, 255)


def function_of(root, nic):
    """The folder of the NIC's PCI function, which may be a parent of its device; None where it is on no PCI bus."""
    return next(filter(is_function, device_folders(root, nic)), None)


def is_function(folder):
    """Whether a device's folder is named as PCI functions are: `0000:41:00.0`."""
    return ADDRESS.match(os.path.basename(folder)) is not None


def read(root, nic):
    """The function's address, node, link and near CPUs as a dict; None where there is no PCI function."""
    folder = function_of(root, nic)
    if folder is None:
        return None
    return {
        "address": os.path.basename(folder),
        "node": node_of(root, nic),
        "speed": _speed(root.text(folder, "current_link_speed")),
        "width": _width(root.text(folder, "current_link_width")),
        "max_speed": _speed(root.text(folder, "max_link_speed")),
        "max_width": _width(root.text(folder, "max_link_width")),
        "local_cpus": canonical_list(root.text(folder, "local_cpulist")),
    }


def _speed(text):
    """`16.0 GT/s PCIe` as 16.0; None for `Unknown`."""
    matched = re.match(r"([0-9]+(?:\.[0-9]+)?) ?GT/s", text or "")
    return float(matched.group(1)) if matched else None


def _width(text):
    """`16` or `x16` as 16."""
    matched = re.match(r"x?([0-9]+)\Z", text or "")
    lanes = int(matched.group(1)) if matched else 0
    return None if lanes in NO_WIDTH else lanes
