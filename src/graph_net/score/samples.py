"""Samples: what a score is made of, one by one and as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_net.record import Record
from graph_net.score.family import family_of
from graph_net.score.faults import Fault, fault_of_failure

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SLACK = 1e-4
"""Levels are found by bisection to within this much, so -4.99995 passes at -5."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One graph under one compiler: a speedup and the level it passes at, or a fault.

    A sample that is correct but was too noisy to time has a level and no speedup.
    """

    speedup: float | None
    t: float | None
    fault: Fault = Fault.NONE
    graph: str = ""
    family: str = ""
    category: str = ""

    def __post_init__(self) -> None:
        if self.fault is Fault.NONE and self.t is None:
            raise ValueError("a sample without a fault has a level")
        if self.speedup is not None and not 0 < self.speedup < math.inf:
            raise ValueError(f"a speedup is a positive number, not {self.speedup}")


@dataclass(frozen=True)
class Samples:
    """The samples of one curve as columns.

    ``t`` is infinite where there is a fault, ``log_speedup`` 0 where there is no speedup, ``timed``
    says where there is one. ``family`` numbers the clusters. ``blameless`` counts the records that
    are not among the samples, by symptom.
    """

    log_speedup: Floats
    timed: npt.NDArray[np.bool_]
    t: Floats
    fault: Ints
    family: Ints
    graph: npt.NDArray[Any]
    category: npt.NDArray[Any]
    families: Sequence[str] = ()
    blameless: dict[str, int] = field(default_factory=dict)
    broken: int = 0
    """Graphs among the samples that the compiler took in pieces, Python running the rest."""
    uncompiled: int = 0
    """Graphs of which nothing was compiled: the compiler left all of it to eager."""

    def __len__(self) -> int:
        return len(self.t)

    def take(self, chosen: npt.NDArray[Any]) -> Samples:
        """Some of the samples, by a mask or by positions."""
        return Samples(
            self.log_speedup[chosen], self.timed[chosen], self.t[chosen], self.fault[chosen],
            self.family[chosen], self.graph[chosen], self.category[chosen], self.families,
            self.blameless, self.broken, self.uncompiled,
        )  # fmt: skip

    def alone(self) -> Samples:
        """The samples, each a cluster of its own."""
        return replace(self, family=np.arange(len(self), dtype=np.int64))

    @property
    def too_noisy(self) -> int:
        """How many are correct and have no speedup."""
        return int(((self.fault == Fault.NONE) & ~self.timed).sum())

    @property
    def speedup(self) -> Floats:
        """The speedups, where there are any."""
        found: Floats = np.exp(self.log_speedup[self.timed])
        return found


def columns(samples: Iterable[Sample], blameless: dict[str, int] | None = None) -> Samples:
    """Samples as columns."""
    rows = list(samples)
    logs = [0.0 if row.speedup is None else math.log(row.speedup) for row in rows]
    levels = [math.inf if row.fault is not Fault.NONE or row.t is None else row.t for row in rows]
    families, places = np.unique([row.family or row.graph for row in rows], return_inverse=True)
    return Samples(
        np.array(logs, np.float64),
        np.array([row.speedup is not None for row in rows], np.bool_),
        np.array(levels, np.float64),
        np.array([int(row.fault) for row in rows], np.int64),
        places.astype(np.int64),
        np.array([row.graph for row in rows], dtype=object),
        np.array([row.category for row in rows], dtype=object),
        [str(name) for name in families],
        dict(blameless or {}),
    )


def sample_of(record: Record, paired: bool = False) -> Sample | None:
    """The sample of a record; None where it is excluded from scores.

    The speedup is the ratio of the medians, as GraphNet's formula has it, or with ``paired`` the
    record's own, from samples that were taken side by side.
    """
    fault = fault_of_failure(record.failure)
    if fault is None:
        return None
    speedup = None
    if record.timing is not None and not record.too_noisy:
        eager, candidate = (np.median(arm.wall) for arm in (record.timing.eager,
                                                            record.timing.candidate))  # fmt: skip
        speedup = record.timing.speedup.value if paired else float(eager / candidate)
    subject = record.subject
    family = family_of(subject.library, subject.model or subject.name)
    return Sample(speedup, record.t, fault, subject.id, family, subject.category)
