"""irqbalance: its ban list through its socket, and the service stopped and put back. Against a stand-in that speaks the
documented protocol; nothing here touches an irqbalance that the machine itself runs."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.agent.settings import affinity, irqbalance, irqbalance_daemon, irqbalance_service
from netbench_tui.agent.settings.context import Context, Refused

STAND_IN = """
import ctypes, os, re, signal, socket, struct, sys
ctypes.CDLL(None).prctl(15, b"irqbalance", 0, 0, 0)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
banned = [int(word) for word in sys.argv[1:]]
door = socket.socket(socket.AF_UNIX)
door.setsockopt(socket.SOL_SOCKET, 16, 1)
door.bind("\\0irqbalance%d.sock" % os.getpid())
door.listen()
print("ready", flush=True)
while True:
    caller, _ = door.accept()
    text, shown, _, _ = caller.recvmsg(500, 64)
    text = text.decode()
    if struct.unpack("3i", shown[0][2])[1] != 0:
        pass
    elif text == "setup":
        lines = "".join("IRQ %d LOAD 0 DIFF 0 CLASS 5 " % number for number in banned)
        caller.sendall(("SLEEP 10 " + lines + "BANNED 00000000").encode())
    elif text.startswith("settings ban irqs "):
        banned = [int(word) for word in re.findall("[0-9]+", text)]
    caller.close()
"""


def ended(pid: int) -> bool:
    """One that nobody waits for stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Any) -> Iterator[subprocess.Popen[bytes]]:
    """One that bans IRQ 999 from its start; whatever was started in its place is ended as well."""
    if os.geteuid():
        pytest.skip("irqbalance answers root alone")
    if irqbalance_daemon.running(Context().root) is not None:
        pytest.skip("this machine runs an irqbalance of its own")
    monkeypatch.setattr(irqbalance_service, "KEPT_WORDS", str(tmp_path / "kept.json"))
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)
    process = subprocess.Popen([sys.executable, "-S", str(script), "999"], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()
    other = irqbalance_daemon.running(Context().root)
    if other is not None:
        assert str(script).encode() in Path(f"/proc/{other}/cmdline").read_bytes()
        os.kill(other, signal.SIGKILL)
        eventually(lambda: ended(other), "the stand-in's successor ends")


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A NIC of three interrupts, wherever the test runs."""
    found = {"queue.rx-0.irq_affinity": 38, "queue.tx-0.irq_affinity": 39, "irq.config.irq_affinity": 37}
    monkeypatch.setattr(affinity, "places", lambda _context, _scope: found)
    return found


def value(context: Context) -> str:
    context.forget()
    return str(irqbalance.read_one(context, "nic0", "irqbalance.ban")["value"])


def test_bans_are_set_by_what_an_interrupt_serves_and_others_stay(
    stand_in: subprocess.Popen[bytes], places: dict[str, int]
) -> None:
    context = Context()
    assert value(context) == "none"
    for wanted, numbers in (
        ("rx-0,tx-0", {38, 39, 999}),
        ("all", {37, 38, 39, 999}),
        ("config", {37, 999}),
        ("none", {999}),
    ):
        irqbalance.write(context, "nic0", "irqbalance.ban", wanted)
        assert value(context) == wanted
        assert set(irqbalance_daemon.banned(stand_in.pid)) == numbers
    with pytest.raises(Refused, match="rx-7"):
        irqbalance.write(context, "nic0", "irqbalance.ban", "rx-7")


def test_a_list_too_long_for_its_socket_is_refused_whole(stand_in: subprocess.Popen[bytes]) -> None:
    with pytest.raises(OSError, match="300 interrupts"):
        irqbalance_daemon.ban(stand_in.pid, range(1000, 1300))
    assert irqbalance_daemon.banned(stand_in.pid) == [999]


def test_without_irqbalance_there_is_no_ban(places: dict[str, int]) -> None:
    if irqbalance_daemon.running(Context().root) is not None:
        pytest.skip("this machine runs an irqbalance of its own")
    assert irqbalance.read(Context(), "nic0") == []
    with pytest.raises(Refused, match="does not run"):
        irqbalance.write(Context(), "nic0", "irqbalance.ban", "all")


def test_stopped_and_started_again_with_the_same_words(stand_in: subprocess.Popen[bytes]) -> None:
    context, key = Context(), "service.irqbalance"
    assert irqbalance_service.read_one(context, "machine", key)["value"] == "running"
    words = Path(f"/proc/{stand_in.pid}/cmdline").read_bytes()
    irqbalance_service.write(context, "machine", key, "stopped")
    assert stand_in.wait(5) == 0
    irqbalance_service.write(context, "machine", key, "running")
    pid = irqbalance_daemon.running(context.root)
    assert pid is not None
    assert irqbalance_service.read_one(context, "machine", key)["value"] == "running"
    assert irqbalance_daemon.banned(pid) == [999]
    assert Path(f"/proc/{pid}/cmdline").read_bytes() == words
    status = Path(f"/proc/{pid}/status").read_text()
    assert f"PPid:\t{os.getpid()}\n" not in status
    assert not Path(irqbalance_service.KEPT_WORDS).exists()


def test_where_the_machine_is_protected_nothing_is_stopped(stand_in: subprocess.Popen[bytes]) -> None:
    context = Context(protect="the lab shares this machine")
    for kind, scope, key, wanted in (
        (irqbalance_service, "machine", "service.irqbalance", "stopped"),
        (irqbalance, "nic0", "irqbalance.ban", "all"),
    ):
        with pytest.raises(Refused, match="the lab"):
            kind.write(context, scope, key, wanted)
    row = irqbalance_service.read_one(context, "machine", "service.irqbalance")
    assert (row["value"], row["refusal"]) == ("running", "the lab shares this machine")
    assert stand_in.poll() is None
