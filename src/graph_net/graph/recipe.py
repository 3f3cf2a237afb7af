"""Recipes: a tensor's values as a few numbers instead of gigabytes.

A recipe is data. `graph_net.graph.tensors` turns one into values, given a name and a seed.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = int | float | bool | complex
SHRINK = 0.2
"""Normal values are drawn with this fraction of the recorded std, as GraphNet does, so that the
activations of deep graphs stay in range."""
_FLOAT_BITS = 1023


def _error(recipe: object, problem: str) -> ValueError:
    return ValueError(f"{type(recipe).__name__}: {problem}.")


def _check_real(recipe: object, *fields: str) -> None:
    for field in fields:
        value = getattr(recipe, field)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _error(recipe, f"{field} must be a real number, not {value!r}")
        if isinstance(value, int) and value.bit_length() > _FLOAT_BITS:
            raise _error(recipe, f"{field} is an integer too large for a float")


def _check_order(recipe: object, low: float, high: float) -> None:
    if low > high:
        raise _error(recipe, f"low {low!r} is above high {high!r}")


@dataclass(frozen=True, slots=True)
class Normal:
    """Values around a mean, from statistics recorded on a real tensor.

    A mean of None stands for 0, a std of None for 0.1. Recorded statistics may be NaN or
    infinite (the real tensor held such values), so they are accepted here.
    """

    mean: float | None
    std: float | None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        present = [field for field in self.__slots__ if getattr(self, field) is not None]
        _check_real(self, *present)
        if self.std is not None and self.std < 0:
            raise _error(self, f"std must not be negative, but is {self.std!r}")
        if self.low is not None and self.high is not None:
            _check_order(self, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Uniform:
    """Values spread evenly from low to high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_real(self, "low", "high")
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise _error(self, f"low {self.low!r} and high {self.high!r} must be finite")
        _check_order(self, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Integers:
    """Integers from low to high, both included, equally likely."""

    low: int
    high: int

    def __post_init__(self) -> None:
        for value in (self.low, self.high):
            if isinstance(value, bool) or not isinstance(value, int):
                raise _error(self, f"low and high must be integers, not {value!r}")
        _check_order(self, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """True with probability p."""

    p: float = 0.5

    def __post_init__(self) -> None:
        _check_real(self, "p")
        if not 0 <= self.p <= 1:
            raise _error(self, f"p must lie between 0 and 1, but is {self.p!r}")


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value everywhere."""

    value: Scalar

    def __post_init__(self) -> None:
        if not isinstance(self.value, (int, float, complex)):
            raise _error(self, f"value must be a number, not {self.value!r}")


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly these values, flat, in row-major order."""

    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.values, tuple):
            raise _error(self, f"values must be a tuple, not a {type(self.values).__name__}")
        for index, value in enumerate(self.values):
            if not isinstance(value, (int, float, complex)):
                raise _error(self, f"value {index} must be a number, not {value!r}")


Recipe: TypeAlias = Normal | Uniform | Integers | Bernoulli | Constant | Literal
