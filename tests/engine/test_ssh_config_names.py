"""The names of ssh_config that may be picked."""

from pathlib import Path

import pytest

from netbench_tui.engine.sshconfig import host_names


def names(folder: Path, text: str) -> list[str]:
    file = folder / "config"
    file.write_text(text)
    return host_names(str(file))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Host alpha beta\nhost gamma\n", ["alpha", "beta", "gamma"]),
        ("Host *.lan !alpha alph? beta\n", ["beta"]),
        ("  HOST\talpha\n", ["alpha"]),
        ("Host=alpha\nHost = beta\n", ["alpha", "beta"]),
        ('Host "alpha" "two words"\n', ["alpha", "two words"]),
        ("Host alpha # the old one\n#Host beta\nHost c#d\n", ["alpha", "c#d"]),
        ("Host alpha\nHost alpha beta\n", ["alpha", "beta"]),
        ("HostName alpha\nHost\nHost \nMatch host x\n", []),
        ('Host "no end\nHost alpha\n', ["alpha"]),
        ("", []),
    ],
)
def test_host_lines(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert names(tmp_path, text) == expected


def test_includes_by_pattern_with_quotes_nested_and_in_a_circle(tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "1").write_text(f"Host one\nInclude {tmp_path / 'deep'}\n")
    (folder / "2").write_text("Host two\n")
    (tmp_path / "deep").write_text(f"Host deep\nInclude {tmp_path / 'config'}\n")
    assert sorted(names(tmp_path, f'Include "{folder}/*"\nHost last\n')) == ["deep", "last", "one", "two"]


def test_relative_includes_lie_in_the_users_ssh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh/more").mkdir(parents=True)
    (tmp_path / ".ssh/config").write_text("Include more/*.conf ~/.ssh/other ~nosuchuser/config\n")
    (tmp_path / ".ssh/more/a.conf").write_text("Host from-more\n")
    (tmp_path / ".ssh/other").write_text("Host from-other\n")
    assert host_names() == ["from-more", "from-other"]


def test_what_cannot_be_read_names_nobody(tmp_path: Path) -> None:
    assert host_names(str(tmp_path / "absent")) == []
    assert host_names(str(tmp_path)) == []
    (tmp_path / "binary").write_bytes(b"Host \xff\xfe\nHost alpha\n")
    assert host_names(str(tmp_path / "binary"))[-1] == "alpha"
