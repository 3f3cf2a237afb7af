"""Stage, Symptom and Failure: where and how a measurement ended early."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_net.results.canonical import RecordError


class Stage(StrEnum):
    """How far a measurement had come."""

    LOAD = "load"
    EAGER = "eager"
    COMPILE = "compile"
    FIRST_RUN = "first_run"
    VERIFY = "verify"
    MEASURE = "measure"


class Symptom(StrEnum):
    """What went wrong."""

    EXCEPTION = "exception"
    UNSUPPORTED = "unsupported"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    STRUCTURE = "structure_mismatch"
    SHAPE = "shape_mismatch"
    DTYPE = "dtype_mismatch"
    NUMERIC = "numeric_mismatch"
    NON_FINITE = "non_finite"
    NONDETERMINISTIC = "nondeterministic_reference"
    IMPOSSIBLE = "impossible"
    TOO_NOISY = "too_noisy"
    INFRASTRUCTURE = "infrastructure"


RETRIED = frozenset({Symptom.TOO_NOISY, Symptom.INFRASTRUCTURE})
"""Symptoms that a resumed run measures again."""
BLAMELESS = frozenset({Symptom.INFRASTRUCTURE, Symptom.NONDETERMINISTIC})
"""Excluded from scores: they say nothing about the compiler.

TOO_NOISY is not among them. The outputs of such a record were compared and pass; only its speedup
is withheld.
"""
MISMATCHES = frozenset({Symptom.STRUCTURE, Symptom.SHAPE, Symptom.DTYPE, Symptom.NUMERIC})
FOUND_BY_COMPARING = MISMATCHES | {Symptom.NON_FINITE, Symptom.NONDETERMINISTIC}
"""Symptoms that only a comparison of outputs can show."""


@dataclass(frozen=True)
class Failure:
    """Where and how a measurement ended early; ``signature`` is the message, masked."""

    stage: Stage
    symptom: Symptom
    message: str
    signature: str = ""
    signal: int | None = None

    def __post_init__(self) -> None:
        if not self.message:
            raise RecordError("a failure says what happened")
        if (self.symptom is Symptom.CRASH) != (self.signal is not None):
            raise RecordError("a crash has a signal, and nothing else has")
        if self.signal is not None and not 0 < self.signal < 128:
            raise RecordError(f"no signal has the number {self.signal}")
