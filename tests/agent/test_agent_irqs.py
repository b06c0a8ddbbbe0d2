"""Interrupts of a whole host: what /proc/interrupts looks like in the world, and a large machine in one pass."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.queues import irqs
from netbench_tui.agent.reading import Root, parse_list
from netbench_tui.hosts.settings import read_irqs
from netbench_tui.model.setting import Irq

Plant = Callable[[Mapping[str, str]], str]


def listed(plant: Plant, text: str) -> dict[int, tuple[list[int], str, list[str]]]:
    found = irqs.from_interrupts(Root(plant({"proc/interrupts": text})))
    return {number: (row["counts"], row["chip"], row["actions"]) for number, row in found.items()}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (" 26:   0   13  IO-APIC   4-edge      ttyS0", ([0, 13], "IO-APIC", ["ttyS0"])),
        (" 26:   0   13   IO-APIC-edge      i8042", ([0, 13], "IO-APIC", ["i8042"])),
        (" 26:   0   13  IR-PCI-MSI 524289-edge      eth0-TxRx-0", ([0, 13], "IR-PCI-MSI", ["eth0-TxRx-0"])),
        (
            " 26:  0  13 PCI-MSIX-0000:00:08.0  30-edge      gve-ntfy-blk0@pci:0000:00:08.0",
            ([0, 13], "PCI-MSIX-0000:00:08.0", ["gve-ntfy-blk0@pci:0000:00:08.0"]),
        ),
        (
            " 26:  0  13  IR-PCI-MSIX-0000:4b:00.0   0-edge      ice-0000:4b:00.0:misc",
            ([0, 13], "IR-PCI-MSIX-0000:4b:00.0", ["ice-0000:4b:00.0:misc"]),
        ),
        (
            " 26:  1  103 Hyper-V PCIe MSI 4138200989697-edge      mana_q0@pci:7870:00:00.0",
            ([1, 103], "Hyper-V PCIe MSI", ["mana_q0@pci:7870:00:00.0"]),
        ),
        (" 26:   0   201   ITS-MSI   1 Edge      eth%d-ntfy-block.1", ([0, 201], "ITS-MSI", ["eth%d-ntfy-block.1"])),
        (" 26:   0   1     GICv3  27 Level     arch_timer", ([0, 1], "GICv3", ["arch_timer"])),
        (" 26:   0   1    <NULL>-edge     timer", ([0, 1], "<NULL>", ["timer"])),
        (" 26:   0   1   PCI-MSI  mlx5_comp3@pci:0001:00:00.0", ([0, 1], "PCI-MSI", ["mlx5_comp3@pci:0001:00:00.0"])),
        (" 26:   0   1   IO-APIC  16-fasteoi   ehci_hcd:usb1, eth0", ([0, 1], "IO-APIC", ["ehci_hcd:usb1", "eth0"])),
        (" 26:   0   1   IO-APIC-edge    ", ([0, 1], "IO-APIC", [])),
        (" 26:   0   1   IO-APIC   3-edge    ", ([0, 1], "IO-APIC", [])),
        (" 26:   5   6   7   8  IO-APIC   3-edge      ttyS1", ([5, 6, 7, 8], "IO-APIC", ["ttyS1"])),
        (" 26:   5", ([5], "", [])),
        (" 26:", ([], "", [])),
    ],
)
def test_rows_as_kernels_write_them(plant: Plant, row: str, expected: tuple[list[int], str, list[str]]) -> None:
    head = "           CPU0       CPU1\n"
    tail = "\nNMI:   0  0   Non-maskable interrupts\nERR:   0\nMIS:   0\nI/O:  3  4\n"
    assert listed(plant, head + row + tail) == {26: expected}


@pytest.mark.parametrize("text", ["", "IRQ TOTAL NAME\n", "\0\0\n", "CPU0 CPU1\n", "no: such\n"])
def test_what_is_no_list_of_interrupts(plant: Plant, text: str) -> None:
    assert listed(plant, text) == {}


def test_of_several_snapshots_the_first_counts(plant: Plant) -> None:
    snapshot = "   CPU0\n  5:   %d  IO-APIC  5-edge   x\n"
    assert listed(plant, snapshot % 1 + snapshot % 2 + "  CPU0\n  5:   3")[5][0] == [1]


def test_an_empty_effective_list_and_no_node_are_unknown(plant: Plant) -> None:
    root = plant(
        {
            "sys/kernel/irq/9/actions": "acpi\n",
            "sys/kernel/irq/9/per_cpu_count": "1,\n",
            "proc/irq/9/smp_affinity_list": "0-1\n",
            "proc/irq/9/effective_affinity_list": "\n",
            "proc/irq/9/node": "-1\n",
            "sys/kernel/irq/10/actions": "\n",
            "sys/kernel/irq/10/per_cpu_count": "0,0\n",
            "sys/kernel/irq/11/actions": "\n",
            "sys/kernel/irq/11/per_cpu_count": "0,2\n",
        }
    )
    rows = read_irqs({"irqs": irqs.all_irqs(Root(root))})
    assert rows == (Irq(9, ("acpi",), "", (0, 1), (), None, False, None), Irq(11, count=2))


def test_a_list_cut_off_by_the_kernel_gives_no_count() -> None:
    assert irqs.total(b"1,2,3\n") == 6
    assert irqs.total(b"1," * 2047 + b"1") is None
    assert irqs.total(b"\n") is None
    assert irqs.total(None) is None


@pytest.mark.parametrize(("default", "managed"), [(0o644, True), (0o444, False)])
def test_managed_is_what_lost_its_write_permission_alone(plant: Plant, default: int, managed: bool) -> None:
    files = {"proc/irq/default_smp_affinity": "3\n", "proc/irq/9/smp_affinity": "3\n", "sys/kernel/irq/9/actions": "x"}
    root = Path(plant(files))
    (root / "proc/irq/9/smp_affinity").chmod(0o444)
    (root / "proc/irq/default_smp_affinity").chmod(default)
    assert irqs.all_irqs(Root(str(root)))[0]["managed"] is managed


def test_this_host_against_its_own_list(lasting_agent: Any) -> None:
    rows = {row.number: row for row in read_irqs(lasting_agent.ok("interrupts"))}
    assert sorted(rows) == sorted(irqs.from_interrupts(Root("/")))
    columns = len(Path("/proc/interrupts").read_text().splitlines()[0].split())
    for number, row in irqs.from_interrupts(Root("/")).items():
        assert rows[number].actions == tuple(row["actions"])
        assert len(row["counts"]) == columns
        wanted = Path(f"/proc/irq/{number}/smp_affinity_list").read_text().strip()
        assert rows[number].wanted == tuple(parse_list(wanted))
        assert (rows[number].count or 0) <= sum(irqs.from_interrupts(Root("/"))[number]["counts"])


def test_a_large_host_is_read_in_one_pass(plant: Plant) -> None:
    cpus, lines = 512, 2000
    counts = ",".join(["0"] * (cpus - 1) + ["7"]) + "\n"
    files = {}
    for number in range(lines):
        files[f"sys/kernel/irq/{number}/actions"] = f"nvme0q{number}\n"
        files[f"sys/kernel/irq/{number}/chip_name"] = "IR-PCI-MSIX\n"
        files[f"sys/kernel/irq/{number}/per_cpu_count"] = counts
        files[f"proc/irq/{number}/smp_affinity_list"] = f"0-{cpus - 1}\n"
        files[f"proc/irq/{number}/effective_affinity_list"] = f"{number % cpus}\n"
    root = Root(plant(files))

    def seconds() -> float:
        before = time.process_time()
        assert len(irqs.all_irqs(root)) == lines
        return time.process_time() - before

    def plain() -> float:
        """The same files, opened and read and nothing else."""
        before = time.process_time()
        for name in files:
            with open(os.path.join(root.path, name), "rb") as handle:
                handle.read()
        return time.process_time() - before

    plain()
    assert seconds() < 12 * plain()
