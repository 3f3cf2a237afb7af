"""Program: one point of a task's search space, and what measuring it gave.

The point is a schedule; of TpuGraphs' files, a layout for each node or a tile size.

A program is a measurement too, made of the Config, Samples, Failure and Device of a Record. A
tuner's log has no eager runs and no outputs, so these fields are absent, as is anything else that
the log does not state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from graph_net.results.canonical import RecordError, digest
from graph_net.results.config import Config, ConfigKind
from graph_net.results.device import Device
from graph_net.results.failure import Failure
from graph_net.results.timing import Samples

NEVER = 1e9
"""Seconds. Tuners write 1e9 or 1e10 for a program that has no time; every real cost is less."""
SCHEDULE = "schedule"
"""The option of a program's configuration that holds the schedule."""
KINDS = {
    "tpugraphs_layout": ConfigKind.LAYOUT,
    "tpugraphs_tile": ConfigKind.TILE,
    "eager_layout": ConfigKind.LAYOUT,
}
"""The kind of the configurations of a task's programs, by format; schedules for all others."""


@dataclass(frozen=True)
class Task:
    """What programs compute, and for what target, as their file names it."""

    format: str
    workload: str
    kernel: str = ""
    target: str = ""
    details: str = ""
    """Anything else the file says about the task, as JSON."""

    @cached_property
    def hash(self) -> str:
        """Equal for the same workload and target in the same format."""
        return digest(self.format, self.workload, self.target)

    @property
    def kind(self) -> ConfigKind:
        """The kind of its programs' configurations."""
        return KINDS.get(self.format, ConfigKind.SCHEDULE)


@dataclass(frozen=True)
class Program:
    """A task under one schedule, and its samples or its failure.

    ``device`` is None where no complete fingerprint was recorded. A name alone, as ``--device``
    gives one, is a label of the stored file and not a Device.
    """

    task: Task
    config: Config
    """Of the task's kind: the format of the task, its version, and the schedule."""
    samples: Samples | None = None
    """The seconds of every repeat; None for a failure."""
    failure: Failure | None = None
    device: Device | None = None
    seconds: float | None = None
    """Seconds that building and measuring took."""
    measured: float | None = None
    """When it was measured: seconds since 1970."""
    extra: str = ""
    """Anything else the file says about the program, as JSON."""

    def __post_init__(self) -> None:
        config = self.config
        if config.kind is not self.task.kind or config.name != self.task.format:
            raise RecordError(
                f"the configuration of a program is a {self.task.kind} of its task's format, "
                f"{self.task.format}, not a {config.kind} of {config.name}"
            )
        schedule = config.options.get(SCHEDULE)
        if not self.task.workload or not schedule or not isinstance(schedule, str):
            raise RecordError("a program has a workload and a schedule")
        if (self.failure is None) != (self.samples is not None):
            raise RecordError("a program has either costs or a failure")
        if self.samples is not None and max(self.samples.wall) >= NEVER:
            raise RecordError(f"a cost is under {NEVER:g} seconds")
        for value in (self.seconds, self.measured):
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise RecordError("a duration and a date must be finite numbers and not negative")

    @classmethod
    def from_log(
        cls,
        task: Task,
        schedule: str,
        costs: tuple[float, ...] = (),
        failure: Failure | None = None,
        version: str = "",
        seconds: float | None = None,
        measured: float | None = None,
        extra: str = "",
        device: Device | None = None,
    ) -> Program:
        """Return the program that a line of a tuner's log describes."""
        config = Config(task.kind, task.format, version, {SCHEDULE: schedule})
        samples = Samples(costs) if costs else None
        return cls(task, config, samples, failure, device, seconds, measured, extra)

    @property
    def schedule(self) -> str:
        """Steps, trace or configuration: canonical JSON, never run."""
        return str(self.config.options[SCHEDULE])

    @property
    def costs(self) -> tuple[float, ...]:
        """The seconds of every repeat; none for a failure."""
        return () if self.samples is None else self.samples.wall

    @property
    def version(self) -> str:
        """The version of the format."""
        return self.config.version
