"""What hosts are told to look at, marks on the graph, and what is said before a change: without any host."""

from dataclasses import replace
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.engine.hazards import losses, warnings
from netbench_tui.engine.marks import mark_of
from netbench_tui.engine.watching import Watching
from netbench_tui.errors import AgentDied, HostRefused
from netbench_tui.model.change import Applied, Change, ChangeKind, Held, JournalEntry, Outcome, Restored
from netbench_tui.model.host import Address, Clock, HostFacts, Nic, Privilege, Role
from netbench_tui.model.session import HostView, Reach

TSO = "feature.tx-tcp-segmentation"


class ToldHost:
    def __init__(self, refuses: Exception | None = None) -> None:
        self.told: list[tuple[str | None, bool]] = []
        self.refuses = refuses

    async def watch(self, nic: str | None, statistics: bool) -> None:
        self.told.append((nic, statistics))
        if self.refuses:
            raise self.refuses


class Pair:
    def __init__(self, **hosts: ToldHost) -> None:
        self.hosts: dict[Role, Any] = {Role.SENDER: ToldHost(), Role.RECEIVER: ToldHost()} | {
            Role(name): host for name, host in hosts.items()
        }
        self.nics = {Role.SENDER: "a0", Role.RECEIVER: "b0"}
        self.lost: dict[Role, Exception] = {}
        self.watching = Watching(self.hosts, lambda role: self.nics[role], self.lost)

    def told(self) -> list[list[tuple[str | None, bool]]]:
        found = [host.told[:] for host in self.hosts.values()]
        for host in self.hosts.values():
            host.told.clear()
        return found


async def test_nobody_is_told_to_watch_before_somebody_asks() -> None:
    pair = Pair()
    await pair.watching.renew()
    await pair.watching.run(False)
    assert pair.told() == [[], []]


async def test_a_run_watches_whatever_the_screen_does() -> None:
    pair = Pair()
    await pair.watching.run(True)
    assert pair.told() == [[("a0", False)], [("b0", False)]]
    await pair.watching.ask(True, True)
    assert pair.told() == [[("a0", True)], [("b0", True)]]
    await pair.watching.ask(False, True)
    assert pair.told() == [[("a0", False)], [("b0", False)]]
    await pair.watching.run(False)
    assert pair.told() == [[(None, False)], [(None, False)]]


async def test_another_path_and_another_agent_are_told_anew() -> None:
    pair = Pair()
    await pair.watching.ask(True, False)
    pair.told()
    pair.nics[Role.SENDER] = "a1"
    await pair.watching.renew()
    assert pair.told() == [[("a1", False)], []]
    pair.lost[Role.RECEIVER] = AgentDied("gone")
    pair.hosts[Role.RECEIVER] = ToldHost()
    await pair.watching.renew()
    assert pair.told() == [[], []]
    pair.lost.clear()
    await pair.watching.renew()
    assert pair.told() == [[], [("b0", False)]]


async def test_a_nic_that_cannot_be_watched_fails_nothing_but_a_lost_host_does() -> None:
    await Pair(sender=ToldHost(HostRefused("no such NIC", code="ENODEV"))).watching.ask(True, False)
    with pytest.raises(AgentDied):
        await Pair(sender=ToldHost(AgentDied("gone"))).watching.ask(True, False)


# --- marks ---------------------------------------------------------------------------------------------------------


def outcome(role: Role, key: str, now: str | None = "off", asked: str | None = "off", **more: str) -> Outcome:
    return Outcome(role, "nic0", key, "on", asked, now, **more)


def marked(*outcomes: Outcome, undone: bool = False) -> Any:
    return mark_of(events.ChangesApplied(Applied(1, 12.5, ChangeKind.TRIAL, outcomes, undone)))


def test_a_mark_says_in_a_few_words_what_was_changed() -> None:
    both = [outcome(role, TSO) for role in Role]
    assert (marked(*both).text, marked(*both).role, marked(*both).time) == ("tso off", None, 12.5)
    assert (marked(both[1]).text, marked(both[1]).role) == ("tso off", Role.RECEIVER)
    many = [*both, outcome(Role.SENDER, "feature.rx-gro"), outcome(Role.SENDER, "mtu", "9000", "9000")]
    many.append(outcome(Role.SENDER, "sysctl.net.ipv4.tcp_sack", "0", "0"))
    assert marked(*many).text == "tso off, gro off +2"
    assert marked(outcome(Role.SENDER, "queue.rx-0.rps_cpus", "0-3", "0-3")).text == "rx-0.rps_cpus 0-3"


def test_what_did_not_happen_leaves_no_mark() -> None:
    refused = outcome(Role.SENDER, TSO, "on", "off", code="EPERM", error="no")
    assert marked(refused) is None and marked(outcome(Role.SENDER, TSO), undone=True) is None
    assert marked(outcome(Role.SENDER, TSO, "off", None)) is None, "moved along with nothing that took"
    assert mark_of(events.Disconnected()) is None


def test_putting_back_leaves_a_mark_too() -> None:
    entry = JournalEntry(1, Role.SENDER, "alpha", "nic0", TSO, "on", "off", ChangeKind.TRIAL, Held.RESTORED)
    gone = replace(entry, key="queue.rx-3.rps_cpus", found=None)
    mark = mark_of(events.SettingsRestored(Restored(Role.SENDER, "the trial ended", (entry, gone))))
    assert mark and (mark.text, mark.role) == ("tso on", Role.SENDER)
    foreign = replace(entry, state=Held.FOREIGN)
    assert mark_of(events.SettingsRestored(Restored(Role.SENDER, "asked to", (foreign,)))) is None


# --- warnings ------------------------------------------------------------------------------------------------------


def view(role: Role, management: str) -> HostView:
    nics = (Nic("eth0"), Nic("eth1"), Nic("bond0", lower=("eth0", "eth1")), Nic("bond0.7", lower=("bond0",)))
    facts = HostFacts("beta", nics=(*nics, Nic("eth2"), Nic("loop", lower=("loop", "eth2"))))
    return HostView(role, "beta", Reach.SSH, facts, Privilege.ROOT, Clock(0, 0, 0), "eth2", management_nic=management)


@pytest.mark.parametrize(
    ("management", "scope", "said"),
    [
        ("eth2", "eth2", ("beta: eth2 carries the SSH connection",)),
        ("eth2", "eth1", ()),
        ("bond0.7", "eth1", ("beta: eth1 carries the SSH connection, below bond0.7",)),
        ("bond0.7", "machine", ()),
        ("", "eth2", ()),
        ("loop", "eth2", ("beta: eth2 carries the SSH connection, below loop",)),
    ],
)
def test_who_carries_the_ssh_connection(management: str, scope: str, said: tuple[str, ...]) -> None:
    changes = [Change(Role.SENDER, scope, key, "off") for key in (TSO, "feature.rx-gro")]
    assert warnings(changes, {Role.SENDER: view(Role.SENDER, management)}) == said
    assert warnings(changes, {}) == ()


def test_nics_below_one_another_are_named_once_nearest_first() -> None:
    facts = view(Role.SENDER, "").facts
    assert facts.below("bond0.7") == ("bond0", "eth0", "eth1")
    assert facts.below("loop") == ("eth2",) and facts.below("eth0") == facts.below("none") == ()


@pytest.mark.parametrize(
    ("key", "value", "scope", "nics"),
    [
        ("mtu", "1279", "eth0", ["eth0", "eth0.5"]),
        ("mtu", "1279", "eth0.5", ["eth0.5"]),
        ("mtu", "1280", "eth0", []),
        ("txqueuelen", "100", "eth0", []),
        ("mtu", "rubbish", "eth0", []),
    ],
)
def test_ipv6_addresses_do_not_survive_a_short_mtu(key: str, value: str, scope: str, nics: list[str]) -> None:
    link, wide = Address("fe80::1", 64, 6, "link"), Address("fd00::1", 64, 6)
    there = (Nic("eth0", addresses=(link, wide)), Nic("eth0.5", addresses=(wide,), lower=("eth0",)))
    seen = view(Role.SENDER, "")
    seen = replace(seen, facts=replace(seen.facts, nics=(*there, Nic("eth1", addresses=(link,), lower=("eth0",)))))
    said = losses([Change(Role.SENDER, scope, key, value)], {Role.SENDER: seen})
    words = "beta: below an MTU of 1280 the kernel takes fd00::1 from {} for good"
    assert list(said) == [words.format(nic) for nic in nics]
