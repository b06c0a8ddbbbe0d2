"""Dataclasses to plain JSON values and back. Used by history, the host client and every `--json`.

`from_plain` is strict about types, since its input comes from a host or from a file: a wrong type or a missing field
is a `ValueError` that names the path, never an attribute error later. A field of type `Annotated[T, read]` may also be
text, which `read` makes a T or refuses with a ValueError: thousands of CPU lists travel so. Each type is looked at once
and becomes a function that builds it: a large host's answer has tens of thousands of values.
"""

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
Builder = Callable[[Any], Any]


class _Misfit(ValueError):
    """What does not fit, and where: `path` grows on the way out, so that what fits costs no paths."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text, self.path = text, ""

    def below(self, step: str) -> "_Misfit":
        self.path = step + self.path
        return self


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
    try:
        return typing.cast(T, _builder(typing.cast(Any, cls))(data))
    except _Misfit as misfit:
        raise ValueError(f"{where or cls.__name__}{misfit.path}: {misfit.text}") from None


@functools.cache
def _builder(hint: Any) -> Builder:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _or_text(*arguments)
    if hint is Any:
        return lambda data: data
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is tuple:
        return _many(arguments[0]) if len(arguments) == 2 and arguments[1] is Ellipsis else _tuple(arguments)
    if origin in (dict, Mapping):
        return _mapping(*arguments)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum(hint)
    if dataclasses.is_dataclass(hint):
        return _dataclass(typing.cast(type, hint))
    return _scalar(hint)


def _scalar(hint: type) -> Builder:
    def build(data: Any) -> Any:
        if type(data) is hint:
            return data
        if hint is float and isinstance(data, int) and not isinstance(data, bool):
            return float(data)
        if not isinstance(data, hint) or (hint is int and isinstance(data, bool)):
            raise _Misfit(f"expected {hint.__name__}, got {type(data).__name__}")
        return data

    return build


def _or_text(hint: Any, read: Builder) -> Builder:
    builder = _builder(hint)

    def build(data: Any) -> Any:
        if type(data) is not str:
            return builder(data)
        try:
            return read(data)
        except ValueError as error:
            raise _Misfit(str(error)) from None

    return build


def _enum(hint: type[enum.Enum]) -> Builder:
    def build(data: Any) -> Any:
        try:
            return hint(data)
        except ValueError as error:
            raise _Misfit(str(error)) from None

    return build


def _union(options: tuple[Any, ...]) -> Builder:
    may_be_none = type(None) in options
    builders = [_builder(option) for option in options if option is not type(None)]

    def build(data: Any) -> Any:
        if data is None and may_be_none:
            return None
        for builder in builders:
            try:
                return builder(data)
            except _Misfit as misfit:
                last = misfit
        raise last

    return build


def _sequence(data: Any) -> Any:
    if not isinstance(data, (list, tuple)):
        raise _Misfit(f"expected a list, got {type(data).__name__}")
    return data


def _many(item_hint: Any) -> Builder:
    builder = _builder(item_hint)
    # Lists of JSON's own types, such as hundreds of CPUs, are looked at as a whole.
    only = {item_hint} if item_hint in (int, str, bool) else set()

    def build(data: Any) -> tuple[Any, ...]:
        if only and only.issuperset(map(type, _sequence(data))):
            return tuple(data)
        return tuple(_item(builder, item, i) for i, item in enumerate(_sequence(data)))

    return build


def _item(builder: Builder, item: Any, index: int) -> Any:
    try:
        return builder(item)
    except _Misfit as misfit:
        raise misfit.below(f"[{index}]") from None


def _tuple(hints: tuple[Any, ...]) -> Builder:
    builders = [_builder(hint) for hint in hints]

    def build(data: Any) -> tuple[Any, ...]:
        if len(_sequence(data)) != len(builders):
            raise _Misfit(f"expected {len(builders)} items, got {len(data)}")
        return tuple(_item(builder, data[i], i) for i, builder in enumerate(builders))

    return build


def _mapping(key_hint: Callable[[Any], Any], value_hint: Any) -> Builder:
    builder = _builder(value_hint)

    def build(data: Any) -> dict[Any, Any]:
        made = {}
        for key, item in _object(data).items():
            try:
                made_key = key_hint(key)
            except ValueError:
                raise _Misfit(f"bad key {key!r}") from None
            try:
                made[made_key] = builder(item)
            except _Misfit as misfit:
                raise misfit.below(f".{key}") from None
        return made

    return build


def _object(data: Any) -> Mapping[Any, Any]:
    # A dict is asked for first: to ask whether something is a Mapping takes as long as to build a small one.
    if type(data) is not dict and not isinstance(data, Mapping):
        raise _Misfit(f"expected an object, got {type(data).__name__}")
    return data


def _dataclass(cls: type) -> Builder:
    hints, missing = typing.get_type_hints(cls, include_extras=True), dataclasses.MISSING
    fields = dataclasses.fields(cls)
    builders = {field.name: _builder(hints[field.name]) for field in fields}
    needed = {f.name for f in fields if f.default is missing and f.default_factory is missing}

    def build(data: Any) -> Any:
        values = {}
        for name, item in _object(data).items():
            if name in builders:
                try:
                    values[name] = builders[name](item)
                except _Misfit as misfit:
                    raise misfit.below(f".{name}") from None
        if not needed <= values.keys():
            raise _Misfit(f"{next(f.name for f in fields if f.name in needed - values.keys())} is missing")
        return cls(**values)

    return build
