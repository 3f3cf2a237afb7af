"""Decimal numbers as integers: six printed digits take two bytes, not eight.

The repeats of one measurement are close together. In units of their last digit they are integers.
Stored are their sum, which gives the mean, and the distance of each but the last from the mean. A
row that cannot be restored exactly (binary fractions, seventeen digits) is flagged and stored
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIGITS = (6, 9)
"""Numbers of significant digits to try; C++ prints six."""
UNITS = 22
"""10^22 is the largest power of ten that is a double, so a quotient by it is rounded once."""
_POWERS = np.array([10.0**power for power in range(UNITS + 1)])
WHOLE, FAR = 2.0**53, 2**31


@dataclass(frozen=True)
class Decimals:
    """Rows of decimal numbers; a row that is not ``exact`` has zeros here."""

    exact: NDArray[np.bool_]
    units: NDArray[np.int8]
    """A row's numbers are integers divided by ten to this power."""
    totals: NDArray[np.int64]
    spread: NDArray[np.uint32]
    """Distance of each number from its row's mean rounded down, without the last number of a row.
    Zigzag: twice the distance if above the mean, twice the distance less one if below.
    """


def decimals(values: NDArray[np.float64], counts: NDArray[np.int64]) -> Decimals:
    """Encode rows of ``counts`` numbers each, none negative; an empty row is exact."""
    rows = np.flatnonzero(counts)
    starts, sizes = (np.cumsum(counts) - counts)[rows], counts[rows]
    exact = counts == 0
    units, totals = np.zeros(len(counts), np.int8), np.zeros(len(counts), np.int64)
    away = np.zeros(len(values), np.int64)
    for digits in DIGITS if len(rows) else ():
        unit = _units(np.minimum.reduceat(values, starts), digits)
        powers = np.repeat(_POWERS[unit], sizes)
        with np.errstate(over="ignore"):
            scaled = np.rint(values * powers)
        fits = (scaled / powers == values) & (scaled < WHOLE)
        whole = np.where(fits, scaled, 0).astype(np.int64)
        total = np.add.reduceat(whole, starts)
        far = whole - np.repeat(total // sizes, sizes)
        fits &= np.abs(far) < FAR
        new = np.logical_and.reduceat(fits, starts) & (total < WHOLE) & ~exact[rows]
        units[rows[new]], totals[rows[new]], exact[rows[new]] = unit[new], total[new], True
        away = np.where(np.repeat(new, sizes), far, away)
    last = np.zeros(len(values), bool)
    last[starts + sizes - 1] = True
    kept = away[~last]
    return Decimals(exact, units, totals, np.where(kept < 0, -2 * kept - 1, 2 * kept).astype("u4"))


def _units(least: NDArray[np.float64], digits: int) -> NDArray[np.int8]:
    """Return the power of ten that makes numbers of this many digits integers."""
    size = np.floor(np.log10(np.where(least > 0, least, 1.0)))
    return np.asarray(np.clip(digits - 1 - size, 0, UNITS), np.int8)
