"""RPS, RFS, XPS, byte queue limits and NAPI settings: in a namespace of the test's own, against the kernel's files."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.settings import cpu, napi, registry, steering
from netbench_tui.agent.settings.context import Context, Refused
from netbench_tui.model.cpulist import format_cpu_list, parse_cpu_list

Plant = Callable[[Mapping[str, str]], str]
NET = "/sys/class/net/nic0"


def veth(namespace: Any, queues: int = 4) -> None:
    words = ["numtxqueues", str(queues), "numrxqueues", str(queues)]
    namespace.run("ip", "link", "add", "nic0", *words, "type", "veth", "peer", "name", "nic1", *words)
    for nic in ("nic0", "nic1"):
        namespace.run("ip", "link", "set", nic, "up")


def files(namespace: Any) -> dict[str, bytes]:
    """All that can be read below the NIC's queues, byte for byte, and its NAPI settings."""

    def read() -> dict[str, bytes]:
        found = {}
        paths = [path for path in Path(NET, "queues").rglob("*") if path.is_file()]
        for path in [*paths, *(Path(NET, name) for name in ("threaded", "gro_flush_timeout", "napi_defer_hard_irqs"))]:
            try:
                found[str(path)] = path.read_bytes()
            except OSError:
                continue
        return found

    held: dict[str, bytes] = namespace.call(read)
    return held


def values(namespace: Any) -> dict[str, dict[str, Any]]:
    def read() -> dict[str, dict[str, Any]]:
        context = Context()
        try:
            return {row["key"]: row for kind in (steering, napi) for row in kind.read(context, "nic0")}
        finally:
            context.close()

    found: dict[str, dict[str, Any]] = namespace.call(read)
    return found


def write(namespace: Any, key: str, value: str) -> None:
    namespace.call(registry.write, Context(), "nic0", key, value)


def test_every_setting_written_read_and_put_back_byte_for_byte(namespace: Any) -> None:
    veth(namespace)
    before, rows = files(namespace), values(namespace)
    last = (os.cpu_count() or 1) - 1
    wanted = {
        "queue.rx-0.rps_cpus": f"0-{last}" if last else "0",
        "queue.rx-3.rps_cpus": f"{last}",
        "queue.rx-1.rps_flow_cnt": "4096",
        "queue.tx-2.xps_cpus": f"{last}",
        "queue.tx-1.xps_rxqs": "0-1,3",
        "napi.gro_flush_timeout": "20000",
        "napi.defer_hard_irqs": "2",
    }
    for key, value in wanted.items():
        assert "refusal" not in rows[key]
        write(namespace, key, value)
    moved = values(namespace)
    assert {key: moved[key]["value"] for key in wanted} == wanted
    assert parse_cpu_list(namespace.read(f"{NET}/queues/rx-1/rps_flow_cnt")) == (4096,)
    assert int(namespace.read(f"{NET}/queues/tx-1/xps_rxqs").replace(",", ""), 16) == 0b1011
    assert int(namespace.read(f"{NET}/queues/rx-3/rps_cpus").replace(",", ""), 16) == 1 << last
    for key in wanted:
        write(namespace, key, rows[key]["value"])
    assert files(namespace) == before


def test_what_the_kernel_refuses_is_its_own_error(namespace: Any) -> None:
    veth(namespace)
    with pytest.raises(OSError, match="too large"):
        write(namespace, "queue.tx-0.xps_rxqs", "1000")
    with pytest.raises(FileNotFoundError):
        write(namespace, "queue.rx-9.rps_cpus", "0")
    for key, value in (("queue.rx-0.rps_flow_cnt", "many"), ("queue.rx-0.rps_cpus", "0-"), ("napi.threaded", "maybe")):
        with pytest.raises(Refused):
            write(namespace, key, value)
    with pytest.raises(Refused):
        write(namespace, "queue.rx-0.xps_cpus", "0")


def test_one_queue_has_no_xps_of_cpus(namespace: Any) -> None:
    veth(namespace, 1)
    rows = values(namespace)
    assert "queue.rx-0.rps_cpus" in rows
    assert "queue.tx-0.xps_cpus" not in rows


@pytest.mark.parametrize("name", ["[red]", "a@b", "ü0", "fifteen-bytes-x"])
def test_odd_names(namespace: Any, name: str) -> None:
    veth(namespace)
    namespace.run("ip", "link", "set", "nic0", "down")
    namespace.run("ip", "link", "set", "nic0", "name", name)
    namespace.call(registry.write, Context(), name, "queue.rx-1.rps_cpus", "0")
    assert int(namespace.read(f"/sys/class/net/{name}/queues/rx-1/rps_cpus").replace(",", ""), 16) == 1


def test_masks_of_hundreds_of_cpus(plant: Plant) -> None:
    mask = "0000000f," + "00000000," * 10 + "ffffffff,00000001"
    root = plant({"sys/class/net/nic0/queues/rx-0/rps_cpus": mask + "\n"})
    row = steering.read_one(Context(root), "nic0", "queue.rx-0.rps_cpus")
    assert row["value"] == "0,32-63,384-387"
    assert format_cpu_list(parse_cpu_list(row["value"])) == row["value"]
    assert steering.format_mask(steering.wanted_cpus(row["value"])) == mask


def test_limits_of_bytes_and_the_order_of_queues(plant: Plant) -> None:
    folder = "sys/class/net/nic0/queues"
    tree = {f"{folder}/tx-{index}/byte_queue_limits/limit_max": "1879048192\n" for index in (0, 2, 10)}
    rows = steering.read(Context(plant(tree | {f"{folder}/rx-0/rps_flow_cnt": "0\n"})), "nic0")
    assert [(row["key"], row["value"]) for row in rows] == [
        ("queue.rx-0.rps_flow_cnt", "0"),
        *((f"queue.tx-{index}.bql_limit_max", "1879048192") for index in (0, 2, 10)),
    ]


def policies(words: str, offered: str = "performance powersave schedutil") -> dict[str, str]:
    """One letter a policy of two CPUs."""
    names = {"p": "performance", "s": "powersave"}
    tree = {}
    for number, letter in enumerate(words):
        folder = f"sys/devices/system/cpu/cpufreq/policy{2 * number}"
        tree[f"{folder}/scaling_governor"] = names[letter] + "\n"
        tree[f"{folder}/scaling_available_governors"] = offered + " \n"
        tree[f"{folder}/affected_cpus"] = f"{2 * number} {2 * number + 1}\n"
    return tree


@pytest.mark.parametrize(
    ("words", "value"),
    [("ss", "powersave"), ("sspp", "0-3:powersave,4-7:performance"), ("sps", "0-1,4-5:powersave,2-3:performance")],
)
def test_the_governor_is_one_word_where_all_agree(plant: Plant, words: str, value: str) -> None:
    row = cpu.read_one(Context(plant(policies(words))), "machine", "cpu.governor")
    assert (row["value"], row["choices"]) == (value, ["performance", "powersave", "schedutil"])


def test_without_frequencies_there_is_no_governor(plant: Plant) -> None:
    assert cpu.read(Context(plant({"sys/devices/system/cpu/cpu0/online": "1"})), "machine") == []


class Writing(Context):
    """Lets a captured tree be written; the file named in `broken` refuses."""

    broken = ""

    def write_file(self, path: str, text: str) -> None:
        if self.broken and self.broken in path:
            raise OSError(5, "Input/output error")
        Path(self.root.join(path)).write_text(text + "\n")


@pytest.mark.parametrize("value", ["performance", "0-1:performance,2-5:powersave", "0-1,4-5:powersave,2-3:performance"])
def test_governors_are_written_by_policy_and_back(plant: Plant, value: str) -> None:
    context = Writing(plant(policies("sps")))
    found = cpu.read_one(context, "machine", "cpu.governor")["value"]
    for wanted in (value, found):
        cpu.write(context, "machine", "cpu.governor", wanted)
        assert cpu.read_one(context, "machine", "cpu.governor")["value"] == wanted


def test_a_policy_that_refuses_leaves_all_as_they_were(plant: Plant) -> None:
    context = Writing(plant(policies("sss")))
    context.broken = "policy4"
    with pytest.raises(OSError, match="Input/output"):
        cpu.write(context, "machine", "cpu.governor", "performance")
    assert cpu.read_one(context, "machine", "cpu.governor")["value"] == "powersave"
    for nonsense in ("0-1:", "0-x:performance", "0:a,,1:b"):
        with pytest.raises(Refused):
            cpu.write(context, "machine", "cpu.governor", nonsense)


def test_the_machines_governor_is_out_of_bounds_where_it_is_protected() -> None:
    context = Context(protect="the lab shares this machine")
    with pytest.raises(Refused, match="the lab shares"):
        cpu.write(context, "machine", "cpu.governor", "performance")
