"""A trial's result as TVM's tuners write it: ``[costs, error number, seconds, time stamp]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graph_net.programs.formats.values import costs, date, items, number, times, whole
from graph_net.results import Failure, Program, Stage, Symptom

FAILURES = {
    1: Failure(Stage.COMPILE, Symptom.EXCEPTION, "the schedule could not be applied"),
    2: Failure(Stage.COMPILE, Symptom.EXCEPTION, "host code did not compile"),
    3: Failure(Stage.COMPILE, Symptom.EXCEPTION, "device code did not compile"),
    4: Failure(Stage.FIRST_RUN, Symptom.EXCEPTION, "error while running"),
    5: Failure(Stage.VERIFY, Symptom.NUMERIC, "wrong answer"),
    6: Failure(Stage.COMPILE, Symptom.TIMEOUT, "building took too long"),
    7: Failure(Stage.FIRST_RUN, Symptom.TIMEOUT, "running took too long"),
    8: Failure(Stage.MEASURE, Symptom.EXCEPTION, "an unknown error"),
}
"""Stage and symptom of Ansor's and AutoTVM's error numbers."""
NUMBERS = {failure: number for number, failure in FAILURES.items()}
NO_TIME = 1e10


@dataclass(frozen=True)
class TrialOutcome:
    """The result of a trial."""

    costs: tuple[float, ...]
    failure: Failure | None
    seconds: float
    measured: float


def read_outcome(value: Any) -> TrialOutcome:
    """Validate a result: a success needs real times; the times of a failure are dropped."""
    found, error, seconds, stamp = items(value, "a result", 4)
    failure = FAILURES.get(whole(error, "an error number", max(FAILURES)))
    taken = times(found) if failure is None else costs(found) and ()
    return TrialOutcome(taken, failure, number(seconds, "the seconds of a trial"), date(stamp))


def outcome_json(program: Program) -> list[Any]:
    """Return the result of a program as tuners write it."""
    error = NUMBERS[program.failure] if program.failure else 0
    taken = list(program.costs) or [NO_TIME]
    return [taken, error, program.seconds or 0.0, _plain(program.measured or 0.0)]


def _plain(value: float) -> float | int:
    """Return whole seconds as an integer, as tuners write them."""
    return int(value) if value.is_integer() else value
