"""Logging in through a real sshd: what works, and every way it fails with its own class, sentence and hint."""

import socket
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    HostUnreachable,
    LoginRefused,
    UsageError,
    WorkbenchError,
)
from netbench_tui.hosts.ssh import SshSettings, SshTransport, options
from netbench_tui.model.session import Reach


async def failure(server: Any, kind: type[WorkbenchError], name: str = "alpha") -> WorkbenchError:
    """The error of a login, checked for what every such error has."""
    with pytest.raises(WorkbenchError) as caught:
        await SshTransport.connect(name, SshSettings(str(server.config)))
    error = caught.value
    assert type(error) is kind, error
    assert error.message.startswith(f"{name}: ")
    assert error.hint
    return error


async def test_a_plain_key_and_the_ssh_config(running: Any, login: Any) -> None:
    session = await login()
    assert session.host.name == "alpha"
    assert session.transport.reach is Reach.SSH
    assert "OpenSSH" in session.transport.note
    assert session.host.ssh_connection.split()[2:] == ["127.0.0.1", str(running.port)]
    assert session.host.facts.cpus and session.host.clock.error < 0.1
    process = await session.host.spawn("p", "echo", ("echo", "a b", "$HOME", "'\"!"))
    assert await process.wait(10)
    assert process.output().stdout == "a b $HOME '\"!\n"


async def test_user_and_port_in_the_name_outrank_the_config(running: Any) -> None:
    running.configure(User="nobody-of-that-name", Port=1)
    transport = await SshTransport.connect(f"{running.user}@alpha:{running.port}", SshSettings(str(running.config)))
    assert transport.name == f"{running.user}@alpha:{running.port}"
    await transport.close()


async def test_a_key_of_the_ssh_agent(running: Any, ssh_agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", ssh_agent(running.client_key))
    running.client_key.unlink()
    running.configure(IdentityFile=None)
    await (await SshTransport.connect("alpha", SshSettings(str(running.config)))).close()


async def test_hashed_known_hosts(running: Any, ssh_keygen: Any) -> None:
    ssh_keygen("-q", "-H", "-f", str(running.known_hosts))
    assert "127.0.0.1" not in running.known_hosts.read_text()
    await (await SshTransport.connect("alpha", SshSettings(str(running.config)))).close()


@pytest.mark.parametrize("content", [None, "", "# nothing\n", "broken line\n"])
async def test_an_unknown_key_is_shown_as_ssh_keygen_does(running: Any, ssh_keygen: Any, content: str | None) -> None:
    if content is None:
        running.known_hosts.unlink()
    else:
        running.known_hosts.write_text(content)
    fingerprint = ssh_keygen("-lf", str(running.host_key)).split()[1]
    error = await failure(running, HostKeyUnknown)
    assert error.message == f"alpha: its host key is unknown: ssh-ed25519 {fingerprint}"
    assert f"ssh-keyscan -p {running.port} 127.0.0.1 >> {running.known_hosts}" in error.hint
    assert error.exit_code == 11


async def test_a_changed_key(running: Any, new_key: Any, public_key: Any, ssh_keygen: Any, tmp_path: Path) -> None:
    running.know(public_key(new_key(tmp_path / "other")))
    error = await failure(running, HostKeyChanged)
    assert ssh_keygen("-lf", str(running.host_key)).split()[1] in error.message
    assert str(running.known_hosts) in error.message
    assert "ssh-keygen -R" in error.hint
    assert error.exit_code == 12


async def test_a_key_of_another_kind_than_the_known_one(
    running: Any, new_key: Any, public_key: Any, ssh_keygen: Any, tmp_path: Path
) -> None:
    running.know(public_key(new_key(tmp_path / "other", "ecdsa")))
    fingerprint = ssh_keygen("-lf", str(running.host_key)).split()[1]
    assert f"it shows ssh-ed25519 {fingerprint}" in (await failure(running, HostKeyChanged)).message


async def test_a_revoked_key(running: Any, public_key: Any) -> None:
    running.know(public_key(running.host_key))
    known = running.known_hosts.read_text()
    running.know(public_key(running.host_key), marker="@revoked ")
    running.known_hosts.write_text(known + running.known_hosts.read_text())
    error = await failure(running, HostKeyChanged)
    assert "is revoked in" in error.message
    assert "ssh-keygen" not in error.hint


async def test_the_right_key_among_others(running: Any, new_key: Any, public_key: Any, tmp_path: Path) -> None:
    running.know(public_key(new_key(tmp_path / "other")), public_key(running.host_key))
    await (await SshTransport.connect("alpha", SshSettings(str(running.config)))).close()


async def test_a_refused_port(server: Any, unused_port: int) -> None:
    server.configure(Port=unused_port)
    error = await failure(server, HostUnreachable)
    assert error.message == "alpha: it refused the connection"
    assert error.exit_code == 10


async def test_an_unknown_name(server: Any) -> None:
    error = await failure(server, HostUnreachable, "no-such-host.invalid")
    assert error.message.startswith("no-such-host.invalid: no such host")


async def test_a_host_that_never_answers(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server.configure(Port=silent.getsockname()[1])
        await failure(server, HostUnreachable)


async def test_a_port_where_something_else_speaks(server: Any) -> None:
    import asyncio

    async def greet(_: Any, writer: Any) -> None:
        writer.write(b"220 mail.example ESMTP\r\nHTTP/1.1 400\r\n\r\n")
        writer.close()

    other = await asyncio.start_server(greet, "127.0.0.1", 0)
    server.configure(Port=other.sockets[0].getsockname()[1])
    await failure(server, HostUnreachable)
    other.close()
    await other.wait_closed()


async def test_no_key_that_the_host_takes(running: Any, new_key: Any, tmp_path: Path) -> None:
    running.configure(IdentityFile=new_key(tmp_path / "stranger"))
    error = await failure(running, LoginRefused)
    assert "refused the login" in error.message
    assert "ssh -v alpha" in error.hint
    assert error.exit_code == 13


async def test_a_key_file_that_is_missing(running: Any, tmp_path: Path) -> None:
    running.configure(IdentityFile=tmp_path / "missing")
    await failure(running, LoginRefused)
    running.configure(IdentityFile=f"{tmp_path / 'missing'}\n  IdentityFile {running.client_key}")
    await (await SshTransport.connect("alpha", SshSettings(str(running.config)))).close()


async def test_a_key_file_that_is_garbage(running: Any, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nxxxx\n-----END OPENSSH PRIVATE KEY-----\n")
    running.configure(IdentityFile=tmp_path / "garbage")
    await failure(running, LoginRefused)


async def test_an_encrypted_key_without_an_agent(running: Any, new_key: Any, tmp_path: Path) -> None:
    running.configure(IdentityFile=new_key(tmp_path / "locked", passphrase="secret"))
    error = await failure(running, LoginRefused)
    assert error.message.endswith("locked has a passphrase and could not be tried")
    assert error.hint == f"load it into ssh-agent: ssh-add {tmp_path / 'locked'}, or use --ask-pass"


async def test_an_encrypted_key_that_the_ssh_agent_holds(
    running: Any, new_key: Any, public_key: Any, ssh_agent: Any, ssh_keygen: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    locked = new_key(tmp_path / "locked")
    running.authorized.write_text(public_key(locked) + "\n")
    monkeypatch.setenv("SSH_AUTH_SOCK", ssh_agent(locked))
    ssh_keygen("-q", "-p", "-P", "", "-N", "secret", "-f", str(locked))
    running.configure(IdentityFile=locked)
    await (await SshTransport.connect("alpha", SshSettings(str(running.config)))).close()


async def test_an_ssh_config_that_cannot_be_read(server: Any) -> None:
    server.config.write_text("Host alpha\n  Port twenty-two\n")
    with pytest.raises(UsageError):
        await SshTransport.connect("alpha", SshSettings(str(server.config)))
