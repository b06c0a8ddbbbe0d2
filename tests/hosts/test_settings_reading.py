"""The agent's answers about settings as model objects: what is right is kept whole, garbage is an AgentDied."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netbench_tui.errors import AgentDied, HostRefused
from netbench_tui.hosts import settings as reading
from netbench_tui.hosts.connection import HostConnection
from netbench_tui.model.change import Change, ChangeKind, Held, OnRefusal, Outcome
from netbench_tui.model.host import Role
from netbench_tui.model.setting import Irq, Lives, Pcie, Queue, RssTable, Setting

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)
ENTRY = {"scope": "eth1", "key": "mtu", "found": "1500", "ours": "9000"}


def test_rows_without_their_defaults_become_settings() -> None:
    rows = [
        {"scope": "eth1", "key": "ring.rx", "value": "256", "via": "netlink", "minimum": 64, "maximum": 4096},
        {"scope": "eth1", "key": "feature.rx-lro", "value": "off", "via": "ioctl", "fixed": True, "later": "field"},
        {
            "scope": "machine",
            "key": "sysctl.net.ipv4.tcp_congestion_control",
            "value": "cubic",
            "via": "procfs",
            "lives": "namespace",
            "choices": ["cubic", "bbr"],
            "refusal": "needs root",
        },
    ]
    found = reading.read_settings({"settings": rows, "paths": {"eth1: rings": "netlink"}, "notes": ["x"]})
    assert found.settings[0] == Setting("eth1", "ring.rx", "256", minimum=64, maximum=4096, via="netlink")
    assert found.settings[1].fixed and not found.settings[1].writable
    assert (found.settings[2].lives, found.settings[2].choices) == (Lives.NAMESPACE, ("cubic", "bbr"))
    assert (found.paths, found.notes) == ({"eth1: rings": "netlink"}, ("x",))


def test_queues_with_all_their_parts() -> None:
    found = reading.read_queues(
        {
            "nic": "eth1",
            "queues": [{"name": "rx-0", "kind": "rx", "index": 0, "napi": 8193, "irq": 24, "irq_by": "name"}],
            "irqs": [{"number": 24, "wanted": "0-1", "effective": "1", "actions": ["eth1-rx-0"], "count": 7}],
            "rss": {"indirection": [0, 1, 0], "key": "6d:5a", "hash_function": "toeplitz", "rings": 2},
            "pcie": {"address": "0000:3b:00.0", "speed": 16, "width": 8, "local_cpus": "0"},
            "paths": {},
            "notes": [],
        }
    )
    assert found.queues == (Queue("rx-0", "rx", 0, 8193, 24, "name"),)
    assert found.irq(24) == Irq(24, ("eth1-rx-0",), wanted=(0, 1), effective=(1,), count=7)
    assert found.rss == RssTable((0, 1, 0), "6d:5a", "toeplitz", 2) and found.rss.weights == {0: 2, 1: 1}
    assert found.pcie == Pcie(address="0000:3b:00.0", speed=16.0, width=8, local_cpus=(0,))
    bare = reading.read_queues({"nic": "lo", "queues": [], "irqs": [], "rss": None, "pcie": None})
    assert (bare.rss, bare.pcie) == (None, None)


def test_outcomes_carry_the_hosts_own_words_without_its_control_characters() -> None:
    outcomes, undone = reading.read_outcomes(
        {
            "outcomes": [
                {"scope": "eth1", "key": "mtu", "old": "1500", "asked": "70000", "now": "1500"}
                | {"code": "EINVAL", "error": "too \x1b[31mlarge"},
                {"scope": "eth1", "key": "queue.rx-3.rps_cpus", "old": "0-3", "asked": None, "now": None},
            ],
            "undone": True,
        },
        Role.RECEIVER,
    )
    assert undone
    assert outcomes[1] == Outcome(Role.RECEIVER, "eth1", "queue.rx-3.rps_cpus", "0-3", None, None)
    assert outcomes[1].moved_along and outcomes[0].code == "EINVAL"
    assert "large" in outcomes[0].error and "\x1b" not in outcomes[0].error


def test_entries_and_reports() -> None:
    (held,) = reading.read_entries(
        {"entries": [ENTRY | {"kind": "trial", "left": 3.5}], "guardian": 5}, Role.SENDER, "alpha", "boot"
    )
    assert (held.kind, held.state, held.host, held.boot_id) == (ChangeKind.TRIAL, Held.HELD, "alpha", "boot")
    rows = [ENTRY | {"state": state.value, "note": "n", "ours": None} for state in Held]
    (report,) = reading.read_reports(
        {"reports": [{"boot_id": "b", "time": 5.0, "why": "the agent ended", "entries": rows}]}, Role.SENDER, "alpha"
    )
    assert [entry.state for entry in report.entries] == list(Held)
    assert {(entry.boot_id, entry.ours, entry.note) for entry in report.entries} == {("b", None, "n")}


@given(JSON, st.sampled_from(["settings", "queues", "irqs", "outcomes", "entries", "reports", "paths", "notes"]))
def test_garbage_is_a_value_error_and_nothing_else(garbage: Any, name: str) -> None:
    answer = {"settings": [], "queues": [], "nic": "eth1", "irqs": [], "outcomes": [], "undone": False} | {
        "entries": [],
        "reports": [],
        name: garbage,
    }
    readers: list[Callable[[], object]] = [
        lambda: reading.read_settings(answer),
        lambda: reading.read_queues(answer),
        lambda: reading.read_irqs(answer),
        lambda: reading.read_outcomes(answer, Role.SENDER),
        lambda: reading.read_entries(answer, Role.SENDER, "alpha", ""),
        lambda: reading.read_reports(answer, Role.SENDER, "alpha"),
    ]
    for read in readers:
        try:
            read()
        except ValueError as error:
            assert str(error)


def test_a_host_of_2000_interrupts_and_512_cpus_is_read_in_no_time() -> None:
    rows = [
        {"scope": "eth1", "key": f"queue.rx-{i}.irq_affinity", "value": f"{i}", "active": f"{i}", "via": "procfs"}
        for i in range(2000)
    ]
    irqs = [{"number": i, "wanted": "0-511", "effective": f"{i % 512}", "actions": ["x"]} for i in range(2000)]
    start = time.process_time()
    assert len(reading.read_settings({"settings": rows, "paths": {}, "notes": []}).settings) == 2000
    read = reading.read_irqs({"irqs": irqs})
    # The loop that reads them also serves runs: benchmarks/inspecting.py says how long it takes on a quiet machine.
    assert time.process_time() - start < 0.3
    assert (read[1999].wanted, read[1999].effective) == (tuple(range(512)), (1999 % 512,))
    assert read[0].wanted is read[1999].wanted


@pytest.mark.parametrize("text", ["0-", "a", "0-99999999", "-1", ["0"], None, 5])
def test_cpu_sets_that_are_none_name_their_place(text: Any) -> None:
    with pytest.raises(ValueError, match=r"irqs\[0\]\.wanted.*: "):
        reading.read_irqs({"irqs": [{"number": 1, "wanted": text}]})
    with pytest.raises(ValueError, match=r"pcie\.local_cpus.*: "):
        reading.read_queues({"nic": "a", "irqs": [], "pcie": {"local_cpus": text}})


# --- through a connection ------------------------------------------------------------------------------------------

HELLO = {"ev": "hello", "protocol": 1, "uid": 0, "python": "3.9.1", "kernel": "6.1", "name": "vm", "pid": 7, "ssh": ""}


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


class Scripted:
    """A connected host that answers as the test says; `told` are restores that it did by itself."""

    def __init__(self, transport: type[Any], channel: type[Any]) -> None:
        self.channel = channel(line(HELLO))
        self.told: list[tuple[Role, str, Any]] = []
        self.lost: list[Exception] = []
        self.host = HostConnection(
            Role.SENDER,
            transport(lambda _: self.channel),
            lambda *_: None,
            lambda _, error: self.lost.append(error),
            on_restored=lambda *what: self.told.append(what),
        )

    async def connect(self) -> None:
        connecting = asyncio.create_task(self.host.connect(lambda _: None))
        while not connecting.done():
            asking = asyncio.create_task(self.channel.requests.get())
            await asyncio.wait([connecting, asking], return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                self.channel.feed(line({"re": json.loads(asking.result())["id"], "ok": {"t": 1.0, "name": "vm"}}))
            asking.cancel()
        await connecting

    async def answer(self, asking: Awaitable[Any], **answer: Any) -> tuple[dict[str, Any], Any]:
        """(the request as it went over the line, what the call gave)"""
        task = asyncio.ensure_future(asking)
        request = json.loads(await self.channel.requests.get())
        self.channel.feed(line({"re": request["id"], **answer}))
        return request, await task


@pytest.fixture
async def scripted(scripted_transport: type[Any], scripted_channel: type[Any]) -> Any:
    made = Scripted(scripted_transport, scripted_channel)
    await made.connect()
    yield made
    await made.host.close()


async def test_requests_say_what_the_agent_reads(scripted: Any) -> None:
    host, nothing = scripted.host, {"settings": [], "paths": {}, "notes": []}
    asked, _ = await scripted.answer(host.read_settings(["a"], False, ["netlink"], "/tree"), ok=nothing)
    assert {key: asked[key] for key in ("op", "nics", "machine", "without", "root")} == {
        "op": "settings",
        "nics": ["a"],
        "machine": False,
        "without": ["netlink"],
        "root": "/tree",
    }
    asked, _ = await scripted.answer(host.read_one([("a", "mtu")]), ok=nothing)
    assert asked["one"] == [["a", "mtu"]]
    changes = [Change(Role.SENDER, "a", "mtu", "9000")]
    asked, (outcomes, undone) = await scripted.answer(
        host.apply(changes, ChangeKind.TRIAL, 7.5, OnRefusal.UNDO, "step 3"), ok={"outcomes": [], "undone": False}
    )
    assert (asked["op"], asked["kind"], asked["seconds"], asked["on_refusal"]) == ("apply", "trial", 7.5, "undo")
    assert asked["changes"] == [{"scope": "a", "key": "mtu", "value": "9000"}] and (outcomes, undone) == ((), False)
    asked, _ = await scripted.answer(host.restore([("a", "mtu")]), ok={"entries": []})
    assert asked["places"] == [["a", "mtu"]]
    asked, _ = await scripted.answer(host.restore(), ok={"entries": []})
    assert "places" not in asked
    asked, _ = await scripted.answer(host.keep(True), ok={})
    assert (asked["op"], asked["kind"]) == ("keep", "permanent")
    asked, _ = await scripted.answer(host.watch(None, True), ok={})
    assert (asked["nic"], asked["statistics"]) == (None, True)
    asked, _ = await scripted.answer(host.protect("why"), ok={})
    assert asked["machine"] == "why"


@pytest.mark.parametrize("answer", [{"settings": 5}, {"settings": [{"scope": 1}]}, {"settings": [], "notes": [5]}])
async def test_an_answer_that_cannot_be_read_is_the_agents_fault(scripted: Any, answer: dict[str, Any]) -> None:
    with pytest.raises(AgentDied, match="answer to settings cannot be read"):
        await scripted.answer(scripted.host.read_settings(["a"]), ok=answer)


async def test_a_refused_request_keeps_the_hosts_code(scripted: Any) -> None:
    with pytest.raises(HostRefused, match="guardian") as caught:
        await scripted.answer(scripted.host.held(), error={"code": "EBUSY", "text": "the guardian is busy"})
    assert caught.value.code == "EBUSY"


async def test_what_the_host_restored_by_itself_is_told(
    scripted: Any, eventually: Callable[..., Awaitable[Any]]
) -> None:
    scripted.channel.feed(
        line({"ev": "restored", "why": "the trial ended", "entries": [ENTRY | {"state": "restored"}]})
    )
    await eventually(lambda: scripted.told, "the event")
    ((role, why, (entry,)),) = scripted.told
    assert (role, why, entry.key, entry.state) == (Role.SENDER, "the trial ended", "mtu", Held.RESTORED)
    scripted.channel.feed(line({"ev": "restored", "why": "x", "entries": [{"scope": "a"}]}))
    await eventually(lambda: scripted.lost, "garbage ends the connection")
    assert "restore that cannot be read" in str(scripted.lost[0])
