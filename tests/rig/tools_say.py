"""What ethtool, lscpu, numactl and /proc/interrupts say, as plain Python values. Used by this folder's tests.

The NIC is nic0 where none is named. `everything(guest)` is the text of all of them that settings may move, to be
compared byte for byte.
"""

import re

from rig import Guest

# `ethtool -k` names some features as its older self did.
OLD_NAMES = {
    "rx-checksumming": "rx-checksum",
    "scatter-gather": "",
    "tx-checksumming": "",
    "tcp-segmentation-offload": "",
    "generic-segmentation-offload": "tx-generic-segmentation",
    "generic-receive-offload": "rx-gro",
    "large-receive-offload": "rx-lro",
    "rx-vlan-offload": "rx-vlan-hw-parse",
    "tx-vlan-offload": "tx-vlan-hw-insert",
    "ntuple-filters": "rx-ntuple-filter",
    "receive-hashing": "rx-hashing",
}
# One process for many files: an emulated host starts a hundred in a minute.
STATE = """\
for try in $(seq 25); do [ "$(cat "/sys/class/net/$1/operstate")" = down ] && sleep 0.2 || break; done
for flag in -k -g -l -c -a -x; do ethtool $flag "$1" 2>&1; done
ip -o link show dev "$1"
tc qdisc show dev "$1"
cd "/sys/class/net/$1"
grep -s '' mtu tx_queue_len threaded gro_flush_timeout napi_defer_hard_irqs queues/*/rps_* queues/*/xps_* \\
  queues/*/byte_queue_limits/limit_m* /proc/irq/*/smp_affinity_list
cd /proc/sys/net
grep -s '' core/* ipv4/tcp_* ipv4/udp_*
"""


def features(guest: Guest, nic: str = "nic0") -> dict[str, tuple[str, bool, bool]]:
    """{kernel's name: (on or off, fixed, wanted otherwise)} of `ethtool -k`; rows that only sum up are left out."""
    found = {}
    for line in guest.ssh("ethtool", "-k", nic).splitlines()[1:]:
        name, _, rest = line.strip().partition(": ")
        name = OLD_NAMES.get(name, name)
        if name:
            found[name] = (rest.split()[0], "[fixed]" in rest, "requested" in rest)
    return found


def numbers(guest: Guest, flag: str) -> tuple[dict[str, str], dict[str, str]]:
    """(maximums, current values) of `ethtool -g` or `-l`; what is n/a is left out."""
    text = guest.ssh("ethtool", flag, "nic0", check=False)
    parts = re.split(r"Current hardware settings:\n", text)
    if len(parts) != 2:
        return {}, {}
    most, current = (dict(re.findall(r"^([^:\n]+):\s+(\S+)$", part, re.M)) for part in parts)
    return (
        {key: value for key, value in most.items() if value != "n/a"},
        {key: value for key, value in current.items() if value != "n/a"},
    )


def pairs(guest: Guest, flag: str) -> dict[str, str]:
    """The `name: value` lines of `ethtool -c`, `-i` or `-S`."""
    text = guest.ssh("ethtool", flag, "nic0", check=False)
    found = re.findall(r"^\s*(.+?):[ \t]+(.*?)[ \t]*$", text, re.M)
    return {key: value for key, value in found if value != "n/a"}


def statistics(guest: Guest) -> set[str]:
    """The names of `ethtool -S`, those that vmxnet3 sets in below a queue's heading with it, repeats numbered."""
    found: set[str] = set()
    heading = ""
    for blanks, name, value in re.findall(r"^     ( *)(\S.*?): (\d+)$", guest.ssh("ethtool", "-S", "nic0"), re.M):
        whole = f"{heading}: {name}" if blanks and heading else name
        if name.endswith(" Queue#"):
            heading = f"{name} {value}"
            whole = heading
        found.add(next(each for each in (whole, *(f"{whole} ({n})" for n in range(2, 99))) if each not in found))
    return found


def indirection(guest: Guest) -> tuple[int, ...]:
    """The table of `ethtool -x`."""
    text = guest.ssh("ethtool", "-x", "nic0", check=False)
    rows = re.findall(r"^\s*\d+:\s+([\d ]+)$", text, re.M)
    return tuple(int(word) for row in rows for word in row.split())


def cpus(guest: Guest) -> list[tuple[int, int, int, int]]:
    """(CPU, core, socket, node) of `lscpu -p`."""
    text = guest.ssh("lscpu", "-p=CPU,CORE,SOCKET,NODE")
    return [tuple(map(int, line.split(","))) for line in text.splitlines() if not line.startswith("#")]


def nodes(guest: Guest) -> dict[int, tuple[tuple[int, ...], int, tuple[int, ...]]]:
    """{node: (CPUs, MB, distances)} of `numactl -H`."""
    text = guest.ssh("numactl", "-H")
    sizes = {int(node): int(size) for node, size in re.findall(r"node (\d+) size: (\d+) MB", text)}
    lists = {int(node): tuple(map(int, words.split())) for node, words in re.findall(r"node (\d+) cpus: (.*)", text)}
    rows = {
        int(node): tuple(map(int, words.split())) for node, words in re.findall(r"^ +(\d+): +([\d ]+)$", text, re.M)
    }
    return {node: (lists[node], sizes[node], rows[node]) for node in sizes}


def interrupts(guest: Guest) -> dict[int, tuple[str, list[int]]]:
    """{number: (last word: the actions, counts per CPU)} of /proc/interrupts."""
    lines = guest.read("/proc/interrupts").splitlines()
    count = len(lines[0].split())
    rows = [line.split() for line in lines[1:]]
    return {int(w[0][:-1]): (w[-1], list(map(int, w[1 : count + 1]))) for w in rows if w[0][:-1].isdigit()}


def affinities(guest: Guest) -> dict[int, dict[str, tuple[int, ...]]]:
    """{IRQ: {`smp` or `effective`: CPUs}} of /proc/irq."""
    text = guest.ssh("bash", "-c", "grep -s '' /proc/irq/*/*_affinity_list")
    found: dict[int, dict[str, tuple[int, ...]]] = {}
    for number, kind, cpus in re.findall(r"/proc/irq/(\d+)/(smp|effective)_affinity_list:(.*)", text):
        found.setdefault(int(number), {})[kind] = cpu_list(cpus)
    return found


def everything(guest: Guest, nic: str = "nic0") -> str:
    """All that a change of ours may move, as the tools and files show it."""
    return guest.ssh("bash", "-c", STATE, "state", nic)


def cpu_list(text: str) -> tuple[int, ...]:
    """`0-2,5` as numbers."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)
