"""The lab's ssh way in: a real sshd in each namespace, throw-away keys, a login through asyncssh."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from netbench_tui.errors import LabImpossible
from netbench_tui.hosts.lab import records, sshd
from netbench_tui.hosts.lab.lab import Lab
from netbench_tui.model.host import Role
from netbench_tui.model.session import LabTarget

pytestmark = pytest.mark.usefixtures("named_namespaces")


async def log_in(lab: Lab, role: Role, **changes: Any) -> asyncssh.SSHClientConnection:
    facts = lab.hosts[role].ssh
    assert facts is not None
    options: dict[str, Any] = {
        "username": facts.user,
        "client_keys": [str(facts.client_key)],
        "known_hosts": str(facts.known_hosts),
        "host_key_alias": facts.host_key_alias,
        "config": None,
        "agent_path": None,
    }
    sock = await lab.open_ssh_socket(role)
    return await asyncssh.connect(facts.host_key_alias, sock=sock, **(options | changes))


async def test_login_runs_inside_and_close_leaves_nothing(traces_of: Callable[[Lab], Any]) -> None:
    lab = await Lab.start(LabTarget(queues=2, ssh=True))
    traces = traces_of(lab)
    try:
        for role, address in ((Role.SENDER, "198.18.0.1"), (Role.RECEIVER, "198.18.0.2")):
            async with await log_in(lab, role) as connection:
                assert str((await connection.run("id -u", check=True)).stdout).strip() == "0"
                nics = await connection.run("ls /sys/class/net", check=True)
                assert set(str(nics.stdout).split()) == {"lo", "nic0"}
                assert address in str((await connection.run("cat /proc/net/fib_trie", check=True)).stdout)
    finally:
        await lab.close()
    assert traces.left() == []


@pytest.fixture
def sshd_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of the test's own, since other sshds on this machine may need the real one. Counts no sshd as running."""
    monkeypatch.setattr(records, "RUN_FOLDER", tmp_path)
    monkeypatch.setattr(records, "SSHD_FOLDER", tmp_path / "sshd")
    monkeypatch.setattr(records, "_SSHD_FOLDER_IS_OURS", tmp_path / "made")
    monkeypatch.setattr(records, "_sshd_runs", lambda: False)
    return tmp_path / "sshd"


def test_the_last_lab_removes_the_folder_that_a_lab_made_for_sshd(sshd_folder: Path) -> None:
    first, last = (records.new_record(lab_id, True, {}) for lab_id in ("00000000000a", "00000000000b"))
    for record in (first, last):
        records.write_record(record)
        records.prepare_sshd_folder()
    records.remove_lab(first)
    assert sshd_folder.is_dir()
    records.remove_lab(last)
    assert list(sshd_folder.parent.iterdir()) == []


def test_sshds_own_folder_stays(sshd_folder: Path) -> None:
    sshd_folder.mkdir()
    record = records.new_record("00000000000c", True, {})
    records.write_record(record)
    records.prepare_sshd_folder()
    records.remove_lab(record)
    assert list(sshd_folder.parent.iterdir()) == [sshd_folder]


def test_a_folder_that_an_sshd_came_to_rely_on_goes_only_after_it(
    sshd_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = records.new_record("00000000000d", True, {})
    records.write_record(record)
    records.prepare_sshd_folder()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(records, "_sshd_runs", lambda: True)
        records.remove_lab(record)
    assert sshd_folder.is_dir()
    records.remove_stale_labs()
    assert not sshd_folder.exists()


async def test_many_sessions_at_once_and_a_session_left_open(traces_of: Callable[[Lab], Any]) -> None:
    lab = await Lab.start(LabTarget(ssh=True))
    traces = traces_of(lab)
    connection = await log_in(lab, Role.RECEIVER)
    processes = [await connection.create_process("sleep 60") for _ in range(20)]
    assert len(processes) == 20
    await lab.close()
    assert traces.left() == []
    await asyncio.wait_for(connection.wait_closed(), 10)


async def test_only_the_throw_away_keys_open_it_and_the_host_keys_differ() -> None:
    async with await Lab.start(LabTarget(ssh=True)) as lab:
        sender, receiver = lab.hosts[Role.SENDER].ssh, lab.hosts[Role.RECEIVER].ssh
        assert sender is not None and receiver is not None
        stranger = asyncssh.generate_private_key("ssh-ed25519")
        with pytest.raises(asyncssh.PermissionDenied):
            await log_in(lab, Role.SENDER, client_keys=[stranger])
        with pytest.raises(asyncssh.HostKeyNotVerifiable):
            await log_in(
                lab, Role.SENDER, known_hosts=str(receiver.known_hosts), host_key_alias=receiver.host_key_alias
            )
        assert sender.client_key.stat().st_mode & 0o777 == 0o600
        assert sender.client_key.parent.stat().st_mode & 0o777 == 0o700


async def test_no_sshd_on_the_machine_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sshd, "_SBIN", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabImpossible) as caught:
        await Lab.start(LabTarget(ssh=True))
    assert "openssh-server" in caught.value.hint
