"""CPUs, sockets, cores, caches and nodes of hosts that show them in uncommon ways."""

from collections.abc import Callable, Mapping

import pytest

from netbench_tui.agent import topology
from netbench_tui.agent.inspection import inspect
from netbench_tui.agent.reading import Root, format_list, format_mask, parse_list, parse_mask
from netbench_tui.model.codec import from_plain
from netbench_tui.model.host import Cpu, HostFacts, NumaNode

Plant = Callable[[Mapping[str, str]], str]
CPU, NODE = "sys/devices/system/cpu", "sys/devices/system/node"


def cpus(root: str) -> tuple[Cpu, ...]:
    return from_plain(tuple[Cpu, ...], topology.cpus(Root(root)))


def cores(found: tuple[Cpu, ...]) -> int:
    return len({(cpu.socket, cpu.core) for cpu in found if cpu.online})


def test_cores_of_two_dies_with_the_same_numbers_stay_apart(plant: Plant) -> None:
    files = {f"{CPU}/present": "0-7\n", f"{CPU}/online": "0-7\0\n"}
    for cpu in range(8):
        folder = f"{CPU}/cpu{cpu}/topology"
        files[f"{folder}/physical_package_id"] = "0\n"
        files[f"{folder}/die_id"] = f"{cpu // 4}\n"
        files[f"{folder}/core_id"] = f"{cpu % 4 // 2}\n"
        files[f"{folder}/core_cpus_list"] = f"{cpu - cpu % 2}-{cpu - cpu % 2 + 1}\n"
    found = cpus(plant(files))
    assert cores(found) == 4
    assert [cpu.sibling for cpu in found] == [0, 1] * 4
    assert [cpu.die for cpu in found] == [0] * 4 + [1] * 4


def test_masks_alone_as_old_kernels_write_them(plant: Plant) -> None:
    files = {f"{CPU}/present": "0-3\n", f"{CPU}/online": "0-3  \n"}
    for cpu in range(4):
        folder = f"{CPU}/cpu{cpu}"
        files[f"{folder}/topology/physical_package_id"] = "0\n"
        files[f"{folder}/topology/core_id"] = f"{cpu % 2}\n"
        files[f"{folder}/topology/thread_siblings"] = "00000000,00000005\n" if cpu % 2 == 0 else "00000000,0000000a\n"
        files[f"{folder}/cache/index2/level"] = "2\n"
        files[f"{folder}/cache/index2/shared_cpu_map"] = "00000000,0000000f\n"
    found = cpus(plant(files))
    assert (cores(found), {cpu.cache for cpu in found}) == (2, {0})
    assert [cpu.sibling for cpu in found] == [0, 0, 1, 1]


def test_packages_numbered_minus_one_are_told_by_their_mates(plant: Plant) -> None:
    files = {f"{CPU}/online": "6-7,10\n", f"{CPU}/present": "6-7,10\n"}
    for cpu, mates in ((6, "6-7"), (7, "6-7"), (10, "10")):
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "-1\n"
        files[f"{CPU}/cpu{cpu}/topology/core_id"] = "0\n"
        files[f"{CPU}/cpu{cpu}/topology/core_siblings_list"] = mates + "\n"
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu}\n"
    found = cpus(plant(files))
    assert [(cpu.index, cpu.socket) for cpu in found] == [(6, 0), (7, 0), (10, 1)]
    assert cores(found) == 3


def test_what_only_cpuinfo_says(plant: Plant) -> None:
    blocks = [f"processor\t: {cpu}\nphysical id\t: {cpu % 2}\ncore id\t\t: {cpu // 4}\n" for cpu in range(8)]
    root = plant({f"{CPU}/present": "0-7\n", f"{CPU}/online": "0-7\n", "proc/cpuinfo": "\n".join(blocks)})
    found = cpus(root)
    assert (len({cpu.socket for cpu in found}), cores(found)) == (2, 4)
    assert [cpu.sibling for cpu in found] == [0, 0, 1, 1, 0, 0, 1, 1]


def test_offline_cpus_have_a_node_and_no_place(plant: Plant) -> None:
    files = {f"{CPU}/present": "0-3\n", f"{CPU}/online": "0-1\n", f"{NODE}/node0/cpulist": "0-3\n"}
    for cpu in range(4):
        files[f"{CPU}/cpu{cpu}/online"] = f"{int(cpu < 2)}\n"
    for cpu in range(2):
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = f"{cpu}\n"
        files[f"{CPU}/cpu{cpu}/topology/core_id"] = "0\n"
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu}\n"
    found = cpus(plant(files))
    assert [cpu.online for cpu in found] == [True, True, False, False]
    assert [cpu.node for cpu in found] == [0, 0, 0, 0]
    assert (cores(found), found[3].socket, found[3].core) == (2, None, None)


@pytest.mark.parametrize(
    ("files", "isolated", "nohz"),
    [
        ({f"{CPU}/isolated": "2-3\n", f"{CPU}/nohz_full": "3\n"}, [2, 3], [3]),
        ({f"{CPU}/isolated": "\n", f"{CPU}/nohz_full": "(null)\n", "proc/cmdline": "isolcpus=1"}, [], []),
        ({"proc/cmdline": "ro isolcpus=managed_irq,domain,1-2 nohz_full=2 quiet"}, [1, 2], [2]),
        ({}, [], []),
    ],
)
def test_cpus_set_aside(plant: Plant, files: dict[str, str], isolated: list[int], nohz: list[int]) -> None:
    found = cpus(plant({f"{CPU}/present": "0-3\n"} | files))
    assert [cpu.index for cpu in found if cpu.isolated] == isolated
    assert [cpu.index for cpu in found if cpu.nohz_full] == nohz


def test_nodes_without_cpus_with_gaps_and_with_masks(plant: Plant) -> None:
    root = plant(
        {
            f"{NODE}/node0/cpumap": "00000000,00000003\n",
            f"{NODE}/node0/meminfo": "\nNode 0 MemTotal:       2048 kB\nNode 0 MemFree:        1024 kB\n",
            f"{NODE}/node0/distance": "10 40 80\n",
            f"{NODE}/node8/cpulist": "2-3\n",
            f"{NODE}/node250/cpulist": "\n",
            f"{NODE}/node250/meminfo": "Node 250 MemTotal: what\n",
            f"{NODE}/possible": "0-255\n",
        }
    )
    assert from_plain(tuple[NumaNode, ...], topology.nodes(Root(root))) == (
        NumaNode(0, (0, 1), 2048, (10, 40, 80), 1024),
        NumaNode(8, (2, 3)),
        NumaNode(250),
    )


def test_different_last_caches_beside_each_other(plant: Plant) -> None:
    files = {f"{CPU}/present": "0-3\n"}
    for cpu in range(4):
        files[f"{CPU}/cpu{cpu}/cache/index0/level"] = "1\n"
        files[f"{CPU}/cpu{cpu}/cache/index0/shared_cpu_list"] = f"{cpu}\n"
    for cpu in (1, 2):
        files[f"{CPU}/cpu{cpu}/cache/index3/level"] = "3\n"
        files[f"{CPU}/cpu{cpu}/cache/index3/shared_cpu_list"] = "1-2\n"
    assert [cpu.cache for cpu in cpus(plant(files))] == [0, 1, 1, 3]


def test_a_tree_whose_links_go_in_circles_is_read_to_its_end(plant: Plant) -> None:
    root = plant({"sys/class/net/a": "-> b", "sys/class/net/b": "-> a", "sys/class/net/c/mtu": "-> mtu"})
    facts = from_plain(HostFacts, inspect(root))
    assert [nic.name for nic in facts.nics] == ["c"]
    assert facts.notes == ()


def test_absolute_links_stay_inside_the_tree(plant: Plant) -> None:
    root = Root(
        plant({"proc/self": "-> /proc/1", "proc/1/comm": "inside\n", "out": "-> ../../../../../../etc/hostname"})
    )
    assert root.text("proc/self/comm") == "inside"
    assert root.text("out") is None
    assert root.target("proc/self") == "proc/1"


@pytest.mark.parametrize("numbers", [[], [0], [31], [32], [0, 31, 32, 63, 64], list(range(0, 1152, 3))])
def test_masks_and_lists_go_both_ways(numbers: list[int]) -> None:
    assert parse_mask(format_mask(numbers)) == numbers
    assert parse_list(format_list(numbers)) == numbers
    assert all(len(group) == 8 for group in format_mask(numbers).split(","))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0-", [0]), ("0-99999999999", []), ("3-1", []), ("1,,4-5,x", [1, 4, 5]), ("0-1\0\0", [0, 1])],
)
def test_damaged_lists(text: str, expected: list[int]) -> None:
    assert parse_list(text) == expected
