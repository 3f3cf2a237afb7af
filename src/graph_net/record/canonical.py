"""JSON with one spelling, its hash, and the error of what is not acceptable."""

from __future__ import annotations

import json
from hashlib import blake2b

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
        state.update(len(part.encode()).to_bytes(4, "little"))
        state.update(part.encode())
    return state.hexdigest()
