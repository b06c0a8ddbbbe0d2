"""On which line of a TOML file a key stands, for complaints. Used by the readers of our own TOML files.

tomllib keeps no lines, so each line that can be read by itself is read by itself.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def line_of(text: str, path: Sequence[str]) -> int:
    """The first line that sets the key at `path`, something in it, or opens its table; 1 where none is found. Quoted
    dotted keys and nested tables mean the same."""
    wanted = ".".join(path)
    return next((number for number, found in _paths(text) if f"{found}.".startswith(f"{wanted}.")), 1)


def _paths(text: str) -> Iterator[tuple[int, str]]:
    """(line, path) of every table and of every key that begins on a line of its own."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        parsed = _parsed(line)
        if line.lstrip().startswith("["):
            for found in _leaves(parsed):
                table = found
                yield number, found
            continue
        for found in _leaves(parsed):
            yield number, f"{table}.{found}" if table else found


def _parsed(line: str) -> Mapping[str, Any]:
    """What the line sets; of a value that goes on below only that it is set."""
    try:
        return tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        pass
    for end, letter in enumerate(line):
        if letter == "=":
            try:
                return tomllib.loads(f"{line[:end]} = 0")
            except tomllib.TOMLDecodeError:
                continue
    return {}


def _leaves(data: Any, path: str = "") -> Iterator[str]:
    """The paths of all that is set, with those of empty tables."""
    if isinstance(data, list) and data and isinstance(data[-1], Mapping):
        data = data[-1]
    if not isinstance(data, Mapping) or not data:
        if path:
            yield path
        return
    for key, value in data.items():
        yield from _leaves(value, f"{path}.{key}" if path else key)
