"""CPUs and NUMA nodes from sysfs. Used by inspection.py; the shapes are those of model/host.py (Cpu, NumaNode).

Hosts hide much of it: CPUs that are offline have no topology, old kernels write masks where new ones write lists, and
some have it in /proc/cpuinfo alone.
"""

from .reading import numbered, parse_list, parse_mask

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
# Newer names first; each is a list as NAME_list and a mask as NAME.
CORE_MATES = ("core_cpus", "thread_siblings")
SOCKET_MATES = ("package_cpus", "core_siblings")


def cpus(root):
    """Every present CPU, as a list of dicts in CPU order."""
    names = root.names(CPU)
    present = set(parse_list(root.text(CPU, "present"))) or set(numbered(names, "cpu"))
    indexes = [i for i in numbered(names, "cpu") if i in present] or sorted(present) or _from_stat(root)
    running = set(parse_list(root.text(CPU, "online"))) or {i for i in indexes if _runs(root, i)}
    homes, caches, mates = _cpu_nodes(root), _last_caches(root, indexes), _mates(root, indexes, CORE_MATES)
    places = _places(root, indexes, mates)
    isolated, nohz = _set_aside(root, "isolated", "isolcpus"), _set_aside(root, "nohz_full", "nohz_full")
    found = []
    for index in indexes:
        row = {"index": index, "online": index in running, "node": homes.get(index), "cache": caches.get(index)}
        row.update(places[index])
        row["sibling"] = mates[index].index(index) if index in mates.get(index, ()) else 0
        row["isolated"], row["nohz_full"] = index in isolated, index in nohz
        found.append(row)
    return found


def _runs(root, index):
    """The CPU's own file, where the kernel lists none together; a CPU that cannot be put offline has none."""
    return root.number(CPU, "cpu%d" % index, "online") != 0


def _from_stat(root):
    """CPU numbers of /proc/stat, for containers that hide sysfs."""
    rows = [line.split(" ", 1)[0] for line in (root.text("proc/stat") or "").splitlines()]
    return numbered(rows, "cpu")


def _set_aside(root, name, word):
    """The CPUs of a list in sysfs; where there is no such file, those of a word of the kernel's command line, which may
    have flags before them: `isolcpus=managed_irq,domain,2-5`."""
    text = root.text(CPU, name)
    if text is not None:
        return set(parse_list(text))
    found = set()
    for part in (root.text("proc/cmdline") or "").split():
        key, _, value = part.partition("=")
        if key == word:
            found.update(parse_list(value))
    return found


def _mates(root, indexes, names):
    """{CPU: the CPUs of its core (or socket), in order}; a list is read once for all that are in it."""
    found = {}
    for index in indexes:
        if index in found:
            continue
        members = _members(root, "%s/cpu%d/topology" % (CPU, index), names)
        if index in members:
            found.update((member, members) for member in members)
    return found


def _members(root, folder, names):
    for name in names:
        members = parse_list(root.text(folder, name + "_list")) or parse_mask(root.text(folder, name))
        if members:
            return members
    return []


def _places(root, indexes, mates):
    """{CPU: {"socket", "die", "core"}}; None where nobody says. Sets `mates` of cores that only /proc/cpuinfo knows."""
    found = {}
    for index in indexes:
        folder = "%s/cpu%d/topology" % (CPU, index)
        names = (("socket", "physical_package_id"), ("die", "die_id"), ("core", "core_id"))
        found[index] = {key: _known(root.number(folder, name)) for key, name in names}
    if all(place["socket"] is None for place in found.values()):
        _sockets_from_mates(found, _mates(root, indexes, SOCKET_MATES))
    if all(place["socket"] is None for place in found.values()):
        _from_cpuinfo(root, found, mates)
    _tell_cores_apart(found, mates)
    return found


def _known(number):
    return None if number is None or number < 0 else number


def _sockets_from_mates(found, sockets):
    """For kernels that number the packages -1 and still say which CPUs share one."""
    firsts = sorted({members[0] for members in sockets.values()})
    for index, place in found.items():
        if index in sockets:
            place["socket"] = firsts.index(sockets[index][0])


def _from_cpuinfo(root, found, mates):
    cores, values = {}, {}
    for line in (root.text("proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if key == "processor":
            values = found.get(int(value), {}) if value.isdecimal() else {}
        elif key in ("physical id", "core id") and value.isdecimal():
            values["socket" if key == "physical id" else "core"] = int(value)
    for index, place in sorted(found.items()):
        if place["core"] is not None:
            cores.setdefault((place["socket"], place["core"]), []).append(index)
    for members in cores.values():
        for index in members:
            mates.setdefault(index, members)


def _tell_cores_apart(found, mates):
    """Where several cores of a socket have the same number (one count per die, or no numbers), a core is called by its
    first CPU: socket and core together name one core."""
    firsts = {}
    for index, place in found.items():
        firsts.setdefault((place["socket"], place["core"]), set()).add(mates[index][0] if index in mates else None)
    if all(len(several) == 1 for several in firsts.values()):
        return
    for index, place in found.items():
        if index in mates:
            place["core"] = mates[index][0]


def _last_caches(root, indexes):
    """{CPU: the lowest CPU that shares its last-level cache}: a name for the group, read once for all in it."""
    found = {}
    for index in indexes:
        if index not in found:
            shared = _last_cache(root, "%s/cpu%d" % (CPU, index))
            if index in shared:
                found.update((member, min(shared)) for member in shared)
    return found


def _last_cache(root, folder):
    """The CPUs that share this CPU's last-level cache."""
    last, members = -1, []
    for name in root.names(folder, "cache"):
        level = root.number(folder, "cache", name, "level")
        if level is not None and level > last:
            shared = parse_list(root.text(folder, "cache", name, "shared_cpu_list"))
            shared = shared or parse_mask(root.text(folder, "cache", name, "shared_cpu_map"))
            if shared:
                last, members = level, shared
    return members


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
        memory = root.text(folder, "meminfo")
        found.append(
            {
                "index": index,
                "cpus": _node_cpus(root, folder),
                "memory_kib": _memory(memory, "MemTotal:"),
                "memory_free_kib": _memory(memory, "MemFree:"),
                "distances": [int(d) for d in distances if d.isdecimal()],
            }
        )
    return found


def _node_cpus(root, folder):
    return parse_list(root.text(folder, "cpulist")) or parse_mask(root.text(folder, "cpumap"))


def _memory(text, name):
    """A size of a node's meminfo, in KiB: `Node 0 MemTotal:       16318180 kB`."""
    for line in (text or "").splitlines():
        words = line.split()
        if name in words[:-1]:
            value = words[words.index(name) + 1]
            return int(value) if value.isdecimal() else None
    return None
