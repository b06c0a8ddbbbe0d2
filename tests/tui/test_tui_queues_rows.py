"""What the queue rows and the remarks say, and where the matrix's columns stand: pure data, no screen."""

import time
from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.analysis.live import RollingHost
from netbench_tui.analysis.queue_rates import RollingQueues
from netbench_tui.model.change import Change, ChangeKind, Held, JournalEntry
from netbench_tui.model.cpulist import format_cpu_list
from netbench_tui.model.host import Cpu, HostFacts, Role
from netbench_tui.model.sample import HostSample, NicCounts, QueueCounts, SoftnetCounts
from netbench_tui.model.setting import HostSettings, Irq
from netbench_tui.tui.screens.queues_notes import queue_notes
from netbench_tui.tui.screens.queues_views import staged_words
from netbench_tui.tui.state import Workbench
from netbench_tui.tui.widgets.heat_plan import Fold
from netbench_tui.tui.widgets.matrix_plan import MatrixPlan, plan_matrix
from netbench_tui.tui.widgets.queue_data import queue_table
from netbench_tui.tui.widgets.queue_path import path_steps
from netbench_tui.tui.widgets.rate_rows import natural
from netbench_tui.tui.widgets.steering_rows import steering_rows

NIC = "ens2f0np0"
BETA = Role.RECEIVER


def bench_of(fake: Any, **changes: Any) -> Workbench:
    """A connected workbench whose receiver's queues and settings were read. beta's NIC sits on node 1 of two."""
    view = fake.make_view(BETA)
    queues = replace(fake.make_queue_map(view.facts), **changes)
    bench = Workbench(connected=True, views={BETA: view}, queues={BETA: queues})
    bench.settings[BETA] = fake.make_settings(queues)
    return bench


def feed(bench: Workbench, **fields: Any) -> None:
    """A full second of looks that are all alike."""
    bench.rolling[BETA], bench.queue_rates[BETA] = RollingHost(), RollingQueues()
    for index in range(10):
        sample = HostSample(0.1 * (index + 1), 0.1, **fields)
        bench.rolling[BETA].add(sample)
        bench.queue_rates[BETA].add(sample)


def with_irq(bench: Workbench, number: int, **changes: Any) -> None:
    queues = bench.queues[BETA]
    irqs = tuple(replace(irq, **changes) if irq.number == number else irq for irq in queues.irqs)
    bench.queues[BETA] = replace(queues, irqs=irqs)


def notes_of(bench: Workbench, kind: str = "rx") -> list[str]:
    return [note.text for note in queue_notes(bench, [queue_table(bench, BETA, kind)]) if note.wants_action]


def test_nothing_read_gives_no_rows(fake: Any) -> None:
    assert queue_table(Workbench(), BETA, "rx").rows == ()
    bench = Workbench(views={BETA: fake.make_view(BETA)})
    assert queue_table(bench, BETA, "tx").rows == ()
    assert queue_notes(bench, [queue_table(bench, BETA, "rx")]) == []


def test_irqs_stand_where_they_really_go(fake: Any) -> None:
    bench = bench_of(fake)
    with_irq(bench, 142, effective=(2,))
    table = queue_table(bench, BETA, "rx")
    rows = {row.queue.name: row for row in table.rows}
    assert (table.has_irqs, table.has_napi, table.measured, table.counted) == (True, True, False, False)
    assert not rows["rx-3"].astray, "one of the many CPUs that it may go to"
    assert (rows["rx-5"].astray, rows["rx-5"].far) == (True, False)
    assert (rows["rx-2"].astray, rows["rx-2"].far, rows["rx-2"].nodes) == (True, True, (0,))
    assert [row.queue.name for row in table.rows if row.astray] == ["rx-2", "rx-5"]


def test_a_kernel_that_does_not_say_where_irqs_go_is_measured(fake: Any) -> None:
    bench = bench_of(fake)
    with_irq(bench, 140, effective=())
    assert queue_table(bench, BETA, "rx").rows[0].is_on == ()
    feed(bench, irqs={140: {13: 9, 2: 1}})
    assert queue_table(bench, BETA, "rx").rows[0].is_on == (13,)


def test_rates_and_shares(fake: Any) -> None:
    bench = bench_of(fake)
    feed(bench, queues={"rx-0": QueueCounts(300, 300_000), "rx-1": QueueCounts(100, 100_000)}, irqs={140: {12: 5}})
    table = queue_table(bench, BETA, "rx")
    assert [row.share for row in table.rows][:3] == [0.75, 0.25, 0.0]
    assert (table.packets, table.bits) == (pytest.approx(4000), pytest.approx(32e6))
    assert table.interrupts == pytest.approx(50)
    transmit = queue_table(bench, BETA, "tx")
    assert transmit.packets == 0, "counted by queue, and nothing was sent"
    assert transmit.rows[0].share is None, "of nothing there is no share"


def test_a_driver_that_does_not_count_by_queue_has_no_rates_but_the_device_has(fake: Any) -> None:
    bench = bench_of(fake)
    feed(bench, nics={NIC: NicCounts(rx_bytes=1000, rx_packets=10, tx_bytes=500, tx_packets=5)})
    receive, transmit = queue_table(bench, BETA, "rx"), queue_table(bench, BETA, "tx")
    assert all(row.rate is None and row.share is None for row in receive.rows)
    assert (receive.packets, receive.bits) == (pytest.approx(100), pytest.approx(80_000))
    assert (transmit.packets, transmit.bits) == (pytest.approx(50), pytest.approx(40_000))


def test_marks_of_an_irq_stand_at_all_queues_it_serves(fake: Any) -> None:
    bench = bench_of(fake)
    bench.staged.stage([Change(BETA, NIC, "queue.rx-4.irq_affinity", "20")], bench.settings)
    bench.journal = (
        JournalEntry(1, BETA, "beta", NIC, "queue.rx-1.irq_affinity", "0", "13", ChangeKind.LEASE),
        JournalEntry(2, BETA, "beta", NIC, "queue.rx-2.irq_affinity", "0", "14", ChangeKind.LEASE, Held.RESTORED),
        JournalEntry(3, Role.SENDER, "alpha", NIC, "queue.rx-6.irq_affinity", "0", "14", ChangeKind.LEASE),
    )
    for kind in ("rx", "tx"):
        rows = queue_table(bench, BETA, kind).rows
        assert {row.queue.index: row.staged for row in rows if row.staged} == {4: {"irq_affinity": "20"}}
        assert [row.queue.index for row in rows if row.changed] == [1]


def test_remarks_say_what_wants_action(fake: Any) -> None:
    bench = bench_of(fake)
    assert notes_of(bench) == ["IRQ 145 of rx-5 is sent to cpu 17, wanted is 47"]
    with_irq(bench, 145, wanted=(17,))
    assert notes_of(bench) == []
    for number in (146, 147):
        with_irq(bench, number, wanted=(3,), effective=(3,))
    assert notes_of(bench) == [
        "the IRQs of rx-6, rx-7 go to node 0, the NIC is on node 1",
        "rx-6, rx-7 share cpu 3",
    ]


def test_an_irq_that_left_its_cpu_while_irqbalance_runs(fake: Any) -> None:
    bench = bench_of(fake)
    with_irq(bench, 145, wanted=(17,))
    bench.journal = (JournalEntry(1, BETA, "beta", NIC, "queue.rx-1.irq_affinity", "0", "13", ChangeKind.LEASE),)
    assert notes_of(bench) == ["irqbalance is running and will move the IRQ you pinned"]
    with_irq(bench, 141, wanted=(20,), effective=(20,))
    assert notes_of(bench)[0] == "IRQ 141 of rx-1 left cpu 13 for 20: irqbalance is running"
    bench.settings[BETA] = fake.with_values(bench.settings[BETA], {(NIC, "irqbalance.ban"): "all"})
    assert notes_of(bench)[0] == "IRQ 141 of rx-1 left cpu 13 for 20"
    bench.settings[BETA] = HostSettings()
    assert len(notes_of(bench)) == 2, "still moved, and still beside another"


def test_cpus_that_cannot_keep_up(fake: Any) -> None:
    bench = bench_of(fake)
    with_irq(bench, 145, wanted=(17,))
    feed(bench, softnet={12: SoftnetCounts(900, 3, 4, 0, 1), 13: SoftnetCounts(900, 1), 14: SoftnetCounts(900)})
    assert notes_of(bench) == [
        "cpu 12 drops 30 packets/s: its backlog is full, 1 other CPU as well",
        "the flow limit drops 10 packets/s",
        "cpu 12 ran out of its budget 40 times/s with packets left",
    ]


def test_the_path_of_a_queue(fake: Any) -> None:
    bench = bench_of(fake)
    rows = queue_table(bench, BETA, "rx").rows
    steps = path_steps(rows[5], bench.views[BETA], bench.queues[BETA], bench.settings[BETA])
    assert [step.head for step in steps] == [
        "NIC",
        "RSS",
        "rx-5",
        "NAPI 8198",
        "IRQ 145",
        "cpu 17",
        "RPS",
        "RFS",
        "app",
    ]
    assert [step.head for step in steps if step.wrong] == ["cpu 17"]
    assert (steps[1].below, steps[2].below, steps[4].below) == ("32 of 512", "ring 2048", "wanted 47")
    sent = queue_table(bench, BETA, "tx").rows[0]
    ways = path_steps(sent, bench.views[BETA], bench.queues[BETA], bench.settings[BETA])
    assert [step.head for step in ways][:3] == ["app", "XPS", "tx-0"]
    assert ways[-1].head == "NIC"


def test_steering_knows_off_from_cpu_0(fake: Any) -> None:
    bench = bench_of(fake)
    bench.staged.stage([Change(BETA, NIC, "queue.rx-0.rps_cpus", "3")], bench.settings)
    first = steering_rows(BETA, bench.queues[BETA], bench.settings[BETA], bench.staged)[0]
    assert [value.value for value in first.values] == ["none", "0", "0", "none"]
    assert [value.staged for value in first.values] == ["3", None, None, None]


def test_what_is_staged_for_the_table_in_words() -> None:
    assert staged_words(None) == ""
    assert staged_words("equal 4") == "staged: equal over 4 queues"
    assert staged_words("0*3,1,2*4") == "staged: weights 3 1 4"
    assert staged_words("0,1,2*2,0") == "staged: weights 2 1 2"
    assert staged_words("default") == "staged: default"


def test_counters_sort_by_their_numbers() -> None:
    names = ["rx10_packets", "rx2_packets", "tx", "rx2_bytes", "[1]: x", ""]
    assert sorted(names, key=natural) == ["", "[1]: x", "rx2_bytes", "rx2_packets", "rx10_packets", "tx"]


# --- the matrix's columns -----------------------------------------------------------------------------------------


def whole(plan: MatrixPlan, facts: HostFacts, width: int) -> None:
    """Every online CPU has one column, columns do not overlap, and the painted spans are theirs."""
    online = sorted(cpu.index for cpu in facts.cpus if cpu.online)
    assert sorted(cpu for column in plan.columns for cpu in column.cpus) == online
    cells = [column.x + offset for column in plan.columns for offset in range(column.width)]
    assert len(cells) == len(set(cells))
    assert max(cells, default=0) < max(width, plan.width)
    assert [x for start, end in plan.spans for x in range(start, end)] == sorted(cells)


@pytest.mark.parametrize("width", [20, 34, 46, 62, 130])
@pytest.mark.parametrize("shape", [(1, 1, 2, 1), (2, 3, 4, 2), (2, 16, 4, 2), (8, 4, 8, 2)])
def test_all_cpus_have_a_column_that_fits(fake: Any, shape: tuple[int, int, int, int], width: int) -> None:
    facts = fake.make_facts("beta", fake.make_cpus(*shape))
    for compact in (False, True):
        plan = plan_matrix(facts, 1 if shape[0] > 1 else None, width, compact)
        whole(plan, facts, width)
        assert plan.width <= max(width, 3 * shape[0])


def test_the_nics_node_keeps_its_detail(fake: Any) -> None:
    facts = fake.make_facts("beta", fake.make_cpus(8, 4, 8, 2))
    plan = plan_matrix(facts, 1, 100)
    assert (plan.fold, plan.far) == (Fold.CPU, Fold.NODE)
    assert {len(column.cpus) for column in plan.columns if column.node == 1} == {1}
    assert plan.spread({0: 0.25, 1: 0.25, 32: 0.5}) == {0: 0.5, plan.by_cpu[32]: 0.5}


def test_hosts_that_hide_their_topology(fake: Any) -> None:
    facts = HostFacts("x", cpus=(Cpu(0), Cpu(1, online=False), Cpu(2)))
    plan = plan_matrix(facts, None, 40)
    whole(plan, facts, 40)
    assert plan_matrix(HostFacts("x"), None, 40).columns == ()
    assert plan_matrix(facts, None, 0).columns, "degraded, never refused"


def test_two_thousand_irqs_on_512_cpus_are_a_table_soon(fake: Any) -> None:
    """Only that nothing grows with the square: the benchmark says how fast."""
    facts = fake.make_facts("beta", fake.make_cpus(8, 4, 8, 2))
    queues = fake.make_queue_map(facts, queues=128)
    many = tuple(Irq(5000 + number, (f"other{number}",)) for number in range(2000 - len(queues.irqs)))
    bench = Workbench(connected=True, views={BETA: fake.make_view(BETA, facts)})
    bench.queues[BETA] = replace(queues, irqs=queues.irqs + many)
    began = time.thread_time()
    table = queue_table(bench, BETA, "rx")
    assert time.thread_time() - began < 0.1
    assert len(table.rows) == 128
    assert format_cpu_list(table.rows[127].is_on) != "none"
