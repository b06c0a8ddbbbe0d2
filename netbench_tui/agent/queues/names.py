"""From the name of an interrupt to the queues that it serves. Used by queue_map.py.

Drivers name their vectors after the interface, the device or the PCI function; a name may be older than the
interface's present one. The forms are those of the drivers' own request_irq calls.
"""

import re

BOTH = ("rx", "tx")
KINDS = {
    "rx": ("rx",),
    "input": ("rx",),
    "tx": ("tx",),
    "output": ("tx",),
    "txrx": BOTH,
    "rxtx": BOTH,
    "fp": BOTH,
    "q": BOTH,
    "": BOTH,
}
# The PCI function in a name: `0000:4b:00.0`, also behind `@pci:`.
FUNCTION = re.compile(r"@?(?:pci:)?[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# Named after the device: virtio_net; mlx5_core; mana; hns3.
BY_DEVICE = (
    re.compile(r"virtio\d+-(?P<kind>input|output)\.(?P<index>\d+)\Z"),
    re.compile(r"mlx5_comp(?P<kind>)(?P<index>\d+)(?:@.*)?\Z"),
    re.compile(r"mana_(?P<kind>q)(?P<index>\d+)(?:@.*)?\Z"),
    re.compile(r"hns3-[0-9a-f:.]+-(?P<kind>TxRx|Rx|Tx)-(?P<index>\d+)\Z"),
)
# What follows the interface's name: bnxt_en, i40e, ice, ixgbe, igb, igc, idpf `-TxRx-0`, `-rx-0`; ena `-Tx-Rx-0`;
# vmxnet3 `-rxtx-0`; tg3 `-txrx-1`; stmmac `:rx-0`; bnx2x, qede `-fp-0`; be2net `-q0`; bnx2, sfc `-0`.
AFTER_NAME = re.compile(
    r"[-:](?:(?P<kind>TxRx|Tx-Rx|rxtx|txrx|rx|tx|fp)-|(?P<short>q)|(?P<bare>))(?P<index>\d+)\Z", re.IGNORECASE
)
# Drivers that put their own name in front: i40e, iavf, ice, idpf, nfp.
BEFORE_NAME = ("", "i40e-", "iavf-", "ice-", "idpf-", "nfp-")
# Whatever else an interface was called when its driver asked for the interrupt: only names that say what they serve.
ANY_NAME = re.compile(r".+[-:](?P<kind>TxRx|Tx-Rx|rxtx|txrx|rx|tx|fp)-(?P<index>\d+)\Z", re.IGNORECASE)
# One vector for all queues of a virtio device.
SHARED = re.compile(r"virtio\d+-virtqueues\Z")
# Vector 0 of these is the link's: vector N serves ring N - 1.
FROM_ONE = ("tg3",)


def queues_by_name(rows, nic, driver):
    """{"rx-0": IRQ number} as far as the interrupts' names tell. Where none bears the NIC's name, an older name of it
    will do; two interrupts that claim the same queue leave it to the first."""
    rows = [(row["number"], whole_names(row["actions"], nic)) for row in rows]
    for read in (lambda name: by_name(name, nic), by_device, by_any_name):
        found = {}
        for number, names in rows:
            for kinds, index in filter(None, map(read, names)):
                for kind in kinds:
                    found.setdefault("%s-%d" % (kind, _ring(index, driver)), number)
        if found:
            return found
    return {}


def whole_names(actions, nic):
    """The actions' names. The kernel writes them with commas between, and an interface's name may hold one."""
    if "," not in nic:
        return actions
    mark = "\0"
    return [part.replace(mark, nic) for part in ",".join(actions).replace(nic, mark).split(",")]


def by_name(name, nic):
    """(kinds, index) of an action that bears the interface's name; None if it is not one queue's."""
    for front in BEFORE_NAME:
        if name.startswith(front + nic):
            matched = AFTER_NAME.match(name, len(front + nic))
            if matched:
                kind = matched.group("kind") or matched.group("short") or ""
                return KINDS[kind.lower().replace("-", "")], int(matched.group("index"))
    return None


def by_device(name):
    for pattern in BY_DEVICE:
        matched = pattern.match(name)
        if matched:
            return KINDS[matched.group("kind").lower()], int(matched.group("index"))
    return None


def by_any_name(name):
    matched = None if FUNCTION.search(name) else ANY_NAME.match(name)
    return matched and (KINDS[matched.group("kind").lower().replace("-", "")], int(matched.group("index")))


def _ring(index, driver):
    return max(0, index - 1) if driver in FROM_ONE else index


def line_of(rows, nic):
    """The number of the one interrupt that serves every queue: the NIC's only one, or the one that all virtqueues
    share; None if there is no such one."""
    if len(rows) == 1:
        return rows[0]["number"]
    for row in rows:
        if any(SHARED.match(name) for name in row["actions"]):
            return row["number"]
    named = [row["number"] for row in rows if nic in whole_names(row["actions"], nic)]
    return named[0] if len(named) == 1 else None


def label(name, nic):
    """What an interrupt is called in a key: without what changes from one boot or host to the next."""
    text = FUNCTION.sub("", name)
    text = re.sub(r"^virtio\d+[-.]?", "", text)
    if text == nic:
        return "other"
    for front in BEFORE_NAME:
        for sign in "-:":
            if text.startswith(front + nic + sign):
                text = front + text[len(front + nic + sign) :]
    return text.replace("-:", ":").strip("-:@ ") or "other"
