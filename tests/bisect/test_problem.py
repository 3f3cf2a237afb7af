"""What counts as a problem in a record, and what as the same one."""

from __future__ import annotations

import pytest

from graph_net.bisect import Problem, Shown, shown
from graph_net.bisect.run import troubled
from graph_net.record import Config, Device, Failure, Record, Stage, Subject, Symptom

DEVICE = Device("cpu", "some", 1, 1, 1 << 30, "Linux", "3.11")


def failed(stage: Stage, symptom: Symptom, words: str = "Error: no", **more: int) -> Record:
    failure = Failure(stage, symptom, words, words, **more)
    config = Config("compiler", "inductor", "1", {"mode": "default"})
    return Record(Subject("id", "structure", "name"), config, DEVICE, "p", failure)


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (failed(Stage.EAGER, Symptom.EXCEPTION), None),
        (failed(Stage.COMPILE, Symptom.INFRASTRUCTURE), None),
        (failed(Stage.VERIFY, Symptom.NONDETERMINISTIC), None),
        (
            failed(Stage.COMPILE, Symptom.EXCEPTION),
            Shown(Problem.CRASH, "compile exception Error: no"),
        ),
        (
            failed(Stage.FIRST_RUN, Symptom.CRASH, signal=11),
            Shown(Problem.CRASH, "first_run crash signal 11"),
        ),
        (
            failed(Stage.COMPILE, Symptom.UNSUPPORTED, "a, b"),
            Shown(Problem.CRASH, "compile unsupported"),
        ),
        (failed(Stage.VERIFY, Symptom.NUMERIC), Shown(Problem.MISMATCH, "values")),
        (failed(Stage.VERIFY, Symptom.NON_FINITE), Shown(Problem.MISMATCH, "values")),
        (failed(Stage.VERIFY, Symptom.SHAPE), Shown(Problem.MISMATCH, "shape_mismatch")),
    ],
)
def test_what_a_record_shows(record: Record, wanted: Shown | None) -> None:
    assert shown(record) == wanted


def test_records_are_chosen_by_problem_and_compiler() -> None:
    crash = failed(Stage.COMPILE, Symptom.EXCEPTION)
    wrong = failed(Stage.VERIFY, Symptom.NUMERIC)
    fine = failed(Stage.EAGER, Symptom.EXCEPTION)
    every = [crash, wrong, fine]
    assert troubled(every, None, -3.0) == [crash, wrong]
    assert troubled(every, Problem.MISMATCH, -3.0) == [wrong]
    assert troubled(every, None, -3.0, Config("compiler", "inductor")) == [crash, wrong]
    default = Config("compiler", "inductor", "", {"mode": "default"})
    assert troubled(every, None, -3.0, default) == [crash, wrong]
    other = Config("compiler", "inductor", "", {"mode": "max-autotune"})
    assert troubled(every, None, -3.0, other) == []
    assert troubled(every, None, -3.0, Config("compiler", "tvm")) == []
