"""Every headless verb through a real process: exit codes, tables, JSON, and sentences where something is wrong."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Netbench = Callable[..., subprocess.CompletedProcess[str]]
Kept = tuple[Path, subprocess.CompletedProcess[str]]

HOST_KEYS = {
    "name", "kernel", "cpu_model", "cpus", "numa_nodes", "nic", "driver", "link_mbit", "mtu", "addresses",
    "privilege", "shares_cpus",
}  # fmt: skip
ROW_KEYS = {
    "id", "session", "state", "preset", "sender", "receiver", "started", "ended", "generator", "test", "note",
    "reason", "hint", "lost_samples", "origin", "window", "metrics",
}  # fmt: skip
RUN_KEYS = ROW_KEYS | {
    "schema", "kind", "generator_version", "hosts", "retransmits", "mss", "generator_figures", "generator_notes",
    "intervals", "events", "settings",
}  # fmt: skip


def assert_sentence(ran: subprocess.CompletedProcess[str], code: int, *texts: str) -> None:
    assert ran.returncode == code, ran.stderr
    assert ran.stdout == "" and "Traceback" not in ran.stderr
    for text in texts:
        assert text in ran.stderr


def test_a_run_prints_the_document_that_is_promised(kept: Kept) -> None:
    _, ran = kept
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == "", "progress is for people at a terminal"
    document = json.loads(ran.stdout)
    assert set(document) == RUN_KEYS
    assert (document["schema"], document["kind"], document["state"], document["id"]) == (1, "run", "finished", 1)
    assert document["test"]["streams"] == 2 and document["test"]["message_bytes"] == 65536
    assert set(document["hosts"]) == {"sender", "receiver"}
    for host in document["hosts"].values():
        assert set(host) == HOST_KEYS and host["driver"] == "veth" and host["mtu"] == 1500 and host["shares_cpus"]
    window, received = document["window"], document["intervals"]["received"]
    assert window["seconds"] == pytest.approx(window["end"] - window["start"])
    inside = [i for i in received if i["start"] >= 0.295 and i["end"] - i["start"] > 0.05]
    mean = 8 * sum(i["bytes"] for i in inside) / sum(i["end"] - i["start"] for i in inside)
    throughput = next(m for m in document["metrics"] if m["name"] == "throughput" and m["role"] is None)
    assert throughput["value"] == pytest.approx(mean, rel=0.005) and throughput["unit"] == "bit/s"


def test_show_gives_the_same_figures_and_the_raw_output(kept: Kept, netbench: Netbench) -> None:
    history, ran = kept
    printed = json.loads(ran.stdout)
    for word in ("latest", "1"):
        shown = json.loads(netbench("--history", str(history), "show", word, "--json").stdout)
        assert set(shown) == RUN_KEYS | {"outputs"}
        assert [shown[key] for key in ("metrics", "window", "intervals", "hosts")] == [
            printed[key] for key in ("metrics", "window", "intervals", "hosts")
        ]
        assert {output["role"] for output in shown["outputs"]} == {"sender", "receiver"}
        assert all(output["stdout"] and output["exit_code"] == 0 for output in shown["outputs"])


def test_show_as_a_table(kept: Kept, netbench: Netbench) -> None:
    history, _ = kept
    table = netbench("show", "latest", "--history", str(history)).stdout
    lines = table.splitlines()
    assert re.match(r"run 1  quick-tcp  finished  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", lines[0])
    assert lines[1] == "▲ alpha nic0 → ▼ beta nic0"
    assert lines[2].startswith("TCP over IPv4, 2 streams, 64 KiB, 1 s, by iperf3 (iperf 3.")
    names = [re.split(r"\s{2,}", line)[0] for line in lines[lines.index("") + 2 :]]
    assert names[:3] == ["throughput", "wire throughput", "efficiency"]
    assert {"peak CPU", "NIC drops", "NIC packets per second", "retransmits per second", "service demand"} <= set(names)
    assert table.count("shared by both hosts") == 1, "said once, in the head"
    for name in ("NIC drops", "softnet dropped", "softnet squeezed", "retransmits"):
        row = next(line for line in lines if line.startswith(f"{name} "))
        assert "." not in row.replace(" k", ""), f"a count is whole: {row}"
    raw = netbench("show", "1", "--output", "--history", str(history)).stdout
    assert raw.startswith(table) and "\nreceiver: " in raw and "Server listening" in raw


def test_history_lists_filters_and_limits(kept: Kept, netbench: Netbench) -> None:
    history, ran = kept
    head, row = netbench("--history", str(history), "history").stdout.splitlines()
    assert head.split()[:4] == ["run", "started", "state", "preset"]
    assert row.split()[0] == "1" and " finished " in row and " quick-tcp " in row
    document = json.loads(netbench("--history", str(history), "history", "alpha", "--limit", "5", "--json").stdout)
    assert (document["schema"], document["kind"]) == (1, "history")
    assert set(document["runs"][0]) == ROW_KEYS
    assert document["runs"][0]["metrics"] == json.loads(ran.stdout)["metrics"]
    none = netbench("--history", str(history), "history", "no such run")
    assert (none.returncode, none.stdout) == (0, "no runs in the history\n")
    assert_sentence(netbench("--history", str(history), "history", "--limit", "0"), 2, "--limit 0")


def test_a_run_that_is_not_there(kept: Kept, netbench: Netbench, tmp_path: Path) -> None:
    history = str(kept[0])
    assert_sentence(netbench("--history", history, "show", "999"), 41, "999")
    assert_sentence(netbench("--history", history, "show", "9" * 30), 41, "there is no run 999")
    assert_sentence(netbench("--history", history, "show", "9" * 5000), 41, "there is no run 999")
    for word in ("x", "²", "1.5", ""):
        assert_sentence(netbench("--history", history, "show", word), 2, "is not a run's number")
    empty = str(tmp_path / "empty.db")
    assert_sentence(netbench("--history", empty, "show", "latest"), 41, "holds no runs yet", "quick-tcp --lab")


def test_a_history_that_is_none(netbench: Netbench, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database at all, it only looks long enough to be one" * 20)
    assert_sentence(netbench("--history", str(tmp_path / "text"), "history"), 40, str(tmp_path / "text"))


def test_presets_shipped_and_ones_own(netbench: Netbench, home: dict[str, str]) -> None:
    folder = Path(home["XDG_CONFIG_HOME"]) / "netbench-tui/presets"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('[preset]\ntitle = "my \\u202eown"\n[traffic]\nseconds = 1\n')
    (folder / "broken.toml").write_text('[preset]\ntitle = "x"\n\n[traffic]\nstreams = 2\nlenght = 5\n')
    listed = netbench("presets", env=home)
    assert listed.returncode == 0
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert "quick-tcp" in names and "mine" in names and "broken" not in names
    assert "my ?own" in listed.stdout, "nothing in a preset acts on the terminal"
    assert f"! {folder / 'broken.toml'}:6: lenght is not a key of [traffic]" in listed.stderr
    document = json.loads(netbench("presets", "--json", env=home).stdout)
    assert {preset["name"] for preset in document["presets"]} == set(names)
    broken = netbench("run", "broken", "--lab", env=home)
    assert_sentence(broken, 2, f"{folder / 'broken.toml'}:6: lenght")
    assert_sentence(netbench("run", str(folder / "broken.toml"), "--lab", env=home), 2, ":6: lenght")


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (("run", "no-such-preset", "--lab"), ("no preset named no-such-preset", "quick-tcp")),
        (("run", "quick-tcp"), ("say where to run", "--sender HOST --receiver HOST")),
        (("run", "quick-tcp", "--sender", "alpha"), ("say where to run",)),
        (("run", "quick-tcp", "--lab", "--sender", "alpha", "--receiver", "beta"), ("say where to run",)),
        (("run", "quick-tcp", "--lab", "--streams", "0"), ("streams: 0",)),
        (("run", "quick-tcp", "--lab", "--seconds", "nan"), ("seconds: nan",)),
        (("run", "quick-tcp", "--lab", "--message-bytes", "many"), ("'many' is not a size",)),
        (("run", "quick-tcp", "--lab", "--ip-version", "5"), ("invalid choice",)),
        (("run", "quick-tcp", "--lab", "--queues", "0"), ("--queues 0",)),
        (("run", "quick-tcp", "--lab", "--mtu", "100"), ("--mtu 100",)),
        (("run", "quick-tcp", "--lab", "--hist", "x"), ("unrecognized arguments: --hist x",)),
        (("run",), ("required: preset",)),
        (("alpha",), ("1 host given", "netbench-tui SENDER RECEIVER")),
        (("alpha", "beta", "gamma"), ("3 host",)),
        ((), ("no terminal to draw on",)),
        (("--nonsense",), ("--nonsense", "--help")),
    ],
)
def test_a_command_line_that_asks_for_the_impossible(
    netbench: Netbench, home: dict[str, str], words: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    assert_sentence(netbench(*words, env=home), 2, *texts)
    assert not (Path(home["XDG_DATA_HOME"]) / "netbench-tui").exists(), "nothing was written"


def test_a_generator_that_does_not_exist(netbench: Netbench, tmp_path: Path) -> None:
    ran = netbench("--history", str(tmp_path / "h"), "run", "quick-tcp", "--lab", "--generator", "netcat")
    assert_sentence(ran, 30, "no generator 'netcat'", "auto, iperf3, builtin")


def test_a_host_that_is_not_there(netbench: Netbench, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host gone\n  HostName 127.0.0.1\n  Port 1\n")
    words = ("run", "quick-tcp", "--sender", "gone", "--receiver", "gone", "-F", str(config))
    assert_sentence(netbench("--history", str(tmp_path / "h"), *words), 10, "gone")


def test_this_machine_with_itself(netbench: Netbench, tmp_path: Path) -> None:
    words = ("run", "quick-tcp", "--sender", "local", "--receiver", "local", "--seconds", "1", "--ip-version", "4")
    ran = netbench("--history", str(tmp_path / "h"), *words)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[1] == "▲ local lo → ▼ local lo"


def test_the_lab_without_a_terminal_runs_the_quick_preset(netbench: Netbench, home: dict[str, str]) -> None:
    ran = netbench("lab", "--queues", "2", env=home)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("run 1  quick-tcp  finished") and "4 streams, 128 KiB, 5 s" in ran.stdout
    assert (Path(home["XDG_DATA_HOME"]) / "netbench-tui/history.db").exists()


def test_version_and_help(netbench: Netbench) -> None:
    assert re.fullmatch(r"netbench-tui \d+\.\d+\.\d+\n", netbench("--version").stdout)
    helped = netbench("run", "--help")
    assert helped.returncode == 0 and "--message-bytes SIZE" in helped.stdout


@pytest.mark.parametrize("words", [("show", "latest"), ("show", "latest", "--json"), ("history",), ("presets",)])
def test_a_reader_that_goes_away(kept: Kept, words: tuple[str, ...]) -> None:
    argv = [sys.executable, "-m", "netbench_tui", "--history", str(kept[0]), *words]
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=30)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (128 + 13, "")


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}],
)
def test_any_locale_will_do(kept: Kept, netbench: Netbench, locale: dict[str, str]) -> None:
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    ran = netbench("--history", str(kept[0]), "show", "latest", env={**env, **locale}, text=False)
    assert ran.returncode == 0, ran.stderr
    second = ran.stdout.splitlines()[1]
    assert second in ("▲ alpha nic0 → ▼ beta nic0".encode(), b"^ alpha nic0 > v beta nic0")
    ends = {len(line.split(b"Gbit/s")[0]) for line in ran.stdout.splitlines() if b"Gbit/s " in line + b" "}
    assert len(ends) == 1 or "▲".encode() in second, "columns line up with the twins as well"


def test_no_home(kept: Kept, netbench: Netbench, home: dict[str, str]) -> None:
    env = {key: value for key, value in os.environ.items() if key != "HOME" and not key.startswith("XDG_")}
    assert netbench("--history", str(kept[0]), "history", env=env).returncode == 0
    assert netbench("presets", env=env).returncode == 0


IMPORTED = """
import sys
from netbench_tui.cli.main import run
try:
    code = run(sys.argv[1:])
finally:
    names = {"textual", "asyncssh", "pyroute2", "plotext", "psutil"}
    print(sorted(names & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("words", [("history",), ("show", "latest"), ("show", "latest", "--json"), ("presets",)])
def test_reading_verbs_import_no_more_than_they_need(kept: Kept, words: tuple[str, ...]) -> None:
    argv: list[Any] = [sys.executable, "-c", IMPORTED, "--history", kept[0], *words]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert (ran.returncode, ran.stderr) == (0, "[]\n")


def test_a_headless_run_imports_no_textual(tmp_path: Path) -> None:
    argv: list[Any] = [sys.executable, "-c", IMPORTED, "--history", tmp_path / "h", "run", "quick-tcp", "--lab"]
    ran = subprocess.run([*argv, "--seconds", "1"], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "[]\n"), "the lab without --ssh needs neither Textual nor asyncssh"
