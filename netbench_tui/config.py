"""Where things are on the controller: XDG folders and preset files. Used by the faces and by their engine set-up.

Folders are only named here, never made; whoever writes a file makes its folder.
"""

import importlib.resources
import os
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path

from netbench_tui.errors import UsageError
from netbench_tui.model.preset import Preset, parse_preset

PROGRAM = "netbench-tui"


def _folder(variable: str, fallback: str) -> Path:
    """The XDG base folder of `variable`; by the XDG specification a relative path in it counts as unset."""
    value = os.environ.get(variable, "")
    if value and Path(value).is_absolute():
        return Path(value) / PROGRAM
    try:
        return Path.home() / fallback / PROGRAM
    except RuntimeError:
        raise UsageError(
            "the home folder of this user is not known", f"set HOME, or {variable} to an absolute path"
        ) from None


def data_home() -> Path:
    return _folder("XDG_DATA_HOME", ".local/share")


def config_home() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config")


def state_home() -> Path:
    """For logs."""
    return _folder("XDG_STATE_HOME", ".local/state")


def history_path() -> Path:
    """The history database, unless the user names another file."""
    return data_home() / "history.db"


def list_presets(complaints: list[UsageError] | None = None) -> list[Preset]:
    """Every preset that can be read, by name; a user's preset hides a shipped one of the same name.

    What cannot be read is added to `complaints`: one broken file must not hide the others.
    """
    found = []
    for name, file in sorted(_preset_files().items()):
        try:
            found.append(_read(name, file))
        except UsageError as error:
            if complaints is not None:
                complaints.append(error)
    return found


def load_preset(name: str) -> Preset:
    """The preset of that name, or in the file of that path if `name` ends in `.toml`.

    UsageError names the known presets if there is none of that name, or file, line and key if it is wrong.
    """
    if name.endswith(".toml"):
        return _read(Path(name).stem, Path(name))
    files = _preset_files()
    if name not in files:
        known = ", ".join(sorted(files)) or "none"
        raise UsageError(f"there is no preset named {name}", f"presets: {known}")
    return _read(name, files[name])


def _preset_files() -> dict[str, Traversable]:
    files: dict[str, Traversable] = {}
    for folder in (_shipped_folder(), config_home() / "presets"):
        files.update({file.name.removesuffix(".toml"): file for file in _toml_files(folder)})
    return files


def _shipped_folder() -> Traversable:
    """Inside an installed package, or beside the package in a source checkout or an editable install."""
    packaged = importlib.resources.files("netbench_tui") / "presets"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parent.parent / "presets"


def _toml_files(folder: Traversable) -> Iterator[Traversable]:
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    yield from (entry for entry in entries if entry.name.endswith(".toml"))


def _read(name: str, file: Traversable) -> Preset:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: this is not UTF-8 text") from None
    return parse_preset(name, text, str(file))
