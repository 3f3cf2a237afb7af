"""Parse and validate JSON values; every problem is a ReadError."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from graph_net.results import NEVER, canonical
from graph_net.results.timing import SMALLEST
from graph_net.store.lines import ReadError

DEPTH = 24
"""Most levels of nested brackets; the deepest real schedule has 6."""
REPEATS = 1 << 16
TEXT = 1 << 16
HUGE = 1e300
LATEST = 253_402_300_799
"""The last second of the year 9999, the latest that a date can represent."""


def _refuse(name: str) -> NoReturn:
    raise ReadError(f"{name} is not a number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def from_text(data: bytes) -> Any:
    """Return the value of JSON text."""
    try:
        return _DECODER.decode(data.decode())
    except UnicodeDecodeError as error:
        raise ReadError(f"not UTF-8: {error.reason}") from error
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise ReadError(f"not JSON: {what} at character {error.pos}") from error
    except RecursionError as error:
        raise ReadError(f"more than {DEPTH} brackets within brackets") from error
    except ReadError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise ReadError(f"not JSON: {str(error)[:80]}") from error


def to_text(value: Any) -> str:
    """Return a value as canonical JSON text."""
    if not _shallow(value):
        raise ReadError(f"more than {DEPTH} brackets within brackets")
    try:
        return canonical(value)
    except ValueError as error:
        raise ReadError("a number that is not finite") from error


def _shallow(value: Any) -> bool:
    """Return whether nesting is within DEPTH; fast, because it is called millions of times."""
    level = [value] if isinstance(value, (list, dict)) else []
    for _ in range(DEPTH):
        if not level:
            break
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (list, dict))
        ]
    return not level


def expect(holds: bool, what: str) -> None:
    """Raise ReadError unless a condition holds; ``what`` names what was expected."""
    if not holds:
        raise ReadError(f"expected {what}")


def text(value: Any, what: str) -> str:
    """Return a string that can be stored."""
    expect(isinstance(value, str) and len(value) <= TEXT, f"{what}, a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ReadError(f"expected {what}, a text of whole characters") from error
    assert isinstance(value, str)
    return value


def items(value: Any, what: str, *counts: int) -> list[Any]:
    """Return a list; if ``counts`` are given, its length must be one of them."""
    expect(isinstance(value, list), f"{what}, a list")
    if counts:
        expect(len(value) in counts, f"{what}, of {' or '.join(map(str, counts))} items")
    assert isinstance(value, list)
    return value


def fields(value: Any, what: str) -> dict[str, Any]:
    """Return an object."""
    expect(isinstance(value, dict), f"{what}, an object")
    assert isinstance(value, dict)
    return value


def whole(value: Any, what: str, most: int) -> int:
    """Return an integer from 0 to ``most``."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
    expect(good, f"{what}, a whole number from 0 to {most}")
    assert isinstance(value, int)
    return value


def number(value: Any, what: str, most: float = HUGE) -> float:
    """Return a finite number from 0 to ``most``."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    good = good and 0 <= value <= most and math.isfinite(value)
    expect(good, f"{what}, a number from 0 to {most:g}")
    return float(value)


def date(value: Any) -> float:
    """Return seconds since 1970."""
    return number(value, "a time stamp", LATEST)


def costs(value: Any) -> tuple[float, ...]:
    """Return the repeats of a measurement in seconds; a tuner's mark for "no time" is allowed."""
    repeats = items(value, "costs")
    expect(0 < len(repeats) <= REPEATS, f"1 to {REPEATS} costs")
    return tuple(number(repeat, "a cost", HUGE) for repeat in repeats)


def times(value: Any) -> tuple[float, ...]:
    """Return the costs of a program that ran."""
    found = costs(value)
    for cost in found:
        good = SMALLEST <= cost < NEVER
        expect(good, f"a cost from {SMALLEST:g} and under {NEVER:g} seconds, not {cost:g}")
    return found
