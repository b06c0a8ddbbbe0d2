"""The agent's event loop: one thread, poll(2), timers. Used by main.py and processes.py."""

import heapq
import itertools
import select
import time


class Reactor(object):
    """Calls `handler()` when a watched descriptor is ready, and timers when they are due."""

    def __init__(self):
        self.poll = select.poll()
        self.handlers = {}
        self.timers = []
        self.order = itertools.count()
        self.running = True

    def watch(self, descriptor, handler, events=select.POLLIN):
        self.handlers[descriptor] = handler
        self.poll.register(descriptor, events)

    def forget(self, descriptor):
        if self.handlers.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def at(self, when, handler):
        """Calls `handler` at the monotonic time `when`; the returned list's [2] set to None cancels it."""
        entry = [when, next(self.order), handler]
        heapq.heappush(self.timers, entry)
        return entry

    def after(self, seconds, handler):
        return self.at(time.monotonic() + seconds, handler)

    def run(self):
        """Handles what comes until `running` is False."""
        while self.running:
            for descriptor, _events in self.poll.poll(self._timeout()):
                handler = self.handlers.get(descriptor)
                if handler:
                    handler()
            self._fire()

    def _timeout(self):
        """Milliseconds until the next timer, None without one. Rounded up, or a timer would spin in its last one."""
        if not self.timers:
            return None
        return int(max(0.0, self.timers[0][0] - time.monotonic()) * 1000 + 0.999)

    def _fire(self):
        now = time.monotonic()
        while self.timers and self.timers[0][0] <= now:
            handler = heapq.heappop(self.timers)[2]
            if handler:
                handler()
