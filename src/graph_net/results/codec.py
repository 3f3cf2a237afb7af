"""Records as lines of JSON; a line that is no record says where it is not."""

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
from graph_net.results.limits import check_depth, check_limits
from graph_net.results.program import Program
from graph_net.results.protocol import ProtocolSettings
from graph_net.results.record import Config, Device, Record

Kind = TypeVar("Kind")
MOST_SHARED, LONGEST_SHARED = 64, 1 << 16
_SHARED = (Config, Device, ProtocolSettings)
FromJson = Callable[[Any, str], Any]
"""Makes a value out of JSON that stands at a place; raises RecordError where it is none."""


def to_json(record: Record) -> str:
    """A record as one line."""
    return canonical(plain(record))


def from_json(text: str | bytes) -> Record:
    """The record of a line; raises RecordError on anything else."""
    return check_limits(read_as(Record, text, "record"))


def from_tree(tree: Any) -> Record:
    """The record of JSON that was parsed already; raises RecordError on anything else."""
    return check_limits(_read_tree(Record, tree, "record"))


def program_to_json(program: Program) -> str:
    """A program as one line."""
    return canonical(plain(program))


def program_from_json(text: str | bytes) -> Program:
    """The program of a line; raises RecordError on anything else."""
    return read_as(Program, text, "program")


def read_as(kind: type[Kind], text: str | bytes, what: str) -> Kind:
    """A frozen dataclass out of JSON, every field checked; ``what`` names it in errors."""
    try:
        # Not left to json, which lets bytes that stand for a lone surrogate pass.
        decoded = text.decode() if isinstance(text, bytes) else text
        tree = json.loads(decoded)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not a {what}: {error}") from error
    return _read_tree(kind, tree, what)


def _read_tree(kind: type[Kind], tree: Any, what: str) -> Kind:
    try:
        made = _reader(kind)(tree, what)  # type: ignore[arg-type]
    except RecordError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise RecordError(f"not a {what}: {error}") from error
    assert isinstance(made, kind)
    return made


@cache
def _reader(kind: Any) -> FromJson:
    """Return what makes a value of a type out of JSON, checked field by field."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if len(inner) > 2:
            return _read_any
        return _optional(_reader(next(each for each in inner if each is not type(None))))
    if origin is tuple:
        return _floats if inner[0] is float else _tuple_of(_reader(inner[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_of(_reader(inner[1]))
    if is_dataclass(kind):
        return _share(_dataclass(kind)) if kind in _SHARED else _dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _enum(kind)
    return _PLAIN[kind]


def _read_any(value: Any, place: str) -> Any:
    """Any JSON, if it can be written again: no lone surrogate, no number that is not finite."""
    if not isinstance(value, (bool, int)) and value is not None:
        check_depth(value)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def _optional(inner: FromJson) -> FromJson:
    return lambda value, place: None if value is None else inner(value, place)


def _tuple_of(item: FromJson) -> FromJson:
    def read(value: Any, place: str) -> Any:
        _require_list(value, place)
        return tuple([item(each, place) for each in value])

    return read


def _floats(value: Any, place: str) -> Any:
    """Samples: there are hundreds in a record, and as a rule all are what they should be."""
    _require_list(value, place)
    if set(map(type, value)) <= {float} and all(map(math.isfinite, value)):
        return tuple(value)
    return tuple([_float(each, place) for each in value])


def _mapping_of(item: FromJson) -> FromJson:
    def read(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise _expected("an object", place)
        for key in value:
            key.encode()
        return {key: item(each, f"{place}.{key}") for key, each in value.items()}

    return read


def _dataclass(kind: Any) -> FromJson:
    known = get_type_hints(kind)
    readers = {entry.name: _reader(known[entry.name]) for entry in fields(kind)}

    def read(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise _expected("an object", place)
        if not value.keys() <= readers.keys():
            raise _expected(f"no field {sorted(value.keys() - readers.keys())}", place)
        made = {name: readers[name](each, f"{place}.{name}") for name, each in value.items()}
        return kind(**made)

    return read


def _share(reader: FromJson) -> FromJson:
    """Make equal values once: the records of a run share them, and their hashes with them."""
    made: dict[str, Any] = {}

    def read(value: Any, place: str) -> Any:
        text = repr(value)  # 1, 1.0 and True are not the same here
        if len(text) > LONGEST_SHARED:
            return reader(value, place)
        if text not in made:
            if len(made) == MOST_SHARED:
                made.clear()
            made[text] = reader(value, place)
        return made[text]

    return read


def _enum(kind: type[StrEnum]) -> FromJson:
    members = {str(member): member for member in kind}

    def read(value: Any, place: str) -> Any:
        if not isinstance(value, str) or value not in members:
            raise _expected(f"one of {', '.join(kind)}", place)
        return members[value]

    return read


def _float(value: Any, place: str) -> Any:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise _expected("a number", place)
    return float(value)


def _text(value: Any, place: str) -> Any:
    if not isinstance(value, str):
        raise _expected("str", place)
    value.encode()  # a lone surrogate is no text that can be stored
    return value


def _whole(value: Any, place: str) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _expected("int", place)
    if abs(value) >= 1 << 63:
        raise _expected("a number of 64 bits", place)
    return value


def _truth(value: Any, place: str) -> Any:
    if not isinstance(value, bool):
        raise _expected("bool", place)
    return value


_PLAIN: dict[type, FromJson] = {float: _float, str: _text, int: _whole, bool: _truth}


def _require_list(value: Any, place: str) -> None:
    if not isinstance(value, list):
        raise _expected("a list", place)


def _expected(what: str, place: str) -> RecordError:
    return RecordError(f"{place}: expected {what}")
