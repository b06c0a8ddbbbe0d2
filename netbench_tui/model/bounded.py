"""A queue that never grows past its capacity: the oldest item goes, and is counted. Used by engine/ and history/.

High-rate records (samples, intervals) go through it, so that a slow consumer costs resolution and never memory.
"""

import threading
from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedQueue(Generic[T]):
    """Drop-oldest queue, safe to use from several threads. `lost` counts all items dropped since it was made."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity: {capacity} is less than 1")
        self.capacity = capacity
        self._items: deque[T] = deque()
        self._lost = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._items)

    @property
    def lost(self) -> int:
        with self._lock:
            return self._lost

    def push(self, item: T) -> list[T]:
        """Adds `item` as the newest; returns what was dropped for it (nothing, or the oldest item)."""
        with self._lock:
            self._items.append(item)
            return self._trim()

    def put_back(self, items: Iterable[T]) -> list[T]:
        """Returns drained `items` to the old end, in their order; returns what did not fit, oldest first."""
        with self._lock:
            self._items.extendleft(reversed(list(items)))
            return self._trim()

    def drain(self) -> list[T]:
        """Takes everything, oldest first."""
        with self._lock:
            items = list(self._items)
            self._items.clear()
            return items

    def _trim(self) -> list[T]:
        dropped = [self._items.popleft() for _ in range(max(0, len(self._items) - self.capacity))]
        self._lost += len(dropped)
        return dropped
