"""A lab is removed whatever ends it, and nothing but a lab is."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import LabImpossible
from netbench_tui.hosts.lab import lab as lab_module
from netbench_tui.hosts.lab import records
from netbench_tui.hosts.lab.lab import Lab, remove_stale_labs
from netbench_tui.hosts.lab.plan import LabPlan, plan_lab
from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget

TracesOf = Callable[[Lab], Any]
Eventually = Callable[[Callable[[], bool], str], None]

# Goes by nothing but SIGKILL.
STUBBORN = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("here", flush=True)
while True:
    time.sleep(60)
"""

# An owner that starts a lab with something stubborn inside, tells its keeper and namespace paths, and then hangs.
OWNER = f"""
import asyncio, sys, time
from netbench_tui.hosts.lab.lab import Lab
from netbench_tui.model.session import LabTarget

async def own():
    lab = await Lab.start(LabTarget())
    for host in lab.hosts.values():
        inside = await asyncio.create_subprocess_exec(
            *host.enter, sys.executable, "-c", {STUBBORN!r}, stdout=asyncio.subprocess.PIPE)
        await inside.stdout.readline()
    paths = [host.enter[host.enter.index("--net") + 1] for host in lab.hosts.values()]
    print(lab._keeper.pid, *paths, flush=True)
    time.sleep(60)

asyncio.run(own())
"""


async def start_stubborn(lab: Lab) -> asyncio.subprocess.Process:
    argv = (*lab.hosts[Role.RECEIVER].enter, sys.executable, "-c", STUBBORN)
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"here\n"
    return process


@pytest.fixture
def owned_elsewhere(python_environment: dict[str, str]) -> Any:
    """An owner in another process: (its Popen, keeper's pid, namespace paths)."""
    with subprocess.Popen([sys.executable, "-c", OWNER], env=python_environment, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid, *paths = owner.stdout.readline().decode().split()
        yield owner, int(pid), [Path(path) for path in paths]
        owner.kill()


async def test_close_removes_everything_and_may_be_repeated(traces_of: TracesOf) -> None:
    lab = await Lab.start(LabTarget())
    traces = traces_of(lab)
    assert traces.left()
    await asyncio.gather(lab.close(), lab.close())
    assert traces.left() == []
    await lab.close()


async def test_close_ends_what_ignores_every_polite_signal(traces_of: TracesOf) -> None:
    lab = await Lab.start(LabTarget())
    traces = traces_of(lab)
    process = await start_stubborn(lab)
    await lab.close()
    assert await process.wait() == -signal.SIGKILL
    assert traces.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_to_the_keeper_removes_the_lab(number: signal.Signals, traces_of: TracesOf) -> None:
    lab = await Lab.start(LabTarget())
    traces = traces_of(lab)
    os.kill(traces.keeper, number)
    assert await asyncio.wait_for(lab._keeper.wait(), 10) == 0
    traces.assert_gone()
    await lab.close()


async def test_a_failing_body_removes_the_lab_too(traces_of: TracesOf) -> None:
    traces = None
    with contextlib.suppress(ZeroDivisionError):
        async with await Lab.start(LabTarget()) as lab:
            traces = traces_of(lab)
            raise ZeroDivisionError
    assert traces is not None and traces.left() == []


async def test_cancelling_the_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled at several moments, from before the keeper is up to nearly done."""
    plans = []

    def remember(target: LabTarget) -> LabPlan:
        plans.append(plan_lab(target))
        return plans[-1]

    monkeypatch.setattr(lab_module, "plan_lab", remember)
    for delay in (0.0, 0.2, 0.5, 0.8, 1.1):
        task = asyncio.ensure_future(Lab.start(LabTarget()))
        done, _ = await asyncio.wait([task], timeout=delay)
        if done:
            await task.result().close()
            continue
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert 1 <= len(plans) <= 5
    for plan in plans:
        assert not [
            path for folder in ("/run/netns", records.RUN_FOLDER) for path in Path(folder).glob(f"*{plan.lab_id}*")
        ]


async def test_a_lab_that_cannot_be_entered_is_removed_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As where a container forbids mounting sysfs: here the launcher itself refuses."""
    launcher = tmp_path / "enter.py"
    launcher.write_text("import sys; sys.stderr.write(sys.argv[2]); sys.exit(125)")
    monkeypatch.setattr(lab_module, "_ENTER", str(launcher))
    with pytest.raises(LabImpossible, match="nothing can run inside") as caught:
        await Lab.start(LabTarget())
    assert not Path(caught.value.message.split()[-1].rstrip(".")).exists()


def test_the_owner_killed_outright_takes_the_lab_along(owned_elsewhere: Any, eventually: Eventually) -> None:
    owner, keeper, paths = owned_elsewhere
    assert all(path.exists() for path in paths)
    inodes = {path.stat().st_ino for path in paths}
    assert len(records._processes_in(inodes)) == 2
    owner.kill()
    eventually(lambda: records.process_start(keeper) is None, "the keeper ends")
    assert not any(path.exists() for path in paths)
    assert records._processes_in(inodes) == []


async def test_close_after_the_keeper_was_killed_removes_the_names(named_namespaces: None, traces_of: TracesOf) -> None:
    lab = await Lab.start(LabTarget())
    traces = traces_of(lab)
    os.kill(traces.keeper, signal.SIGKILL)
    await lab._keeper.wait()
    assert all(name.exists() for name in traces.names)
    await lab.close()
    traces.assert_gone()


async def test_the_next_start_removes_what_a_kill_of_owner_and_keeper_left(
    named_namespaces: None, owned_elsewhere: Any, eventually: Eventually
) -> None:
    owner, keeper, paths = owned_elsewhere
    inodes = {path.stat().st_ino for path in paths}
    os.kill(keeper, signal.SIGKILL)
    owner.kill()
    eventually(lambda: records.process_start(keeper) is None, "the keeper is dead")
    assert all(path.exists() for path in paths) and records._processes_in(inodes)
    async with await Lab.start(LabTarget()) as lab:
        assert not any(path.exists() for path in paths)
        assert records._processes_in(inodes) == []
        assert all(Path(host.enter[host.enter.index("--net") + 1]).exists() for host in lab.hosts.values())
    assert not list(records.RUN_FOLDER.glob(f"*{paths[0].name.split('-')[1]}*"))


def dead_keepers_record(lab_id: str, namespaces: dict[str, int], **changes: Any) -> records.LabRecord:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    own = records.new_record(lab_id, False, namespaces)
    facts = {name: getattr(own, name) for name in own.__slots__} | {"keeper": process.pid} | changes
    record = records.LabRecord(**facts)
    records.write_record(record)
    return record


def test_a_recorded_namespace_of_a_dead_keeper_goes(foreign_namespace: Callable[[str], int]) -> None:
    name = "nbt-0000000000a1-alpha"
    record = dead_keepers_record("0000000000a1", {name: foreign_namespace(name)})
    assert name in remove_stale_labs()
    assert not (records.NETNS_FOLDER / name).exists()
    assert not record.path.exists()


def test_a_namespace_without_a_record_stays(foreign_namespace: Callable[[str], int]) -> None:
    name = "nbt-0000000000a2-alpha"
    foreign_namespace(name)
    assert name not in remove_stale_labs()
    assert (records.NETNS_FOLDER / name).exists()


def test_a_namespace_with_another_inode_stays(foreign_namespace: Callable[[str], int]) -> None:
    name = "nbt-0000000000a3-alpha"
    record = dead_keepers_record("0000000000a3", {name: foreign_namespace(name) + 1})
    assert name not in remove_stale_labs()
    assert (records.NETNS_FOLDER / name).exists()
    assert not record.path.exists()


def test_a_record_cannot_name_what_no_lab_would(foreign_namespace: Callable[[str], int]) -> None:
    name = "production"
    dead_keepers_record("0000000000a4", {name: foreign_namespace(name), "../../etc/hostname": 1})
    assert remove_stale_labs().count(name) == 0
    assert (records.NETNS_FOLDER / name).exists()


def test_the_lab_of_a_living_keeper_stays(foreign_namespace: Callable[[str], int]) -> None:
    name = "nbt-0000000000a5-alpha"
    record = records.new_record("0000000000a5", False, {name: foreign_namespace(name)})
    records.write_record(record)
    try:
        assert name not in remove_stale_labs()
        assert (records.NETNS_FOLDER / name).exists() and record.path.exists()
    finally:
        assert records.remove_lab(record) == [name]
    assert not (records.NETNS_FOLDER / name).exists()


def test_a_pid_that_was_given_to_another_process_is_no_keeper(foreign_namespace: Callable[[str], int]) -> None:
    name = "nbt-0000000000a6-beta"
    dead_keepers_record("0000000000a6", {name: foreign_namespace(name)}, keeper=os.getpid(), keeper_start=1)
    assert name in remove_stale_labs()


def test_another_boots_record_goes_and_a_keeper_in_another_pid_namespace_counts_as_alive(
    foreign_namespace: Callable[[str], int],
) -> None:
    name = "nbt-0000000000a7-beta"
    inode = foreign_namespace(name)
    unseen = dead_keepers_record("0000000000a7", {name: inode}, pid_namespace=1)
    assert name not in remove_stale_labs()
    assert unseen.path.exists()
    dead_keepers_record("0000000000a7", {name: inode}, boot_id="another boot", keeper=os.getpid())
    assert name in remove_stale_labs()
    assert not unseen.path.exists()


def test_the_bare_mount_point_of_a_keeper_killed_halfway_goes(foreign_namespace: Callable[[str], int]) -> None:
    bare, full = "nbt-0000000000a8-alpha", "nbt-0000000000a8-beta"
    foreign_namespace("nbt-0000000000a9-alpha")
    (records.NETNS_FOLDER / bare).touch()
    (records.NETNS_FOLDER / full).write_text("not empty, so not ours")
    dead_keepers_record("0000000000a8", {bare: 1, full: 2})
    try:
        assert remove_stale_labs().count(bare) == 0
        assert not (records.NETNS_FOLDER / bare).exists()
        assert (records.NETNS_FOLDER / full).exists()
    finally:
        (records.NETNS_FOLDER / full).unlink()


def test_a_file_that_is_no_record_is_left_alone(named_namespaces: None) -> None:
    records.RUN_FOLDER.mkdir(mode=0o700, exist_ok=True)
    strange = records.RUN_FOLDER / "lab-strange.json"
    strange.write_text("{")
    try:
        remove_stale_labs()
        assert strange.read_text() == "{"
    finally:
        strange.unlink()
