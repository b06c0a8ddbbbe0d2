"""A preset: a TOML file that describes an experiment. Text in, dataclass out; the files are found by config.py.

Every key is checked; an error names file, line and key.
"""

import re
import tomllib
from dataclasses import dataclass, fields
from typing import Any

from netbench_tui.errors import UsageError
from netbench_tui.model.cpulist import parse_cpu_list
from netbench_tui.model.preset_settings import Complain, Path, PresetSetting, parse_settings
from netbench_tui.model.run import TrafficTest
from netbench_tui.model.toml_lines import line_of

_TABLES = ("preset", "traffic", "settings")
_ABOUT_KEYS = {"title": str, "source": str}
_SIZE = re.compile(r"(\d+)\s*([KM]?)(?:iB|B)?", re.IGNORECASE)
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20}


@dataclass(frozen=True, slots=True)
class Preset:
    """A named experiment: for now one traffic test, and the settings of both hosts that it is run with. `source` says
    where the method was published."""

    name: str
    title: str
    source: str
    test: TrafficTest
    settings: tuple[PresetSetting, ...] = ()


def parse_size(text: str | int) -> int:
    """`128K`, `64 KiB`, `1448`: bytes. K and M are powers of 1024, as in iperf3. ValueError if it is no size."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    found = _SIZE.fullmatch(str(text).strip())
    if not found:
        raise ValueError(f"{text!r} is not a size such as 1448 or 128K")
    return int(found[1]) * _FACTOR[found[2].upper()]


def parse_preset(name: str, text: str, file: str) -> Preset:
    """Reads a preset file's text. UsageError names `file`, the line and the key."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: this is not valid TOML: {error}") from None

    def complain(path: Path, what: str) -> UsageError:
        return UsageError(f"{file}:{line_of(text, path)}: {_words(path)} {what}")

    for table in data:
        if table not in _TABLES:
            raise complain((table,), f"is not a table of a preset ({', '.join(_TABLES)})")
        if not isinstance(data[table], dict):
            raise complain((table,), "must be a table")
    about = data.get("preset", {})
    _check_about(about, complain)
    title, source = about.get("title", name), about.get("source", "")
    settings = parse_settings(data.get("settings", {}), complain)
    return Preset(name, title, source, _test(data.get("traffic", {}), complain), settings)


def _words(path: Path) -> str:
    """A setting is named with its whole key; else the last word says enough."""
    return ".".join(path[2:]) if path[0] == "settings" and len(path) > 2 else path[-1]


def _check_about(about: dict[str, Any], complain: Complain) -> None:
    for key, value in about.items():
        if key not in _ABOUT_KEYS:
            raise complain(("preset", key), f"is not a key of [preset] ({', '.join(_ABOUT_KEYS)})")
        if not isinstance(value, _ABOUT_KEYS[key]):
            raise complain(("preset", key), "must be text")


def _test(traffic: dict[str, Any], complain: Complain) -> TrafficTest:
    known = {f.name: f.type for f in fields(TrafficTest)}
    values: dict[str, Any] = {}
    for key, value in traffic.items():
        if key not in known:
            raise complain(("traffic", key), f"is not a key of [traffic] ({', '.join(known)})")
        try:
            values[key] = _value(key, value, known[key])
            TrafficTest(**values)
        except (ValueError, TypeError) as error:
            raise complain(("traffic", key), str(error).removeprefix(f"{key}: ")) from None
    return TrafficTest(**values)


def _value(key: str, value: Any, kind: Any) -> Any:
    if key == "message_bytes":
        return parse_size(value)
    if key.endswith("_cpus"):
        return parse_cpu_list(value)
    wanted = (int, float) if kind is float else (kind,)
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise ValueError(f"{value!r} must be {'a number' if kind in (int, float) else 'text'}")
    return float(value) if kind is float else value
