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
        while self.running:
            self.step()

    def step(self, limit=None):
        """Waits for what comes first, at most `limit` seconds, and handles it."""
        self._fire()
        waits = [limit] if limit is not None else []
        if self.timers:
            waits.append(max(0.0, self.timers[0][0] - time.monotonic()))
        # poll(2) counts in milliseconds; rounding up keeps a timer from spinning in its last one.
        timeout = int(min(waits) * 1000 + 0.999) if waits else None
        for descriptor, _events in self.poll.poll(timeout):
            handler = self.handlers.get(descriptor)
            if handler:
                handler()
        self._fire()

    def _fire(self):
        now = time.monotonic()
        while self.timers and self.timers[0][0] <= now:
            handler = heapq.heappop(self.timers)[2]
            if handler:
                handler()
