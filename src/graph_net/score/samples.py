"""Samples that scores are computed from, one by one and as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from graph_net.results import EQUAL, Interval, Record
from graph_net.score.family import family_of
from graph_net.score.faults import Fault, fault_of_failure
from graph_net.score.student_t import z_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SLACK = 1e-4
"""Accuracy of the bisection that finds levels: -4.99995 passes at -5."""
MEASURED_AT = 0.99
"""The confidence of the intervals in records: that of the protocol."""


class Speedup(StrEnum):
    """The definition of a speedup: that of records, or that of GraphNet's logs."""

    PAIRED = "paired ratios"
    """The median over blocks of eager / candidate, of samples taken side by side (records)."""
    MEDIANS = "ratios of medians"
    """Median eager / median compiled, as GraphNet's formula has it (its logs)."""


@dataclass(frozen=True, slots=True)
class ScoredGraph:
    """One graph under one compiler: a speedup and the level it passes at, or a fault.

    A sample that is correct but was too noisy to time has a level and no speedup. ``doubt`` is the
    standard deviation of the speedup's logarithm from measuring alone: that of its interval, and
    the distance of eager from itself; 0 for a log. ``control`` is eager / eager of the same
    measurement.
    """

    speedup: float | None
    t: float | None
    fault: Fault = Fault.NONE
    graph: str = ""
    family: str = ""
    category: str = ""
    doubt: float = 0.0
    control: float | None = None
    control_doubt: float = 0.0

    def __post_init__(self) -> None:
        if self.fault is Fault.NONE and self.t is None:
            raise ValueError("a sample without a fault needs a level t")
        for ratio in (self.speedup, self.control):
            if ratio is not None and not 0 < ratio < math.inf:
                raise ValueError(f"a speedup must be positive and finite, not {ratio}")
        if not (0 <= self.doubt < math.inf and 0 <= self.control_doubt < math.inf):
            raise ValueError("a doubt is a standard deviation: it must be finite and ≥ 0")


@dataclass(frozen=True)
class ScoredGraphs:
    """The samples of one curve as columns.

    ``t`` is infinite for a fault, ``log_speedup`` 0 and ``timed`` false without a speedup,
    ``log_control`` NaN without a control. ``family`` numbers the clusters. ``blameless`` counts the
    records that are excluded, by symptom.
    """

    log_speedup: Floats
    timed: npt.NDArray[np.bool_]
    t: Floats
    fault: Ints
    family: Ints
    graph: npt.NDArray[Any]
    category: npt.NDArray[Any]
    doubt: Floats
    log_control: Floats
    control_doubt: Floats
    families: Sequence[str] = ()
    blameless: dict[str, int] = field(default_factory=dict)
    broken: int = 0
    """Graphs that the compiler took in pieces, with eager code between them."""
    uncompiled: int = 0
    """Graphs that the compiler left to eager as a whole."""
    speedups: Speedup = Speedup.PAIRED

    def __len__(self) -> int:
        return len(self.t)

    def take(self, chosen: npt.NDArray[Any]) -> ScoredGraphs:
        """Return some of the samples, by a mask or by positions."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in _COLUMNS})

    def alone(self) -> ScoredGraphs:
        """Return the samples, each a cluster of its own."""
        return replace(self, family=np.arange(len(self), dtype=np.int64))

    @property
    def untimed(self) -> npt.NDArray[np.bool_]:
        """Which samples are correct at some level and have no speedup."""
        return np.asarray((self.fault == Fault.NONE) & ~self.timed, np.bool_)

    @property
    def too_noisy(self) -> int:
        """The number of untimed samples."""
        return int(self.untimed.sum())

    @property
    def speedup(self) -> Floats:
        """The speedups of the timed samples."""
        speedups: Floats = np.exp(self.log_speedup[self.timed])
        return speedups


_COLUMNS = (
    "log_speedup timed t fault family graph category doubt log_control control_doubt"
).split()


def columns(
    samples: Iterable[ScoredGraph],
    blameless: dict[str, int] | None = None,
    speedups: Speedup = Speedup.PAIRED,
) -> ScoredGraphs:
    """Return samples as columns."""
    rows = list(samples)
    logs = [0.0 if row.speedup is None else math.log(row.speedup) for row in rows]
    levels = [math.inf if row.fault is not Fault.NONE or row.t is None else row.t for row in rows]
    families, family = np.unique([row.family or row.graph for row in rows], return_inverse=True)
    controls = [math.nan if row.control is None else math.log(row.control) for row in rows]
    return ScoredGraphs(
        np.array(logs, np.float64),
        np.array([row.speedup is not None for row in rows], np.bool_),
        np.array(levels, np.float64),
        np.array([int(row.fault) for row in rows], np.int64),
        family.astype(np.int64),
        np.array([row.graph for row in rows], dtype=object),
        np.array([row.category for row in rows], dtype=object),
        np.array([row.doubt for row in rows], np.float64),
        np.array(controls, np.float64),
        np.array([row.control_doubt for row in rows], np.float64),
        [str(name) for name in families],
        dict(blameless or {}),
        speedups=speedups,
    )


def sample_of(record: Record) -> ScoredGraph | None:
    """Return the sample of a record; None if it is excluded from scores."""
    fault = fault_of_failure(record.failure)
    if fault is None:
        return None
    subject, speedup = record.subject, record.speedup
    control = None if record.timing is None else record.timing.noise
    return ScoredGraph(
        None if speedup is None else speedup.value,
        record.t,
        fault,
        subject.id,
        family_of(subject.library, subject.model or subject.name),
        subject.category,
        0.0 if speedup is None or control is None else _doubt(speedup, control.value),
        None if control is None else control.value,
        0.0 if control is None else _doubt(control),
    )


def _doubt(ratio: Interval, control: float = 1.0) -> float:
    numbers = (ratio.value, ratio.low, ratio.high, control)
    return float(doubts_of(*(np.float64(number) for number in numbers)))


def doubts_of(value: Any, low: Any, high: Any, control: Any = 1.0) -> Any:
    """Return the standard deviations of the logarithms of ratios.

    They combine the wider sides of the intervals with the distance of the controls from 1.
    """
    with np.errstate(all="ignore"):
        own = np.log(np.maximum(high / value, value / low)) / z_of(MEASURED_AT)
        return np.hypot(own, np.log(control))


def control_of(curves: Iterable[ScoredGraphs]) -> ScoredGraphs | None:
    """Return eager against itself as a curve; None for logs, which have no control.

    Nothing changed between the two, so its distance from a score of 1 is noise.
    """
    controls = [_control(curve) for curve in curves]
    controls = [control for control in controls if len(control)]
    return _join(controls) if controls else None


def _control(samples: ScoredGraphs) -> ScoredGraphs:
    controlled = samples.take(np.isfinite(samples.log_control))
    count = len(controlled)
    return replace(
        controlled,
        log_speedup=controlled.log_control,
        timed=np.ones(count, np.bool_),
        t=np.full(count, EQUAL),
        fault=np.zeros(count, np.int64),
        doubt=controlled.control_doubt,
        blameless={},
    )


def _join(parts: Sequence[ScoredGraphs]) -> ScoredGraphs:
    """Concatenate curves and renumber their families by name."""
    names = np.concatenate([np.array(part.families, dtype=object)[part.family] for part in parts])
    families, family = np.unique(names.astype(str), return_inverse=True)
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS
    }
    joined |= {"family": family.astype(np.int64), "families": [str(name) for name in families]}
    return replace(parts[0], **joined)
