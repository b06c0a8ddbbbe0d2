"""The host names that a person may want to pick: those that ssh_config names outright. Used by engine.py."""

from pathlib import Path

# Include may be nested; ssh itself stops at this depth.
DEEPEST_INCLUDE = 16
PATTERN_SIGNS = "*?!"


def host_names(config: str | None = None) -> list[str]:
    """Names of `Host` lines without patterns, in order, each once; empty if there is no file."""
    found: dict[str, None] = {}
    _read(Path(config) if config else Path("~/.ssh/config").expanduser(), found, 0)
    return list(found)


def _read(file: Path, found: dict[str, None], depth: int) -> None:
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        words = line.replace("=", " ", 1).split()
        if len(words) < 2:
            continue
        if words[0].lower() == "host":
            names = (word.strip('"') for word in words[1:])
            found.update(dict.fromkeys(name for name in names if not any(sign in name for sign in PATTERN_SIGNS)))
        elif words[0].lower() == "include" and depth < DEEPEST_INCLUDE:
            for word in words[1:]:
                for path in _included(word):
                    _read(path, found, depth + 1)


def _included(word: str) -> list[Path]:
    """The files of one Include word; relative ones lie in ~/.ssh."""
    pattern = Path("~/.ssh").expanduser() / Path(word).expanduser()
    return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
