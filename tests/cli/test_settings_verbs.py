"""inspect, get, set, diff and restore as their users run them, against what ethtool and sysfs say at that moment.

The hosts are a lab of the command's own, or `local` inside a network namespace that the test made.
"""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netbench_tui.model.features import LONG_NAMES, SHORT_NAMES

Ran = subprocess.CompletedProcess[str]
# Ends a process as soon as a file reads 1400.
KILLER = """
import os, signal, sys
while open(sys.argv[1]).read().strip() != "1400":
    pass
os.kill(int(sys.argv[2]), signal.SIGKILL)
"""
PATIENCE = 30.0
REFUSED = 17
# The most that the kernel takes: 15 bytes, with what a shell, a terminal and a markup language would act on.
ODD = "[b]é;$(x)\x1b[1m"


class Namespace:
    """A network namespace with a veth pair, and an own history of the program."""

    def __init__(self, name: str, environment: dict[str, str]) -> None:
        self.name, self.environment = name, environment
        self.inside = ["ip", "netns", "exec", name]

    def run(self, *argv: str) -> str:
        return subprocess.run([*self.inside, *argv], check=True, capture_output=True, text=True).stdout

    def argv(self, *words: str) -> list[str]:
        return [*self.inside, sys.executable, "-m", "netbench_tui", *words]

    def netbench(self, *words: str) -> Ran:
        how: dict[str, Any] = {"text": True, "capture_output": True, "stdin": subprocess.DEVNULL, "timeout": 60}
        return subprocess.run(self.argv(*words), env=self.environment, **how)

    def feature(self, name: str, nic: str = "here") -> str:
        found = re.search(rf"^\s*{re.escape(name)}: (on|off)", self.run("ethtool", "-k", nic), re.MULTILINE)
        assert found
        return found[1]

    def read(self, path: str) -> str:
        return self.run("cat", path).strip()

    @contextlib.contextmanager
    def holding(self, *words: str) -> Iterator["subprocess.Popen[str]"]:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(self.argv(*words), env=self.environment, text=True, **pipes)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def here(home: dict[str, str]) -> Iterator[Namespace]:
    name = f"nbt-verbs-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        space = Namespace(name, home)
        queues = ("numrxqueues", "3", "numtxqueues", "3")
        space.run("ip", "link", "add", "here", *queues, "type", "veth", "peer", "name", "there", *queues)
        for link in ("lo", "here", "there"):
            space.run("ip", "link", "set", link, "up")
        yield space
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def kernel_names(listing: str) -> dict[str, tuple[str, bool]]:
    """`ethtool -k` under the kernel's names: (on or off, fixed)."""
    single = {long: SHORT_NAMES[short][0] for long, short in LONG_NAMES.items() if "*" not in SHORT_NAMES[short][0]}
    rows = {}
    for line in listing.splitlines()[1:]:
        name, _, state = line.strip().partition(": ")
        if name not in LONG_NAMES or name in single:
            rows[single.get(name, name)] = (state.split()[0], "[fixed]" in state)
    return rows


def test_get_says_what_ethtool_says(here: Namespace) -> None:
    ran = here.netbench("get", "local", "here", "feature", "mtu", "queue.*.rps_cpus", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    document = json.loads(ran.stdout)
    assert (document["schema"], document["kind"]) == (1, "settings")
    (host,) = document["hosts"]
    rows = {row["key"]: row for row in host["settings"]}
    found = {
        key.removeprefix("feature."): (row["active"] or row["value"], row["fixed"])
        for key, row in rows.items()
        if key.startswith("feature.")
    }
    expected = kernel_names(here.run("ethtool", "-k", "here"))
    assert {name: found[name] for name in expected} == expected
    assert rows["mtu"]["value"] == here.read("/sys/class/net/here/mtu")
    assert [key for key in rows if key.endswith("rps_cpus")] == [f"queue.rx-{i}.rps_cpus" for i in range(3)]


def test_get_knows_short_names_sysctls_and_prints_one_line_each(here: Namespace) -> None:
    ran = here.netbench("get", "local", "here", "gso", "net.ipv4.tcp_fin_timeout", "sysctl.net.ipv4.tcp_sack")
    assert ran.returncode == 0, ran.stderr
    assert [line.split()[:2] for line in ran.stdout.splitlines()] == [
        ["feature.tx-generic-segmentation", "on"],
        ["sysctl.net.ipv4.tcp_fin_timeout", here.read("/proc/sys/net/ipv4/tcp_fin_timeout")],
        ["sysctl.net.ipv4.tcp_sack", here.read("/proc/sys/net/ipv4/tcp_sack")],
    ]


def test_set_stands_until_standard_input_ends_and_says_what_moved_along(here: Namespace) -> None:
    with here.holding("set", "local", "here", "sg=off", "queue.rx-*.rps_cpus=0") as process:
        until(lambda: here.feature("scatter-gather") == "off", "it was never set")
        until(lambda: here.feature("tx-tcp-segmentation") == "off", "TSO did not go along")
        assert here.read("/sys/class/net/here/queues/rx-2/rps_cpus") == "1"
        out, errors = process.communicate("", timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "until standard input ends" in errors
    assert re.search(r"^✓  ▲ local  here  feature.tx-scatter-gather +on → off$", out, re.MULTILINE)
    assert re.search(r"^↳  ▲ local  here  feature.tx-tcp-segmentation +on → off  moved along", out, re.MULTILINE)
    assert re.search(r"^local  here  feature.tx-scatter-gather +on +←  off +restored$", out, re.MULTILINE)
    assert here.feature("scatter-gather") == here.feature("tx-tcp-segmentation") == "on"
    assert here.read("/sys/class/net/here/queues/rx-2/rps_cpus") == "0"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_puts_it_back_as_well(here: Namespace, number: int, code: int) -> None:
    with here.holding("set", "local", "here", "mtu=1400", "gso=off") as process:
        until(lambda: here.feature("generic-segmentation-offload") == "off", "it was never set")
        if number != signal.SIGKILL:  # else it may still be on its way to the question
            assert process.stderr and "until standard input ends" in process.stderr.readline()
        os.kill(process.pid, number)
        process.wait(PATIENCE)
        assert process.returncode == code
        assert process.stdout and (number == signal.SIGKILL or "restored" in process.stdout.read())
    until(lambda: here.feature("generic-segmentation-offload") == "on", "GSO was not put back")
    until(lambda: here.read("/sys/class/net/here/mtu") == "1500", "the MTU was not put back")


def test_seconds_hold_so_long(here: Namespace) -> None:
    began = time.monotonic()
    ran = here.netbench("set", "local", "here", "mtu=1300", "--seconds", "1.5", "--json")
    assert ran.returncode == 0, ran.stderr
    assert time.monotonic() - began > 1.5
    document = json.loads(ran.stdout)
    assert (document["kind"], document["change"], document["undone"]) == ("set", "lease", False)
    (outcome,) = document["outcomes"]
    assert (outcome["old"], outcome["now"], outcome["took"]) == ("1500", "1300", True)
    assert "restored" in ran.stderr
    assert here.read("/sys/class/net/here/mtu") == "1500"


def test_kept_for_good_until_restore(here: Namespace) -> None:
    ran = here.netbench("set", "local", "here", "mtu=1400", "tso=off", "--keep")
    assert ran.returncode == 0, ran.stderr
    assert "kept for good" in ran.stderr
    assert (here.read("/sys/class/net/here/mtu"), here.feature("tx-tcp6-segmentation")) == ("1400", "off")
    dry = here.netbench("restore", "local", "--dry-run")
    assert dry.returncode == 0 and "ip link set dev here mtu 1500" in dry.stdout
    assert here.read("/sys/class/net/here/mtu") == "1400"
    elsewhere = here.netbench("restore", "another")
    assert (elsewhere.returncode, elsewhere.stdout) == (0, "") and "nothing to put back" in elsewhere.stderr
    back = here.netbench("restore", "--json")
    assert back.returncode == 0, back.stderr
    entries = json.loads(back.stdout)["entries"]
    assert {entry["state"] for entry in entries} == {"restored"}
    assert {("here", "mtu", "1500"), ("here", "feature.tx-tcp-segmentation", "on")} <= {
        (entry["scope"], entry["key"], entry["found"]) for entry in entries
    }
    assert (here.read("/sys/class/net/here/mtu"), here.feature("tx-tcp6-segmentation")) == ("1500", "on")
    assert "nothing to put back" in here.netbench("restore").stderr


def test_a_journal_that_cannot_be_written_is_not_promised(here: Namespace) -> None:
    assert here.netbench("set", "local", "here", "mtu=1400", "--keep").returncode == 0
    inside, here.inside = here.inside, [*here.inside, "prlimit", "--fsize=4096"]
    ran = here.netbench("set", "local", "here", "txqueuelen=7", "--keep")
    here.inside = inside
    assert here.read("/sys/class/net/here/tx_queue_len") == "7"
    assert "restore does not know of it" in ran.stderr and "puts it back" not in ran.stderr, ran.stderr


def test_a_change_for_good_that_is_killed_half_way_goes_back_or_is_restored(here: Namespace) -> None:
    """Killed the moment that the kernel has it: it must never stand without being in the journal."""
    mtu = Path("/sys/class/net/here/mtu")
    with here.holding("set", "local", "here", "mtu=1400", "--keep") as process:
        look = subprocess.Popen(
            [*here.inside, sys.executable, "-c", KILLER, str(mtu), str(process.pid)], stdout=subprocess.PIPE
        )
        assert look.wait(PATIENCE) == 0
        process.wait(PATIENCE)
        assert look.stdout and process.returncode == -signal.SIGKILL
        look.stdout.close()

    def is_back() -> bool:
        return here.read(str(mtu)) == "1500" or (
            here.netbench("restore", "local").returncode == 0 and here.read(str(mtu)) == "1500"
        )

    until(is_back, "the MTU is as it was found")


def test_restore_leaves_alone_what_someone_else_changed_since(here: Namespace) -> None:
    assert here.netbench("set", "local", "here", "mtu=1400", "--keep").returncode == 0
    here.run("ip", "link", "set", "here", "mtu", "1350")
    ran = here.netbench("restore")
    assert ran.returncode == REFUSED
    assert "changed by someone else" in ran.stdout
    assert here.read("/sys/class/net/here/mtu") == "1350"


def test_what_is_refused_stands_beside_the_rest(here: Namespace) -> None:
    ran = here.netbench("set", "local", "here", "gso=off", "ring.rx=4096", "tx-checksum-ipv4=on", "--keep", "--json")
    assert ran.returncode == REFUSED
    outcomes = {one["key"]: one for one in json.loads(ran.stdout)["outcomes"]}
    assert outcomes["feature.tx-generic-segmentation"]["took"] and here.feature("generic-segmentation-offload") == "off"
    for key in ("ring.rx", "feature.tx-checksum-ipv4"):
        assert outcomes[key]["code"] and outcomes[key]["error"] and not outcomes[key]["took"]
    assert here.netbench("restore").returncode == 0
    assert here.feature("generic-segmentation-offload") == "on"


def test_all_or_nothing(here: Namespace) -> None:
    ran = here.netbench("set", "local", "here", "gso=off", "ring.rx=4096", "--keep", "--all-or-nothing")
    assert ran.returncode == REFUSED
    assert "all was put back" in ran.stdout
    assert here.feature("generic-segmentation-offload") == "on"
    assert "nothing to put back" in here.netbench("restore").stderr


def test_a_dry_run_changes_nothing_and_its_script_does_what_set_does(here: Namespace) -> None:
    here.run("ip", "link", "set", "here", "name", ODD)
    wishes = ("tso=off", "mtu=1400", "queue.tx-1.xps_cpus=0-1", "qdisc.root=pfifo", "napi.gro_flush_timeout=2000")
    before = here.netbench("get", "local", ODD, "--json").stdout
    ran = here.netbench("set", "local", ODD, *wishes, "--dry-run")
    assert ran.returncode == 0, ran.stderr
    assert "\x1b" not in ran.stdout
    told = json.loads(here.netbench("set", "local", ODD, *wishes, "--dry-run", "--json").stdout)
    assert (told["dry_run"], told["script"]) == (True, ran.stdout) and {one["key"] for one in told["changes"]} > {"mtu"}
    assert here.netbench("get", "local", ODD, "--json").stdout == before
    here.run("sh", "-c", ran.stdout)
    by_script = here.netbench("get", "local", ODD, *(wish.partition("=")[0] for wish in wishes), "--json").stdout
    values = {row["key"]: row["value"] for row in json.loads(by_script)["hosts"][0]["settings"]}
    assert "pfifo" in values.pop("qdisc.root")
    assert {value for key, value in values.items() if key.startswith("feature.")} == {"off"}
    assert (values["mtu"], values["queue.tx-1.xps_cpus"], values["napi.gro_flush_timeout"]) == ("1400", "0-1", "2000")


def test_an_odd_name_is_set_and_shown_without_acting_on_the_terminal(here: Namespace) -> None:
    here.run("ip", "link", "set", "here", "name", ODD)
    ran = here.netbench("set", "local", ODD, "mtu=1400", "--keep")
    assert ran.returncode == 0, ran.stderr
    assert "[b]é;$(x)?[1m" in ran.stdout and "\x1b" not in ran.stdout
    assert here.read(f"/sys/class/net/{ODD}/mtu") == "1400"
    assert "\x1b" not in here.netbench("inspect", "local").stdout
    assert here.netbench("restore").returncode == 0
    assert here.read(f"/sys/class/net/{ODD}/mtu") == "1500"


def on_a_terminal(here: Namespace, answer: bytes, *words: str) -> tuple[int, str]:
    """What the program says on a terminal on which `answer` is typed at the question; with its exit code."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("ip", here.argv(*words), here.environment)
    said, answered, deadline = b"", False, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                said += os.read(terminal, 4096)
            except OSError:
                break
        if b"enter keeps it" in said and not answered:
            answered = True
            os.write(terminal, answer)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode()


@pytest.mark.parametrize(("answer", "mtu"), [(b"\r", "1400"), (b"no\r", "1500"), (b"\x03", "1500"), (b"\x04", "1500")])
def test_on_a_terminal_enter_keeps_it(here: Namespace, answer: bytes, mtu: str) -> None:
    code, said = on_a_terminal(here, answer, "set", "local", "here", "mtu=1400")
    assert code == 0, said
    assert ("kept for good" in said) == (mtu == "1400")
    assert ("restored" in said) == (mtu == "1500")
    assert here.read("/sys/class/net/here/mtu") == mtu
    here.netbench("restore")
    assert here.read("/sys/class/net/here/mtu") == "1500"


def differing(ran: Ran) -> dict[str, tuple[str, str]]:
    """Without services: one of this machine's may start or stop between the two looks."""
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(ran.stdout)["differences"]
    return {row["name"]: (row["left"], row["right"]) for row in rows if row["section"] != "service"}


def test_diff_shows_only_what_differs(here: Namespace) -> None:
    here.run("ethtool", "-K", "there", "gso", "off")
    here.run("ip", "link", "set", "there", "mtu", "1400")
    found = differing(here.netbench("diff", "local:here", "local:there", "--json"))
    assert found == {"mtu": ("1500", "1400"), "feature.tx-generic-segmentation": ("on", "off")}
    table = here.netbench("diff", "local:here", "local:there").stdout
    assert re.search(r"^mtu +1500 +1400$", table, re.MULTILINE)
    assert differing(here.netbench("diff", "local:here", "local:here", "--json")) == {}


def test_inspect_says_what_there_is(here: Namespace) -> None:
    ran = here.netbench("inspect", "local", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    (host,) = json.loads(ran.stdout)["hosts"]
    assert set(host["queues"]) == {"here", "there"}, "lo is left out"
    assert [queue["name"] for queue in host["queues"]["here"]["queues"]] == [
        f"{kind}-{index}" for kind in ("rx", "tx") for index in range(3)
    ]
    counts, listed = host["counts"], subprocess.run(["lscpu", "-J"], capture_output=True, text=True, check=True)
    lscpu = {row["field"]: row["data"] for row in json.loads(listed.stdout)["lscpu"]}
    assert counts["cpus_online"] == len(os.sched_getaffinity(0)) or counts["cpus_online"] == int(lscpu["CPU(s):"])
    links = len(here.run("ls", "/sys/class/net").split())
    assert counts["nics"] == links
    report = here.netbench("inspect", "local", "here", "--paths").stdout
    assert re.search(r"^here  features$", report, re.MULTILINE) and "there  features" not in report
    assert re.search(r"^    tx-generic-segmentation +on$", report, re.MULTILINE)
    assert re.search(r"^  here: features +netlink$", report, re.MULTILINE)


def test_inspect_by_other_interfaces_says_the_same(here: Namespace) -> None:
    reports = []
    for without in ("", "netlink", "netdev", "netlink,netdev,ioctl"):
        ran = here.netbench("inspect", "local", "here", "--json", "--without", without)
        assert ran.returncode == 0, ran.stderr
        (host,) = json.loads(ran.stdout)["hosts"]
        paths, rows = host["paths"], {row["key"]: row["value"] for row in host["settings"]}
        reports.append({key: value for key, value in rows.items() if key.startswith("feature.")})
        assert paths.get("here: features") == {"": "netlink", "netlink": "ioctl", "netdev": "netlink"}.get(without)
    assert reports[0] == reports[1] == reports[2] != {}
    assert reports[3] == {}


def _tree(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")


def test_a_captured_tree_is_read_and_counted(here: Namespace, tmp_path: Path) -> None:
    cpus = "sys/devices/system/cpu"
    files = {f"{cpus}/present": "0-4", f"{cpus}/online": "0-3", "proc/sys/kernel/hostname": "captured"}
    for cpu in range(4):
        files[f"{cpus}/cpu{cpu}/topology/physical_package_id"] = str(cpu % 2)
        files[f"{cpus}/cpu{cpu}/topology/core_id"] = "0"
        files[f"{cpus}/cpu{cpu}/topology/thread_siblings_list"] = f"{cpu % 2},{cpu % 2 + 2}"
    (tmp_path / cpus / "cpu4").mkdir(parents=True)
    for node in range(2):
        files[f"sys/devices/system/node/node{node}/cpulist"] = f"{node},{node + 2}"
        files[f"sys/devices/system/node/node{node}/distance"] = "10 20"
    files["sys/devices/system/node/node2/cpulist"] = ""
    for nic in ("eth0", "eth1"):
        files[f"sys/class/net/{nic}/operstate"] = "up"
        files[f"sys/class/net/{nic}/mtu"] = "1500"
        for queue in ("rx-0", "rx-1", "tx-0"):
            files[f"sys/class/net/{nic}/queues/{queue}/rps_cpus"] = "0"
    for irq in (1, 40, 41):
        files[f"proc/irq/{irq}/smp_affinity_list"] = "0-3"
    files["proc/interrupts"] = "      CPU0\n" + "".join(f" {irq}:  5  MSI  {irq}-edge  eth0\n" for irq in (1, 40, 41))
    _tree(tmp_path, files)
    ran = here.netbench("inspect", "--root", str(tmp_path), "--json")
    assert ran.returncode == 0, ran.stderr
    (host,) = json.loads(ran.stdout)["hosts"]
    assert host["facts"]["name"] == "captured"
    assert host["counts"] == {
        "cpus_online": 4,
        "cpus_offline": 1,
        "nodes": 3,
        "sockets": 2,
        "cores": 2,
        "irqs": 3,
        "nics": 2,
        "queues": 6,
    }
    report = here.netbench("inspect", "local", "eth1", "--root", str(tmp_path)).stdout
    assert "4 CPUs online, 1 offline, 3 nodes, 2 sockets, 2 cores, 3 IRQs, 2 NICs, 6 queues" in report
    assert re.search(r"^eth1  steering$", report, re.MULTILINE)


def test_the_labs_two_hosts(home: dict[str, str], netbench: Callable[..., Ran]) -> None:
    ran = netbench("get", "lab", "nic0", "mtu", "tso", env=home)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.index("▲ alpha") < ran.stdout.index("▼ beta")
    both = netbench("set", "lab", "nic0", "mtu=9000", "net.core.rmem_max=1", "--both", "--json", env=home)
    assert both.returncode == REFUSED, "the lab shares this machine's own sysctls"
    outcomes = json.loads(both.stdout)["outcomes"]
    assert sorted((one["role"], one["took"]) for one in outcomes if one["key"] == "mtu") == [
        ("receiver", True),
        ("sender", True),
    ]
    assert all(one["error"] for one in outcomes if one["key"].startswith("sysctl."))
    assert differing(netbench("diff", "lab", "lab", "--json", env=home)) == {}
    report = netbench("inspect", "lab", env=home).stdout
    assert report.count("nic0  features") == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("get", "local", "nosuch"), "has no NIC nosuch"),
        (("get", "local", "lo", "warp"), "lo has no setting warp"),
        (("get", "local", "lo", "mtuu"), "there is mtu"),
        (("set", "local", "lo", "mtu"), "write KEY=VALUE"),
        (("set", "local", "lo", "gso=maybe"), "on or off"),
        (("set", "local", "lo", "mtu=1500", "--both"), "needs the other host"),
        (("set", "lab", "nic0", "mtu=1500", "--keep"), "ends with it"),
        (("set", "lab", "nic0", "mtu=12"), "68..65535"),
        (("set", "local", "lo", "mtu=1500", "--seconds", "0"), "--seconds 0"),
        (("diff", "lab", "local"), "diff lab lab"),
        (("inspect",), "say which host"),
        (("inspect", "local", "--without", "magic"), "no such kernel interface"),
        (("inspect", "--root", "/nonexistent"), "no such folder"),
        (("inspect", "local", "nosuch"), "has no NIC nosuch"),
    ],
)
def test_wrong_words_are_told_and_nothing_is_done(
    home: dict[str, str], netbench: Callable[..., Ran], words: tuple[str, ...], text: str
) -> None:
    ran = netbench(*words, env=home)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert text in ran.stderr and "Traceback" not in ran.stderr
