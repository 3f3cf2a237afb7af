"""Program: one point of a task's search space, and what measuring it gave.

A Record compares a candidate with eager, output by output; a tuner's log knows neither, only times
or an error. So a program is a noun of its own, with the same words for what went wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from graph_net.results.canonical import RecordError, digest
from graph_net.results.record import Failure

NEVER = 1e9
"""Seconds. Tuners write 1e9 or 1e10 for a program that has no time: no cost is that long."""


@dataclass(frozen=True)
class Task:
    """What programs compute, and for what target, as their file names it."""

    format: str
    workload: str
    kernel: str = ""
    target: str = ""
    details: str = ""
    """What else the file says of the task: JSON."""

    @cached_property
    def hash(self) -> str:
        """Equal for the same workload and target in the same format."""
        return digest(self.format, self.workload, self.target)


@dataclass(frozen=True)
class Program:
    """A schedule of a task, and its measured costs (seconds, every repeat) or its failure."""

    task: Task
    schedule: str
    """Steps, trace or configuration: canonical JSON, never run."""
    costs: tuple[float, ...] = ()
    failure: Failure | None = None
    version: str = ""
    seconds: float | None = None
    """What building and measuring took."""
    measured: float | None = None
    """When: seconds since 1970."""
    extra: str = ""
    """What else the file says of the program: JSON."""

    def __post_init__(self) -> None:
        if not self.task.workload or not self.schedule:
            raise RecordError("a program has a workload and a schedule")
        if (self.failure is None) != bool(self.costs):
            raise RecordError("a program has either costs or a failure")
        if not all(0 < cost < NEVER for cost in self.costs):
            raise RecordError("a cost is a positive number of seconds")
        for value in (self.seconds, self.measured):
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise RecordError("a duration and a date are numbers, not negative")
