"""Parts that many lines have in common, each decoded when it is first seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")
UNKNOWN = -1
ENTRY = 128
"""Bytes that remembering a part takes beside the part itself, about."""


class DecodedParts(Generic[Value]):
    """Values by the bytes they stand for; each has a number, its place in ``values``."""

    def __init__(self, decode: Callable[[bytes], Value | None]) -> None:
        self.values: list[Value] = []
        self.size = 0
        """Bytes of what is remembered."""
        self._decode = decode
        self._codes: dict[bytes, int] = {}

    def codes(self, parts: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the places of the values of parts; UNKNOWN where one is not as expected."""
        known = self._codes
        for part in dict.fromkeys(parts):  # in their order, so that the same file gives the same
            if part not in known:
                self._learn(part)
        return np.array([known[part] for part in parts], np.int64)

    def _learn(self, part: bytes) -> None:
        value = self._decode(part)
        self._codes[part] = UNKNOWN if value is None else len(self.values)
        self.values += [] if value is None else [value]
        self.size += len(part) + ENTRY
