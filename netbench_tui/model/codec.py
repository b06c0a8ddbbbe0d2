"""Dataclasses to plain JSON values and back. Used by history, the host client and every `--json`.

`from_plain` is strict about types, since its input comes from a host or from a file: a wrong type or a missing field
is a `ValueError` that names the path, never an attribute error later.
"""

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Dataclasses become dicts, enums their values, tuples lists, mapping keys strings."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(to_plain(k)): to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    return value


def from_plain(cls: type[T], data: Any, where: str = "") -> T:
    """Builds `cls` from what `to_plain` gave. Unknown keys are ignored; raises ValueError naming the bad path."""
    return typing.cast(T, _build(cls, data, where or cls.__name__))


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _build(hint: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if hint is Any:
        return data
    if origin in (typing.Union, types.UnionType):
        return _build_union(typing.get_args(hint), data, where)
    if origin is tuple:
        return _build_tuple(typing.get_args(hint), data, where)
    if origin in (dict, Mapping):
        return _build_mapping(typing.get_args(hint), data, where)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        try:
            return hint(data)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    if dataclasses.is_dataclass(hint):
        return _build_dataclass(typing.cast(type, hint), data, where)
    return _build_scalar(hint, data, where)


def _build_scalar(hint: Any, data: Any, where: str) -> Any:
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, hint) or (hint is int and isinstance(data, bool)):
        raise ValueError(f"{where}: expected {hint.__name__}, got {type(data).__name__}")
    return data


def _build_union(options: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in options:
        return None
    for option in options:
        if option is type(None):
            continue
        try:
            return _build(option, data, where)
        except ValueError as error:
            last = error
    raise last


def _build_tuple(arguments: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, (list, tuple)):
        raise ValueError(f"{where}: expected a list, got {type(data).__name__}")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_build(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    if len(arguments) != len(data):
        raise ValueError(f"{where}: expected {len(arguments)} items, got {len(data)}")
    return tuple(_build(a, item, f"{where}[{i}]") for i, (a, item) in enumerate(zip(arguments, data, strict=True)))


def _build_mapping(arguments: tuple[Any, ...], data: Any, where: str) -> dict[Any, Any]:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where}: expected an object, got {type(data).__name__}")
    key_hint, value_hint = arguments
    made = {}
    for key, item in data.items():
        try:
            made_key = key_hint(key)
        except ValueError:
            raise ValueError(f"{where}: bad key {key!r}") from None
        made[made_key] = _build(value_hint, item, f"{where}.{key}")
    return made


def _build_dataclass(cls: type, data: Any, where: str) -> Any:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where}: expected an object, got {type(data).__name__}")
    hints = _hints(cls)
    values = {}
    for field in dataclasses.fields(cls):
        if field.name in data:
            values[field.name] = _build(hints[field.name], data[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{where}: {field.name} is missing")
    return cls(**values)
