"""Counters of the host, as deltas since the look before: answers the `sample` request. The hot path of the agent.

A tick is {"t": seconds on the host's monotonic clock, "dt": seconds since the last tick, ...} with only what moved:
"cpu" rows [cpu, user, nice, system, idle, iowait, irq, softirq, steal, guest] of CPUs that did anything, "idle" the
flat list [cpu, ticks, ...] of those that only idled, "nic" {name: 8 counters}, "softnet" rows [cpu, processed, dropped,
squeezed, steered, limited], "proto" {name: count}; of a NIC that is watched also "irq", "queue" and "stat"
(queues/watching.py). hosts/samples.py reads it.
"""

import os
import time

# Columns of /proc/net/dev kept: receive bytes packets errs drop, transmit the same.
NIC_COLUMNS = (0, 1, 2, 3, 8, 9, 10, 11)
# softnet_stat counts in 32 bits and wraps.
SOFTNET_MASK = 0xFFFFFFFF
# The CPU's own number is the 13th column, since kernel 5.10; before that the row number must serve.
SOFTNET_CPU_COLUMN = 12
# processed, dropped, squeezed; received_rps since kernel 2.6.35 and flow_limit_count since 3.11.
SOFTNET_COLUMNS = (0, 1, 2, 9, 10)
PROTOCOLS = {
    "Tcp": ("InSegs", "OutSegs", "RetransSegs", "InErrs"),
    "Udp": ("InDatagrams", "OutDatagrams", "InErrors", "RcvbufErrors", "SndbufErrors"),
    "TcpExt": ("TCPDSACKRecv", "TCPLostRetransmit", "TCPTimeouts", "TCPBacklogDrop", "TCPRcvQDrop"),
}
READ_SIZE = 1 << 18


class Files(object):
    """Files kept open and read again from their start: an open per tick would double the cost."""

    def __init__(self):
        self.handles = {}

    def read(self, path):
        """The file's bytes; empty if it cannot be read."""
        try:
            handle = self.handles.get(path)
            if handle is None:
                handle = self.handles[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            pieces, offset = [], 0
            while True:
                piece = os.pread(handle, READ_SIZE, offset)
                if not piece:
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
                pieces.append(piece)
                offset += len(piece)
        except OSError:
            return b""

    def close(self):
        for handle in self.handles.values():
            os.close(handle)
        self.handles.clear()


class Sampler(object):
    """Holds the last look; `tick` gives what moved since. The first tick only sets the start and moves nothing."""

    def __init__(self):
        self.files = Files()
        self.lines = {}
        self.values = {}
        self.nics = {}
        self.softnet = {}
        self.protocols = {}
        self.layout = {}
        self.time = None
        self.watched = None

    def close(self):
        self.files.close()
        self.watch(None)

    def watch(self, nic, statistics=False):
        """From the next tick on also what that NIC's interrupts and queues count; None ends it."""
        if self.watched is not None:
            self.watched.close()
            self.watched = None
        if nic is not None:
            from .queues.watching import Watch

            self.watched = Watch(nic, statistics)

    def tick(self):
        now = time.monotonic()
        tick = {"t": round(now, 6), "dt": round(now - self.time, 6) if self.time is not None else 0.0}
        self.time = now
        self._cpus(tick)
        self._nics(tick)
        self._softnet(tick)
        self._protocols(tick)
        if self.watched is not None:
            self.watched.add(tick)
        return tick

    def _cpus(self, tick):
        rows, idle = [], []
        for line in self.files.read("/proc/stat").split(b"\n")[1:]:
            if line[:3] != b"cpu":
                break
            name, _, rest = line.partition(b" ")
            if self.lines.get(name) == rest:
                continue
            self.lines[name] = rest
            now = [int(word) for word in rest.split()[:9]]
            before = self.values.get(name)
            self.values[name] = now
            if before is None:
                continue
            moved = [a - b for a, b in zip(now, before)]
            index = int(name[3:])
            if any(moved[:3]) or any(moved[4:]):
                rows.append([index] + moved)
            elif moved[3]:
                idle.extend((index, moved[3]))
        _put(tick, "cpu", rows)
        _put(tick, "idle", idle)

    def _nics(self, tick):
        found = {}
        for line in self.files.read("/proc/net/dev").split(b"\n")[2:]:
            name, colon, rest = line.rpartition(b":")
            if not colon:
                continue
            key = name.strip()
            before = self.nics.get(key)
            if before is not None and before[0] == rest:
                continue
            words = rest.split()
            now = [int(words[column]) for column in NIC_COLUMNS]
            self.nics[key] = (rest, now)
            if before is not None:
                found[os.fsdecode(key)] = [a - b for a, b in zip(now, before[1])]
        _put(tick, "nic", found)

    def _softnet(self, tick):
        rows = []
        for number, line in enumerate(self.files.read("/proc/net/softnet_stat").split(b"\n")):
            before = self.softnet.get(number)
            if not line or (before is not None and before[0] == line):
                continue
            words = line.split()
            now = [int(words[column], 16) if column < len(words) else 0 for column in SOFTNET_COLUMNS]
            self.softnet[number] = (line, now)
            if before is not None:
                cpu = int(words[SOFTNET_CPU_COLUMN], 16) if len(words) > SOFTNET_CPU_COLUMN else number
                moved = [(a - b) & SOFTNET_MASK for a, b in zip(now, before[1])]
                if any(moved):
                    rows.append([cpu] + moved)
        _put(tick, "softnet", rows)

    def _protocols(self, tick):
        found = {}
        for path in ("/proc/net/snmp", "/proc/net/netstat"):
            lines = self.files.read(path).split(b"\n")
            for head, row in zip(lines[::2], lines[1::2]):
                for name, value in self._wanted(head, row):
                    before = self.protocols.get(name)
                    self.protocols[name] = value
                    if before is not None and value != before:
                        found[name] = value - before
        _put(tick, "proto", found)

    def _wanted(self, head, row):
        """(name, value) of the counters we keep; where they stand in the row is worked out once per header line."""
        columns = self.layout.get(head)
        if columns is None:
            words = head.decode("ascii", "replace").split()
            group = words[0].rstrip(":") if words else ""
            names = PROTOCOLS.get(group, ())
            columns = [(group + "." + name, words.index(name)) for name in names if name in words]
            self.layout[head] = columns
        if not columns:
            return []
        values = row.split()
        return [(name, int(values[column])) for name, column in columns if column < len(values)]


def _put(tick, key, value):
    if value:
        tick[key] = value
