"""Two emulated hosts with NUMA nodes, NIC queues and IRQs, joined by a link that reaches nothing else.

alpha (10.88.0.1, fd88::1) and beta (10.88.0.2, fd88::2) are QEMU guests without hardware help. Their data NIC is
`nic0`; with two sockets it sits on NUMA node 1. Their root file system is this machine's, read-only under an overlay:
what is installed here is installed there. SSH as root answers on a loopback port each, through `mgmt`.

The taps and the bridge live in a network namespace that has no name: it goes with the last descriptor, and the
guests go with this process. Figures of throughput are emulated: function is tested here, and large effects.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from guest_kernel import GuestKernel, package, prepare
from pyroute2 import IPRoute

from netbench_tui.model.host import Role

NAMES = ("alpha", "beta")
PROGRAMS = (
    "qemu-system-x86_64",
    "busybox",
    "cpio",
    "depmod",
    "modprobe",
    "apt-get",
    "dpkg-deb",
    "sshd",
    "ssh",
    "ethtool",
)
# A busy machine of two cores boots two guests in half a minute.
BOOT_SECONDS = 240.0
LARGEST_MTU = 9000
_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI, _IFF_MULTI_QUEUE, _IFF_VNET_HDR = 0x0002, 0x1000, 0x0100, 0x4000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)

START = """\
#!/bin/bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
word() {{ sed -n "s/.*$1=\\([^ ]*\\).*/\\1/p" /proc/cmdline; }}
mount -t tmpfs tmpfs /run
mkdir -p /dev/pts /dev/shm /run/sshd /run/lock
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
# What this machine's root sets up for its own logins is not the guests'. They have this file system in RAM.
rm -f /root/.bashrc /root/.profile /root/.bash_profile /root/.bash_login
hostname "$(word rigname)"
mkdir -p /lib/modules
ln -sf {irqbalance} /usr/sbin/irqbalance
ln -sfn {kernel}/lib/modules/$(uname -r) /lib/modules/$(uname -r)
for module in virtio_net vmxnet3 e1000e e1000 8021q sch_fq; do modprobe $module; done
named() {{
  for folder in /sys/class/net/*; do
    if [ "$(cat $folder/address)" = "$1" ]; then ip link set "${{folder##*/}}" name "$2" && return; fi
  done
  return 1
}}
for try in $(seq 100); do named 52:54:00:00:ff:0$(word rigindex) mgmt && break; sleep 0.1; done
for try in $(seq 100); do named 52:54:00:00:00:0$(word rigindex) nic0 && break; sleep 0.1; done
ip link set lo up
ip link set mgmt up
ip addr add 10.0.2.15/24 dev mgmt
ip link set nic0 up
ip addr add 10.88.0.$(word rigindex)/24 dev nic0
ip addr add fd88::$(word rigindex)/64 dev nic0 nodad
ssh-keygen -q -t ed25519 -N '' -f /run/hostkey
cp {folder}/key /run/key
/usr/sbin/sshd -f /dev/null -o HostKey=/run/hostkey -o AuthorizedKeysFile={folder}/key.pub -o StrictModes=no \\
  -o UsePAM=no -o PermitRootLogin=yes -o PidFile=/run/sshd.pid -o MaxSessions=50
[[ {folder} == /tmp/* ]] || mount -t tmpfs -o mode=1777 tmpfs /tmp
echo "RIG-HOSTKEY $(cat /run/hostkey.pub)"
echo "RIG-UP $(hostname)"
while :; do sleep 3600; done
"""


@dataclass(frozen=True)
class Model:
    """A kind of NIC that QEMU emulates. `queues` is how many it may have on a tap of as many."""

    device: str
    queues: int = 1


MODELS = {
    "virtio": Model("virtio-net-pci,mq=on,rss=on,hash=on", 4),
    "vmxnet3": Model("vmxnet3"),
    "e1000e": Model("e1000e"),
    "e1000": Model("e1000"),
}


@dataclass
class Guest:
    """One emulated host. `monitor` is QEMU's control socket, `console` what the guest printed."""

    name: str
    index: int
    nic: str
    port: int
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def address(self) -> str:
        return f"10.88.0.{self.index}"

    @property
    def console(self) -> Path:
        return self.folder / f"{self.name}.console"

    @property
    def monitor(self) -> Path:
        return self.folder / f"{self.name}.monitor"

    def ssh(self, *words: str, check: bool = True, via: "Guest | None" = None) -> str:
        """What a command prints on the guest; `via` reaches it over the data link, from the other guest."""
        command = " ".join(shlex.quote(word) for word in words)
        if via is not None:
            others = "-i /run/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
            return via.ssh("sh", "-c", f"ssh {others} root@{self.address} {shlex.quote(command)}", check=check)
        # One login serves all commands: an emulated one takes a second.
        shared = [f"ControlPath={self.folder}/{self.name}.line", "ControlMaster=auto", "ControlPersist=yes"]
        options = [word for option in shared for word in ("-o", option)]
        argv = ["ssh", "-F", str(self.folder / "ssh_config"), *options, self.name, command]
        done = subprocess.run(argv, capture_output=True, timeout=120)
        text = done.stdout.decode(errors="surrogateescape")
        if check and done.returncode:
            raise AssertionError(f"{self.name}: {command}: {done.returncode}: {text}{done.stderr.decode()}")
        return text

    def read(self, path: str) -> str:
        return self.ssh("cat", path)

    def order(self, words: str) -> None:
        """A line for QEMU's monitor, e.g. `set_link management off`."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(10)
            line.connect(str(self.monitor))
            _until_prompt(line)
            line.sendall(words.encode() + b"\n")
            _until_prompt(line)

    @contextlib.contextmanager
    def without_management(self) -> Iterator[None]:
        """The link that carries SSH is dead, without a word to anybody."""
        self.order("set_link management off")
        try:
            yield
        finally:
            self.order("set_link management on")


@dataclass
class Rig:
    """Both hosts, up. `config` is the ssh_config that names them."""

    folder: Path
    alpha: Guest
    beta: Guest
    holders: list[int] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def guests(self) -> tuple[Guest, Guest]:
        return self.alpha, self.beta

    def guest(self, role: Role) -> Guest:
        return self.alpha if role is Role.SENDER else self.beta


def missing_programs() -> list[str]:
    return [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]


@contextlib.contextmanager
def rig(folder: Path, cache: Path, nics: tuple[str, str], cpus: int = 4, sockets: int = 2) -> Iterator[Rig]:
    """Boots both hosts and ends them. `folder` is empty and this rig's own."""
    start = folder / "start.sh"
    kernel = prepare(cache, start)
    balancer = package(cache, "irqbalance") / "usr/sbin/irqbalance"
    start.write_text(START.format(folder=folder, kernel=kernel.modules, irqbalance=balancer))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    ports = _free_ports(2)
    guests = [Guest(name, i, nics[i - 1], ports[i - 1], folder) for i, name in enumerate(NAMES, 1)]
    made = Rig(folder, guests[0], guests[1])
    taps = _link([MODELS[nic].queues for nic in nics], made.holders)
    try:
        for guest, queues in zip(guests, taps, strict=True):
            guest.process = _boot(guest, kernel, queues, cpus, sockets)
        for queue in (queue for tap in taps for queue in tap):
            os.close(queue)
        _write_configuration(made, {guest.name: _wait(guest) for guest in guests})
        yield made
    finally:
        _end(made)


def _link(queues: list[int], holders: list[int]) -> list[list[int]]:
    """Taps with so many queues each on a bridge, in a namespace of its own that `holders` keep. Descriptors per tap."""
    taps: list[list[int]] = []
    failure: list[BaseException] = []

    def make() -> None:
        try:
            if _libc.unshare(_CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "unshare")
            holders.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY))
            with IPRoute() as route:
                route.link("add", ifname="bridge", kind="bridge")
                bridge = route.link_lookup(ifname="bridge")[0]
                for number, count in enumerate(queues, 1):
                    taps.append(_tap(f"tap{number}", count))
                    index = route.link_lookup(ifname=f"tap{number}")[0]
                    route.link("set", index=index, mtu=LARGEST_MTU, master=bridge, state="up")
                route.link("set", index=bridge, mtu=LARGEST_MTU, state="up")
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return taps


def _tap(name: str, queues: int) -> list[int]:
    flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR | (_IFF_MULTI_QUEUE if queues > 1 else 0)
    descriptors = []
    for _ in range(queues):
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        descriptors.append(descriptor)
    return descriptors


def _boot(guest: Guest, kernel: GuestKernel, tap: list[int], cpus: int, sockets: int) -> "subprocess.Popen[bytes]":
    argv = [
        *("qemu-system-x86_64", "-name", guest.name, "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-display", "none", "-no-reboot", "-serial", f"file:{guest.console}"),
        *("-monitor", f"unix:{guest.monitor},server,nowait"),
        *_memory(cpus, sockets),
        *("-kernel", str(kernel.image), "-initrd", str(kernel.ramdisk)),
        *("-append", f"console=ttyS0 panic=-1 quiet mitigations=off rigname={guest.name} rigindex={guest.index}"),
        *("-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"),
        *("-device", "virtio-9p-pci,fsdev=root,mount_tag=root"),
        *("-netdev", f"user,id=management,hostfwd=tcp:127.0.0.1:{guest.port}-:22"),
        *("-device", f"virtio-net-pci,netdev=management,mac=52:54:00:00:ff:0{guest.index},romfile="),
        *_data_nic(guest, tap, sockets),
    ]
    log = guest.folder / f"{guest.name}.qemu"
    with log.open("wb") as output:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=tap,
            preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )


def _memory(cpus: int, sockets: int) -> list[str]:
    """CPUs and memory, a NUMA node per socket."""
    per = cpus // sockets
    words = ["-m", "1024M", "-smp", f"{cpus},sockets={sockets},cores={per}"]
    for node in range(sockets):
        words += ["-object", f"memory-backend-ram,id=memory{node},size={1024 // sockets}M"]
        words += ["-numa", f"node,nodeid={node},cpus={node * per}-{node * per + per - 1},memdev=memory{node}"]
    return words


def _data_nic(guest: Guest, tap: list[int], sockets: int) -> list[str]:
    """On a PCI bus of node 1 where there is one; e1000 is conventional PCI and cannot sit behind a root port."""
    model, words, bus = MODELS[guest.nic], [], "pcie.0"
    if sockets > 1 and guest.nic != "e1000":
        words = ["-device", "pxb-pcie,bus_nr=64,id=far,numa_node=1"]
        words += ["-device", "pcie-root-port,bus=far,id=rootport,chassis=1,slot=1"]
        bus = "rootport"
    descriptors = f"fd={tap[0]}" if len(tap) == 1 else "fds=" + ":".join(map(str, tap))
    words += ["-netdev", f"tap,id=data,{descriptors}"]
    vectors = f",vectors={2 * len(tap) + 2}" if guest.nic == "virtio" else ""
    mac = f"52:54:00:00:00:0{guest.index}"
    return [*words, "-device", f"{model.device}{vectors},bus={bus},netdev=data,mac={mac},romfile="]


def _wait(guest: Guest) -> str:
    """The guest's public host key, once its sshd is there."""

    def key() -> str | None:
        text = guest.console.read_text(errors="replace") if guest.console.exists() else ""
        found = re.search(r"RIG-HOSTKEY (ssh-ed25519 \S+)", text)
        return found[1] if found and f"RIG-UP {guest.name}" in text else None

    deadline = time.monotonic() + BOOT_SECONDS
    while not (found := key()):
        log = guest.folder / f"{guest.name}.qemu"
        assert guest.process is not None and guest.process.poll() is None, f"QEMU ended: {log.read_text()}"
        assert time.monotonic() < deadline, f"{guest.name} is not up: {guest.console.read_text(errors='replace')}"
        time.sleep(0.1)
    return found


def _write_configuration(made: Rig, keys: dict[str, str]) -> None:
    known = made.folder / "known_hosts"
    known.write_text("".join(f"[127.0.0.1]:{guest.port} {keys[guest.name]}\n" for guest in made.guests))
    blocks = [
        f"Host {guest.name}\n  HostName 127.0.0.1\n  Port {guest.port}\n  User root\n"
        f"  IdentityFile {made.folder}/key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {known}\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n"
        for guest in made.guests
    ]
    made.config.write_text("".join(blocks))


def _end(made: Rig) -> None:
    for guest in made.guests:
        line = made.folder / f"{guest.name}.line"
        if line.exists():
            words = ["ssh", "-O", "exit", "-o", f"ControlPath={line}", guest.name]
            subprocess.run(words, capture_output=True, timeout=30)
        if guest.process is not None:
            guest.process.kill()
            guest.process.wait()
    for descriptor in made.holders:
        os.close(descriptor)


def _free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]


def _until_prompt(line: socket.socket) -> None:
    seen = b""
    while not seen.rstrip().endswith(b"(qemu)"):
        piece = line.recv(4096)
        if not piece:
            raise OSError(f"the monitor closed: {seen!r}")
        seen += piece


def poll(holds: Callable[[], object], seconds: float, what: str) -> None:
    """Waits until `holds()`; fails with `what` at the deadline."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)
