"""Inspection of this machine against its own files, and of trees that hosts of other shapes would show."""

import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.inspection import inspect
from netbench_tui.agent.reading import numbered, parse_list, parse_mask
from netbench_tui.model.codec import from_plain
from netbench_tui.model.host import Cpu, HostFacts

Look = Callable[[Mapping[str, "str | bytes"]], HostFacts]


def as_facts(raw: Any) -> HostFacts:
    """Through JSON, as it travels."""
    return from_plain(HostFacts, json.loads(json.dumps(raw)))


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Writes {path: content} below a root (`-> target` makes a link) and inspects it."""

    def write(files: Mapping[str, "str | bytes"]) -> HostFacts:
        for name, content in files.items():
            path = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), os.fsencode(name))))
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str) and content.startswith("-> "):
                path.symlink_to(content[3:])
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return as_facts(inspect(str(tmp_path)))

    return write


def machine(cpus: int) -> dict[str, "str | bytes"]:
    """Two sockets of cpus / 2 single-threaded cores."""
    files: dict[str, str | bytes] = {"sys/devices/system/cpu/present": f"0-{cpus - 1}\n"}
    for cpu in range(cpus):
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{folder}/physical_package_id"] = f"{cpu * 2 // cpus}\n"
        files[f"{folder}/core_id"] = f"{cpu}\n"
        files[f"{folder}/thread_siblings_list"] = f"{cpu}\n"
    return files


def test_this_machine_against_its_own_files(lasting_agent: Any) -> None:
    facts = as_facts(lasting_agent.ok("inspect"))
    kernel = os.uname()
    assert (facts.name, facts.kernel, facts.machine) == (kernel.nodename, kernel.release, kernel.machine)
    assert (facts.uid, facts.clock_ticks) == (os.geteuid(), os.sysconf("SC_CLK_TCK"))
    assert facts.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    lines = Path("/proc/stat").read_text().splitlines()
    online = [int(line.split()[0][3:]) for line in lines if line.startswith("cpu") and line[3] != " "]
    assert [cpu.index for cpu in facts.cpus if cpu.online] == online
    assert facts.environment["command line"] == Path("/proc/cmdline").read_text().strip()
    assert facts.notes == ()
    pretty = [line for line in Path("/etc/os-release").read_text().splitlines() if line.startswith("PRETTY_NAME=")]
    assert facts.distribution in pretty[0]


def test_this_machines_nics_against_the_kernels_answers(lasting_agent: Any) -> None:
    facts = as_facts(lasting_agent.ok("inspect"))
    assert {nic.name: nic.index for nic in facts.nics} == {name: index for index, name in socket.if_nameindex()}
    loopback = facts.nic("lo")
    assert loopback
    assert loopback.kind == "loopback"
    assert loopback.mtu == int(Path("/sys/class/net/lo/mtu").read_text())
    assert ("127.0.0.1", 8, 4, "host") in [(a.text, a.prefix, a.family, a.scope) for a in loopback.addresses]
    assert loopback.node is None and loopback.speed_mbit is None


def test_tools_are_found_without_a_path(start_agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for tool in as_facts(start_agent().ok("inspect")).tools:
        assert os.access(tool.path, os.X_OK)
        assert Path(tool.path).is_absolute()


def test_a_root_without_anything_gives_empty_facts(look: Look) -> None:
    facts = look({})
    assert (facts.cpus, facts.nodes, facts.nics, facts.notes) == ((), (), (), ())


def test_without_sysfs_the_cpus_of_proc_stat_are_shown(look: Look) -> None:
    facts = look({"proc/stat": "cpu  1 2 3\ncpu0 1 2 3\ncpu2 1 2 3\nintr 5\n"})
    assert facts.cpus == (Cpu(0), Cpu(2))


def test_a_virtio_nic_has_the_node_of_its_pci_function(look: Look) -> None:
    device = "sys/devices/pci0000:40/0000:40:00.0/0000:41:00.0"
    facts = look(
        {
            f"{device}/numa_node": "1\n",
            f"{device}/virtio3/net/nic0/mtu": "9000\n",
            f"{device}/virtio3/net/nic0/ifindex": "7\n",
            f"{device}/virtio3/net/nic0/speed": "-1\n",
            f"{device}/virtio3/net/nic0/operstate": "up\n",
            f"{device}/virtio3/net/nic0/queues/rx-0/rps_cpus": "0\n",
            f"{device}/virtio3/net/nic0/queues/rx-1/rps_cpus": "0\n",
            f"{device}/virtio3/net/nic0/queues/tx-0/xps_cpus": "0\n",
            f"{device}/virtio3/net/nic0/device": "-> ../../../virtio3",
            f"{device}/virtio3/driver": "-> ../../../../../bus/virtio/drivers/virtio_net",
            "sys/bus/virtio/drivers/virtio_net/bind": "",
            "sys/class/net/nic0": f"-> ../../../{device}/virtio3/net/nic0",
        }
    )
    nic = facts.nic("nic0")
    assert nic
    assert (nic.node, nic.driver, nic.kind) == (1, "virtio_net", "physical")
    assert (nic.mtu, nic.index, nic.state, nic.speed_mbit) == (9000, 7, "up", None)
    assert (nic.rx_queues, nic.tx_queues) == (2, 1)


@pytest.mark.parametrize(("node", "expected"), [("-1\n", None), ("0\n", 0), ("3\n", 3), ("", None), ("x", None)])
def test_a_node_of_minus_one_is_unknown_and_never_node_0(look: Look, node: str, expected: int | None) -> None:
    facts = look(
        {
            "sys/devices/pci0000:00/0000:00:05.0/numa_node": node,
            "sys/devices/pci0000:00/0000:00:05.0/net/nic0/mtu": "1500",
            "sys/devices/pci0000:00/0000:00:05.0/net/nic0/device": "-> ../../../0000:00:05.0",
            "sys/class/net/nic0": "-> ../../devices/pci0000:00/0000:00:05.0/net/nic0",
        }
    )
    assert facts.nics[0].node == expected


def test_a_device_link_out_of_the_tree_is_not_followed(look: Look) -> None:
    facts = look({"sys/class/net/nic0/mtu": "1500", "sys/class/net/nic0/device": "-> /sys/devices/system/cpu/cpu0"})
    assert facts.nics[0].node is None


def test_kinds_of_nics(look: Look) -> None:
    facts = look(
        {
            "sys/class/net/lo/type": "772\n",
            "sys/class/net/bond0/bonding/mode": "802.3ad 4\n",
            "sys/class/net/br0/bridge/bridge_id": "8000\n",
            "sys/class/net/eth0.5/uevent": "DEVTYPE=vlan\nINTERFACE=eth0.5\n",
            "sys/class/net/dummy0/uevent": "INTERFACE=dummy0\n",
            "sys/class/net/bonding_masters": "bond0\n",
        }
    )
    kinds = {nic.name: nic.kind for nic in facts.nics}
    assert kinds == {"lo": "loopback", "bond0": "bond", "br0": "bridge", "eth0.5": "vlan", "dummy0": "virtual"}


@pytest.mark.parametrize(
    ("speed", "expected"),
    [("100000\n", 100000), ("-1\n", None), ("0\n", None), ("4294967295\n", None), ("", None), ("fast", None)],
)
def test_speeds(look: Look, speed: str, expected: int | None) -> None:
    assert look({"sys/class/net/nic0/speed": speed}).nics[0].speed_mbit == expected


@pytest.mark.parametrize("name", [b"[red]", b"a@b", b"eth0:1", "ü-0".encode(), b"nic\xff"])
def test_names_of_nics_are_data(look: Look, name: bytes) -> None:
    facts = look({"sys/class/net/" + os.fsdecode(name) + "/mtu": "1500\n"})
    assert [nic.name for nic in facts.nics] == [os.fsdecode(name)]
    assert facts.nics[0].mtu == 1500


def test_nodes_with_gaps_and_without_cpus(look: Look) -> None:
    facts = look(
        {
            **machine(4),
            "sys/devices/system/node/node0/cpulist": "0-1\n",
            "sys/devices/system/node/node0/distance": "10 80 40\n",
            "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       32614652 kB\nNode 0 MemFree: 5 kB\n",
            "sys/devices/system/node/node8/cpulist": "2-3\n",
            "sys/devices/system/node/node250/cpulist": "\n",
            "sys/devices/system/node/node250/meminfo": "Node 250 MemTotal: 0 kB\n",
            "sys/devices/system/node/has_cpu": "0,8\n",
        }
    )
    assert [(node.index, node.cpus, node.memory_kib) for node in facts.nodes] == [
        (0, (0, 1), 32614652),
        (8, (2, 3), None),
        (250, (), 0),
    ]
    assert facts.nodes[0].distances == (10, 80, 40)
    assert [cpu.node for cpu in facts.cpus] == [0, 0, 8, 8]
    assert [cpu.socket for cpu in facts.cpus] == [0, 0, 1, 1]


def test_nodes_of_old_kernels_have_a_mask(look: Look) -> None:
    facts = look({**machine(40), "sys/devices/system/node/node1/cpumap": "00000080,00000003\n"})
    assert facts.nodes[0].cpus == (0, 1, 39)


@pytest.mark.parametrize("online", ["0,2-3\n", "0,2-3\0", "0,2-3  \n"])
def test_offline_cpus_are_there_and_off(look: Look, online: str) -> None:
    files = machine(4) | {"sys/devices/system/cpu/online": online, "sys/devices/system/cpu/possible": "0-63\n"}
    for gone in ("physical_package_id", "core_id", "thread_siblings_list"):
        del files[f"sys/devices/system/cpu/cpu1/topology/{gone}"]
    files["sys/devices/system/cpu/cpu1/online"] = "0\n"
    facts = look(files)
    assert [cpu.online for cpu in facts.cpus] == [True, False, True, True]
    assert facts.cpus[1] == Cpu(1, online=False)


def test_offline_cpus_where_only_their_own_files_say_so(look: Look) -> None:
    facts = look(
        machine(4) | {"sys/devices/system/cpu/cpu3/online": "0\n", "sys/devices/system/cpu/cpu2/online": "1\n"}
    )
    assert [cpu.online for cpu in facts.cpus] == [True, True, True, False]


def test_possible_cpus_that_are_not_present_are_left_out(look: Look) -> None:
    files = machine(2) | {"sys/devices/system/cpu/cpu7/crash_notes": "0"}
    assert [cpu.index for cpu in look(files).cpus] == [0, 1]


def test_siblings_and_the_last_cache(look: Look) -> None:
    files = machine(4)
    for cpu in range(4):
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        files[f"{folder}/topology/thread_siblings_list"] = f"{cpu % 2},{cpu % 2 + 2}\n"
        files[f"{folder}/cache/index0/level"] = "1\n"
        files[f"{folder}/cache/index0/shared_cpu_list"] = f"{cpu % 2},{cpu % 2 + 2}\n"
        files[f"{folder}/cache/index3/level"] = "3\n"
        files[f"{folder}/cache/index3/shared_cpu_list"] = "0-3\n"
    facts = look(files)
    assert [cpu.sibling for cpu in facts.cpus] == [0, 0, 1, 1]
    assert [cpu.cache for cpu in facts.cpus] == [0, 0, 0, 0]


def test_cut_and_senseless_files_cost_only_themselves(look: Look) -> None:
    files = machine(2) | {
        "sys/devices/system/cpu/cpu0/topology/core_id": "",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id": "-1\n",
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0-",
        "sys/devices/system/cpu/cpu²/online": "1",
        "sys/devices/system/node/node0/cpulist": "0-²,1\n",
        "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:",
        "sys/devices/system/node/node0/distance": "10 x\n",
        "proc/cpuinfo": b"model name\t: \xff\xfe CPU\nmicroc",
        "etc/os-release": 'PRETTY_NAME="Some',
    }
    facts = look(files)
    assert facts.cpus[0] == Cpu(0, node=None)
    assert facts.cpus[1].node == 0
    assert (facts.nodes[0].cpus, facts.nodes[0].memory_kib) == ((1,), None)
    assert facts.cpu_model == "\ufffd\ufffd CPU"
    assert facts.distribution == "Some"
    assert facts.notes == ()


def test_a_folder_where_a_file_should_be(look: Look) -> None:
    assert look({"sys/class/net/nic0/mtu/x": "", "proc/stat/x": "", "sys/devices/system/node": "file"}).nics[0].mtu == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0-3,8", [0, 1, 2, 3, 8]), ("", []), (None, []), ("5", [5]), ("x,1-,-2,3", [1, 3]), ("1\0", [1]), ("3-1", [])],
)
def test_lists(text: str | None, expected: list[int]) -> None:
    assert parse_list(text) == expected


def test_masks_and_numbered_names() -> None:
    assert parse_mask("ff,00000001") == [0, *range(32, 40)]
    assert parse_mask("nonsense") == parse_mask(None) == []
    assert numbered(["cpu10", "cpu2", "cpufreq", "cpu", "node1"], "cpu") == [2, 10]
