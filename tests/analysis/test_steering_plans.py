"""Plans come down to the right settings on hosts with nodes, siblings, isolated, offline and unknown CPUs."""

import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.analysis import steering
from netbench_tui.analysis.cpu_order import cpus_of_nic
from netbench_tui.analysis.steering import NicState, Spread
from netbench_tui.errors import UsageError
from netbench_tui.model.host import Cpu, HostFacts, Nic, NumaNode, Role
from netbench_tui.model.setting import MACHINE, HostSettings, Irq, Pcie, Queue, QueueMap, RssTable, Setting

# Two sockets of four cores with two threads each, numbered as x86 does: 0-3 and 4-7 cores, 8-15 their siblings.
CPUS = tuple(Cpu(i, node=i % 8 // 4, socket=i % 8 // 4, core=i % 8, sibling=i // 8) for i in range(16))
NODES = (
    NumaNode(0, (0, 1, 2, 3, 8, 9, 10, 11), distances=(10, 21)),
    NumaNode(1, (4, 5, 6, 7, 12, 13, 14, 15), distances=(21, 10)),
)
FACTS = HostFacts("alpha", cpus=CPUS, nodes=NODES, nics=(Nic("nic0", node=1), Nic("vlan0", lower=("nic0",))))


def combined_queues(count: int, **more: object) -> QueueMap:
    """Receive and transmit queue i share IRQ 40 + i."""
    queues = [Queue(f"{kind}-{i}", kind, i, irq=40 + i) for kind in ("rx", "tx") for i in range(count)]
    irqs = tuple(Irq(40 + i, wanted=(0, 1), effective=(0,)) for i in range(count))
    return QueueMap("nic0", tuple(queues), irqs, **more)


def state(queues: QueueMap, facts: HostFacts = FACTS, *settings: Setting) -> NicState:
    return NicState(Role.RECEIVER, facts, queues, HostSettings(settings))


def asked(changes) -> dict[str, str]:
    assert {change.role for change in changes} == {Role.RECEIVER}
    return {change.key: change.value for change in changes}


def test_spread_gives_every_irq_one_cpu_in_turn():
    changes = steering.spread_irqs(state(combined_queues(3)), (6, 2))
    assert asked(changes) == {
        "queue.rx-0.irq_affinity": "6",
        "queue.rx-1.irq_affinity": "2",
        "queue.rx-2.irq_affinity": "6",
    }


def test_spread_goes_by_irq_number_where_both_directions_have_their_own():
    queues = tuple(
        Queue(f"{kind}-{i}", kind, i, irq=50 + 2 * i + (kind == "tx")) for kind in ("rx", "tx") for i in (0, 1)
    )
    own = QueueMap("nic0", queues, tuple(Irq(50 + i) for i in range(4)))
    assert asked(steering.spread_irqs(state(own), (0, 1, 2, 3))) == {
        "queue.rx-0.irq_affinity": "0",
        "queue.tx-0.irq_affinity": "1",
        "queue.rx-1.irq_affinity": "2",
        "queue.tx-1.irq_affinity": "3",
    }
    on_node = asked(steering.spread_on_node(state(own)))
    assert on_node["queue.rx-1.irq_affinity"] == on_node["queue.tx-1.irq_affinity"] == "5"


def test_spread_on_the_node_takes_cores_before_siblings_and_leaves_isolated_and_offline_ones():
    cpus = tuple(replace(cpu, online=cpu.index != 6) for cpu in CPUS)
    facts = replace(FACTS, cpus=cpus, environment={"isolated": "4"})
    changes = steering.spread_on_node(state(combined_queues(6), facts))
    assert list(asked(changes).values()) == ["5", "7", "12", "13", "14", "15"]


def test_an_unknown_node_is_said_unless_there_is_only_one():
    facts = replace(FACTS, nics=(Nic("nic0"),))
    with pytest.raises(UsageError, match="NUMA node of nic0 is not known"):
        steering.spread_on_node(state(combined_queues(2), facts))
    single = replace(facts, nodes=NODES[:1], cpus=CPUS[:4])
    assert asked(steering.spread_on_node(state(combined_queues(2), single)))["queue.rx-1.irq_affinity"] == "1"
    assert cpus_of_nic(facts, "nic0", Pcie(local_cpus=(4, 12, 5))) == [4, 5, 12]


def test_managed_irqs_are_left_out_and_all_managed_is_said():
    queues = combined_queues(2)
    some = replace(queues, irqs=(replace(queues.irqs[0], managed=True), queues.irqs[1]))
    assert list(asked(steering.spread_irqs(state(some), (3,)))) == ["queue.rx-1.irq_affinity"]
    everything = replace(queues, irqs=tuple(replace(irq, managed=True) for irq in queues.irqs))
    with pytest.raises(UsageError, match="managed by the kernel"):
        steering.spread_irqs(state(everything), (3,))
    with pytest.raises(UsageError, match="managed by the kernel"):
        steering.pin_irq(state(everything), "tx-1", (3,))


def test_a_nic_without_irqs_points_at_the_one_below():
    vlan = QueueMap("vlan0", (Queue("rx-0", "rx", 0),))
    with pytest.raises(UsageError, match="no IRQ of vlan0") as raised:
        steering.spread_irqs(state(vlan), (0,))
    assert "nic0" in raised.value.hint


def test_pinning_names_the_queue_and_refuses_what_is_not_there():
    changes = steering.pin_irq(state(combined_queues(2)), "tx-1", (4, 5, 6))
    assert asked(changes) == {"queue.rx-1.irq_affinity": "4-6"}  # which it shares
    with pytest.raises(UsageError, match="no queue rx-9"):
        steering.pin_irq(state(combined_queues(2)), "rx-9", (4,))
    with pytest.raises(UsageError, match="CPU 16-17 is not online"):
        steering.pin_irq(state(combined_queues(2)), "rx-0", (4, 16, 17))


def test_irqbalance_is_told_only_where_it_runs():
    runs = Setting("nic0", "irqbalance.ban", "none")
    others = [Setting("nic0", f"queue.rx-{i}.irq_affinity", "0") for i in range(2)]
    changes = steering.spread_irqs(state(combined_queues(2), FACTS, runs, *others), (0,), ban=True)
    assert changes[0].key == "irqbalance.ban"
    assert changes[0].value == "all"
    assert "irqbalance.ban" not in asked(steering.spread_irqs(state(combined_queues(2)), (0,), ban=True))
    assert "irqbalance.ban" not in asked(steering.spread_irqs(state(combined_queues(2), FACTS, runs, *others), (0,)))


def test_rps_maps():
    nic = state(combined_queues(3))
    assert list(asked(steering.rps(nic, Spread.ONE_TO_ONE)).values()) == ["4", "5", "6"]
    assert set(asked(steering.rps(nic, Spread.NODE_LOCAL)).values()) == {"4-7,12-15"}
    assert asked(steering.rps(nic, Spread.OFF)) == {f"queue.rx-{i}.rps_cpus": "none" for i in range(3)}


def test_xps_gives_every_cpu_one_queue_and_the_irqs_cpu_its_own():
    queues = combined_queues(4)
    served = tuple(replace(irq, effective=(irq.number - 40 + 8,)) for irq in queues.irqs)
    maps = [
        set(_cpus(text))
        for text in asked(steering.xps(state(replace(queues, irqs=served)), Spread.ONE_TO_ONE)).values()
    ]
    assert sorted(cpu for cpus in maps for cpu in cpus) == list(range(16))
    assert [len(cpus) for cpus in maps] == [4, 4, 4, 4]
    assert all(index + 8 in cpus for index, cpus in enumerate(maps))
    with pytest.raises(UsageError, match="one transmit queue"):
        steering.xps(state(combined_queues(1)), Spread.NODE_LOCAL)


def _cpus(text: str) -> tuple[int, ...]:
    from netbench_tui.model.cpulist import parse_cpu_list

    return parse_cpu_list(text)


def test_xps_by_receive_queue():
    assert asked(steering.xps_by_receive_queue(state(combined_queues(2)), True)) == {
        "queue.tx-0.xps_rxqs": "0",
        "queue.tx-1.xps_rxqs": "1",
    }
    assert set(asked(steering.xps_by_receive_queue(state(combined_queues(2)), False)).values()) == {"none"}


def test_rfs_shares_the_flows_out_in_powers_of_two():
    assert asked(steering.rfs(state(combined_queues(4)), True)) == {
        "sysctl.net.core.rps_sock_flow_entries": "32768",
        **{f"queue.rx-{i}.rps_flow_cnt": "8192" for i in range(4)},
    }
    assert asked(steering.rfs(state(combined_queues(6)), True))["queue.rx-0.rps_flow_cnt"] == "8192"
    assert set(asked(steering.rfs(state(combined_queues(4)), False)).values()) == {"0"}
    assert "feature.rx-ntuple-filter" in asked(steering.rfs(state(combined_queues(4)), True, accelerated=True))


def test_rfs_cannot_be_where_the_hosts_table_is_empty_and_protected():
    table = Setting(MACHINE, "sysctl.net.core.rps_sock_flow_entries", "0", refusal="protected in the lab")
    with pytest.raises(UsageError, match="protected in the lab"):
        steering.rfs(state(combined_queues(4), FACTS, table), True)
    enough = replace(table, value="65536")
    assert "sysctl.net.core.rps_sock_flow_entries" not in asked(
        steering.rfs(state(combined_queues(4), FACTS, enough), True)
    )


def test_rss_tables():
    nic = state(combined_queues(4, rss=RssTable(tuple(i % 4 for i in range(8)), rings=4)))
    assert asked(steering.rss_equal(nic, 3)) == {"rss.indirection": "equal 3"}
    assert asked(steering.rss_weights(nic, (1, 0, 3))) == {"rss.indirection": "0*2,2*6"}
    for wrong in ((), (0, 0), (5, 4), (1, 1, 1, 1, 1)):
        with pytest.raises(UsageError):
            steering.rss_weights(nic, wrong)
    with pytest.raises(UsageError):
        steering.rss_equal(nic, 5)
    with pytest.raises(UsageError, match="no RSS indirection table"):
        steering.rss_equal(state(combined_queues(4)), 2)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=16), st.sampled_from([32, 64, 128, 512]))
def test_every_queue_gets_its_share_of_the_table_give_or_take_one(weights, size):
    if not 0 < sum(weights) <= size:
        return
    table = list(steering.weigh(size, weights))
    assert len(table) == size
    assert table == sorted(table)
    for queue, weight in enumerate(weights):
        assert abs(table.count(queue) - size * weight / sum(weights)) < 1
        assert weight or not table.count(queue)


def test_channels_keep_to_the_drivers_limits():
    combined = [
        Setting("nic0", "channels.combined", "4", minimum=1, maximum=8),
        Setting("nic0", "channels.rx", "0", maximum=0),
    ]
    assert asked(steering.channels(state(combined_queues(4), FACTS, *combined), 8)) == {"channels.combined": "8"}
    with pytest.raises(UsageError, match="1 to 8"):
        steering.channels(state(combined_queues(4), FACTS, *combined), 9)
    own = [Setting("nic0", "channels.rx", "4", maximum=4), Setting("nic0", "channels.tx", "4", maximum=4)]
    assert asked(steering.channels(state(combined_queues(4), FACTS, *own), 2)) == {
        "channels.rx": "2",
        "channels.tx": "2",
    }
    with pytest.raises(UsageError, match="does not let"):
        steering.channels(state(combined_queues(4), FACTS, Setting("nic0", "mtu", "1500")), 2)


def test_flow_counts_read_back_as_asked_by_this_kernel(tmp_path):
    """The kernel rounds a queue's flows up to a power of two; a plan asks for what it will read back."""
    script = (
        "ip link add here numrxqueues 3 type veth peer name there && mount -t sysfs sysfs /sys && "
        'f=/sys/class/net/here/queues/rx-0/rps_flow_cnt && echo 5461 > $f && cat $f && echo "$1" > $f && cat $f'
    )
    value = asked(steering.rfs(state(combined_queues(6)), True))["queue.rx-0.rps_flow_cnt"]
    argv = ["unshare", "--net", "--mount", "sh", "-c", script, "sh", value]
    found = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["8192", value]
