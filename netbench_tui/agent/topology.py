"""CPUs and NUMA nodes from sysfs. Used by inspection.py; the shapes are those of model/host.py (Cpu, NumaNode)."""

from .reading import numbered, parse_list, parse_mask

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def cpus(root):
    """Every present CPU, as a list of dicts in CPU order."""
    names = root.names(CPU)
    present = set(parse_list(root.text(CPU, "present"))) or set(numbered(names, "cpu"))
    indexes = [i for i in numbered(names, "cpu") if i in present] or sorted(present) or _from_stat(root)
    running = set(parse_list(root.text(CPU, "online"))) or {i for i in indexes if _runs(root, i)}
    homes = _cpu_nodes(root)
    return [_cpu(root, index, index in running, homes.get(index)) for index in indexes]


def _runs(root, index):
    """The CPU's own file, where the kernel lists none together; a CPU that cannot be put offline has none."""
    return root.number(CPU, "cpu%d" % index, "online") != 0


def _from_stat(root):
    """CPU numbers of /proc/stat, for containers that hide sysfs."""
    rows = [line.split(" ", 1)[0] for line in (root.text("proc/stat") or "").splitlines()]
    return numbered(rows, "cpu")


def _cpu(root, index, online, node):
    folder = "%s/cpu%d" % (CPU, index)
    siblings = parse_list(root.text(folder, "topology/thread_siblings_list"))
    return {
        "index": index,
        "online": online,
        "node": node,
        "socket": _known(root.number(folder, "topology/physical_package_id")),
        "core": _known(root.number(folder, "topology/core_id")),
        "cache": _last_cache(root, folder),
        "sibling": siblings.index(index) if index in siblings else 0,
    }


def _known(number):
    return None if number is None or number < 0 else number


def _last_cache(root, folder):
    """The lowest CPU that shares this CPU's last-level cache: a name for the group."""
    level, group = -1, None
    for name in root.names(folder, "cache"):
        found = root.number(folder, "cache", name, "level")
        shared = parse_list(root.text(folder, "cache", name, "shared_cpu_list"))
        if found is not None and found > level and shared:
            level, group = found, min(shared)
    return group


def _cpu_nodes(root):
    homes = {}
    for node in numbered(root.names(NODE), "node"):
        for cpu in _node_cpus(root, "%s/node%d" % (NODE, node)):
            homes.setdefault(cpu, node)
    return homes


def nodes(root):
    """Every NUMA node, also those without CPUs, as a list of dicts."""
    found = []
    for index in numbered(root.names(NODE), "node"):
        folder = "%s/node%d" % (NODE, index)
        distances = (root.text(folder, "distance") or "").split()
        found.append(
            {
                "index": index,
                "cpus": _node_cpus(root, folder),
                "memory_kib": _memory(root.text(folder, "meminfo")),
                "distances": [int(d) for d in distances if d.isdecimal()],
            }
        )
    return found


def _node_cpus(root, folder):
    return parse_list(root.text(folder, "cpulist")) or parse_mask(root.text(folder, "cpumap"))


def _memory(text):
    for line in (text or "").splitlines():
        words = line.split()
        if "MemTotal:" in words[:-1]:
            value = words[words.index("MemTotal:") + 1]
            return int(value) if value.isdecimal() else None
    return None
