"""XDG folders and preset files are found where the user and the package keep them."""

from pathlib import Path

import pytest

from netbench_tui import config
from netbench_tui.errors import UsageError


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("DATA", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def _write(folders: Path, name: str, text: str) -> Path:
    file = folders / "config/netbench-tui/presets" / f"{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_folders_follow_xdg(folders: Path) -> None:
    assert config.history_path() == folders / "data/netbench-tui/history.db"
    assert config.state_home() == folders / "state/netbench-tui"


def test_a_relative_or_empty_xdg_folder_counts_as_unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "somewhere/else"):
        monkeypatch.setenv("XDG_DATA_HOME", value)
        assert config.data_home() == tmp_path / ".local/share/netbench-tui"


def test_shipped_presets_are_found() -> None:
    assert config.load_preset("quick-tcp").test.streams == 4
    assert "quick-tcp" in [preset.name for preset in config.list_presets()]


def test_a_users_preset_hides_a_shipped_one(folders: Path) -> None:
    _write(folders, "quick-tcp", "[traffic]\nstreams = 7\n")
    _write(folders, "mine", '[preset]\ntitle = "my own"\n')
    assert config.load_preset("quick-tcp").test.streams == 7
    assert [p.title for p in config.list_presets() if p.name == "mine"] == ["my own"]


def test_one_broken_preset_does_not_hide_the_others(folders: Path) -> None:
    file = _write(folders, "broken", "[traffic]\nstreams = 0\n")
    complaints: list[UsageError] = []
    assert "quick-tcp" in [preset.name for preset in config.list_presets(complaints)]
    assert [complaint.message.split(" ")[0] for complaint in complaints] == [f"{file}:2:"]
    with pytest.raises(UsageError, match="streams"):
        config.load_preset("broken")


@pytest.mark.parametrize("name", ["nothing", "../presets/quick-tcp", ""])
def test_an_unknown_preset_names_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.load_preset(name)
    assert "quick-tcp" in caught.value.hint


def test_a_preset_file_can_be_named_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[traffic]\nseconds = 2\n")
    preset = config.load_preset(str(file))
    assert (preset.name, preset.test.seconds) == ("own", 2.0)
    with pytest.raises(UsageError, match="No such file"):
        config.load_preset(str(tmp_path / "absent.toml"))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        config.load_preset(str(file))
