"""Which CPUs may serve a NIC, and in which order. Used by steering.py and by the faces that say the same in words."""

from collections.abc import Iterable

from netbench_tui.errors import UsageError
from netbench_tui.model.cpulist import parse_cpu_list
from netbench_tui.model.host import Cpu, HostFacts
from netbench_tui.model.setting import Pcie

# A node that is not known comes behind all that are.
_NOWHERE = 1 << 30


def isolated_cpus(facts: HostFacts) -> frozenset[int]:
    """CPUs that were taken from the scheduler at boot (isolcpus)."""
    try:
        return frozenset(parse_cpu_list(facts.environment.get("isolated", "")))
    except ValueError:
        return frozenset()


def usable_cpus(facts: HostFacts) -> tuple[int, ...]:
    """CPUs that are online and not isolated; if all are isolated, those that are online."""
    online = tuple(cpu.index for cpu in facts.cpus if cpu.online)
    isolated = isolated_cpus(facts)
    return tuple(cpu for cpu in online if cpu not in isolated) or online


def in_order(facts: HostFacts, cpus: Iterable[int], near: int | None = None) -> list[int]:
    """The CPUs of node `near` first, then the other nodes by their distance from it; within a node one thread of every
    core, then the siblings."""
    known = {cpu.index: cpu for cpu in facts.cpus}
    far = _distances(facts, near)

    def place(index: int) -> tuple[int, int, int]:
        cpu = known.get(index, Cpu(index))
        distance = _NOWHERE if cpu.node is None else far.get(cpu.node, _NOWHERE)
        return distance, cpu.sibling, index

    return sorted(set(cpus), key=place)


def _distances(facts: HostFacts, near: int | None) -> dict[int, int]:
    """From node `near` to every node, or their own order where no node is near."""
    numbers = [node.index for node in facts.nodes]
    home = next((node for node in facts.nodes if node.index == near), None)
    if home is None or len(home.distances) != len(numbers):
        return {number: 0 if number == near else number + 1 for number in numbers}
    return dict(zip(numbers, home.distances, strict=True))


def cpus_of_nic(facts: HostFacts, nic: str, pcie: Pcie | None = None) -> list[int]:
    """The usable CPUs of the NIC's node in order. Raises UsageError where its node is not known, or has none."""
    usable = usable_cpus(facts)
    if not usable:
        raise UsageError("the host's CPUs are not known")
    if len(facts.nodes) <= 1:
        return in_order(facts, usable)
    found = facts.nic(nic)
    node = found.node if found else None
    local = set(pcie.local_cpus) if pcie else set()
    if node is None and (not local or local >= set(usable)):
        raise UsageError(f"the NUMA node of {nic} is not known", "name the CPUs yourself")
    mine = [cpu.index for cpu in facts.cpus if node is not None and cpu.node == node] or sorted(local)
    if not (cpus := in_order(facts, set(mine) & set(usable), node)):
        raise UsageError(f"node {node} of {nic} has no CPU that is online and not isolated", "name the CPUs yourself")
    return cpus
