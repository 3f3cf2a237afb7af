"""Parse results of many lines at once: ``costs], error, seconds, stamp``, as printed by C++.

A decimal of up to fifteen digits is an integer over a power of ten. Up to 10^22 that quotient is
rounded once, so it equals the double that any correct decimal parser gives. Longer decimals are not
read here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_net.programs.formats.decoded_parts import UNKNOWN, DecodedParts

DIGITS, POWER = 15, 22
_POWERS = np.array([10.0**power for power in range(POWER + 1)])
_TENS = 10 ** np.arange(DIGITS + 2, dtype=np.int64)
_SHAPE = re.compile(rb"N(?:, N)*+\], \x01, N, N".replace(b"N", rb"\x01(?:\.\x01)?(?:e[+-]?\x01)?"))
_DOT, _E, _PLUS, _MINUS, _BREAK = b".e+-\n"


@dataclass(frozen=True)
class Results:
    """Columns of results; costs are flat, with the number of costs per line."""

    costs: NDArray[np.float64]
    repeats: NDArray[np.int64]
    errors: NDArray[np.int64]
    seconds: NDArray[np.float64]
    stamps: NDArray[np.float64]


def repeats_of(shape: bytes) -> int | None:
    """Count the costs of a result whose numbers are replaced by gaps; None if it is malformed."""
    return shape.count(b",") - 2 if _SHAPE.fullmatch(shape) else None


def read_results(
    texts: Sequence[bytes], shapes: DecodedParts[int]
) -> tuple[NDArray[np.bool_], Results]:
    """Return which texts can be parsed here, and the columns of those."""
    data = np.frombuffer(b"\n" + b"\n".join(texts) + b"\n", np.uint8)
    digits = data - np.uint8(ord("0"))  # other bytes wrap to 10 or more
    digit = digits < 10
    first = digit.copy()
    first[1:] &= ~digit[:-1]
    shape = np.where(first, np.uint8(1), data)[~digit | first]
    codes = shapes.codes(shape.tobytes()[1:-1].split(b"\n"))
    fits = codes != UNKNOWN
    if fits.all():
        repeats = np.array(shapes.values, np.int64)[codes]
        numbers, short = _numbers(data, digits, digit, np.flatnonzero(first))
        ends = np.cumsum(repeats + 3)
        fits = np.logical_and.reduceat(short, ends - repeats - 3)
        if fits.all():
            last = np.zeros(len(numbers), bool)
            for place in (1, 2, 3):
                last[ends - place] = True
            errors = numbers[ends - 3].astype(np.int64)
            found = Results(numbers[~last], repeats, errors, numbers[ends - 2], numbers[ends - 1])
            return fits, found
    rest = [text for text, fit in zip(texts, fits.tolist(), strict=True) if fit]
    if not rest:
        none, empty = np.zeros(0, np.int64), np.zeros(0)
        return fits, Results(empty, none, none, empty, empty)
    also, found = read_results(rest, shapes)
    fits[np.flatnonzero(fits)] = also
    return fits, found


def _numbers(
    data: NDArray[np.uint8],
    digits: NDArray[np.uint8],
    digit: NDArray[np.bool_],
    at: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the numbers whose digits begin at these places, and whether each is short enough."""
    values, lengths = _runs(digits, digit, at)
    before = data[at - 1]
    fraction = before == _DOT
    exponent = (before == _E) | (before == _PLUS) | (before == _MINUS)
    whole = ~(fraction | exponent)
    number = np.cumsum(whole) - 1
    mantissa, length = values[whole], lengths[whole]
    short = (length == 1) | (digits[at[whole]] > 0)
    power = np.zeros(len(mantissa), np.int64)
    of = number[fraction]
    mantissa[of] = mantissa[of] * _TENS[lengths[fraction]] + values[fraction]
    length[of] += lengths[fraction]
    power[of] = lengths[fraction]
    power[number[exponent]] += np.where(before == _MINUS, values, -values)[exponent]
    short &= (length <= DIGITS) & (np.abs(power) <= POWER)
    power = np.clip(power, -POWER, POWER)
    scale = _POWERS[np.abs(power)]
    return np.where(power > 0, mantissa / scale, mantissa * scale), short


def _runs(
    digits: NDArray[np.uint8], digit: NDArray[np.bool_], at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the value and the length of runs of digits; the value of a long run is truncated."""
    values = digits[at].astype(np.int64)
    lengths = np.ones(len(at), np.int64)
    more = np.flatnonzero(digit[at + 1])
    for length in range(1, DIGITS + 1):
        if not len(more):
            break
        place = at[more] + length
        lengths[more] += 1
        if length < DIGITS:
            values[more] = values[more] * 10 + digits[place]
        more = more[digit[place + 1]]
    return values, lengths
