"""The defect that a record shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_net.results import BLAMELESS, MISMATCHES, Record, Stage, Symptom, Verdict

_EAGER = (Stage.LOAD, Stage.EAGER)
_FORMS = MISMATCHES - {Symptom.NUMERIC}
_VALUES = frozenset({Symptom.NUMERIC, Symptom.NON_FINITE})
LEVEL = -3.0
"""The default tolerance level, as in repro scripts."""


class Problem(StrEnum):
    """A kind of defect."""

    CRASH = "crash"
    """No result: the compiler raises, refuses, crashes, hangs or takes too much memory."""
    MISMATCH = "mismatch"
    """A result that differs from eager's."""
    SLOWER = "slower"
    """Slower than eager."""


@dataclass(frozen=True)
class Defect:
    """A problem as a record shows it; equal ones count as the same defect.

    ``detail`` must stay equal while a graph gets smaller: stage and symptom, the masked message of
    an exception, the signal of a crash, for a mismatch whether the form of an output is wrong or
    its values. A refusal lists operators and gets shorter with the graph: only its symptom counts.
    """

    problem: Problem
    detail: str = ""


def find_defect(record: Record, level: float = LEVEL) -> Defect | None:
    """Return the defect of a record, if any; outputs must pass at this tolerance level."""
    failure = record.failure
    if failure is None or record.too_noisy:
        if any(output.t is None or output.t > level for output in record.outputs):
            return Defect(Problem.MISMATCH, "values")
        timing = None if record.too_noisy else record.timing
        slower = timing is not None and timing.verdict is Verdict.SLOWER
        return Defect(Problem.SLOWER) if slower else None
    if failure.symptom in BLAMELESS or failure.stage in _EAGER:
        return None
    if failure.symptom in _VALUES:
        return Defect(Problem.MISMATCH, "values")
    if failure.symptom in _FORMS:
        return Defect(Problem.MISMATCH, failure.symptom)
    detail = f"{failure.stage} {failure.symptom}"
    if failure.symptom is Symptom.EXCEPTION:
        detail += f" {failure.signature}"
    if failure.signal is not None:
        detail += f" signal {failure.signal}"
    return Defect(Problem.CRASH, detail)
