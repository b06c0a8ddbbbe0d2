"""Host keys of a real sshd: unknown, accepted, refused, changed, revoked, certified; and known_hosts after it."""

import os
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import HostKeyChanged, HostKeyUnknown
from netbench_tui.model.question import QuestionKind


def name(server: Any) -> str:
    return f"[127.0.0.1]:{server.port}"


@pytest.fixture
def unknown(running: Any, tmp_path: Path) -> Any:
    """A server of which known_hosts does not know; the file and its folder do not exist."""
    running.known_hosts = tmp_path / "dot-ssh" / "known_hosts"
    running.configure()
    return running


async def test_an_accepted_key_is_written_and_not_asked_about_again(
    unknown: Any, connect: Any, person: Any, ssh_keygen: Any
) -> None:
    asker = person(())
    await connect(asker)
    question = asker.asked[0]
    assert (question.kind, question.host, question.prompts) == (QuestionKind.HOST_KEY, "alpha", ())
    assert question.detail.split()[1] == ssh_keygen("-lf", str(unknown.host_key)).split()[1]
    file = unknown.known_hosts
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "found: line 1" in ssh_keygen("-F", name(unknown), "-f", str(file))
    await connect(person())
    await connect()


@pytest.mark.parametrize("is_hashed", [False, True])
async def test_the_new_line_is_hashed_if_the_others_are(
    running: Any, connect: Any, person: Any, ssh_keygen: Any, public_key: Any, is_hashed: bool
) -> None:
    running.known_hosts.write_text(f"other.example {public_key(running.client_key)}\n")
    if is_hashed:
        ssh_keygen("-q", "-H", "-f", str(running.known_hosts))
    before = running.known_hosts.read_text()
    await connect(person(()))
    after = running.known_hosts.read_text()
    assert after.startswith(before) and ("127.0.0.1" in after) is not is_hashed
    assert "found: line 2" in ssh_keygen("-F", name(running), "-f", str(running.known_hosts))
    await connect(person())


async def test_a_refused_key_is_not_written(unknown: Any, connect: Any, person: Any) -> None:
    with pytest.raises(HostKeyUnknown):
        await connect(person(None))
    assert not unknown.known_hosts.parent.exists()


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
async def test_a_key_that_changes_while_it_is_shown(
    unknown: Any, connect: Any, person: Any, new_key: Any, tmp_path: Path, kind: str
) -> None:
    async def swap(_: Any) -> tuple[()]:
        unknown.stop()
        unknown.start(HostKey=str(new_key(tmp_path / "another", kind)))
        return ()

    with pytest.raises(HostKeyChanged) as caught:
        await connect(person(swap))
    assert "no longer shows the host key that was accepted, but " in caught.value.message
    assert "SHA256:" in caught.value.message


@pytest.mark.parametrize("is_hashed", [False, True])
async def test_a_changed_key_names_the_line_and_the_command(
    running: Any, connect: Any, new_key: Any, public_key: Any, ssh_keygen: Any, tmp_path: Path, is_hashed: bool
) -> None:
    file = running.known_hosts
    line = f"other.example {public_key(running.client_key)}\n"
    file.write_text(f"{line}{name(running)} {public_key(new_key(tmp_path / 'old'))}\n{line}")
    if is_hashed:
        ssh_keygen("-q", "-H", "-f", str(file))
    with pytest.raises(HostKeyChanged) as caught:
        await connect(accept_new=True)
    assert f"is not the one in {file} line 2; it shows ssh-ed25519 SHA256:" in caught.value.message
    assert f"ssh-keygen -R '{name(running)}' -f {file}" in caught.value.hint
    assert file.read_text().count("\n") == 3, "nothing was written"


async def test_another_key_under_the_name_without_the_port_is_no_change(
    running: Any, connect: Any, person: Any, public_key: Any
) -> None:
    """Two servers behind one address; ssh asks as well."""
    running.known_hosts.write_text(f"127.0.0.1 {public_key(running.client_key)}\n")
    asker = person(())
    await connect(asker)
    assert asker.kinds() == [QuestionKind.HOST_KEY]


async def test_a_revoked_key_is_never_asked_about(running: Any, connect: Any, person: Any, public_key: Any) -> None:
    running.known_hosts.write_text(f"@revoked * {public_key(running.host_key)}\n")
    for how in ({"asker": person()}, {"accept_new": True}):
        with pytest.raises(HostKeyChanged, match="is revoked"):
            await connect(**how)


async def test_a_host_certificate(
    server: Any, connect: Any, person: Any, new_key: Any, public_key: Any, ssh_keygen: Any, tmp_path: Path
) -> None:
    authority = new_key(tmp_path / "ca")
    signed = ("-q", "-s", str(authority), "-I", "test", "-h", "-n", "127.0.0.1", "-V", "+1h")
    ssh_keygen(*signed, f"{server.host_key}.pub")
    server.start(HostCertificate=f"{server.host_key}-cert.pub")
    server.known_hosts.write_text(f"@cert-authority {name(server)} {public_key(authority)}\n")
    await connect()
    marks = {"another authority": "@cert-authority", "a revoked authority": "@revoked"}
    for who, mark in marks.items():
        key = server.client_key if who == "another authority" else authority
        server.known_hosts.write_text(f"{mark} {name(server)} {public_key(key)}\n")
        with pytest.raises(HostKeyUnknown if who == "another authority" else HostKeyChanged):
            await connect()
    server.known_hosts.write_text(f"{name(server)} {public_key(server.host_key)}\n")
    await connect()
    server.known_hosts.unlink()
    await connect(person(()))


async def test_an_authority_is_known_and_the_host_has_no_certificate(
    running: Any, connect: Any, person: Any, public_key: Any
) -> None:
    running.known_hosts.write_text(f"@cert-authority * {public_key(running.client_key)}\n")
    asker = person(())
    await connect(asker)
    assert asker.kinds() == [QuestionKind.HOST_KEY]


async def test_accept_new(unknown: Any, connect: Any, person: Any) -> None:
    await connect(person(), accept_new=True)
    assert unknown.known_hosts.read_text().startswith(f"{name(unknown)} ssh-ed25519 ")


async def test_a_known_hosts_that_cannot_be_written(running: Any, connect: Any, person: Any, tmp_path: Path) -> None:
    running.known_hosts = tmp_path / "file" / "known_hosts"
    (tmp_path / "file").write_text("a file where a folder should be")
    running.configure()
    notes: list[str] = []
    await connect(person(()), on_note=notes.append)
    assert len(notes) == 1 and notes[0].endswith("the key is trusted this once")
    assert notes[0].startswith(f"{running.known_hosts} cannot be written: ")


async def test_an_alias(running: Any, connect: Any, person: Any, public_key: Any, ssh_keygen: Any) -> None:
    """An alias stands in known_hosts as it is, without the port."""
    running.known_hosts.unlink()
    running.configure(HostKeyAlias="rack-7")
    await connect(person(()))
    assert running.known_hosts.read_text().startswith("rack-7 ")
    await connect(person())
    running.known_hosts.write_text(f"rack-7 {public_key(running.client_key)}\n")
    with pytest.raises(HostKeyChanged, match="known_hosts line 1"):
        await connect()


async def test_no_known_hosts_at_all(running: Any, connect: Any, person: Any) -> None:
    running.configure(UserKnownHostsFile="none", GlobalKnownHostsFile="none")
    asker = person((), ())
    for _ in range(2):
        await connect(asker)
    assert not asker.answers, "asked each time, since nothing is kept"
    assert Path(os.devnull).is_char_device()
