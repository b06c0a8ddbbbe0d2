"""The emulated hosts that the tests of this folder share: two pairs, one after the other, so that every NIC that
QEMU emulates is there once.

Without QEMU they are skipped, unless RIG=required is set, as `make test-rig` does: then what is missing is a failure.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import rig as rig_module
from rig import Guest, Rig

from netbench_tui.engine.engine import Engine
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, PairTarget

# Kept from one run to the next: the unpacked kernel. Not below /tmp or a home, which the guests see otherwise.
CACHE = Path("/var/tmp") / f"netbench-tui-rig-{os.geteuid()}"
# An emulated host starts Python in seconds.
CONNECT_SECONDS = 120
PAIRS = {"many-queues": (("virtio", "vmxnet3"), 2), "few-queues": (("e1000e", "e1000"), 1)}


def why_not() -> str:
    """Why the guests cannot be had here; empty if they can."""
    if os.geteuid() != 0:
        return "taps and a network namespace need root"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    missing = rig_module.missing_programs()
    return f"not installed: {', '.join(missing)} (make test-rig installs them)" if missing else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.rig)


@pytest.fixture(scope="session", params=PAIRS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Two hosts that are up. Whoever changes them puts them back."""
    if why := why_not():
        (pytest.fail if os.environ.get("RIG") == "required" else pytest.skip)(why)
    nics, sockets = PAIRS[request.param]
    with rig_module.rig(tmp_path_factory.mktemp("rig"), CACHE, nics, sockets=sockets) as made:
        yield made


@pytest.fixture(scope="session")
def workbench(pair: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that is connected to both hosts, for as long as they are up."""
    engine = Engine(tmp_path_factory.mktemp("history") / "history.db", str(pair.config))
    engine.start()
    try:
        engine.connect(PairTarget(HostTarget("alpha"), HostTarget("beta"))).result(CONNECT_SECONDS)
        yield engine
    finally:
        engine.close()


@pytest.fixture(params=[Role.SENDER, Role.RECEIVER], ids=["alpha", "beta"])
def role(request: pytest.FixtureRequest) -> Role:
    found: Role = request.param
    return found


@pytest.fixture
def guest(pair: Rig, role: Role) -> Guest:
    return pair.guest(role)
