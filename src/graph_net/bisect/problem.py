"""What is wrong in a record, and whether two records show the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graph_net.results import BLAMELESS, MISMATCHES, Record, Stage, Symptom, Verdict

_EAGER = (Stage.LOAD, Stage.EAGER)
_FORMS = MISMATCHES - {Symptom.NUMERIC}
_VALUES = frozenset({Symptom.NUMERIC, Symptom.NON_FINITE})
LEVEL = -3.0
"""The tolerance level that repro scripts compare at, too, where none is said."""


class Problem(StrEnum):
    """What a compiler can do wrong."""

    CRASH = "crash"
    """It gives no result: it raises, refuses, dies, hangs or takes too much memory."""
    MISMATCH = "mismatch"
    """It gives another result."""
    SLOWER = "slower"
    """It gives it later than eager."""


@dataclass(frozen=True)
class Defect:
    """A problem as a record shows it; equal ones are taken for the same defect.

    ``detail`` is what must stay equal while a graph gets smaller: the stage and the symptom, of an
    exception its masked message, of a crash its signal, of a mismatch whether the form of an
    output is wrong or its values. What is refused is a list of operators and gets shorter with the
    graph, so of that the symptom is all.
    """

    problem: Problem
    detail: str = ""


def find_defect(record: Record, level: float = LEVEL) -> Defect | None:
    """What is wrong in a record, if anything is; outputs must pass at this tolerance level."""
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
    words = [str(failure.stage), str(failure.symptom)]
    if failure.symptom is Symptom.EXCEPTION:
        words.append(failure.signature)
    if failure.signal is not None:
        words.append(f"signal {failure.signal}")
    return Defect(Problem.CRASH, " ".join(words))
