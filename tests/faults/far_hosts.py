"""Two hosts that can be lost: network namespaces with a real sshd in each, behind links that can be cut.

Each host has a management link to this machine (a veth pair, `mgmt0` inside) and a data link to the other (`data0`).
Used by the tests of this folder and by chaos.py, which also runs alone. Needs root, unshare(1), nsenter(1) and sshd.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyroute2 import IPRoute

from netbench_tui.model.host import Role
from netbench_tui.model.session import HostTarget, PairTarget

DEADLINE_SECONDS = 15.0
NOTHING = subprocess.DEVNULL
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin", "/sbin"))
# sshd's own /run keeps it from sharing /run/sshd with whoever else runs one; sysfs shows the namespace's NICs.
INSIDE = 'mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$@"'
# argv: what IPRoute is to do inside, one word per argument: `addr add data0 198.19.0.1/25`, `link set data0 up`.
DO_INSIDE = """
import sys
from pyroute2 import IPRoute
what, verb, name, value = sys.argv[1:]
with IPRoute() as ip:
    index = ip.link_lookup(ifname=name)[0]
    if what == "link":
        ip.link(verb, index=index, state=value)
    else:
        address, _, length = value.partition("/")
        ip.addr(verb, index=index, address=address, prefixlen=int(length))
"""


def impossible() -> str:
    """Why there can be no such hosts here; empty if there can."""
    if os.geteuid():
        return "network namespaces with an sshd need root"
    missing = [
        tool for tool in ("unshare", "nsenter", "mount", "sshd", "ssh-keygen") if not shutil.which(tool, path=PATH)
    ]
    return f"missing here: {', '.join(missing)}" if missing else ""


def stat_of(pid: int) -> tuple[str, str, int]:
    """Command, state letter and parent; raises OSError if there is no such process."""
    command, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    state, parent = rest.split()[:2]
    return command, state, int(parent)


def make_key(path: Path) -> str:
    """Makes a key pair; returns the public key as `ssh-ed25519 AAAA...`."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return " ".join(path.with_name(path.name + ".pub").read_text().split()[:2])


def password_is_locked() -> bool:
    """Without PAM sshd refuses such an account even with a key; Ubuntu's root is one."""
    lines = Path("/etc/shadow").read_text().splitlines()
    return any(line.startswith("root:!") for line in lines)


class FarHost:
    """One host: its sshd, and ways to do it harm."""

    def __init__(self, name: str, folder: Path, subnet: str, number: int, client_key: Path) -> None:
        self.name, self.folder, self.client_key = name, folder, client_key
        self.here, self.address = (f"{subnet}.{4 * number + last}" for last in (1, 2))
        self.link = f"nb{os.getpid()}{name[0]}"
        folder.mkdir()
        self.make_host_key()
        self.authorized = folder / "authorized_keys"
        self.authorize()
        self.process: subprocess.Popen[bytes] | None = None
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sleep", "infinity"], stdin=NOTHING, stdout=NOTHING, stderr=NOTHING
        )
        until(lambda: self.inode() != Path("/proc/self/ns/net").stat().st_ino and self._sleeps(), "a namespace")
        self.inside = ("nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--")

    def _sleeps(self) -> bool:
        return stat_of(self.holder.pid)[0] == "sleep"

    def inode(self) -> int:
        return Path(f"/proc/{self.holder.pid}/ns/net").stat().st_ino

    def make_host_key(self) -> None:
        for file in self.folder.glob("host_key*"):
            file.unlink()
        self.host_key = make_key(self.folder / "host_key")

    def authorize(self, allowed: bool = True) -> None:
        """Lets the client's key in, or nobody."""
        key = self.client_key.with_name(self.client_key.name + ".pub").read_text()
        self.authorized.write_text(key if allowed else "")

    def start(self) -> None:
        """Runs sshd; returns when it listens. May be called again after `kill_listener`."""
        settings = {
            "HostKey": self.folder / "host_key",
            "AuthorizedKeysFile": self.authorized,
            "PermitRootLogin": "prohibit-password",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "UsePAM": "yes" if password_is_locked() else "no",
            "StrictModes": "no",
            "UseDNS": "no",
            "PidFile": "none",
            "PrintMotd": "no",
            "MaxStartups": "100",
        }
        configuration = self.folder / "sshd_config"
        configuration.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        program = shutil.which("sshd", path=PATH)
        sshd = [str(program), "-D", "-E", str(self.folder / "sshd.log"), "-f", str(configuration)]
        argv = [*self.inside, "unshare", "--mount", "sh", "-c", INSIDE, "sh", *sshd]
        self.process = subprocess.Popen(argv, stdin=NOTHING, stdout=NOTHING, stderr=NOTHING)
        until(self._listens, f"sshd of {self.name}: {self.folder / 'sshd.log'}")

    def _listens(self) -> bool:
        """Asked inside, so that it is known also while the link is down."""
        probe = "import socket, sys; sys.exit(socket.socket().connect_ex(('127.0.0.1', 22)))"
        return subprocess.run([*self.inside, sys.executable, "-c", probe]).returncode == 0

    # who is there

    def processes(self) -> list[int]:
        """Everything that runs inside but the holder, zombies left out."""
        return [pid for pid in processes_in(self.inode()) if pid != self.holder.pid]

    def connections(self) -> list[int]:
        """The servers of single connections."""
        listener = self.process.pid if self.process else 0
        return [pid for pid in self.processes() if pid != listener and command_of(pid).startswith("sshd")]

    def agents(self) -> list[int]:
        connections = set(self.connections())
        inside = [pid for pid in self.processes() if pid not in connections]
        return [pid for pid in inside if parent_of(pid) in connections]

    def leftovers(self) -> list[str]:
        """What runs beside the sshd that listens."""
        listener = self.process.pid if self.process else 0
        return [f"{self.name}: {pid} {command_of(pid)}" for pid in self.processes() if pid != listener]

    # harm

    def set_link(self, state: str) -> None:
        """`down` cuts the management link at the host's end, so that no packet of ours looks for another way."""
        self.configure("link", "set", "mgmt0", state)

    def configure(self, *words: str) -> None:
        """`addr add|del NIC ADDRESS/LENGTH` or `link set NIC up|down`, inside."""
        subprocess.run([*self.inside, sys.executable, "-c", DO_INSIDE, *words], check=True)

    def kill_listener(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        for pid in self.processes():
            signal_to([pid], signal.SIGKILL)
        if self.process:
            self.process.kill()
            self.process.wait()
        self.holder.kill()
        self.holder.wait()
        with IPRoute() as ip:
            for index in ip.link_lookup(ifname=self.link):
                ip.link("del", index=index)


def processes_in(inode: int) -> list[int]:
    """Those of a network namespace, zombies left out."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "ns/net").stat().st_ino == inode and stat_of(int(entry.name))[1] != "Z":
                found.append(int(entry.name))
    return found


def command_of(pid: int) -> str:
    try:
        return stat_of(pid)[0]
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    try:
        return stat_of(pid)[2]
    except OSError:
        return 0


def signal_to(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def until(condition: Callable[[], object], what: str, seconds: float = DEADLINE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if condition():
                return
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)


class FarPair:
    """`alpha` and `beta`, and an ssh_config that leads to them. Close it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client_key = folder / "client_key"
        make_key(self.client_key)
        self.known_hosts, self.config = folder / "known_hosts", folder / "ssh_config"
        # 198.18.0.0/15 is for benchmarks; the lab uses its beginning. Several test runs may be under way at once.
        self.subnet = f"198.19.{os.getpid() % 250}"
        self.hosts: dict[Role, FarHost] = {}
        try:
            for number, (role, name) in enumerate(zip(Role, ("alpha", "beta"), strict=True)):
                self.hosts[role] = FarHost(name, folder / name, self.subnet, number, self.client_key)
            self._join()
            for host in self.hosts.values():
                host.start()
        except BaseException:
            self.close()
            raise
        self.know()
        self.config.write_text("".join(self._entries()))

    @property
    def target(self) -> PairTarget:
        return PairTarget(HostTarget("alpha"), HostTarget("beta"))

    def _join(self) -> None:
        alpha, beta = self.hosts.values()
        with IPRoute() as ip:
            for host in (alpha, beta):
                ip.link("add", ifname=host.link, kind="veth", peer={"ifname": "mgmt0", "net_ns_pid": host.holder.pid})
                index = ip.link_lookup(ifname=host.link)[0]
                ip.addr("add", index=index, address=host.here, prefixlen=30)
                ip.link("set", index=index, state="up")
            name = f"nb{os.getpid()}d"
            ip.link("add", ifname=name, kind="veth", peer={"ifname": "data0", "net_ns_pid": beta.holder.pid})
            index = ip.link_lookup(ifname=name)[0]
            ip.link("set", index=index, ifname="data0", net_ns_pid=alpha.holder.pid)
        for number, host in enumerate((alpha, beta)):
            for name, address in (("mgmt0", f"{host.address}/30"), ("data0", f"{self.subnet}.{129 + number}/25")):
                host.configure("addr", "add", name, address)
                host.configure("link", "set", name, "up")
            host.configure("link", "set", "lo", "up")

    def know(self) -> None:
        """Writes the hosts' present keys to known_hosts."""
        self.known_hosts.write_text("".join(f"{host.address} {host.host_key}\n" for host in self.hosts.values()))

    def _entries(self) -> Iterator[str]:
        for host in self.hosts.values():
            yield f"Host {host.name}\n  HostName {host.address}\n  User root\n"
            yield f"  IdentityFile {self.client_key}\n  UserKnownHostsFile {self.known_hosts}\n"

    def leftovers(self) -> list[str]:
        return [line for host in self.hosts.values() for line in host.leftovers()]

    def close(self) -> None:
        for host in self.hosts.values():
            host.close()
