"""What the driver or the kernel chooses by itself is left to them by a script, as it is by the agent."""

import pytest

from netbench_tui.export.script import ScriptHost, shell_script
from netbench_tui.model.change import Change
from netbench_tui.model.host import Role
from netbench_tui.model.setting import MACHINE, HostSettings, Setting

KNOWN = HostSettings(
    (
        Setting("nic0", "channels.combined", "2"),
        Setting("nic0", "qdisc.root", "fq"),
        Setting(MACHINE, "sysctl.net.core.default_qdisc", "fq_codel"),
    )
)


def lines(settings: HostSettings, *wishes: tuple[str, str]) -> list[str]:
    changes = [Change(Role.SENDER, "nic0", key, value) for key, value in wishes]
    return shell_script(changes, {Role.SENDER: ScriptHost("alpha", settings=settings)}).splitlines()[3:]


def test_a_table_over_all_rings_is_the_drivers_own() -> None:
    assert lines(KNOWN, ("rss.indirection", "equal 2")) == ["ethtool -X nic0 default"]
    assert lines(KNOWN, ("rss.indirection", "equal 1")) == ["ethtool -X nic0 equal 1"]
    assert lines(KNOWN, ("rss.indirection", "equal 4"), ("channels.combined", "4")) == [
        "ethtool -L nic0 combined 4",
        "ethtool -X nic0 default",
    ]
    assert lines(HostSettings(), ("rss.indirection", "equal 2")) == ["ethtool -X nic0 equal 2"]


@pytest.mark.parametrize("kind", ["mq", "fq_codel"])
def test_the_kernels_own_root_comes_back_by_deleting_what_stands_in_its_place(kind: str) -> None:
    assert lines(KNOWN, ("qdisc.root", kind)) == [f"tc qdisc delete dev nic0 root  # the kernel's own is {kind}"]


def test_a_root_of_ones_own_is_written() -> None:
    assert lines(KNOWN, ("qdisc.root", "pfifo limit 100")) == ["tc qdisc replace dev nic0 root pfifo limit 100"]
    kernels = HostSettings((Setting("nic0", "qdisc.root", "mq"), KNOWN.settings[2]))
    assert lines(kernels, ("qdisc.root", "fq")) == ["tc qdisc replace dev nic0 root fq"]
    assert lines(kernels, ("qdisc.root", "fq_codel")) == ["tc qdisc replace dev nic0 root fq_codel"]
