"""The lab without root: an unprivileged user namespace, seen by a user who has never been root."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyroute2
import pytest

import netbench_tui
from netbench_tui.hosts.lab import userns

# Neither in /etc/passwd nor in anybody's use.
STRANGER = 12345

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from netbench_tui.errors import LabImpossible
from netbench_tui.hosts.lab.lab import Lab, remove_stale_labs
from netbench_tui.model.session import LabTarget

async def inside(host, *argv):
    process = await asyncio.create_subprocess_exec(*host.enter, *argv, stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0].decode().split()

async def main():
    async with await Lab.start(LabTarget(queues=3, mtu=4000)) as lab:
        alpha, beta = lab.hosts.values()
        await asyncio.create_subprocess_exec(*beta.enter, "sleep", "60")
        found = {"keeper": lab._keeper.pid, "addresses": {**alpha.addresses}}
        found["nics"] = await inside(alpha, "ls", "/sys/class/net")
        found["queues"] = await inside(beta, "ls", "/sys/class/net/nic0/queues")
        found["mtu"] = await inside(beta, "cat", "/sys/class/net/nic0/mtu")
        found["uid"] = await inside(beta, "id", "-u")
        server = await asyncio.create_subprocess_exec(
            *beta.enter, sys.executable, "-c",
            "import socket; s = socket.create_server(('', 5201)); print('up', flush=True); print(s.accept()[1][0])",
            stdout=asyncio.subprocess.PIPE)
        await server.stdout.readline()
        code = f"import socket; socket.create_connection(('{beta.addresses[4]}', 5201))"
        await inside(alpha, sys.executable, "-c", code)
        found["peer"] = (await server.stdout.readline()).decode().strip()
    found["keeper_left"] = Path(f"/proc/{lab._keeper.pid}").exists()
    found["stale"] = remove_stale_labs()
    try:
        async with await Lab.start(LabTarget(ssh=True)):
            found["ssh"] = "started"
    except LabImpossible as error:
        found["ssh"] = error.message
    print(json.dumps(found))

asyncio.run(main())
"""


@pytest.fixture
def readable_by_strangers() -> Iterator[Path]:
    """What the program imports, where every user may read it: the tests' own folders may be root's alone."""
    folder = Path("/tmp", f"netbench-tui-test-{os.getpid()}")
    folder.mkdir(mode=0o755)
    for package in (netbench_tui, pyroute2):
        source = Path(str(package.__file__)).parent
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    shutil.rmtree(folder)


def strangers_python() -> str:
    for candidate in (sys.executable, "/usr/bin/python3"):
        check = [candidate, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        try:
            if subprocess.run(check, user=STRANGER, group=STRANGER, extra_groups=[], cwd="/").returncode == 0:
                return candidate
        except OSError:
            continue
    pytest.skip("no Python >= 3.11 that an ordinary user may run")


def run_as_stranger(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.defpath, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    who: dict[str, Any] = {"user": STRANGER, "group": STRANGER, "extra_groups": []} if os.geteuid() == 0 else {}
    python = strangers_python() if who else sys.executable
    return subprocess.run(
        [python, "-c", program], env=environment, cwd="/", capture_output=True, text=True, timeout=60, **who
    )


def test_the_whole_lab_as_an_ordinary_user(readable_by_strangers: Path) -> None:
    finished = run_as_stranger(PROGRAM, readable_by_strangers)
    if "LabImpossible" in finished.stderr and "allows neither" in finished.stderr:
        pytest.skip(f"the kernel forbids it: {finished.stderr.strip().splitlines()[-2:]}")
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    assert found["addresses"] == {"4": "198.18.0.1", "6": "fd88:6e62::1"}
    assert sorted(found["nics"]) == ["lo", "nic0"]
    assert len(found["queues"]) == 6
    assert found["mtu"] == ["4000"]
    assert found["uid"] == ["0"]
    assert found["peer"] == "198.18.0.1"
    assert found["keeper_left"] is False
    assert found["stale"] == []
    assert found["ssh"] == "The ssh way into the lab needs root."
    assert not [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and owner(entry) == STRANGER]


def owner(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except OSError:
        return None


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "=0"),
        ("kernel.unprivileged_userns_clone", "0", "=1"),
        ("user.max_user_namespaces", "0", "=10000"),
    ],
)
def test_a_refusal_names_the_switch_and_how_to_turn_it(
    name: str, value: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(userns, "_sysctl", lambda asked: value if asked == name else "")
    message, hint = userns.refusal(PermissionError(1, "Operation not permitted"))
    assert f"{name} is {value}" in message
    assert f"sysctl -w {name}{remedy}" in hint


def test_a_refusal_without_a_known_switch_gives_the_kernels_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(userns, "_sysctl", lambda asked: "")
    message, hint = userns.refusal(PermissionError(1, "Operation not permitted"))
    assert "Operation not permitted" in message and "sudo" in hint


FORBIDDEN = """
import asyncio
from netbench_tui.errors import LabImpossible
from netbench_tui.hosts.lab.lab import Lab
from netbench_tui.model.session import LabTarget
try:
    asyncio.run(Lab.start(LabTarget()))
except LabImpossible as error:
    print(error)
"""


def test_where_the_kernel_allows_no_more_namespaces_the_lab_says_so(readable_by_strangers: Path) -> None:
    """For real: within a user namespace whose own limit is 0, which touches nobody else's."""
    limited = (
        "import os, sys; from pathlib import Path; from netbench_tui.hosts.lab.userns import *\n"
        "become_root_of_a_user_namespace()\n"
        "Path('/proc/sys/user/max_user_namespaces').write_text('0')\n"
        f"os.execv(sys.executable, [sys.executable, '-c', {FORBIDDEN!r}])\n"
    )
    finished = run_as_stranger(limited, readable_by_strangers)
    if "become_root_of_a_user_namespace" in finished.stderr:
        pytest.skip("the kernel forbids unprivileged user namespaces")
    assert "user.max_user_namespaces is 0" in finished.stdout
    assert "sysctl -w user.max_user_namespaces=10000" in finished.stdout
