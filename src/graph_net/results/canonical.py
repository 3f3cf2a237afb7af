"""Canonical JSON, its hash, and the error of an invalid record."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
KEY_BYTES = 16


class RecordError(ValueError):
    """A record, or the text of one, that is invalid."""


def canonical(value: Json) -> str:
    """Return JSON with one spelling for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def json_object(text: str | None) -> dict[str, Any]:
    """Return the JSON object of a text that may be anything; empty for all else."""
    try:
        tree = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def digest(*parts: str) -> str:
    """Return a short hash of some texts."""
    state = blake2b(digest_size=KEY_BYTES)
    for part in parts:
        data = part.encode()
        state.update(len(data).to_bytes(4, "little") + data)
    return state.hexdigest()


def plain(value: Any) -> Any:
    """Return a dataclass as dictionaries; other values are not copied."""
    kind: Any = type(value)
    names = _names(kind)
    if names is not None:
        return {name: plain(getattr(value, name)) for name in names}
    if kind is tuple and value and is_dataclass(value[0]):
        return [plain(item) for item in value]
    return value


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """Return the field names of a dataclass; None for any other type."""
    return tuple(entry.name for entry in fields(kind)) if is_dataclass(kind) else None
