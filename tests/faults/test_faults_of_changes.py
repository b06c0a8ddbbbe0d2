"""Changes on a host that is lost: real sshds, links that are cut, processes that are killed. The host goes back by
itself, and the workbench hears of it when it is back."""

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import chaos
import pytest
from far_hosts import FarHost

from netbench_tui.engine import events
from netbench_tui.model.change import Change, ChangeKind, Held
from netbench_tui.model.host import Role

NIC = "data0"
# Everything that the changes below touch, as other tools see it.
LOOK = (
    "mount -t sysfs sysfs /sys && ethtool -k data0 && cat /sys/class/net/data0/queues/rx-0/rps_cpus "
    "/sys/class/net/data0/mtu /proc/sys/net/ipv4/tcp_sack"
)
# From the end of the agent's connection to the last value written back.
PROMPT_SECONDS = 2.0
TRIAL_SECONDS = 4.0


def look(host: FarHost) -> str:
    argv = [*host.inside, "unshare", "--mount", "sh", "-c", LOOK]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def alpha(far_pair: Any, far_bench: Any) -> Iterator[FarHost]:
    """The sender, as found again afterwards."""
    host = far_pair.hosts[Role.SENDER]
    found = look(host)
    yield host
    host.set_link("up")
    if host.process.poll() is not None:
        host.start()
    assert look(host) == found


def change_it(bench: Any, kind: ChangeKind) -> None:
    wishes = {"feature.tx-scatter-gather": "off", "queue.rx-0.rps_cpus": "0", "mtu": "1400"}
    changes = [Change(Role.SENDER, NIC, key, value) for key, value in wishes.items()]
    changes.append(Change(Role.SENDER, "machine", "sysctl.net.ipv4.tcp_sack", "0"))
    applied = bench.engine.apply(changes, kind, seconds=TRIAL_SECONDS).result(20)
    assert all(outcome.took for outcome in applied.outcomes if outcome.asked), applied


@pytest.mark.parametrize("fault", [chaos.kill_agent, chaos.kill_connection, chaos.kill_sshd])
def test_a_lost_host_is_as_found_at_once_and_tells_of_it(
    far_bench: Any, alpha: FarHost, eventually: Callable[..., Any], fault: Callable[[FarHost], chaos.Undo]
) -> None:
    found = look(alpha)
    change_it(far_bench, ChangeKind.LEASE)
    assert look(alpha) != found
    mend = fault(alpha)
    eventually(lambda: look(alpha) == found, "the host is as it was found", PROMPT_SECONDS)
    mend()
    eventually(lambda: far_bench.of(events.HostReturned), "HostReturned", 25)
    (told,) = eventually(lambda: far_bench.of(events.SettingsRestored), "what the guardian put back", 10)
    assert {entry.state for entry in told.restored.entries} == {Held.RESTORED}
    assert {(NIC, "mtu"), (NIC, "queue.rx-0.rps_cpus")} <= {(e.scope, e.key) for e in told.restored.entries}
    assert look(alpha) == found


def test_a_trial_over_a_link_that_was_cut_is_over_in_time(
    far_bench: Any, alpha: FarHost, eventually: Callable[..., Any]
) -> None:
    """Nobody hears that the link is down, neither sshd nor the agent."""
    found = look(alpha)
    change_it(far_bench, ChangeKind.TRIAL)
    assert look(alpha) != found
    alpha.set_link("down")
    eventually(lambda: look(alpha) == found, "the host is as it was found", TRIAL_SECONDS + PROMPT_SECONDS)
    alpha.set_link("up")
    # What the cut left unsent keeps that connection's sshd for as long as TCP tries again: minutes.
    far_bench.engine.close()
    chaos.kill_connection(alpha)
