"""A driver of the tests' own, with transactions over it, for tests of order, side effects and the way back.

The guardian is the real one; it runs in a thread, so that it sees the same driver. conftest.py hands out the fixtures.
"""

import errno
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from netbench_tui.agent.changes import guardian, reports
from netbench_tui.agent.changes.transactions import Transactions
from netbench_tui.agent.reactor import Reactor
from netbench_tui.agent.settings import registry
from netbench_tui.agent.settings.context import Context

NIC = "nic0"
DEFAULT_CPUS = "0-3"
Row = dict[str, Any]


class Kind(SimpleNamespace):
    """Stands for a module of agent/settings."""

    __hash__ = object.__hash__


class Driver:
    """A NIC with channels whose change makes, drops and resets queues, features that hang together, and a ring."""

    def __init__(self) -> None:
        self.channels = 4
        self.cpus = {index: str(index) for index in range(4)}
        self.wanted = {"sg": "on", "tso": "on"}
        self.ring = "256"
        self.weights = "1 1 1 1"
        self.log: list[str] = []
        self.refuse: dict[str, int] = {}
        self.unreadable = False
        self.kinds = tuple(self._kinds())

    def _kinds(self) -> Iterator[Any]:
        yield self._kind("features", "feature.", 30, False, self._features, self._write_feature)
        yield self._kind("limits", ("channels.", "ring."), 10, True, self._limits, self._write_limit)
        yield self._kind("rss", "rss.", 50, False, self._rss, self._write_rss)
        yield self._kind("affinity", "queue.", 60, False, self._affinity, self._write_affinity)

    def _kind(self, name: str, prefixes: Any, rank: int, resets: bool, read: Any, write: Any) -> Any:
        def read_scope(context: Context, scope: str) -> list[Row]:
            return [context.row(NIC, key, value, "test", **more) for key, value, more in read()] if scope == NIC else []

        def read_one(context: Context, scope: str, key: str) -> Row | None:
            return next((row for row in read_scope(context, scope) if row["key"] == key), None)

        def write_one(_context: Context, _scope: str, key: str, value: str) -> None:
            self.log.append(f"{key}={value}")
            if key in self.refuse:
                raise OSError(self.refuse[key], "the driver says no")
            write(key, value)

        prefixes = (prefixes,) if isinstance(prefixes, str) else prefixes
        return Kind(
            __name__=name, SCOPE="device", PREFIXES=prefixes, RANK=rank, RESETS=resets,
            read=read_scope, read_one=read_one, write=write_one,
        )  # fmt: skip

    def _features(self) -> Iterator[tuple[str, str, Row]]:
        yield "feature.sg", self.wanted["sg"], {}
        tso = self.wanted["tso"]
        yield "feature.tso", tso, {"active": "off"} if tso == "on" and self.wanted["sg"] == "off" else {}
        yield "feature.loopback", "off", {"fixed": True}

    def _write_feature(self, key: str, value: str) -> None:
        if key == "feature.tso" and value == "on" and self.wanted["sg"] == "off":
            raise OSError(errno.EINVAL, "scatter-gather is off")
        self.wanted[key.partition(".")[2]] = value

    def _limits(self) -> Iterator[tuple[str, str, Row]]:
        yield "channels.combined", str(self.channels), {}
        yield "ring.rx", self.ring, {}

    def _write_limit(self, key: str, value: str) -> None:
        if key == "channels.combined":
            self.channels = int(value)
            self.weights = " ".join(["1"] * self.channels)
        else:
            self.ring = value
        self.cpus = dict.fromkeys(range(self.channels), DEFAULT_CPUS)

    def _rss(self) -> Iterator[tuple[str, str, Row]]:
        if self.unreadable:
            raise OSError(errno.EBUSY, "resetting")
        yield "rss.weights", self.weights, {}

    def _write_rss(self, _key: str, value: str) -> None:
        self.weights = value

    def _affinity(self) -> Iterator[tuple[str, str, Row]]:
        for index, cpus in self.cpus.items():
            yield f"queue.rx-{index}.irq_affinity", cpus, {}

    def _write_affinity(self, key: str, value: str) -> None:
        index = int(key.split("-")[1].split(".")[0])
        if index not in self.cpus:
            raise OSError(errno.ENOENT, "no such queue")
        self.cpus[index] = {"2,0-1": "0-2"}.get(value, value)

    def state(self) -> Any:
        return self.channels, dict(self.cpus), dict(self.wanted), self.ring, self.weights


class Bench:
    """Transactions over the driver, with what they said to the workbench."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.found = driver, driver.state()
        self.events: list[Row] = []
        self.reactor = Reactor()
        wire = SimpleNamespace(send=self.events.append)
        self.transactions = Transactions(self.reactor, wire, lambda _request: Context())

    def apply(self, *wishes: str, kind: str = "lease", seconds: float = 10, on_refusal: str = "rest") -> Row:
        """Each wish is `key=value`."""
        changes = [{"scope": NIC, "key": w.split("=")[0], "value": w.split("=")[1]} for w in wishes]
        request = {"transaction": "t", "changes": changes, "kind": kind, "seconds": seconds, "on_refusal": on_refusal}
        answer: Row = self.transactions.apply(request)
        return answer

    def outcomes(self, *wishes: str, **more: Any) -> dict[str, Row]:
        return {row["key"]: row for row in self.apply(*wishes, **more)["outcomes"]}

    def held(self) -> dict[str, tuple[str | None, str | None]]:
        return {entry["key"]: (entry["found"], entry["ours"]) for entry in self.transactions.held({})["entries"]}

    def restore(self, *keys: str) -> dict[str, str]:
        request = {"places": [[NIC, key] for key in keys]} if keys else {}
        return {entry["key"]: entry["state"] for entry in self.transactions.restore(request)["entries"]}

    def turn(self, until: Callable[[], Any]) -> None:
        """Lets the agent's loop run until then."""
        deadline = time.monotonic() + 5

        def look() -> None:
            self.reactor.running = not until() and time.monotonic() < deadline
            self.reactor.after(0.005, look)

        look()
        self.reactor.run()
        assert until()


@pytest.fixture
def guardians(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[list[threading.Thread]]:
    threads: list[threading.Thread] = []

    def start(link: Any, kinds: Any, make_context: Any) -> None:
        other = link.dup()
        thread = threading.Thread(target=lambda: guardian.Guardian(other, kinds, make_context).run())
        threads.append(thread)
        thread.start()

    monkeypatch.setattr(guardian, "fork", start)
    monkeypatch.setattr(reports, "folders", lambda: [str(tmp_path / "reports")])
    yield threads


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, guardians: list[threading.Thread]) -> Iterator[Bench]:
    driver = Driver()
    monkeypatch.setattr(registry, "KINDS", driver.kinds)
    bench = Bench(driver)
    yield bench
    bench.transactions.guard._let_go()
    for thread in guardians:
        thread.join(5)
        assert not thread.is_alive()
