"""Queue -> interrupt -> CPU, on trees written from the names that the drivers document."""

import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.queues import names, queue_map
from netbench_tui.agent.queues.wiring import wiring
from netbench_tui.agent.settings import affinity
from netbench_tui.agent.settings.context import Context, Refused
from netbench_tui.hosts.settings import read_queues
from netbench_tui.model.setting import Irq, Pcie

Plant = Callable[[Mapping[str, str]], str]
BDF = "0000:41:00.0"
FUNCTION = f"sys/devices/pci0000:40/0000:40:01.0/{BDF}"


def irq_files(number: int, action: str, wanted: str = "0-3", effective: str = "1") -> dict[str, str]:
    return {
        f"sys/kernel/irq/{number}/actions": action + "\n",
        f"sys/kernel/irq/{number}/chip_name": f"IR-PCI-MSIX-{BDF}\n",
        f"sys/kernel/irq/{number}/per_cpu_count": "1,2,3,4\n",
        f"proc/irq/{number}/smp_affinity": "0f\n",
        f"proc/irq/{number}/smp_affinity_list": wanted + "\n",
        f"proc/irq/{number}/effective_affinity_list": effective + "\n",
        f"proc/irq/{number}/node": "1\n",
    }


def nic_files(driver: str, nic: str, queues: tuple[int, int], device: str = "") -> dict[str, str]:
    """A NIC on a PCI function of node 1; `device` is the folder between the two, as virtio has it."""
    folder = f"{FUNCTION}/{device}".rstrip("/")
    files = {
        f"{FUNCTION}/numa_node": "1\n",
        f"{FUNCTION}/local_cpulist": "2-3\n",
        f"{FUNCTION}/current_link_speed": "8.0 GT/s PCIe\n",
        f"{FUNCTION}/current_link_width": "8\n",
        f"{FUNCTION}/max_link_speed": "16.0 GT/s PCIe\n",
        f"{FUNCTION}/max_link_width": "16\n",
        f"{folder}/net/{nic}/ifindex": "7\n",
        f"{folder}/net/{nic}/device": f"-> ../../../{device or BDF}",
        f"{folder}/driver": f"-> /sys/bus/drivers/{driver}",
        f"sys/bus/drivers/{driver}/bind": "",
        f"sys/class/net/{nic}": f"-> ../../../{folder}/net/{nic}",
    }
    for kind, count in zip(("rx", "tx"), queues, strict=True):
        for index in range(count):
            files[f"{folder}/net/{nic}/queues/{kind}-{index}/{'rps' if kind == 'rx' else 'xps'}_cpus"] = "0\n"
    return files


def with_irqs(files: dict[str, str], actions: list[str], first: int = 100) -> dict[str, str]:
    for number, action in enumerate(actions, first):
        files[f"{FUNCTION}/msi_irqs/{number}"] = "msix\n"
        files |= irq_files(number, action)
    return files


def served(root: str, nic: str) -> dict[str, tuple[int | None, str]]:
    return {queue["name"]: (queue["irq"], queue["irq_by"]) for queue in wiring(Context(root), nic).queues}


def pairs(first: int, count: int) -> dict[str, tuple[int, str]]:
    """rx-i and tx-i share interrupt first + i."""
    return {f"{kind}-{index}": (first + index, "name") for kind in ("rx", "tx") for index in range(count)}


PAIRED = {
    "mlx5_core": ["mlx5_async0@pci:" + BDF, *(f"mlx5_comp{i}@pci:{BDF}" for i in range(4))],
    "ice": [f"ice-{BDF}:misc", *(f"ice-nic0-TxRx-{i}" for i in range(4)), f"ice-{BDF}:ctrl-TxRx-0"],
    "i40e": [f"i40e-{BDF}:misc", *(f"i40e-nic0-TxRx-{i}" for i in range(4)), f"i40e-{BDF}:fdir-TxRx-0"],
    "iavf": [f"iavf-{BDF}:mbx", *(f"iavf-nic0-TxRx-{i}" for i in range(4))],
    "ixgbe": ["nic0", *(f"nic0-TxRx-{i}" for i in range(4))],
    "igb": ["nic0", *(f"nic0-TxRx-{i}" for i in range(4))],
    "igc": ["nic0", *(f"nic0-TxRx-{i}" for i in range(4))],
    "bnxt_en": ["bnxt_en-ctrl", *(f"nic0-TxRx-{i}" for i in range(4))],
    "ena": ["ena-mgmnt@pci:" + BDF, *(f"nic0-Tx-Rx-{i}" for i in range(4))],
    "vmxnet3": ["nic0-event-4", *(f"nic0-rxtx-{i}" for i in range(4))],
}


@pytest.mark.parametrize("driver", PAIRED)
def test_vectors_that_serve_a_receive_and_a_transmit_queue_each(plant: Plant, driver: str) -> None:
    root = plant(with_irqs(nic_files(driver, "nic0", (4, 4)), PAIRED[driver]))
    assert served(root, "nic0") == pairs(101, 4)


@pytest.mark.parametrize("driver", ["ice", "bnxt_en", "igb", "vmxnet3"])
def test_vectors_for_one_direction_each(plant: Plant, driver: str) -> None:
    front = "ice-nic0" if driver == "ice" else "nic0"
    actions = [f"{front}-rx-0", f"{front}-rx-1", f"{front}-tx-0", f"{front}-tx-1"]
    found = served(plant(with_irqs(nic_files(driver, "nic0", (2, 2)), actions)), "nic0")
    assert {name: irq for name, (irq, _) in found.items()} == {"rx-0": 100, "rx-1": 101, "tx-0": 102, "tx-1": 103}


def test_virtio_whose_pci_function_is_a_parent_on_node_1(plant: Plant) -> None:
    actions = [
        "virtio3-config",
        *(f"virtio3-{way}put.{i}" for i in range(4) for way in ("in", "out")),
        "virtio3-control",
    ]
    root = plant(with_irqs(nic_files("virtio_net", "nic0", (4, 4), "virtio3"), actions))
    found = queue_map.read(Context(root), "nic0")
    shown = read_queues({"nic": "nic0", **found})
    by_name = {queue.name: queue.irq for queue in shown.queues}
    assert by_name == {f"{kind}-{i}": 101 + 2 * i + (kind == "tx") for kind in ("rx", "tx") for i in range(4)}
    assert shown.pcie == Pcie(BDF, 1, 8.0, 8, 16.0, 16, (2, 3))
    assert [line.number for line in shown.irqs] == list(range(100, 110))
    assert shown.irqs[0] == Irq(100, ("virtio3-config",), f"IR-PCI-MSIX-{BDF}", (0, 1, 2, 3), (1,), 1, False, 10)


def test_all_virtqueues_on_one_vector(plant: Plant) -> None:
    files = with_irqs(nic_files("virtio_net", "nic0", (2, 2), "virtio3"), ["virtio3-config", "virtio3-virtqueues"])
    assert set(served(plant(files), "nic0").values()) == {(101, "line")}


def test_e1000e_has_one_of_each_and_one_for_the_rest(plant: Plant) -> None:
    root = plant(with_irqs(nic_files("e1000e", "nic0", (1, 1)), ["nic0-rx-0", "nic0-tx-0", "nic0"]))
    assert served(root, "nic0") == {"rx-0": (100, "name"), "tx-0": (101, "name")}
    assert list(affinity.places(Context(root), "nic0")) == [
        "queue.rx-0.irq_affinity",
        "queue.tx-0.irq_affinity",
        "irq.other.irq_affinity",
    ]


def test_e1000_has_one_line_for_all(plant: Plant) -> None:
    files = nic_files("e1000", "nic0", (1, 1)) | irq_files(17, "uhci_hcd:usb1,nic0") | {f"{FUNCTION}/irq": "17\n"}
    root = plant(files | {f"{FUNCTION}/msi_irqs": "-> /nowhere"})
    assert served(root, "nic0") == {"rx-0": (17, "line"), "tx-0": (17, "line")}
    assert list(affinity.places(Context(root), "nic0")) == ["queue.rx-0.irq_affinity"]


def test_tg3_counts_its_vectors_from_the_link_up(plant: Plant) -> None:
    actions = ["nic0-tx-0", "nic0-rx-1", "nic0-rx-2", "nic0-rx-3", "nic0-rx-4"]
    found = served(plant(with_irqs(nic_files("tg3", "nic0", (4, 1)), actions)), "nic0")
    assert {name: irq for name, (irq, _) in found.items()} == {
        "rx-0": 101,
        "rx-1": 102,
        "rx-2": 103,
        "rx-3": 104,
        "tx-0": 100,
    }


@pytest.mark.parametrize("nic", ["[red]", "a@b", "x-TxRx-1", "eth0.5", "comma,0", "ü0", "fifteen-bytes-x", "rx-0"])
def test_odd_names_of_nics(plant: Plant, nic: str) -> None:
    actions = [nic, *(f"{nic}-TxRx-{i}" for i in range(2))]
    assert served(plant(with_irqs(nic_files("ixgbe", nic, (2, 2)), actions)), nic) == pairs(101, 2)


def test_an_older_name_of_the_nic_will_do(plant: Plant) -> None:
    files = with_irqs(nic_files("ixgbe", "lan0", (2, 2)), ["eth3", "eth3-TxRx-0", "eth3-TxRx-1"])
    assert served(plant(files), "lan0") == pairs(101, 2)


def test_two_nics_of_one_function_keep_to_their_own(plant: Plant) -> None:
    files = nic_files("ixgbe", "nic0", (1, 1)) | nic_files("ixgbe", "nic00", (1, 1))
    root = plant(with_irqs(files, ["nic0-TxRx-0", "nic00-TxRx-0"]))
    assert served(root, "nic0") == pairs(100, 1)
    assert served(root, "nic00") == pairs(101, 1)


def test_a_queue_that_no_name_mentions_has_no_interrupt(plant: Plant) -> None:
    root = plant(with_irqs(nic_files("ixgbe", "nic0", (3, 1)), ["nic0-TxRx-0", "nic0-TxRx-1"]))
    assert served(root, "nic0")["rx-2"] == (None, "")


def test_without_kernel_irq_the_list_of_proc_tells(plant: Plant) -> None:
    files = nic_files("ixgbe", "nic0", (2, 2))
    for number in (100, 101, 102):
        files[f"{FUNCTION}/msi_irqs/{number}"] = "msix\n"
        files[f"proc/irq/{number}/smp_affinity_list"] = "2-3\n"
    files["proc/interrupts"] = (
        "            CPU0       CPU1\n"
        " 100:          5          6  IR-PCI-MSI 524288-edge      nic0-TxRx-0\n"
        " 101:          7          8  IR-PCI-MSI 524289-edge      nic0-TxRx-1\n"
        " 102:          0          0  IR-PCI-MSI 524290-edge      nic0\n"
    )
    root = plant(files)
    assert served(root, "nic0") == pairs(100, 2)
    found = queue_map.read(Context(root), "nic0")
    assert [(line["count"], line["wanted"], line["chip"]) for line in found["irqs"]][:2] == [
        (11, "2-3", "IR-PCI-MSI"),
        (15, "2-3", "IR-PCI-MSI"),
    ]


def test_a_vlan_shows_its_own_queues_and_says_whose_interrupts_it_uses(plant: Plant) -> None:
    files = {
        "sys/devices/virtual/net/nic0.5/queues/rx-0/rps_cpus": "0\n",
        "sys/devices/virtual/net/nic0.5/lower_nic0": "-> ../nic0",
        "sys/class/net/nic0.5": "-> ../../devices/virtual/net/nic0.5",
    }
    context = Context(plant(files))
    found = queue_map.read(context, "nic0.5")
    assert [queue["name"] for queue in found["queues"]] == ["rx-0"]
    assert (found["irqs"], found["pcie"]) == ([], None)
    assert context.notes == ["nic0.5: the interrupts are those of nic0"]


def test_an_unknown_nic_is_empty_and_said_so(plant: Plant) -> None:
    context = Context(plant({"sys/class/net/nic0/ifindex": "2"}))
    assert queue_map.read(context, "nic1")["queues"] == []
    assert context.notes == ["nic1: no such NIC"]


@pytest.mark.parametrize(
    "link", ["/devices/gone", "../../../gone", "/sys/devices/pci0000:40/../../../../etc", "device"]
)
def test_links_of_captured_trees_lead_nowhere_else(plant: Plant, link: str) -> None:
    root = plant({"sys/class/net/nic0/ifindex": "2", "sys/class/net/nic0/device": f"-> {link}"})
    found = queue_map.read(Context(root), "nic0")
    assert (found["irqs"], found["pcie"]) == ([], None)


def test_an_absolute_link_of_a_captured_tree_stays_inside(plant: Plant) -> None:
    files = with_irqs(nic_files("ixgbe", "nic0", (1, 1)), ["nic0-TxRx-0"])
    files["sys/class/net/nic0"] = f"-> /{FUNCTION}/net/nic0"
    files[f"{FUNCTION}/net/nic0/device"] = f"-> /{FUNCTION}"
    assert served(plant(files), "nic0") == pairs(100, 1)


def test_affinity_rows_are_named_by_queue_and_never_written_in_a_captured_tree(plant: Plant) -> None:
    root = plant(with_irqs(nic_files("ixgbe", "nic0", (2, 2)), PAIRED["ixgbe"][:3]))
    context = Context(root)
    rows = {row["key"]: row for row in affinity.read(context, "nic0")}
    assert list(rows) == ["queue.rx-0.irq_affinity", "queue.rx-1.irq_affinity", "irq.other.irq_affinity"]
    row = rows["queue.rx-1.irq_affinity"]
    assert (row["value"], row["active"], row["refusal"]) == ("0-3", "1", "a captured tree")
    with pytest.raises(Refused) as refused:
        affinity.write(context, "nic0", "queue.rx-1.irq_affinity", "2")
    assert refused.value.code == "EROFS"


def test_affinity_refuses_what_is_no_list(plant: Plant) -> None:
    context = Context(plant(with_irqs(nic_files("ixgbe", "nic0", (2, 2)), PAIRED["ixgbe"][:3])))
    for value in ("none", "", "3-1", "x", "1-99999999"):
        with pytest.raises(Refused) as refused:
            affinity.write(context, "nic0", "queue.rx-0.irq_affinity", value)
        assert refused.value.code == "EINVAL"
    with pytest.raises(Refused) as refused:
        affinity.write(context, "nic0", "queue.rx-9.irq_affinity", "0")
    assert refused.value.code == errno.errorcode[errno.ENOENT]


class Writing(Context):
    """Lets a captured tree be written."""

    def write_file(self, path: str, text: str) -> None:
        Path(self.root.join(path)).write_text(text + "\n")


def test_an_interrupt_is_found_anew_when_its_number_changes(plant: Plant) -> None:
    root = Path(plant(with_irqs(nic_files("ixgbe", "nic0", (2, 2)), PAIRED["ixgbe"][:3])))
    context, key = Writing(str(root)), "queue.rx-1.irq_affinity"
    affinity.write(context, "nic0", key, "3, 2")
    assert (root / "proc/irq/102/smp_affinity_list").read_text() == "2-3\n"
    (root / FUNCTION / "msi_irqs/102").unlink()
    plant({f"{FUNCTION}/msi_irqs/202": "msix\n"} | irq_files(202, "nic0-TxRx-1", "0"))
    context.forget()
    assert affinity.read_one(context, "nic0", key)["value"] == "0"
    affinity.write(context, "nic0", key, "1")
    assert (root / "proc/irq/202/smp_affinity_list").read_text() == "1\n"
    assert (root / "proc/irq/102/smp_affinity_list").read_text() == "2-3\n"


def test_the_interrupts_of_the_port_above_are_not_the_nics(plant: Plant) -> None:
    port = {"sys/devices/pci0000:40/0000:40:01.0/msi_irqs/60": "msi\n"} | irq_files(60, "PCIe PME")
    assert served(plant(nic_files("ixgbe", "nic0", (1, 1)) | port), "nic0")["rx-0"] == (None, "")


def test_a_managed_interrupt_is_fixed(plant: Plant) -> None:
    root = Path(plant(with_irqs(nic_files("ixgbe", "nic0", (1, 1)), ["nic0-TxRx-0"])))
    (root / "proc/irq/100/smp_affinity").chmod(0o444)
    row = affinity.read_one(Context(str(root)), "nic0", "queue.rx-0.irq_affinity")
    assert (row["fixed"], row["refusal"]) == (True, "managed by the kernel")


@pytest.mark.parametrize(
    ("action", "label"),
    [
        ("virtio3-config", "config"),
        ("virtio3-control", "control"),
        ("nic0", "other"),
        (f"ice-{BDF}:misc", "ice:misc"),
        (f"mlx5_async0@pci:{BDF}", "mlx5_async0"),
        (f"ena-mgmnt@pci:{BDF}", "ena-mgmnt"),
        ("nic0-event-4", "event-4"),
    ],
)
def test_labels_hold_nothing_that_a_boot_changes(action: str, label: str) -> None:
    assert names.label(action, "nic0") == label


def test_this_hosts_nics_can_all_be_read(lasting_agent: Any) -> None:
    for nic in lasting_agent.ok("inspect")["nics"]:
        answer = lasting_agent.ok("queues", nic=nic["name"])
        assert len(answer["queues"]) == nic["rx_queues"] + nic["tx_queues"]
        assert read_queues(answer).nic == nic["name"]
