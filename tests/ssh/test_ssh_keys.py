"""Key files, locked and unlocked, certificates and the ssh-agent, against a real sshd."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import LoginRefused
from netbench_tui.model.question import QuestionKind

SECRET = "canary-passphrase"
PASSPHRASE = QuestionKind.PASSPHRASE
# How a locked key may lie on the disk: its format, and whether its public part lies beside it.
SHAPES = [(form, public) for form in ("openssh", "pem") for public in (True, False)]


@pytest.fixture
def locked(running: Any, new_key: Any, public_key: Any, ssh_keygen: Any, tmp_path: Path) -> Any:
    """Makes a locked key; the server takes it unless said otherwise."""

    def make(form: str = "openssh", public: bool = True, taken: bool = True, name: str = "locked") -> Path:
        key: Path = new_key(tmp_path / name, "ecdsa" if form == "pem" else "ed25519", SECRET)
        if taken:
            running.authorized.write_text(public_key(key) + "\n")
        if form == "pem":
            ssh_keygen("-q", "-p", "-m", "PEM", "-P", SECRET, "-N", SECRET, "-f", str(key))
            assert "BEGIN EC PRIVATE KEY" in key.read_text() and "ENCRYPTED" in key.read_text()
        if not public:
            key.with_name(key.name + ".pub").unlink()
        running.configure(IdentityFile=key)
        return key

    return make


@pytest.mark.parametrize(("form", "public"), SHAPES)
async def test_a_passphrase_is_asked_for_until_it_opens_the_key(
    running: Any, locked: Any, connect: Any, person: Any, form: str, public: bool
) -> None:
    key = locked(form, public)
    asker = person(("wrong",), (SECRET,))
    await connect(asker)
    assert asker.kinds() == [PASSPHRASE] * 2
    assert [question.title for question in asker.asked] == [
        f"passphrase of {key}",
        f"that passphrase was wrong; passphrase of {key}",
    ]


@pytest.mark.parametrize(("form", "public"), SHAPES)
async def test_without_the_passphrase_other_keys_are_tried(
    running: Any, locked: Any, connect: Any, person: Any, public_key: Any, form: str, public: bool
) -> None:
    """ssh tries them in the file's order; where only the other key is taken, a passphrase need not be asked for."""
    key = locked(form, public)
    running.configure(IdentityFile=f"{key}\n  IdentityFile {running.client_key}")
    with running.authorized.open("a") as file:
        file.write(public_key(running.client_key) + "\n")
    asker = person(None)
    await connect(asker)
    assert len(asker.asked) == (1 if public or form == "openssh" else 0)


@pytest.mark.parametrize(("form", "public"), SHAPES)
async def test_a_passphrase_that_nobody_gives(
    running: Any, locked: Any, connect: Any, person: Any, form: str, public: bool
) -> None:
    key = locked(form, public)
    with pytest.raises(LoginRefused) as caught:
        await connect(person(None))
    assert caught.value.message == f"alpha: the login was given up; {key} stayed locked"


async def test_three_wrong_passphrases(
    running: Any, locked: Any, connect: Any, person: Any, assert_no_leak: Any
) -> None:
    locked()
    asker = person(*[(f"{SECRET}-wrong",)] * 3)
    with pytest.raises(LoginRefused) as caught:
        await connect(asker)
    assert_no_leak(caught.value, SECRET)


async def test_no_passphrase_is_wanted_for_a_key_that_the_host_does_not_take(
    running: Any, locked: Any, connect: Any, person: Any
) -> None:
    locked(taken=False)
    with pytest.raises(LoginRefused):
        await connect(person())


async def test_no_passphrase_is_wanted_for_a_key_that_the_agent_holds(
    running: Any, locked: Any, connect: Any, person: Any, ssh_agent: Any, ssh_keygen: Any, monkeypatch: Any
) -> None:
    key = locked()
    ssh_keygen("-q", "-p", "-P", SECRET, "-N", "", "-f", str(key))
    monkeypatch.setenv("SSH_AUTH_SOCK", ssh_agent(key))
    ssh_keygen("-q", "-p", "-P", "", "-N", SECRET, "-f", str(key))
    await connect(person())


async def test_a_question_ends_with_its_connection(
    server: Any, new_key: Any, public_key: Any, connect: Any, person: Any, tmp_path: Path
) -> None:
    """asyncssh asks for a passphrase from a thread of its own, which must not stay behind."""
    ended = asyncio.Event()

    async def never(_: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    key = new_key(tmp_path / "locked", passphrase=SECRET)
    server.authorized.write_text(public_key(key) + "\n")
    server.configure(IdentityFile=key)
    server.start(LoginGraceTime="1")
    with pytest.raises(LoginRefused, match="while it waited for an answer"):
        await connect(person(never))
    await asyncio.wait_for(ended.wait(), 2)


async def test_giving_up_the_connection_withdraws_its_question(
    running: Any, locked: Any, connect: Any, person: Any
) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def never(_: Any) -> None:
        asked.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    locked()
    connecting = asyncio.create_task(connect(person(never)))
    await asyncio.wait_for(asked.wait(), 10)
    connecting.cancel()
    await asyncio.wait_for(ended.wait(), 2)
    with pytest.raises(asyncio.CancelledError):
        await connecting


async def test_a_key_that_cannot_be_read_is_passed_over(running: Any, connect: Any, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_text("no key")
    running.configure(IdentityFile=f"{tmp_path / 'garbage'}\n  IdentityFile {running.client_key}")
    notes: list[str] = []
    await connect(on_note=notes.append)
    assert notes == [f"{tmp_path / 'garbage'} is no key that can be read; it is passed over"]


@pytest.mark.parametrize("passphrase", ["", SECRET])
async def test_a_certificate(
    server: Any, new_key: Any, public_key: Any, ssh_keygen: Any, connect: Any, person: Any, tmp_path: Path,
    passphrase: str,
) -> None:  # fmt: skip
    authority, key = new_key(tmp_path / "ca"), new_key(tmp_path / "id", passphrase=passphrase)
    ssh_keygen("-q", "-s", str(authority), "-I", "test", "-n", server.user, "-V", "+1h", str(key) + ".pub")
    (tmp_path / "authorities").write_text(public_key(authority) + "\n")
    server.authorized.write_text("")
    server.configure(IdentityFile=key)
    server.start(TrustedUserCAKeys=str(tmp_path / "authorities"))
    asker = person(*[(SECRET,)] * bool(passphrase))
    await connect(asker)
    assert not asker.answers


async def test_a_full_agent_and_identities_only(
    running: Any, new_key: Any, public_key: Any, ssh_agent: Any, connect: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    keys = [new_key(tmp_path / f"key{number}") for number in range(8)]
    running.authorized.write_text(public_key(keys[-1]) + "\n")
    monkeypatch.setenv("SSH_AUTH_SOCK", ssh_agent(*keys))
    for key in keys:
        key.unlink()  # only the public parts are left, as with keys on a token
    running.configure(IdentityFile=None)
    with pytest.raises(LoginRefused) as caught:
        await connect()
    assert caught.value.message == "alpha: it refused the login after too many tries"
    assert "IdentitiesOnly yes" in caught.value.hint
    running.configure(IdentityFile=f"{keys[-1]}.pub", IdentitiesOnly="yes")
    await connect()
    running.configure(IdentityFile=tmp_path / "missing", IdentitiesOnly="yes")
    with pytest.raises(LoginRefused) as caught:
        await connect()
    assert "too many" not in caught.value.message, "no key of the agent was offered"
