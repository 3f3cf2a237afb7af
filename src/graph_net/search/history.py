"""SearchHistory: the programs a search has measured, in order, and the best of them so far."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from graph_net.search.measurer import SearchError


class SearchHistory:
    """Measured programs; a program that is timed again has the mean of its times."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}
        self._curve: list[float] = []

    def add(self, schedule: str, seconds: float) -> None:
        """Add a measurement; a program that failed once stays failed."""
        if not seconds > 0:
            raise SearchError(f"{seconds} is not a positive number of seconds")
        self._times.setdefault(schedule, []).append(seconds)
        self._curve.append(self.best_seconds)

    def __len__(self) -> int:
        """Return how many measurements were made; timing a program again counts."""
        return len(self._curve)

    def __contains__(self, schedule: str) -> bool:
        return schedule in self._times

    def __iter__(self) -> Iterator[str]:
        """Yield the measured programs in order of their first measurement."""
        return iter(self._times)

    @property
    def programs(self) -> int:
        """How many distinct programs were measured."""
        return len(self._times)

    def seconds(self, schedule: str) -> float:
        """Return the mean of a program's times."""
        return fmean(self._times[schedule])

    def times(self, schedule: str) -> int:
        """Return how often a program was measured."""
        return len(self._times.get(schedule, ()))

    def fastest(self, count: int) -> list[str]:
        """Return the fastest programs that ran, best first; ties by order of measurement."""
        ran = [schedule for schedule in self if math.isfinite(self.seconds(schedule))]
        return sorted(ran, key=self.seconds)[:count]

    @property
    def best(self) -> str | None:
        """The incumbent: the fastest program so far; None if none has run."""
        return next(iter(self.fastest(1)), None)

    @property
    def best_seconds(self) -> float:
        """Seconds of the incumbent; infinite if none has run."""
        return min(map(self.seconds, self._times), default=math.inf)

    @property
    def curve(self) -> tuple[float, ...]:
        """Seconds of the incumbent after each measurement."""
        return tuple(self._curve)

    def measurements_to(self, seconds: float) -> int | None:
        """Return how many measurements it took to reach ``seconds``; None if never."""
        for count, best in enumerate(self._curve, 1):
            if best <= seconds:
                return count
        return None
