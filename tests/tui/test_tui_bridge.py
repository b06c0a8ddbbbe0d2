"""The engine's thread never waits, and only samples and intervals may be lost on the way to the screen."""

import threading
from typing import Any

from netbench_tui.engine.events import IntervalSeen, RunEnded, RunStarted, SampleTaken
from netbench_tui.model.host import Role
from netbench_tui.model.run import Interval, RunResult, RunState, TrafficTest
from netbench_tui.model.sample import HostSample
from netbench_tui.tui.bridge import Bridge, EventsWaiting


def sample(at: float) -> SampleTaken:
    return SampleTaken(Role.SENDER, HostSample(at, 0.1))


def test_one_wake_between_two_drains() -> None:
    woken: list[int] = []
    bridge = Bridge(lambda: woken.append(1))
    for at in range(50):
        bridge.deliver(sample(at))
    assert len(woken) == 1
    assert [event.sample.time for event in bridge.drain() if isinstance(event, SampleTaken)] == list(range(50))
    bridge.deliver(sample(50))
    assert len(woken) == 2


def test_without_a_reader_only_the_oldest_samples_go() -> None:
    bridge = Bridge(lambda: None, capacity=10)
    start = RunStarted(1, "p", TrafficTest(), "iperf3", 0.0)
    end = RunEnded(1, "p", RunResult(RunState.FINISHED, TrafficTest(), "iperf3"))
    bridge.deliver(start)
    for at in range(100):
        bridge.deliver(sample(at))
        bridge.deliver(IntervalSeen(1, Interval(at, at + 1, 1.0), at))
    bridge.deliver(end)
    held = bridge.drain()
    assert held[0] == start
    assert held[-1] == end
    assert len(held) == 11
    assert bridge.lost == 201 - 10
    assert bridge.drain() == []


def test_deliver_from_many_threads_keeps_all() -> None:
    bridge = Bridge(lambda: None)

    def feed(first: int) -> None:
        for at in range(first, first + 200):
            bridge.deliver(sample(at))

    threads = [threading.Thread(target=feed, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bridge.drain()) == 800


def test_waiting_messages_replace_each_other() -> None:
    message: Any = EventsWaiting()
    assert message.can_replace(EventsWaiting())
