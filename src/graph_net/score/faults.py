"""Faults of samples, and from which tolerance level on each is tolerated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from graph_net.results import BLAMELESS, Failure, Stage, Symptom


class Fault(IntEnum):
    """Why a sample is not correct; NONE where outputs were compared and pass at some level."""

    NONE = 0
    ACCURACY = 1
    NON_FINITE = 2
    MISMATCH = 3
    RUNTIME = 4
    COMPILE = 5
    EAGER = 6


@dataclass(frozen=True)
class Interpretation:
    """The positive t from which on each fault is tolerated, that is, counted as a speedup of 1.

    A success that passes only above t = 1 is an accuracy fault.
    """

    name: str
    tolerated_from: Mapping[Fault, float]

    def levels(self) -> list[float]:
        """Return the level of each fault, in the order of Fault; infinite if never tolerated."""
        accuracy = self.tolerated_from[Fault.ACCURACY]
        return [self.tolerated_from.get(fault, accuracy) for fault in Fault]


def _interpretation(
    name: str, mismatch: float, runtime: float, compiling: float, eager: float, finite: float = 1
) -> Interpretation:
    levels = {
        Fault.ACCURACY: 1.0,
        Fault.NON_FINITE: float(finite),
        Fault.MISMATCH: float(mismatch),
        Fault.RUNTIME: float(runtime),
        Fault.COMPILE: float(compiling),
        Fault.EAGER: float(eager),
    }
    return Interpretation(name, MappingProxyType(levels))


# GraphNet's scorer tolerates eager failures with the failures at run time, as the stored result of
# its own log shows. Its parser reads a NaN as an accuracy fault.
DEFAULT = _interpretation("default", mismatch=3, runtime=3, compiling=3, eager=3)
PAPER = _interpretation("paper", mismatch=2, runtime=2, compiling=3, eager=2)
MISMATCH_EXTENDED = _interpretation(
    "mismatch_extended", mismatch=2, runtime=3, compiling=4, eager=math.inf, finite=2
)
INTERPRETATIONS = MappingProxyType({i.name: i for i in (DEFAULT, PAPER, MISMATCH_EXTENDED)})


def find_interpretation(name: str) -> Interpretation:
    """Return the interpretation with this name."""
    if name not in INTERPRETATIONS:
        names = ", ".join(INTERPRETATIONS)
        raise ValueError(f"unknown interpretation {name!r}; available: {names}")
    return INTERPRETATIONS[name]


_OF_SYMPTOM = {
    Symptom.NUMERIC: Fault.ACCURACY,
    Symptom.NON_FINITE: Fault.NON_FINITE,
    Symptom.STRUCTURE: Fault.MISMATCH,
    Symptom.SHAPE: Fault.MISMATCH,
    Symptom.DTYPE: Fault.MISMATCH,
}
_OF_STAGE = {Stage.LOAD: Fault.EAGER, Stage.EAGER: Fault.EAGER, Stage.COMPILE: Fault.COMPILE}


def fault_of(stage: Stage, symptom: Symptom) -> Fault | None:
    """Return the fault that a failure counts as; None if it is excluded from scores.

    Noise is not a fault: the outputs were compared before, and count by their level.
    """
    if symptom in BLAMELESS:
        return None
    if symptom is Symptom.TOO_NOISY:
        return Fault.NONE
    return _OF_SYMPTOM.get(symptom) or _OF_STAGE.get(stage, Fault.RUNTIME)


def fault_of_failure(failure: Failure | None) -> Fault | None:
    """Return the fault of a record's failure; NONE without one."""
    return Fault.NONE if failure is None else fault_of(failure.stage, failure.symptom)
