"""known_hosts files as ssh reads them: found, hashed, with a port, revoked, and with broken lines around."""

import subprocess
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from netbench_tui.hosts.ssh.known_hosts import append
from netbench_tui.hosts.ssh.trust import KeyWitness, KnownHosts


def public(key: asyncssh.SSHKey) -> str:
    return key.export_public_key("openssh").decode().strip()


def ask(hosts: KnownHosts) -> Any:
    """As asyncssh does; what it says of the host is not what known_hosts goes by."""
    return hosts("whoever", "192.0.2.1", 22)


@pytest.fixture
def key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known_hosts"


def test_no_file_is_nobody_known(file: Path) -> None:
    hosts = KnownHosts([str(file)], ["alpha"])
    ask(hosts)
    assert not hosts.known and not hosts.restricts
    assert hosts.where == str(file)


@pytest.mark.parametrize(
    ("pattern", "known"),
    [
        ("alpha", True),
        ("beta,alpha", True),
        ("al*", True),
        ("[alpha]:2222", False),
        ("beta", False),
        ("!alpha,al*", False),
        ("192.0.2.1", False),  # as ssh: a key stands for the name by which one connects
    ],
)
def test_patterns(file: Path, key: asyncssh.SSHKey, pattern: str, known: bool) -> None:
    file.write_text(f"{pattern} {public(key)}\n")
    hosts = KnownHosts([str(file)], ["Alpha"])
    ask(hosts)
    assert hosts.known is known


def test_a_port_of_its_own(file: Path, key: asyncssh.SSHKey) -> None:
    file.write_text(f"[alpha]:2222 {public(key)}\n")
    hosts = KnownHosts([str(file)], ["[alpha]:2222", "alpha"])
    ask(hosts)
    assert hosts.known


def test_a_key_without_the_port_is_trusted_and_not_expected(file: Path, key: asyncssh.SSHKey) -> None:
    """ssh takes it as well; another key there is unknown, not changed: it may be another machine behind one address."""
    revoked = asyncssh.generate_private_key("ssh-ed25519")
    file.write_text(f"alpha {public(key)}\n@revoked [alpha]:2222 {public(revoked)}\n")
    hosts = KnownHosts([str(file)], ["[alpha]:2222", "alpha"])
    found = ask(hosts)
    assert [one.public_data for one in found[0]] == [key.public_data]
    assert [one.public_data for one in found[2]] == [revoked.public_data]
    assert not hosts.known and hosts.restricts


def test_the_line_of_the_old_key(file: Path, key: asyncssh.SSHKey) -> None:
    old = {kind: asyncssh.generate_private_key(kind) for kind in ("ecdsa-sha2-nistp256", "ssh-ed25519")}
    file.write_text("# two kinds\n" + "".join(f"alpha {public(one)}\n" for one in old.values()))
    hosts = KnownHosts([str(file)], ["alpha"])
    ask(hosts)
    assert hosts.place(key) == f"{file} line 3", "the one of the kind that the host shows"
    assert hosts.place(None) == f"{file} line 2"
    assert hosts.holds(old["ssh-ed25519"]) and not hosts.holds(key)


def test_hashed_names(file: Path, key: asyncssh.SSHKey) -> None:
    file.write_text(f"alpha {public(key)}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    assert "alpha" not in file.read_text()
    for name in ("alpha", "beta"):
        hosts = KnownHosts([str(file)], [name])
        ask(hosts)
        assert hosts.known is (name == "alpha")


@pytest.mark.parametrize(
    "before", [None, "", "# comment\n", "beta {key}", "beta {key}\n", "hashed", "@revoked * {key}\n"]
)
def test_a_key_is_added_as_the_others_are_written(file: Path, key: asyncssh.SSHKey, before: str | None) -> None:
    file = file.parent / "new" / file.name
    if before is not None:
        file.parent.mkdir()
        file.write_text(f"beta {public(key)}\n" if before == "hashed" else before.format(key=public(key)))
    if before == "hashed":
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    kept = file.read_text() if before is not None else ""
    new = asyncssh.generate_private_key("ssh-ed25519")
    append(file, "[alpha]:2222", public(new))
    assert file.read_text().startswith(kept)
    assert ("alpha" in file.read_text()) is (before != "hashed")
    found = subprocess.run(["ssh-keygen", "-F", "[alpha]:2222", "-f", str(file)], capture_output=True, text=True).stdout
    assert public(new).split()[1] in found
    if before is None:
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_broken_lines_lock_nobody_out(file: Path, key: asyncssh.SSHKey) -> None:
    lines = ["# comment", "", "alpha", "alpha ssh-ed25519 AAAA", "alpha x y z", "@cert alpha " + public(key)]
    file.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe \x00\n" + f"alpha {public(key)}\n".encode())
    hosts = KnownHosts([str(file)], ["alpha"])
    ask(hosts)
    assert hosts.known


def test_revoked_keys(file: Path, key: asyncssh.SSHKey) -> None:
    file.write_text(f"@revoked * {public(key)}\n")
    hosts = KnownHosts([str(file)], ["alpha"])
    assert [revoked.public_data for revoked in ask(hosts)[2]] == [key.public_data]
    assert not hosts.known


def test_several_files_are_read_as_one(tmp_path: Path, key: asyncssh.SSHKey) -> None:
    (tmp_path / "two").write_text(f"alpha {public(key)}")
    hosts = KnownHosts([str(tmp_path / name) for name in ("one", "two")], ["alpha"])
    ask(hosts)
    assert hosts.known
    assert hosts.where == str(tmp_path / "two")


def test_a_witness_sees_the_key_and_trusts_nobody(key: asyncssh.SSHKey) -> None:
    witness = KeyWitness()
    assert witness.fingerprint() == "no key seen"
    assert witness.validate_host_public_key("alpha", "", 22, key) is False
    assert witness.fingerprint() == f"ssh-ed25519 {key.get_fingerprint()}"
