"""Separate texts from the integers in them, many texts at once.

The schedules of a task are one text with different numbers: separated, the texts are few and the
numbers are columns. The original is always recoverable: a number with leading zeros or at least ten
digits stays in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GAP = b"\x01"
"""Placeholder of a number; the character does not occur in canonical JSON."""
MOST_DIGITS = 9


@dataclass(frozen=True)
class Numbered:
    """Texts without their numbers, and all numbers in order."""

    skeletons: list[bytes]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int64]
    """How many numbers each text has."""


def split_numbers(texts: Sequence[bytes]) -> Numbered:
    """Take the numbers out of texts, which contain neither line breaks nor gaps."""
    return numbered_lines(np.frombuffer(b"\n".join(texts) + b"\n", np.uint8))


def numbered_lines(data: NDArray[np.uint8]) -> Numbered:
    """Do the same for texts that each end with a line break."""
    digits = data - np.uint8(ord("0"))  # other bytes wrap to 10 or more
    digit = digits < 10
    first = digit.copy()
    first[1:] &= ~digit[:-1]
    at = np.flatnonzero(first)
    numbers, good = _values(digits, digit, at)
    if not good.all():
        for start in at[~good].tolist():
            stop = start + int(np.argmin(digit[start:]))
            digit[start:stop] = first[start:stop] = False
        at, numbers = at[good], numbers[good]
    text = data.copy()
    text[at] = ord(GAP)
    skeletons = text[~digit | first].tobytes().split(b"\n")
    ends = np.searchsorted(at, np.flatnonzero(data == ord("\n")))
    return Numbered(skeletons[:-1], numbers, np.diff(ends, prepend=0))


def _values(
    digits: NDArray[np.uint8], digit: NDArray[np.bool_], at: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the numbers that begin at these places, and which of them can be taken out."""
    values = digits[at].astype(np.int32)
    more = np.flatnonzero(digit[at + 1])
    good = np.ones(len(at), bool)
    good[more[values[more] == 0]] = False
    for length in range(1, MOST_DIGITS):
        if not len(more):
            break
        place = at[more] + length
        values[more] = values[more] * 10 + digits[place]
        more = more[digit[place + 1]]
    good[more] = False
    return values, good


def fill_numbers(skeleton: bytes, fills: Iterable[bytes]) -> bytes:
    """Return a skeleton with its gaps filled; with its numbers, this is the original text."""
    first, *rest = skeleton.split(GAP)
    return first + b"".join(fill + piece for fill, piece in zip(fills, rest, strict=True))
