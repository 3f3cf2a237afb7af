"""Records as lines of JSON; an invalid line raises an error that names the field."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from graph_net.results.canonical import RecordError, canonical, plain
from graph_net.results.config import Config
from graph_net.results.device import Device
from graph_net.results.limits import check_depth, check_limits
from graph_net.results.protocol import ProtocolSettings
from graph_net.results.record import Record

Kind = TypeVar("Kind")
MOST_SHARED, LONGEST_SHARED = 64, 1 << 16
_SHARED = (Config, Device, ProtocolSettings)
FromJson = Callable[[Any, str], Any]
"""Makes a value from the JSON at a path; raises RecordError if it is invalid."""


def to_json(record: Record) -> str:
    """Return a record as one line."""
    return canonical(plain(record))


def from_json(text: str | bytes) -> Record:
    """Return the record of a line; raise RecordError on anything else."""
    return check_limits(read_as(Record, text, "record"))


def from_tree(tree: Any) -> Record:
    """Return the record of parsed JSON; raise RecordError on anything else."""
    return check_limits(_read_tree(Record, tree, "record"))


def read_as(kind: type[Kind], text: str | bytes, what: str) -> Kind:
    """Return a frozen dataclass from JSON, every field checked; ``what`` names it in errors."""
    try:
        # Decoded here: json would accept the bytes of a lone surrogate.
        decoded = text.decode() if isinstance(text, bytes) else text
        tree = json.loads(decoded)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not a {what}: {error}") from error
    return _read_tree(kind, tree, what)


def _read_tree(kind: type[Kind], tree: Any, what: str) -> Kind:
    try:
        value = _reader(kind)(tree, what)  # type: ignore[arg-type]
    except RecordError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise RecordError(f"not a {what}: {error}") from error
    assert isinstance(value, kind)
    return value


@cache
def _reader(kind: Any) -> FromJson:
    """Return the function that makes a value of a type from JSON, checked field by field."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if len(inner) > 2:
            return _read_any
        return _optional(_reader(next(kind for kind in inner if kind is not type(None))))
    if origin is tuple:
        return _floats if inner[0] is float else _tuple_of(_reader(inner[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_of(_reader(inner[1]))
    if is_dataclass(kind):
        return _share(_dataclass(kind)) if kind in _SHARED else _dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _enum(kind)
    return _PLAIN[kind]


def _read_any(value: Any, path: str) -> Any:
    """Return any JSON that can be written again: no lone surrogate, only finite numbers."""
    if not isinstance(value, (bool, int)) and value is not None:
        check_depth(value)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def _optional(inner: FromJson) -> FromJson:
    return lambda value, path: None if value is None else inner(value, path)


def _tuple_of(item: FromJson) -> FromJson:
    def read(value: Any, path: str) -> Any:
        _require_list(value, path)
        return tuple([item(element, path) for element in value])

    return read


def _floats(value: Any, path: str) -> Any:
    """Return samples: a record has hundreds, so the usual case is checked all at once."""
    _require_list(value, path)
    if set(map(type, value)) <= {float} and all(map(math.isfinite, value)):
        return tuple(value)
    return tuple([_float(number, path) for number in value])


def _mapping_of(item: FromJson) -> FromJson:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _expected("an object", path)
        for key in value:
            key.encode()
        return {key: item(entry, f"{path}.{key}") for key, entry in value.items()}

    return read


def _dataclass(kind: Any) -> FromJson:
    types = get_type_hints(kind)
    readers = {entry.name: _reader(types[entry.name]) for entry in fields(kind)}

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _expected("an object", path)
        if not value.keys() <= readers.keys():
            raise _expected(f"no field {sorted(value.keys() - readers.keys())}", path)
        return kind(**{name: readers[name](v, f"{path}.{name}") for name, v in value.items()})

    return read


def _share(reader: FromJson) -> FromJson:
    """Cache values: the records of a run share them, and their hashes with them."""
    cache: dict[str, Any] = {}

    def read(value: Any, path: str) -> Any:
        text = repr(value)  # 1, 1.0 and True differ here
        if len(text) > LONGEST_SHARED:
            return reader(value, path)
        if text not in cache:
            if len(cache) == MOST_SHARED:
                cache.clear()
            cache[text] = reader(value, path)
        return cache[text]

    return read


def _enum(kind: type[StrEnum]) -> FromJson:
    members = {str(member): member for member in kind}

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, str) or value not in members:
            raise _expected(f"one of {', '.join(kind)}", path)
        return members[value]

    return read


def _float(value: Any, path: str) -> Any:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise _expected("a number", path)
    return float(value)


def _text(value: Any, path: str) -> Any:
    if not isinstance(value, str):
        raise _expected("str", path)
    value.encode()  # raises on a lone surrogate, which cannot be stored
    return value


def _whole(value: Any, path: str) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _expected("int", path)
    if abs(value) >= 1 << 63:
        raise _expected("a number of 64 bits", path)
    return value


def _truth(value: Any, path: str) -> Any:
    if not isinstance(value, bool):
        raise _expected("bool", path)
    return value


_PLAIN: dict[type, FromJson] = {float: _float, str: _text, int: _whole, bool: _truth}


def _require_list(value: Any, path: str) -> None:
    if not isinstance(value, list):
        raise _expected("a list", path)


def _expected(what: str, path: str) -> RecordError:
    return RecordError(f"{path}: expected {what}")
