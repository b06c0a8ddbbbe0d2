"""known_hosts files as ssh reads them: found, hashed, with a port, revoked, and with broken lines around."""

import subprocess
from pathlib import Path

import asyncssh
import pytest

from netbench_tui.hosts.ssh.trust import KeyWitness, KnownHosts


def public(key: asyncssh.SSHKey) -> str:
    return key.export_public_key("openssh").decode().strip()


@pytest.fixture
def key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known_hosts"


def test_no_file_is_nobody_known(file: Path) -> None:
    hosts = KnownHosts([str(file)])
    hosts("alpha", "192.0.2.1", 22)
    assert not hosts.known
    assert hosts.where == str(file)


@pytest.mark.parametrize(
    ("pattern", "port", "known"),
    [
        ("alpha", 22, True),
        ("beta,alpha", 22, True),
        ("192.0.2.1", 22, True),
        ("al*", 22, True),
        ("[alpha]:2222", 2222, True),
        ("[alpha]:2222", 22, False),
        ("beta", 22, False),
        ("!alpha,al*", 22, False),
    ],
)
def test_patterns(file: Path, key: asyncssh.SSHKey, pattern: str, port: int, known: bool) -> None:
    file.write_text(f"{pattern} {public(key)}\n")
    hosts = KnownHosts([str(file)])
    hosts("alpha", "192.0.2.1", port)
    assert hosts.known is known


def test_hashed_names(file: Path, key: asyncssh.SSHKey) -> None:
    file.write_text(f"alpha {public(key)}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    assert "alpha" not in file.read_text()
    hosts = KnownHosts([str(file)])
    hosts("alpha", "192.0.2.1", 22)
    assert hosts.known
    hosts("beta", "192.0.2.2", 22)
    assert not hosts.known


def test_broken_lines_lock_nobody_out(file: Path, key: asyncssh.SSHKey) -> None:
    lines = ["# comment", "", "alpha", "alpha ssh-ed25519 AAAA", "alpha x y z", "@cert alpha " + public(key)]
    file.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe \x00\n" + f"alpha {public(key)}\n".encode())
    hosts = KnownHosts([str(file)])
    hosts("alpha", "", 22)
    assert hosts.known


def test_revoked_keys(file: Path, key: asyncssh.SSHKey) -> None:
    file.write_text(f"@revoked * {public(key)}\n")
    hosts = KnownHosts([str(file)])
    assert [revoked.public_data for revoked in hosts("alpha", "", 22)[2]] == [key.public_data]
    assert not hosts.known


def test_several_files_are_read_as_one(tmp_path: Path, key: asyncssh.SSHKey) -> None:
    (tmp_path / "two").write_text(f"alpha {public(key)}")
    hosts = KnownHosts([str(tmp_path / name) for name in ("one", "two")])
    hosts("alpha", "", 22)
    assert hosts.known
    assert hosts.where == str(tmp_path / "two")


def test_a_witness_sees_the_key_and_trusts_nobody(key: asyncssh.SSHKey) -> None:
    witness = KeyWitness()
    assert witness.fingerprint() == "no key seen"
    assert witness.validate_host_public_key("alpha", "", 22, key) is False
    assert witness.fingerprint() == f"ssh-ed25519 {key.get_fingerprint()}"
