"""Changes of real drivers' settings: seen by the tools, put back byte for byte, and never left behind by a death."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tools_say
from rig import Guest, Rig, poll

from netbench_tui.engine.engine import Engine
from netbench_tui.errors import WorkbenchError
from netbench_tui.model.change import Applied, Change, ChangeKind
from netbench_tui.model.host import Role
from netbench_tui.model.setting import HostSettings, Setting

SECONDS = 120
# What an emulated agent needs to notice its end and to write some dozen settings back.
RESTORE_SECONDS = 20.0
LEASE_SECONDS = 30.0
# The pauses between two tries grow to half a minute.
RECONNECT_SECONDS = 120.0


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


def worth_trying(settings: HostSettings) -> list[tuple[Setting, str]]:
    found = [(s, other_value(s, settings)) for s in settings.settings if s.scope in ("nic0", "machine")]
    return [(setting, value) for setting, value in found if value is not None]


def read(workbench: Engine, role: Role) -> HostSettings:
    return workbench.read_settings(role).result(SECONDS)


def test_every_change_is_seen_by_the_tools_and_restored_byte_for_byte(
    workbench: Engine, guest: Guest, role: Role
) -> None:
    before = tools_say.everything(guest)
    tried = worth_trying(read(workbench, role))
    assert len(tried) > 10
    took = 0
    for setting, value in tried:
        change = Change(role, setting.scope, setting.key, value)
        applied = workbench.apply([change], ChangeKind.LEASE).result(SECONDS)
        outcome = next(o for o in applied.outcomes if o.key == setting.key)
        if outcome.took:
            took += 1
            assert tools_say.everything(guest) != before, f"{setting.key} = {value} is not seen"
        workbench.restore().result(SECONDS)
        assert tools_say.everything(guest) == before, f"{setting.key} = {value} was not put back"
    assert took > len(tried) * 2 // 3


def test_all_at_once_and_back(workbench: Engine, guest: Guest, role: Role) -> None:
    before = tools_say.everything(guest)
    changes = [Change(role, s.scope, s.key, value) for s, value in worth_trying(read(workbench, role))]
    applied: Applied = workbench.apply(changes, ChangeKind.LEASE).result(SECONDS)
    assert applied.outcomes and tools_say.everything(guest) != before
    restored = workbench.restore().result(SECONDS)
    assert all(part.whole for part in restored), restored
    assert tools_say.everything(guest) == before


def test_a_trial_ends_by_itself(workbench: Engine, guest: Guest, role: Role) -> None:
    before = tools_say.everything(guest)
    workbench.apply([Change(role, "nic0", "mtu", "1400")], ChangeKind.TRIAL, seconds=3).result(SECONDS)
    assert "mtu 1400" in tools_say.everything(guest)
    poll(lambda: tools_say.everything(guest) == before, RESTORE_SECONDS, "the trial put back")


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
engine.visit([HostTarget(sys.argv[3])]).result(120)
wishes = (("nic0", "mtu", "1400"), ("machine", "sysctl.net.core.rmem_max", "425984"))
applied = engine.apply([Change(Role.SENDER, *wish) for wish in wishes], ChangeKind.LEASE).result(60)
print("held" if all(outcome.took for outcome in applied.outcomes) else applied, flush=True)
time.sleep(600)
"""


class Holder:
    """Another workbench that holds a lease on one host."""

    def __init__(self, pair: Rig, guest: Guest, folder: Path) -> None:
        argv = [sys.executable, "-c", HOLD, str(folder / "other.db"), str(pair.config), guest.name]
        self.history = folder / "other.db"
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


@pytest.mark.parametrize("kill", [kill_agent, kill_sshd, None], ids=["agent", "sshd", "workbench"])
def test_whoever_dies_the_host_is_as_it_was(
    pair: Rig, guest: Guest, tmp_path: Path, kill: Callable[[Guest, int], None] | None
) -> None:
    before, known = tools_say.everything(guest), set(agents(guest))
    holder = Holder(pair, guest, tmp_path)
    try:
        assert "mtu 1400" in tools_say.everything(guest)
        (agent,) = sorted(set(agents(guest)) - known)[:1]
        if kill is None:
            os.kill(holder.process.pid, signal.SIGKILL)
        else:
            kill(guest, agent)
        poll(lambda: tools_say.everything(guest) == before, RESTORE_SECONDS, "the host as it was")
    finally:
        holder.end()


def test_a_management_link_that_dies_without_a_word(
    pair: Rig, workbench: Engine, guest: Guest, role: Role, tmp_path: Path
) -> None:
    other = pair.beta if guest is pair.alpha else pair.alpha
    assert guest.ssh("cat", "/sys/class/net/nic0/mtu").strip() == "1500"
    holder = Holder(pair, guest, tmp_path)
    try:
        with guest.without_management():
            assert guest.ssh("cat", "/sys/class/net/nic0/mtu", via=other).strip() == "1400"
            poll(
                lambda: guest.ssh("cat", "/sys/class/net/nic0/mtu", via=other).strip() == "1500",
                LEASE_SECONDS + RESTORE_SECONDS,
                "the host put its settings back by itself",
            )
        poll(lambda: readable(workbench, role), RECONNECT_SECONDS, "the other workbench has its host back")
    finally:
        holder.end()


def readable(workbench: Engine, role: Role) -> bool:
    try:
        return bool(read(workbench, role).settings)
    except WorkbenchError:
        return False


def test_a_permanent_change_stays_and_restore_takes_it_back(pair: Rig, guest: Guest, tmp_path: Path) -> None:
    before = tools_say.everything(guest)
    common = [sys.executable, "-m", "netbench_tui", "-F", str(pair.config), "--history", str(tmp_path / "h.db")]
    subprocess.run([*common, "set", guest.name, "nic0", "tso=off", "mtu=1400", "--keep"], check=True, timeout=SECONDS)
    text = tools_say.everything(guest)
    assert "mtu 1400" in text and "tcp-segmentation-offload: off" in text
    subprocess.run([*common, "restore", guest.name], check=True, timeout=SECONDS)
    assert tools_say.everything(guest) == before
