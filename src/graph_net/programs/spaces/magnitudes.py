"""Numbers for models: magnitudes, and words hashed to buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
LARGEST = 2**62


def bucket(word: str, buckets: int) -> int:
    """Return the bucket of a word, from 0 to ``buckets`` - 1; deterministic."""
    return crc32(word.encode("utf-8", "surrogatepass")) % buckets


def number(value: Any) -> float:
    """Return a bounded number; 0 if the value is not a number."""
    if isinstance(value, (int, float)) and (isinstance(value, int) or isfinite(value)):
        return float(max(-LARGEST, min(LARGEST, value)))
    return 0.0


def log_magnitude(values: Any) -> Floats:
    """Return sign · log2(1 + \\|x\\|), as TenSet does."""
    numbers = np.asarray(values, np.float64)
    return np.asarray(np.sign(numbers) * np.log2(1 + np.abs(numbers)), np.float32)


def leaves(values: Sequence[Any]) -> Iterator[Any]:
    """Yield the leaves of nested lists, in order."""
    waiting = [iter(values)]
    while waiting:
        for value in waiting[-1]:
            if isinstance(value, list):
                waiting.append(iter(value))
                break
            yield value
        else:
            waiting.pop()
