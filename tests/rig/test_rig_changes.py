"""Changes of real drivers' settings: seen by the tools, put back byte for byte, and never left behind by a death."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
import tools_say
from rig import Guest, Rig, poll

from netbench_tui.engine.engine import Engine
from netbench_tui.errors import WorkbenchError
from netbench_tui.model.change import Applied, Change, ChangeKind
from netbench_tui.model.features import about
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings, Setting

SECONDS = 120
# What an emulated agent needs to notice its end and to write some dozen settings back.
RESTORE_SECONDS = 20.0
LEASE_SECONDS = 30.0
# The pauses between two tries grow to half a minute.
RECONNECT_SECONDS = 120.0


T = TypeVar("T")


def on_both(pair: Rig, ask: Callable[[Guest], T]) -> dict[Role, T]:
    """Both hosts are asked at once: each emulator has a core of its own."""
    with ThreadPoolExecutor(len(Role)) as pool:
        return dict(zip(Role, pool.map(lambda role: ask(pair.guest(role)), Role), strict=True))


def other_value(setting: Setting, settings: HostSettings) -> str | None:
    """A value that the setting does not have and may take; None where there is none to try."""
    value = setting.value
    if not setting.writable:
        return None
    if value in ("on", "off"):
        return "off" if value == "on" else "on"
    if setting.key.endswith(("_affinity", "rps_cpus", "xps_cpus")):
        return "1" if value != "1" else "2"
    if setting.key.startswith("ring."):
        return str(int(value) // 2) if int(value) > 128 else str(int(value) * 2)
    if setting.key == "channels.combined":
        return "2" if value != "2" else "1"
    if setting.key == "mtu":
        return "1400"
    if setting.key == "rss.indirection":
        return "0*64,1*64"
    if setting.key == "qdisc.root":
        return "fq"
    if setting.key.startswith("queue.") and setting.key.endswith("rps_flow_cnt"):
        return "4096"
    if setting.key.startswith("sysctl.net.core.") and value.isdigit() and setting.key.endswith(("mem_max", "backlog")):
        return str(int(value) * 2)
    if setting.key in ("napi.gro_flush_timeout", "napi.defer_hard_irqs"):
        return str(int(value) + 2)
    return None


def worth_trying(settings: HostSettings) -> dict[str, list[tuple[Setting, str]]]:
    """Settings and what to try, by group. Of the queues only the first and the last: an emulated host is slow."""
    found: dict[str, list[tuple[Setting, str]]] = {}
    for setting in settings.settings:
        value = other_value(setting, settings) if setting.scope in ("nic0", "machine") else None
        if value is not None and re.match(r"queue\.[rt]x-[12]\.", setting.key) is None:
            found.setdefault(setting.group, []).append((setting, value))
    return found


def read(workbench: Engine, role: Role) -> HostSettings:
    """Asked for by name: what is shown by itself would be read anew after each change, which takes emulated hosts a
    second."""
    return workbench.read_settings(role, nics=("nic0",)).result(SECONDS)


def features_shown(settings: HostSettings) -> dict[str, tuple[str, bool, bool]]:
    """As tools_say.features has them."""
    found = (setting for setting in settings.of("nic0") if setting.group == "feature")
    return {s.key.removeprefix("feature."): (s.in_force, s.fixed, bool(s.active)) for s in found}


# What does not depend on the driver is tried on one pair: emulated hosts are slow.
many_queues = pytest.mark.parametrize("pair", ["many-queues"], indirect=True)
# What shows a group's values; each is among what tools_say.everything asks.
TOOLS = {
    "feature": ("ethtool", "-k", "nic0"),
    "ring": ("ethtool", "-g", "nic0"),
    "channels": ("ethtool", "-l", "nic0"),
    "coalesce": ("ethtool", "-c", "nic0"),
    "pause": ("ethtool", "-a", "nic0"),
    "rss": ("ethtool", "-x", "nic0"),
    "mtu": ("ip", "-o", "link", "show", "nic0"),
    "txqueuelen": ("ip", "-o", "link", "show", "nic0"),
    "qdisc": ("tc", "qdisc", "show", "dev", "nic0"),
    "sysctl": ("sh", "-c", "grep -s '' /proc/sys/net/core/* /proc/sys/net/ipv4/tcp_*"),
}
# Groups that a driver shows and lets nobody change.
REFUSED = {("channels", "vmxnet3")}
QUEUE_FILES = "/sys/class/net/nic0/* /sys/class/net/nic0/queues/*/*ps_* /proc/irq/*/smp_affinity_list"
FILES = ("sh", "-c", f"grep -s '' {QUEUE_FILES}")


def test_every_kind_of_change_is_seen_by_the_tools_and_restored_byte_for_byte(pair: Rig, workbench: Engine) -> None:
    before = on_both(pair, tools_say.everything)
    tried = {role: worth_trying(read(workbench, role)) for role in Role}
    for group in dict.fromkeys(group for groups in tried.values() for group in groups):
        roles = [role for role in Role if group in tried[role]]
        seen = on_both(pair, lambda guest: guest.ssh(*TOOLS.get(group, FILES), check=False))  # noqa: B023
        wishes = [Change(role, s.scope, s.key, value) for role in roles for s, value in tried[role][group]]
        applied = workbench.apply(wishes, ChangeKind.LEASE).result(SECONDS)
        now = on_both(pair, lambda guest: guest.ssh(*TOOLS.get(group, FILES), check=False))  # noqa: B023
        for role in roles:
            mine = [outcome for outcome in applied.outcomes if outcome.role is role]
            took = any(outcome.took for outcome in mine if not outcome.moved_along)
            assert took or (group, pair.guest(role).nic) in REFUSED, mine
            assert (now[role] != seen[role]) is took, f"{group}: {mine}"
            if group in ("feature", "ring"):
                assert tools_say.features(pair.guest(role)) == features_shown(read(workbench, role))
        restored = workbench.restore().result(SECONDS)
        assert on_both(pair, tools_say.everything) == before, f"{group}: not put back: {restored}"


def test_each_feature_by_itself(pair: Rig, workbench: Engine) -> None:
    """What one moves besides differs from driver to driver: those that move others at all, and one that does not."""
    before = on_both(pair, tools_say.features)
    tried = {role: dict(worth_trying(read(workbench, role))["feature"]) for role in Role}
    keys = dict.fromkeys(setting.key for settings in tried.values() for setting in settings)
    movers = [key for key in keys if (known := about(key.removeprefix("feature."))) and known.moves]
    assert movers
    for key in [*movers, *(key for key in keys if key not in movers)][: len(movers) + 1]:
        wishes = {role: value for role in Role for setting, value in tried[role].items() if setting.key == key}
        changes = [Change(role, "nic0", key, value) for role, value in wishes.items()]
        applied = workbench.apply(changes, ChangeKind.LEASE).result(SECONDS)
        now = on_both(pair, tools_say.features)
        for role, value in wishes.items():
            mine = [outcome for outcome in applied.outcomes if outcome.role is role]
            (outcome,) = (each for each in mine if each.key == key)
            assert (now[role][key.removeprefix("feature.")][0] == value) is outcome.took, outcome
            moved = {o.key for o in mine if (o.active or o.now) != (o.was_active or o.old)}
            assert moved == {f"feature.{name}" for name in now[role] if now[role][name][0] != before[role][name][0]}
        workbench.restore().result(SECONDS)
        assert on_both(pair, tools_say.features) == before, f"{key} was not put back"


def test_all_at_once_and_back(pair: Rig, workbench: Engine) -> None:
    before = on_both(pair, tools_say.everything)
    tried = [(role, each) for role in Role for group in worth_trying(read(workbench, role)).values() for each in group]
    changes = [Change(role, setting.scope, setting.key, value) for role, (setting, value) in tried]
    applied: Applied = workbench.apply(changes, ChangeKind.LEASE).result(SECONDS)
    changed = on_both(pair, tools_say.everything)
    assert applied.outcomes and all(changed[role] != before[role] for role in Role)
    restored = workbench.restore().result(SECONDS)
    assert all(part.whole for part in restored), restored
    assert on_both(pair, tools_say.everything) == before


def test_a_trial_ends_by_itself(pair: Rig, workbench: Engine) -> None:
    before = on_both(pair, tools_say.everything)
    changes = [Change(role, "nic0", "mtu", "1400") for role in Role]
    workbench.apply(changes, ChangeKind.TRIAL, seconds=3).result(SECONDS)
    assert set(on_both(pair, mtu).values()) == {1400}
    poll(lambda: set(on_both(pair, mtu).values()) == {1500}, RESTORE_SECONDS, "the trials put back")
    assert on_both(pair, tools_say.everything) == before


def mtu(guest: Guest) -> int:
    return int(guest.read("/sys/class/net/nic0/mtu"))


HOLD = """
import sys, time
from pathlib import Path
from netbench_tui.engine.engine import Engine
from netbench_tui.errors import WorkbenchError
from netbench_tui.model.change import Change, ChangeKind
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget
engine = Engine(Path(sys.argv[1]), sys.argv[2])
engine.start()
engine.visit([HostTarget("alpha"), HostTarget("beta")]).result(120)
wishes = (("nic0", "mtu", "1400"), ("machine", "sysctl.net.core.rmem_max", "425984"))
applied = engine.apply([Change(role, *wish) for role in Role for wish in wishes], ChangeKind.LEASE).result(60)
print("held" if all(outcome.took for outcome in applied.outcomes) else applied, flush=True)
time.sleep(600)
"""


class Holder:
    """Another workbench that holds a lease on both hosts."""

    def __init__(self, pair: Rig, folder: Path) -> None:
        argv = [sys.executable, "-c", HOLD, str(folder / "other.db"), str(pair.config)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told == "held\n", told

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def agents(guest: Guest) -> list[int]:
    """Agents on the guest, oldest first."""
    text = guest.ssh("pgrep", "-f", "netbench-agent-read[y]", check=False)
    return [int(word) for word in text.split()]


def kill_agent(guest: Guest, pid: int) -> None:
    guest.ssh("kill", "-9", str(pid))


def kill_sshd(guest: Guest, pid: int) -> None:
    """The sshd process that serves the agent's connection: its nearest ancestor of that name."""
    walk = (
        'p=$1; while [ "$p" -gt 1 ]; do p=$(sed "s/.*) . //" /proc/$p/stat | cut -d" " -f1);'
        ' [ "$(cat /proc/$p/comm)" = sshd ] && kill -9 $p && exit; done; exit 1'
    )
    guest.ssh("sh", "-c", walk, "sh", str(pid))


@many_queues
@pytest.mark.parametrize("kill", [kill_agent, kill_sshd, None], ids=["agent", "sshd", "workbench"])
def test_whoever_dies_the_hosts_are_as_they_were(
    pair: Rig, tmp_path: Path, kill: Callable[[Guest, int], None] | None
) -> None:
    before, known = on_both(pair, tools_say.everything), on_both(pair, agents)
    holder = Holder(pair, tmp_path)
    try:
        assert set(on_both(pair, mtu).values()) == {1400}
        new = {role: sorted(set(found) - set(known[role])) for role, found in on_both(pair, agents).items()}
        if kill is None:
            os.kill(holder.process.pid, signal.SIGKILL)
        else:
            for role, found in new.items():
                kill(pair.guest(role), found[0])
        poll(lambda: set(on_both(pair, mtu).values()) == {1500}, RESTORE_SECONDS, "the hosts as they were")
        poll(lambda: on_both(pair, tools_say.everything) == before, RESTORE_SECONDS, "the hosts as they were")
    finally:
        holder.end()


@many_queues
def test_a_management_link_that_dies_without_a_word(pair: Rig, workbench: Engine, tmp_path: Path) -> None:
    """Seen from beta, over the data link."""
    path = "/sys/class/net/nic0/mtu"
    assert mtu(pair.alpha) == 1500
    holder = Holder(pair, tmp_path)
    try:
        with pair.alpha.without_management():
            assert pair.alpha.ssh("cat", path, via=pair.beta).strip() == "1400"
            poll(
                lambda: pair.alpha.ssh("cat", path, via=pair.beta).strip() == "1500",
                LEASE_SECONDS + RESTORE_SECONDS,
                "the host put its settings back by itself",
            )
        poll(lambda: readable(workbench, Role.SENDER), RECONNECT_SECONDS, "the other workbench has its host back")
    finally:
        holder.end()
    poll(lambda: mtu(pair.beta) == 1500, RESTORE_SECONDS, "beta as it was")


def readable(workbench: Engine, role: Role) -> bool:
    try:
        return bool(read(workbench, role).settings)
    except WorkbenchError:
        return False


@many_queues
def test_a_permanent_change_stays_and_restore_takes_it_back(pair: Rig, tmp_path: Path) -> None:
    guest = pair.alpha
    before = tools_say.everything(guest)
    common = [sys.executable, "-m", "netbench_tui", "-F", str(pair.config), "--history", str(tmp_path / "h.db")]
    subprocess.run([*common, "set", guest.name, "nic0", "tso=off", "mtu=1400", "--keep"], check=True, timeout=SECONDS)
    text = tools_say.everything(guest)
    assert "mtu 1400" in text and "tcp-segmentation-offload: off" in text
    subprocess.run([*common, "restore", guest.name], check=True, timeout=SECONDS)
    assert tools_say.everything(guest) == before
