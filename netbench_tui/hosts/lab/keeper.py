"""The process that owns a lab: it builds it, waits until its owner is done or dead, and removes it. Started by lab.py.

One JSON line of LabPlan on stdin, one of KeeperReply on stdout; then the end of stdin, SIGTERM, SIGINT or SIGHUP means
remove. It lives in a session of its own, so that Ctrl-C reaches the workbench and not the lab below it. As root the
namespaces have names in /run/netns; otherwise they live in a user namespace and exist by the keeper's descriptors only,
so that they vanish with it whatever happens. pyroute2 is imported here and nowhere else: it costs half a second.
"""

import contextlib
import dataclasses
import errno
import json
import os
import select
import signal
import sys
import time
from typing import Any

from netbench_tui.hosts.lab import kernel, records, userns
from netbench_tui.hosts.lab.plan import HostPlan, KeeperReply, LabPlan
from netbench_tui.model.codec import from_plain, to_plain

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

# A veth pair is up within milliseconds; a machine in deep trouble gets this long.
_LINK_UP_SECONDS = 5.0

# The least MTU that IPv6 works with (RFC 8200); below it the kernel takes IPv6 off the NIC.
_IPV6_LEAST_MTU = 1280

_IFA_F_NODAD = 0x02
_AF_OF_FAMILY = {4: 2, 6: 10}


class _Refused(Exception):
    """The lab cannot be built; carries what the workbench is told."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.reply = KeeperReply(code=code, message=message, hint=hint)


class _Keeper:
    """One lab: descriptors of its namespaces and, as root, its record."""

    def __init__(self, plan: LabPlan) -> None:
        self.plan = plan
        self.privileged = kernel.may_administrate()
        self.home = kernel.network_namespace()
        self.namespaces: list[int] = []
        self.record: records.LabRecord | None = None

    def build(self) -> KeeperReply:
        """Raises _Refused; what was built until then is removed by `remove`."""
        if self.plan.ssh and not self.privileged:
            raise _Refused("privilege", "The ssh way into the lab needs root.", "Run it with sudo, or without --ssh.")
        if self.privileged:
            records.remove_stale_labs()
        self._make_namespaces()
        families = self._connect()
        reply = KeeperReply(namespaces=self._paths(), families=families)
        if not self.privileged:
            reply = dataclasses.replace(reply, user_namespace=f"/proc/{os.getpid()}/ns/user")
        if self.plan.ssh and self.record:
            records.prepare_sshd_folder()
            self.record.key_folder.mkdir(mode=0o700)
            reply = dataclasses.replace(reply, key_folder=str(self.record.key_folder))
        return reply

    def remove(self) -> None:
        """Ends what still runs inside, then takes the lab away. Never raises: each step is worth trying."""
        inodes = {os.fstat(descriptor).st_ino for descriptor in self.namespaces}
        if self.record:
            records.remove_lab(self.record)
        else:
            records.end_processes_in(inodes)
        if self.namespaces:
            with contextlib.suppress(Exception):
                self._delete_link()
        for descriptor in self.namespaces:
            os.close(descriptor)
        self.namespaces.clear()

    def _make_namespaces(self) -> None:
        try:
            if not self.privileged:
                userns.become_root_of_a_user_namespace()
            for _ in self.plan.hosts:
                kernel.unshare(kernel.CLONE_NEWNET)
                self.namespaces.append(kernel.network_namespace())
        except OSError as error:
            raise _Refused(errno.errorcode.get(error.errno or 0, ""), *userns.refusal(error)) from error
        if self.privileged:
            kernel.setns(self.home, kernel.CLONE_NEWNET)
            self._name_namespaces()

    def _name_namespaces(self) -> None:
        """The record comes first, with inode numbers: from the first name on, a successor could clean up."""
        names = [host.namespace for host in self.plan.hosts]
        inodes = [os.fstat(descriptor).st_ino for descriptor in self.namespaces]
        self.record = records.new_record(self.plan.lab_id, self.plan.ssh, dict(zip(names, inodes, strict=True)))
        try:
            records.write_record(self.record)
            for name, descriptor in zip(names, self.namespaces, strict=True):
                records.give_name(name, descriptor)
        except OSError as error:
            raise _Refused(
                errno.errorcode.get(error.errno or 0, ""),
                f"The lab's namespaces could not be named: {error}.",
                "/run must be writable and mounts allowed; a container needs CAP_SYS_ADMIN.",
            ) from error

    def _paths(self) -> tuple[str, ...]:
        if self.privileged:
            return tuple(str(records.NETNS_FOLDER / host.namespace) for host in self.plan.hosts)
        return tuple(f"/proc/{os.getpid()}/fd/{descriptor}" for descriptor in self.namespaces)

    def _connect(self) -> tuple[int, ...]:
        """Makes the veth pair and brings both sides up. Returns the IP versions that both sides have."""
        from pyroute2.netlink.exceptions import NetlinkError

        try:
            with self._inside(0) as route:
                self._make_link(route)
            families = set(_AF_OF_FAMILY)
            for index, host in enumerate(self.plan.hosts):
                with self._inside(index) as route:
                    families &= self._configure(route, host)
            for index in range(len(self.plan.hosts)):
                with self._inside(index) as route:
                    self._await_up(route)
        except NetlinkError as error:
            raise _Refused(*_netlink_refusal(error)) from error
        return tuple(sorted(families))

    @contextlib.contextmanager
    def _inside(self, index: int) -> Any:
        """A netlink socket inside one of the namespaces: it stays there, the process goes home where it may."""
        from pyroute2 import IPRoute

        kernel.setns(self.namespaces[index], kernel.CLONE_NEWNET)
        try:
            with IPRoute() as route:
                yield route
        finally:
            if self.privileged:
                kernel.setns(self.home, kernel.CLONE_NEWNET)

    def _make_link(self, route: Any) -> None:
        """The peer is made directly in the other namespace: no NIC of the lab is ever seen outside."""
        queues = {"num_tx_queues": self.plan.queues, "num_rx_queues": self.plan.queues}
        peer = {"ifname": self.plan.nic, "net_ns_fd": self.namespaces[1], "mtu": self.plan.mtu, **queues}
        route.link("add", ifname=self.plan.nic, kind="veth", mtu=self.plan.mtu, peer=peer, **queues)

    def _configure(self, route: Any, host: HostPlan) -> set[int]:
        """Addresses and links up. Returns the IP versions that worked: a kernel may have IPv6 switched off."""
        from pyroute2.netlink.exceptions import NetlinkError

        nic = route.link_lookup(ifname=self.plan.nic)[0]
        route.link("set", index=route.link_lookup(ifname="lo")[0], state="up")
        route.link("set", index=nic, state="up")
        families = set()
        for family, address in host.addresses.items():
            if family == 6 and self.plan.mtu < _IPV6_LEAST_MTU:
                continue
            text, _, prefix = address.partition("/")
            # Duplicate address detection would hold an IPv6 address back for a second or two.
            flags = {"flags": _IFA_F_NODAD} if family == 6 else {}
            try:
                route.addr("add", index=nic, family=_AF_OF_FAMILY[family], address=text, prefixlen=int(prefix), **flags)
                families.add(family)
            except NetlinkError:
                if family == 4:
                    raise
        return families

    def _await_up(self, route: Any) -> None:
        deadline = time.monotonic() + _LINK_UP_SECONDS
        while route.get_links(ifname=self.plan.nic)[0].get("operstate") != "UP":
            if time.monotonic() > deadline:
                raise _Refused("ETIMEDOUT", f"The lab's link was not up after {_LINK_UP_SECONDS:.0f} s.", "Try again.")
            time.sleep(0.002)

    def _delete_link(self) -> None:
        """By hand, since the kernel removes a namespace's NICs some time after the namespace."""
        with self._inside(0) as route:
            for nic in route.link_lookup(ifname=self.plan.nic):
                route.link("del", index=nic)


def _netlink_refusal(error: Any) -> tuple[str, str, str]:
    code = errno.errorcode.get(error.code, "")
    if error.code == errno.EOPNOTSUPP:
        return code, "This kernel has no veth driver.", "Load it (sudo modprobe veth), or install the full kernel."
    reason = os.strerror(error.code)
    return code, f"The kernel refused the lab's veth pair: {reason}.", "Try fewer queues or another MTU."


def _build(keeper: _Keeper) -> KeeperReply:
    try:
        return keeper.build()
    except _Refused as refused:
        return refused.reply
    except ImportError as error:
        return KeeperReply(code="ImportError", message=f"The lab needs pyroute2: {error}.", hint="Install it with pip.")
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "OSError")
        return KeeperReply(code=code, message=f"The lab could not be built: {error}.", hint="Try it as root.")


def _await_end(wakeup: int) -> None:
    """Until stdin ends or a signal comes. Anything else on stdin is skipped."""
    while True:
        readable, _, _ = select.select([0, wakeup], [], [])
        if wakeup in readable or not os.read(0, 4096):
            return


def _catch_signals() -> int:
    """An ending signal from now on only makes the returned descriptor readable: building is never cut in two."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in _ENDING_SIGNALS:
        signal.signal(number, lambda *_: None)
    return reader


def main() -> int:
    wakeup = _catch_signals()
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            return 0
        line += piece
    keeper = _Keeper(from_plain(LabPlan, json.loads(line)))
    try:
        reply = _build(keeper)
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(to_plain(reply)), flush=True)
        if not reply.code:
            _await_end(wakeup)
    finally:
        keeper.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
