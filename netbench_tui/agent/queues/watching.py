"""What one NIC's interrupts and queues count, tick by tick. Made by sampling.py when a NIC is watched.

Adds to a tick, of what moved: "irq" rows [irq, cpu, count, cpu, count, ...], "queue" {"rx-0": [packets, bytes]} and,
where asked for, "stat" {name: count}, which are all the driver's own statistics.
"""

import time

from ..kernel import netdev
from ..kernel.ethtool_ioctl import EthtoolIoctl, Statistics
from ..reading import parse_list
from ..sampling import Files
from ..settings.context import IOCTL, NETDEV, Context
from . import counters, irqs
from .wiring import genetlink, wiring

# How often we look whether the NIC still has the same interrupts and queues, in seconds: channels change by hand.
LOOK_AGAIN = 1.0


class Watch(object):
    """`add` puts into a tick what moved since the tick before; the first only sets the start."""

    def __init__(self, nic, statistics=False, without=()):
        self.nic, self.with_statistics = nic, statistics
        self.context = Context("/", without)
        self.files = Files()
        self.lines, self.counts, self.values = {}, {}, {}
        self.wires, self.looked = None, 0.0
        self._look()

    def close(self):
        self.files.close()
        self.context.close()

    def add(self, tick):
        if time.monotonic() - self.looked >= LOOK_AGAIN:
            self._look()
        rows = self._interrupts() if self.by_file else self._listed_interrupts()
        if rows:
            tick["irq"] = rows
        self._queues(tick)

    def _look(self):
        """Resolves the NIC's interrupts and queues anew if they are others than before."""
        self.looked = time.monotonic()
        wires = wiring(self.context, self.nic)
        if wires is self.wires:
            return
        self.wires = wires
        self.files.close()
        self.cpus = parse_list(self.context.root.text("sys/devices/system/cpu/possible"))
        self.by_file = all(self.context.root.exists(irqs.KERNEL, str(n), "per_cpu_count") for n in wires.numbers)
        numbers = sorted(set(wires.numbers) | {queue["irq"] for queue in wires.queues if queue["irq"]})
        self.paths = [(number, "/%s/%d/per_cpu_count" % (irqs.KERNEL, number)) for number in numbers]
        self.statistics, self.names, self.plan = None, [], {}
        self.count_queues = self._by_netdev if self._netdev_counts() else self._by_statistics
        if wires.index is not None and self.context.may(IOCTL):
            self.statistics = self._statistics()

    def _interrupts(self):
        """By each interrupt's own file: only those whose text changed are taken apart."""
        rows = []
        for number, path in self.paths:
            line = self.files.read(path)
            if line == self.lines.get(number):
                continue
            self.lines[number] = line
            words = line.split(b",")
            if len(line) >= irqs.PAGE:
                words.pop()  # cut off, maybe in the middle of a number
            self._moved(number, words, self.cpus or range(len(words)), rows)
        return rows

    def _moved(self, number, words, cpus, rows):
        before = self.counts.get(number)
        self.counts[number] = words
        if before is None or len(before) != len(words):
            return
        row = [number]
        for cpu, new, old in zip(cpus, words, before):
            if new != old:
                row.extend((cpu, int(new) - int(old)))
        if len(row) > 1:
            rows.append(row)

    def _listed_interrupts(self):
        """From /proc/interrupts, whose columns are the CPUs online."""
        rows, head, wanted = [], None, {b"%d" % number: number for number, _ in self.paths}
        for line in self.files.read("/proc/interrupts").split(b"\n"):
            if head is None:
                head = [int(word[3:]) for word in line.split()]
                continue
            name, _, rest = line.partition(b":")
            number = wanted.get(name.strip())
            if number is not None:
                self._moved(number, rest.split(None, len(head))[: len(head)], head, rows)
        return rows

    def _queues(self, tick):
        """Queues and statistics. A NIC whose queues are being made anew has no counts for a moment."""
        values = []
        try:
            if self.statistics and (self.with_statistics or self.count_queues == self._by_statistics):
                values = self.statistics.values()
            now = self.count_queues(values)
        except OSError:
            self.looked = 0.0
            return
        found = self._deltas("queue", now)
        if found:
            tick["queue"] = found
        if self.with_statistics and values:
            moved = self._deltas("stat", dict(zip(counters.unique(self.statistics.names, values), values)))
            if moved:
                tick["stat"] = moved

    def _deltas(self, kind, now):
        before = self.values.get(kind, {})
        self.values[kind] = now
        if kind == "stat":
            return {name: value - before[name] for name, value in now.items() if value != before.get(name, value)}
        return {
            name: [new - old for new, old in zip(value, before[name])]
            for name, value in now.items()
            if value != before.get(name, value)
        }

    def _statistics(self):
        try:
            return Statistics(self.context.once("ethtool_ioctl", EthtoolIoctl), self.nic)
        except OSError:
            return None

    def _netdev_counts(self):
        if self.wires.index is None or not self.context.may(NETDEV):
            return False
        try:
            return bool(self._by_netdev(()))
        except OSError:
            return False

    def _by_netdev(self, _values):
        return netdev.queue_counters(genetlink(self.context), self.wires.index)

    def _by_statistics(self, values):
        if values and self.names is not self.statistics.names:
            self.names = self.statistics.names
            self.plan = counters.plan(self.names, values)
        return {queue: counters.take(places, values) for queue, places in self.plan.items()} if values else {}
