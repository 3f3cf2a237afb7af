"""A cache of decoded parts of lines that many lines share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")
UNKNOWN = -1
ENTRY = 128
"""Approximate bytes of a cache entry besides the part itself."""


class DecodedParts(Generic[Value]):
    """Decoded values by their bytes; each has a number, its index in ``values``."""

    def __init__(self, decode: Callable[[bytes], Value | None]) -> None:
        self.values: list[Value] = []
        self.size = 0
        """Bytes of the cache."""
        self._decode = decode
        self._codes: dict[bytes, int] = {}

    def codes(self, parts: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the indices of the parts' values; UNKNOWN if a part has an unexpected form."""
        known = self._codes
        for part in dict.fromkeys(parts):  # in order, so that equal files give equal tables
            if part not in known:
                self._learn(part)
        return np.array([known[part] for part in parts], np.int64)

    def _learn(self, part: bytes) -> None:
        value = self._decode(part)
        self._codes[part] = UNKNOWN if value is None else len(self.values)
        self.values += [] if value is None else [value]
        self.size += len(part) + ENTRY
