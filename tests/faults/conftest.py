"""An engine with a history of its own, its events on record, and a look at what a lab leaves on the machine."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.engine import events
from netbench_tui.engine.engine import Engine
from netbench_tui.hosts.lab import records
from netbench_tui.model.host import Role

DEADLINE_SECONDS = 30.0
# chaos.py also runs alone, and finds far_hosts.py in its own folder: so do the tests.
sys.path.append(str(Path(__file__).parent))


def poll(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)
    return found


def processes_in(inode: int, command: str = "") -> list[int]:
    """Processes whose network namespace has that inode, and whose command has that name."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "ns/net").stat().st_ino == inode and command in (entry / "comm").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


class Bench:
    """`seen` are all events so far. `footprint` remembers the lab of the present session, for `left`."""

    def __init__(self, history: Path, ssh_config: Path | None = None) -> None:
        self.history = history
        self.engine = Engine(history, str(ssh_config) if ssh_config else None)
        self.seen: list[events.Event] = []
        self.inodes: dict[Role, int] = {}
        self.names: list[Path] = []
        self.keepers: list[int] = []
        self._lock = threading.Lock()
        self.engine.subscribe(self._keep)
        self.engine.start()

    def _keep(self, event: events.Event) -> None:
        with self._lock:
            self.seen.append(event)

    def of(self, kind: type[Any]) -> list[Any]:
        with self._lock:
            return [event for event in self.seen if isinstance(event, kind)]

    def connect(self, target: Any) -> None:
        self.engine.connect(target).result(DEADLINE_SECONDS)
        self.footprint()

    def footprint(self) -> None:
        assert self.engine._session and self.engine._session._reached.lab
        lab = self.engine._session._reached.lab
        for role, host in lab.hosts.items():
            path = Path(host.enter[host.enter.index("--net") + 1])
            self.inodes[role] = path.stat().st_ino
            if path.is_relative_to(records.NETNS_FOLDER):
                self.names.append(path)
        self.keepers.append(lab._keeper.pid)

    def left(self) -> list[str]:
        found = [str(name) for name in self.names if name.exists()]
        found += [f"keeper {pid}" for pid in self.keepers if records.process_start(pid) is not None]
        return found + [f"process {pid}" for inode in self.inodes.values() for pid in processes_in(inode)]

    def generators(self, role: Role, command: str = "iperf3") -> list[int]:
        return processes_in(self.inodes[role], command)

    def wait_running(self, intervals: int = 3) -> None:
        """Until the run in progress has reported some intervals."""
        before = len(self.of(events.IntervalSeen))
        poll(lambda: len(self.of(events.IntervalSeen)) >= before + intervals, "intervals of the run")


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(history: Path | None = None, ssh_config: Path | None = None) -> Bench:
        made.append(Bench(history or tmp_path / "history.db", ssh_config))
        return made[-1]

    yield make
    for bench in made:
        bench.engine.close()
        assert not bench.left()


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


@pytest.fixture(scope="module")
def lab_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One connected lab for the tests of a module that leave it standing."""
    from netbench_tui.model.session import LabTarget

    bench = Bench(tmp_path_factory.mktemp("history") / "history.db")
    bench.connect(LabTarget())
    yield bench
    bench.engine.close()
    assert not bench.left()


@pytest.fixture
def eventually() -> Callable[..., Any]:
    return poll


@pytest.fixture(scope="module")
def far_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two hosts behind real sshds and links that can be cut; a test leaves both reachable."""
    import far_hosts

    if why := far_hosts.impossible():
        pytest.skip(why)
    pair = far_hosts.FarPair(tmp_path_factory.mktemp("far"))
    yield pair
    pair.close()


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """What takes seconds with a real host takes tenths."""
    from netbench_tui.engine import session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "PAUSES", (0.2, 0.4, 0.8))
        patch.setattr(session, "PULSE_SECONDS", 0.5)
        patch.setattr(session, "PULSE_PATIENCE", 1.5)
        yield


@pytest.fixture(scope="module")
def far_benches(
    far_pair: Any, impatient: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Bench]]:
    """Gives the bench of the test before, if it was not closed; afterwards nothing of ours may be left on the hosts."""
    made: list[Bench] = []

    def get() -> Bench:
        if not made or made[-1].engine._closed:
            made.append(Bench(tmp_path_factory.mktemp("history") / "history.db", far_pair.config))
        return made[-1]

    yield get
    for bench in made:
        bench.engine.close()
    poll(lambda: not far_pair.leftovers(), "nothing is left on the hosts", 10)


@pytest.fixture
def far_bench(far_benches: Callable[[], Bench], far_pair: Any) -> Bench:
    """Connected to both far hosts, with no events yet."""
    bench = far_benches()
    session = bench.engine._session
    if session is None or session.lost or session.target != far_pair.target:
        bench.engine.connect(far_pair.target).result(DEADLINE_SECONDS)
    poll(lambda: all(len(host.agents()) == 1 for host in far_pair.hosts.values()), "one agent on each host")
    with bench._lock:
        bench.seen.clear()
    return bench
