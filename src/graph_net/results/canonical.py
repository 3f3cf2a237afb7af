"""JSON with one spelling, its hash, and the error of what is not acceptable."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
KEY_BYTES = 16


class RecordError(ValueError):
    """A record, or the text of one, is not acceptable."""


def canonical(value: Json) -> str:
    """JSON with one spelling for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(*parts: str) -> str:
    """A short hash of some texts."""
    state = blake2b(digest_size=KEY_BYTES)
    for part in parts:
        data = part.encode()
        state.update(len(data).to_bytes(4, "little") + data)
    return state.hexdigest()


def plain(value: Any) -> Any:
    """Return a dataclass as dictionaries, whatever else it holds as it is: nothing is copied."""
    kind: Any = type(value)
    names = _names(kind)
    if names is not None:
        return {name: plain(getattr(value, name)) for name in names}
    if kind is tuple and value and is_dataclass(value[0]):
        return [plain(item) for item in value]
    return value


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass, None of anything else."""
    return tuple(entry.name for entry in fields(kind)) if is_dataclass(kind) else None
