"""Interrupt lines: the whole host's, or those of one NIC. Used by queue_map.py, watching.py, settings and main.py.

Rows have the fields of Irq in model/setting.py, CPU sets as text such as `0-3,8`: thousands of interrupts with hundreds
of CPUs each are megabytes otherwise. What is not known is None or empty.
"""

import os
import re
import stat

from ..nics import device_folders
from ..reading import canonical_list
from . import pcie

KERNEL, PROC, INTERRUPTS = "sys/kernel/irq", "proc/irq", "proc/interrupts"
# The kernel writes no more than a page into a file of /sys.
PAGE = 4095
# The handlers' names that end the chip's field of /proc/interrupts, before the names of the actions.
FLOW = r"(?:edge|level|fasteoi(?:-ipi)?|simple|percpu|percpu_devid|demux|bad|Edge|Level)"
WITH_FLOW = re.compile(r"(?P<chip>.*?)(?:\s+\d+)?[-\s]\s*" + FLOW + r"(?:\s+(?P<actions>.*))?\Z")
# Without one: two blanks stand before the names.
WITHOUT_FLOW = re.compile(r"(?P<chip>.*?)(?:\s+\d+)?\s\s+(?P<actions>\S.*)\Z")
ROW = re.compile(r"\s*(\d+):((?:\s+\d+(?![^\s]))*)[ \t]*(.*)\Z")


def all_irqs(root):
    """Every numbered interrupt of the host, in order: those that /proc/interrupts shows, which leaves out numbers that
    nobody asked for and that never came."""
    numbers, shared = _numbers(root.names(KERNEL)), {}
    if numbers:
        rows = (row(root, number, shared=shared) for number in numbers)
        return [found for found in rows if found["actions"] or found["count"]]
    listed = from_interrupts(root)
    return [row(root, number, listed, shared) for number in sorted(listed) or _numbers(root.names(PROC))]


def irqs_of(root, nic):
    """The rows of a NIC's own interrupts; those of other NICs on the same PCI function are among them."""
    numbers = numbers_of(root, nic)
    listed = None if not numbers or root.is_folder(KERNEL) else from_interrupts(root)
    return [row(root, number, listed) for number in numbers]


def numbers_of(root, nic):
    """The numbers of a NIC's interrupts: its PCI function's MSI vectors, else its line. The function may be a parent
    of the net device's own device (virtio)."""
    for folder in device_folders(root, nic):
        numbers = _numbers(root.names(folder, "msi_irqs"))
        if numbers:
            return numbers
        line = root.number(folder, "irq")
        if line is not None:
            return [line] if line > 0 else []
        if pcie.is_function(folder):
            break  # what lies above are ports and bridges, whose interrupts are not the NIC's
    return _numbers_by_name(root, nic)


def _numbers_by_name(root, nic):
    """For devices that are on no PCI bus: the interrupts that carry the NIC's name, as itself or before `-` or `:`."""
    if not root.exists("sys/class/net", nic, "device"):
        return []
    signs = tuple(nic + sign for sign in "-:")
    named = {number: actions_of(root, number) for number in _numbers(root.names(KERNEL))}
    if not named:
        named = {number: found["actions"] for number, found in from_interrupts(root).items()}
    return sorted(
        number
        for number, actions in named.items()
        if any(action == nic or action.startswith(signs) for action in actions)
    )


def row(root, number, listed=None, shared=None, counted=True):
    """One interrupt. `listed` is what /proc/interrupts says, for kernels without /sys/kernel/irq; `shared` remembers
    parsed lists, since on a large host nearly all are equal. Counting is left out where nobody wants it."""
    folder, known = "%s/%d" % (PROC, number), (listed or {}).get(number, {})
    shared = {} if shared is None else shared
    node = root.number(folder, "node")
    return {
        "number": number,
        "actions": known.get("actions") or actions_of(root, number),
        "chip": known.get("chip") or root.text(KERNEL, str(number), "chip_name") or "",
        "wanted": _cpus(root.text(folder, "smp_affinity_list"), shared),
        "effective": _cpus(root.text(folder, "effective_affinity_list"), shared),
        "node": node if node is not None and node >= 0 else None,
        "managed": _managed(root, folder),
        "count": _count(root, number, known) if counted else None,
    }


def _count(root, number, known):
    if "counts" in known:
        return sum(known["counts"])
    return total(root.raw(KERNEL, str(number), "per_cpu_count"))


def actions_of(root, number):
    text = root.names_text(KERNEL, str(number), "actions")
    return [name for name in (text or "").split(",") if name]


def total(counts):
    """The sum of a per_cpu_count; None for what is none, or was cut off at the end of the kernel's page."""
    try:
        if len(counts) >= PAGE:
            return None
        return sum(map(int, counts.split(b",")))
    except (TypeError, AttributeError, ValueError):
        return None


def _cpus(text, shared):
    if text not in shared:
        shared[text] = canonical_list(text)
    return shared[text]


def _managed(root, folder):
    """The kernel takes its owner's write permission from an interrupt that it spreads itself. A captured tree may
    have lost all permissions: then the default's is gone as well."""
    if _read_only(root, folder + "/smp_affinity") is not True:
        return False
    return root.live or _read_only(root, PROC + "/default_smp_affinity") is not True


def _read_only(root, path):
    try:
        return not os.stat(root.join(path)).st_mode & stat.S_IWUSR
    except OSError:
        return None


def _numbers(names):
    return sorted(int(name) for name in names if name.isdecimal())


def from_interrupts(root):
    """{number: {"counts", "chip", "actions"}} of /proc/interrupts, of its first snapshot should it hold several.

    Counts are as many as the row has: the header may name fewer CPUs, and a capture may end in the middle of a row."""
    found, headers = {}, 0
    for line in os.fsdecode(root.raw(INTERRUPTS) or b"").split("\n"):
        headers += line.lstrip().startswith("CPU")
        if headers > 1:
            break
        matched = ROW.match(line)
        if matched and int(matched.group(1)) not in found:
            chip, actions = _description(matched.group(3).rstrip())
            counts = [int(word) for word in matched.group(2).split()]
            found[int(matched.group(1))] = {"counts": counts, "chip": chip, "actions": actions}
    return found


def _description(text):
    """The chip and the actions of what follows the counts: `IR-PCI-MSI 524288-edge      eth0-TxRx-0, other`."""
    matched = WITH_FLOW.match(text) or WITHOUT_FLOW.match(text)
    if not matched:
        return text, []
    return matched.group("chip"), [name for name in (matched.group("actions") or "").split(", ") if name]
