"""The host names that a person may want to pick: those that ssh_config names outright. Used by engine.py."""

import re
import shlex
from pathlib import Path

# Include may be nested; ssh itself stops at this depth.
DEEPEST_INCLUDE = 16
PATTERN_SIGNS = "*?!"
_LINE = re.compile(r"\s*(\w+)(?:\s*=\s*|\s+)(.*)")


def host_names(config: str | None = None) -> list[str]:
    """Names of `Host` lines without patterns, in order, each once; empty if there is no file."""
    found: dict[str, None] = {}
    _read(_with_home(config or "~/.ssh/config"), found, 0)
    return list(found)


def _read(file: Path, found: dict[str, None], depth: int) -> None:
    try:
        rows = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for row in rows:
        parts = _LINE.match(row)
        if not parts:
            continue
        keyword, words = parts[1].lower(), _words(parts[2])
        if keyword == "host":
            found.update(dict.fromkeys(word for word in words if not any(sign in word for sign in PATTERN_SIGNS)))
        elif keyword == "include" and depth < DEEPEST_INCLUDE:
            for path in (path for word in words for path in _included(word)):
                _read(path, found, depth + 1)


def _words(text: str) -> list[str]:
    """As ssh splits them: quotes hold words together, and a word that begins with # begins a comment."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote without end; ssh refuses the file
        return []
    comment = next((index for index, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


def _included(word: str) -> list[Path]:
    """The files of one Include word; relative ones lie in ~/.ssh."""
    pattern = _with_home("~/.ssh") / _with_home(word)
    if not pattern.is_absolute():
        return []
    return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))


def _with_home(text: str) -> Path:
    """`~` resolved where there is such a home; a process need not have one."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)
