"""Measurer: gives a search the seconds of programs; one implementation replays data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol


class SearchError(ValueError):
    """A search that cannot be done: no program, no budget, or no measurement of a program."""


class Measurer(Protocol):
    """Builds and times programs of one task."""

    def measure(self, schedules: Sequence[str]) -> list[float]:
        """Return the seconds of each program; infinite for one that failed."""
        ...


class ReplayMeasurer:
    """Answers from earlier measurements; no device is needed."""

    def __init__(self, costs: Mapping[str, float]) -> None:
        if not any(map(math.isfinite, costs.values())):
            raise SearchError("none of the programs to replay ran")
        self.costs = costs

    @property
    def best(self) -> float:
        """The least cost of all programs."""
        return min(self.costs.values())

    def measure(self, schedules: Sequence[str]) -> list[float]:
        """Return the known costs; raise SearchError for a program that was never measured."""
        try:
            return [self.costs[schedule] for schedule in schedules]
        except KeyError as error:
            raise SearchError(f"no measurement of {str(error.args[0])[:200]}") from error
