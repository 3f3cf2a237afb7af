"""Samples, ratios with intervals, and the Timing of a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isnan

from graph_net.results.canonical import RecordError

SMALLEST, LARGEST = 1e-18, 1e18
"""Bounds of seconds and of their ratios: beyond them squares of ratios overflow."""


class Verdict(StrEnum):
    """The verdict of the samples on two functions."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True)
class Samples:
    """Every sample of one arm: seconds per call, in order."""

    wall: tuple[float, ...]
    inner: int = 1
    device: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.wall or self.inner < 1:
            raise RecordError("an arm needs at least one sample of at least one call")
        values = (*self.wall, *self.device)  # by min and max: there are hundreds in a record
        if isnan(sum(values)) or min(values) < SMALLEST or max(values) > LARGEST:
            raise RecordError(f"a sample is a number of seconds in {SMALLEST:g}..{LARGEST:g}")
        if self.device and len(self.device) != len(self.wall):
            raise RecordError("device and wall samples differ in number")


@dataclass(frozen=True)
class Interval:
    """A number with its confidence interval."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise RecordError(f"not an interval: {self.low} ≤ {self.value} ≤ {self.high}")

    def contains(self, number: float) -> bool:
        """Return whether a number lies within."""
        return self.low <= number <= self.high


@dataclass(frozen=True)
class Timing:
    """Interleaved samples of eager, eager again (the control) and the candidate.

    ``speedup`` is eager / candidate, ``control`` eager / eager: its spread is the noise floor.
    """

    eager: Samples
    control: Samples
    candidate: Samples
    speedup: Interval
    noise: Interval
    verdict: Verdict
    reason: str = ""
    device_speedup: Interval | None = None
    per_block: int = 4
    """Consecutive samples of an arm that form a block."""

    def __post_init__(self) -> None:
        if not len(self.eager.wall) == len(self.control.wall) == len(self.candidate.wall):
            raise RecordError("the arms of an interleaved timing differ in their number of samples")
        for ratio in filter(None, (self.speedup, self.noise, self.device_speedup)):
            if not SMALLEST <= ratio.low <= ratio.high <= LARGEST:
                raise RecordError(f"not an interval of ratios: {ratio.low} … {ratio.high}")
