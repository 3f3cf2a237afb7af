"""Records as lines of JSON; a line that is no record says where it is not."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from graph_net.record.canonical import RecordError, canonical
from graph_net.record.limits import check_depth, check_limits
from graph_net.record.nouns import Record
from graph_net.record.program import Program

Kind = TypeVar("Kind")


def to_json(record: Record) -> str:
    """A record as one line."""
    return canonical(asdict(record))


def from_json(text: str | bytes) -> Record:
    """The record of a line; raises RecordError on anything else."""
    return check_limits(read_as(Record, text, "record"))


def program_to_json(program: Program) -> str:
    """A program as one line."""
    return canonical(asdict(program))


def program_from_json(text: str | bytes) -> Program:
    """The program of a line; raises RecordError on anything else."""
    return read_as(Program, text, "program")


def read_as(kind: type[Kind], text: str | bytes, what: str) -> Kind:
    """A frozen dataclass out of JSON, every field checked; ``what`` names it in errors."""
    try:
        # Not left to json, which lets bytes that stand for a lone surrogate pass.
        decoded = text.decode() if isinstance(text, bytes) else text
        made = _build(kind, json.loads(decoded), what)
    except RecordError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise RecordError(f"not a {what}: {error}") from error
    assert isinstance(made, kind)
    return made


def _build(kind: Any, value: Any, place: str) -> Any:
    """A value of a type out of JSON, checked field by field."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType) and len(inner) > 2:
        # Any JSON, if it can be written again: no lone surrogate, no number that is not finite.
        check_depth(value)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        return value
    if origin in (Union, UnionType):
        if value is None and type(None) in inner:
            return None
        return _build(next(k for k in inner if k is not type(None)), value, place)
    if origin is tuple:
        _expect(isinstance(value, list), "a list", place)
        return tuple(_build(inner[0], item, place) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        _expect(isinstance(value, dict), "an object", place)
        for key in value:
            key.encode()
        return {key: _build(inner[1], item, f"{place}.{key}") for key, item in value.items()}
    if is_dataclass(kind):
        _expect(isinstance(value, dict), "an object", place)
        hints = _hints(kind)  # type: ignore[arg-type]
        unknown = value.keys() - hints.keys()
        _expect(not unknown, f"no field {sorted(unknown)}", place)
        return kind(**{k: _build(hints[k], v, f"{place}.{k}") for k, v in value.items()})  # type: ignore[operator]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        _expect(value in set(kind), f"one of {', '.join(kind)}", place)
        return kind(value)
    if kind is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        _expect(number and math.isfinite(value), "a number", place)
        return float(value)
    plain = isinstance(value, kind) and (kind is bool) == isinstance(value, bool)
    _expect(plain, kind.__name__, place)
    if isinstance(value, str):
        value.encode()  # a lone surrogate is no text that can be stored
    elif not isinstance(value, bool):
        _expect(abs(value) < 1 << 63, "a number of 64 bits", place)
    return value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    known = get_type_hints(kind)
    return {entry.name: known[entry.name] for entry in fields(kind)}


def _expect(holds: bool, what: str, place: str) -> None:
    if not holds:
        raise RecordError(f"{place}: expected {what}")
