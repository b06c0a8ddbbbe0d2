"""What a look at a host costs: in the agent, against a bare Python; and in the workbench, to read what it found.

A first look is an agent's start, then everything that the screens ask of a host (facts, all settings of a NIC and of
the machine, its queues, all interrupts), with the modules compiled that these need; the host is this machine, which is
only read. The large host has 512 CPUs, 2,000 interrupts and a NIC of 128 queues; its answers are read from their JSON,
as the engine's loop does between two samples.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.agent_cost import BARE, cpu_seconds, richest_nic
from benchmarks.plan import Plan
from benchmarks.report import Figure, Finding, Limit
from netbench_tui.analysis.statistics import paired_change
from netbench_tui.hosts import settings
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.hosts.local import LocalTransport
from netbench_tui.model.host import Role

NAME = "inspecting"
# CPU times scatter by a tenth on a busy machine: 20 pairs give +-5 %, and take half a minute.
PAIRS = 20
CPUS, IRQS, QUEUES = 512, 2000, 128
# An agent's start is some 6 bare Pythons: 16 modules are compiled. All that settings and queues need is as much again.
LOOK_LIMIT = Limit(18.0, at_least=False)
# The bound, without the round trips.
FACTS_LIMIT = Limit(150.0, at_least=False)
# The engine's loop stands still meanwhile; a sample comes every 100 ms.
IRQS_LIMIT = Limit(50.0, at_least=False)
SETTINGS_LIMIT = Limit(30.0, at_least=False)


def large_irqs() -> str:
    """The line of an answer to `interrupts`."""
    rows = [
        {"number": n, "actions": [f"nic0-{n}"], "chip": "IR-PCI-MSIX", "wanted": f"0-{CPUS - 1}"}
        | {"effective": str(n % CPUS), "node": n % 8, "managed": False, "count": 1_000_000 + n}
        for n in range(IRQS)
    ]
    return json.dumps({"irqs": rows})


def large_settings() -> str:
    """The line of an answer to `settings` with what a NIC has for each queue."""
    names = {
        "rx": ("rps_cpus", "rps_flow_cnt", "irq_affinity"),
        "tx": ("xps_cpus", "xps_rxqs", "bql_limit_max", "bql_limit_min"),
    }
    rows = [
        {"scope": "nic0", "key": f"queue.{kind}-{n}.{name}", "value": f"0-{CPUS - 1}", "active": str(n)}
        | {"via": "sysfs", "refusal": "needs root"}
        for kind in names
        for n in range(QUEUES)
        for name in names[kind]
    ]
    return json.dumps({"settings": rows, "paths": {"nic0: queues": "sysfs"}, "notes": []})


async def look(facts_ms: list[float]) -> float:
    """CPU seconds of an agent from its start to its last answer. `facts_ms` gets what the facts alone took."""
    connection = HostConnection(Role.SENDER, LocalTransport("this machine"), lambda *_: None, lambda *_: None)
    try:
        await connection.connect(lambda step: None)
        pid = int(connection.client.hello["pid"])
        nic = richest_nic(connection.facts)
        before = cpu_seconds(pid)
        await connection.inspect()
        facts_ms.append(1000 * (cpu_seconds(pid) - before))
        await connection.read_settings([nic])
        await connection.read_queues(nic)
        await connection.interrupts()
        return cpu_seconds(pid)
    finally:
        await connection.close()


async def bare() -> float:
    """CPU seconds of a Python that starts, and no more."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *BARE, stdin=pipe, stdout=pipe)
    assert process.stdin and process.stdout
    await process.stdout.readline()
    used = cpu_seconds(process.pid)
    process.stdin.write(b"\n")
    await process.wait()
    return used


async def _looks(plan: Plan, facts_ms: list[float]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {"bare Python": [], "first look": []}
    for arm in plan.order(NAME, PAIRS, tuple(values)):
        values[arm].append(await (look(facts_ms) if arm == "first look" else bare()))
    return values


def read_ms(line: str, read: Callable[[dict[str, object]], object]) -> float:
    began = time.process_time()
    read(json.loads(line))
    return 1000 * (time.process_time() - began)


def run(plan: Plan) -> list[Finding]:
    facts_ms: list[float] = []
    values = asyncio.run(_looks(plan, facts_ms))
    interrupts, rows = large_irqs(), large_settings()
    irqs = [read_ms(interrupts, settings.read_irqs) for _ in range(plan.count(PAIRS))]
    found = [read_ms(rows, settings.read_settings) for _ in range(plan.count(PAIRS))]
    change = paired_change(values["bare Python"], values["first look"])
    note = f"{1000 * statistics.median(values['first look']):.0f} ms of CPU from the agent's start to the last answer"
    return [
        Finding(NAME, "a first look at a host / a bare Python", Figure.ratio(change), PAIRS, LOOK_LIMIT, (note,)),
        Finding(NAME, "the host's facts, CPU in the agent", Figure.of(facts_ms, "ms", 1), PAIRS, FACTS_LIMIT),
        Finding(NAME, f"{IRQS} IRQs x {CPUS} CPUs read", Figure.of(irqs, "ms", 1), PAIRS, IRQS_LIMIT),
        Finding(NAME, f"settings of {QUEUES} queues read", Figure.of(found, "ms", 1), PAIRS, SETTINGS_LIMIT),
    ]
