"""Texts apart from the whole numbers in them, many at once.

The schedules of a task are one text with other numbers: apart, the texts are few and the numbers
are columns. Any text comes back as it was: a number that has other spellings (leading zeros) or ten
digits and more is left where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GAP = b"\x01"
"""Stands where a number stood; canonical JSON writes no such character."""
MOST_DIGITS = 9


@dataclass(frozen=True)
class Numbered:
    """Some texts without their numbers, and the numbers of all, in order."""

    skeletons: list[bytes]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int64]
    """How many numbers each text has."""


def split_numbers(texts: Sequence[bytes]) -> Numbered:
    """Take the numbers out of texts; none has a line break or a gap in it."""
    return numbered_lines(np.frombuffer(b"\n".join(texts) + b"\n", np.uint8))


def numbered_lines(data: NDArray[np.uint8]) -> Numbered:
    """Return the same for texts that each end with a line break."""
    digits = data - np.uint8(ord("0"))  # what is no digit wraps to 10 and more
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
    """Return the numbers that begin at some places, and which of them can be taken out."""
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
    """Return a skeleton with something in each gap: with its numbers, the text again."""
    first, *rest = skeleton.split(GAP)
    return first + b"".join(fill + piece for fill, piece in zip(fills, rest, strict=True))
