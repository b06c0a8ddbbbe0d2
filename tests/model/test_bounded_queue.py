"""The bounded queue keeps the newest, counts the rest, and never grows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netbench_tui.model.bounded import BoundedQueue


@settings(deadline=None)
@given(st.integers(1, 9), st.lists(st.integers() | st.none(), max_size=60))
def test_nothing_vanishes_uncounted(capacity: int, steps: list[int | None]) -> None:
    queue: BoundedQueue[int] = BoundedQueue(capacity)
    drained = 0
    for step in steps:
        if step is None:
            drained += len(queue.drain())
        else:
            queue.push(step)
        assert len(queue) <= capacity
    pushed = sum(step is not None for step in steps)
    assert pushed == drained + len(queue) + queue.lost


def test_the_oldest_goes_first() -> None:
    queue: BoundedQueue[int] = BoundedQueue(3)
    dropped = [queue.push(n) for n in range(5)]
    assert dropped == [[], [], [], [0], [1]]
    assert queue.drain() == [2, 3, 4] and queue.lost == 2 and queue.drain() == []


def test_what_is_put_back_comes_before_what_came_since() -> None:
    queue: BoundedQueue[int] = BoundedQueue(4)
    for n in range(3):
        queue.push(n)
    taken = queue.drain()
    queue.push(3)
    queue.push(4)
    assert queue.put_back(taken) == [0]
    assert queue.drain() == [1, 2, 3, 4] and queue.lost == 1


def test_a_capacity_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity"):
        BoundedQueue(0)
