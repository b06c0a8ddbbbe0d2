"""The verbs of the command line on emulated hosts, reached as ~/.ssh/config reaches any."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tools_say
from rig import Rig

SECONDS = 180
WISHES = (
    "mtu=1400",
    "tso=off",
    "qdisc.root=fq",
    "channels.combined=2",
    "coalesce.tx-frames=1",
    "rss.indirection=equal 2",
    "queue.rx-0.rps_cpus=1-2",
    "queue.tx-1.xps_cpus=0",
    "queue.rx-0.irq_affinity=2",
    "irq.config.irq_affinity=1",
    "napi.defer_hard_irqs=2",
    "net.core.rmem_max=425984",
)


many_queues = pytest.mark.parametrize("pair", ["many-queues"], indirect=True)


class Verbs:
    """netbench-tui with a history of its own."""

    def __init__(self, pair: Rig, folder: Path) -> None:
        self.common = [sys.executable, "-m", "netbench_tui", "-F", str(pair.config), "--history", str(folder / "h.db")]

    def __call__(self, *words: str) -> str:
        done = subprocess.run([*self.common, *words], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def document(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


@pytest.fixture
def verbs(pair: Rig, tmp_path: Path) -> Verbs:
    return Verbs(pair, tmp_path)


@many_queues
def test_inspect_get_and_diff(pair: Rig, verbs: Verbs) -> None:
    alpha, beta = pair.guests
    told, drivers = tools_say.features(alpha), [tools_say.pairs(guest, "-i")["driver"] for guest in pair.guests]
    (host,) = verbs.document("inspect", "alpha")["hosts"]
    assert (host["name"], host["privilege"]) == ("alpha", "root")
    assert {nic["name"]: nic["driver"] for nic in host["facts"]["nics"]}["nic0"] == drivers[0]
    assert {irq["number"] for irq in host["interrupts"]} >= set(tools_say.interrupts(alpha))
    assert len(host["facts"]["cpus"]) == len(tools_say.cpus(alpha))
    (got,) = verbs.document("get", "beta", "nic0", "mtu", "feature", "net.core.rmem_max")["hosts"]
    shown = {setting["key"]: setting for setting in got["settings"]}
    assert shown["mtu"]["value"] == beta.read("/sys/class/net/nic0/mtu").strip()
    assert shown["sysctl.net.core.rmem_max"]["value"] == beta.read("/proc/sys/net/core/rmem_max").strip()
    seen = {key.removeprefix("feature."): row["active"] or row["value"] for key, row in shown.items() if "." in key}
    theirs = tools_say.features(beta)
    assert {key: seen.get(key) for key in theirs} == {key: state for key, (state, _, _) in theirs.items()}
    rows = verbs.document("diff", "alpha:nic0", "beta:nic0")["differences"]
    assert drivers in [[row["left"], row["right"]] for row in rows]
    named = {row["name"].removeprefix("feature."): row for row in rows}
    differing = {key for key in told.keys() & theirs if told[key][0] != theirs[key][0]}
    assert differing <= named.keys(), named


def without_handles(text: str) -> str:
    """tc numbers the root that it makes itself; the children carry its number."""
    return re.sub(r"(qdisc \S+ |parent )[0-9a-f]*:", r"\1", text)


@many_queues
def test_the_script_of_a_dry_run_does_what_set_does_and_that_of_restore_undoes_it(pair: Rig, verbs: Verbs) -> None:
    guest = pair.alpha
    before = tools_say.everything(guest)
    script = verbs("set", "alpha", "nic0", *WISHES, "--dry-run")
    assert tools_say.everything(guest) == before
    verbs("set", "alpha", "nic0", *WISHES, "--keep")
    changed, back = tools_say.everything(guest), verbs("restore", "alpha", "--dry-run")
    assert changed != before
    verbs("restore", "alpha")
    assert tools_say.everything(guest) == before
    guest.ssh("sh", "-e", "-c", script)
    assert without_handles(tools_say.everything(guest)) == without_handles(changed)
    guest.ssh("sh", "-e", "-c", back)
    assert tools_say.everything(guest) == before
