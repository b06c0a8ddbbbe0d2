"""`run` with a preset that asks for settings: they are said with the run, and what a host refuses fails it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Netbench = Callable[..., subprocess.CompletedProcess[str]]

PRESET = """
[traffic]
seconds = 1
generator = "builtin"

[settings.both]
tso = false

[settings.receiver]
mtu = {mtu}
"""


def test_settings_stand_in_the_table_and_in_the_document(netbench: Netbench, tmp_path: Path) -> None:
    preset, history = tmp_path / "slow.toml", str(tmp_path / "history.db")
    preset.write_text(PRESET.format(mtu=1400))
    ran = netbench("--history", history, "run", str(preset), "--lab")
    assert ran.returncode == 0, ran.stderr
    rows = [" ".join(line.split()) for line in ran.stdout.splitlines() if line.startswith("set ")]
    assert "set ▲ nic0 feature.tx-tcp-segmentation off (was on)" in rows
    assert "set ▼ nic0 mtu 1400 (was 1500)" in rows
    shown = json.loads(netbench("--history", history, "show", "latest", "--json").stdout)
    assert {"role": "receiver", "key": "mtu", "old": "1500", "asked": "1400", "now": "1400"}.items() <= next(
        each.items() for each in shown["settings"] if each["key"] == "mtu"
    )


def test_a_refusal_fails_the_run_in_the_hosts_words(netbench: Netbench, tmp_path: Path) -> None:
    preset, history = tmp_path / "large.toml", str(tmp_path / "history.db")
    preset.write_text(PRESET.format(mtu=1000000))
    ran = netbench("--history", history, "run", str(preset), "--lab")
    assert ran.returncode == 31
    assert "failed: beta: nic0 mtu=1000000: " in ran.stdout and "EINVAL" in ran.stdout
    rows = [" ".join(line.split()) for line in ran.stdout.splitlines() if line.startswith("set ")]
    assert "set ▲ nic0 feature.tx-tcp-segmentation off (it is still on)" in rows
    assert "failed" in netbench("--history", history, "history").stdout


def test_presets_list_their_settings(netbench: Netbench, home: dict[str, str]) -> None:
    folder = Path(home["XDG_CONFIG_HOME"]) / "netbench-tui/presets"
    folder.mkdir(parents=True)
    (folder / "slow.toml").write_text(PRESET.format(mtu=1400))
    listed = json.loads(netbench("presets", "--json", env=home).stdout)
    (mine,) = [preset for preset in listed["presets"] if preset["name"] == "slow"]
    assert mine["settings"] == [
        {"role": None, "key": "tso", "value": "off"},
        {"role": "receiver", "key": "mtu", "value": "1400"},
    ]
