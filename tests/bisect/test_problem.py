"""What counts as a problem in a record, and what as the same one."""

from __future__ import annotations

import pytest

from graph_net.bisect import Defect, Problem, find_defect
from graph_net.bisect.run import select_troubled
from graph_net.results import Config, ConfigKind, Device, Failure, Record, Stage, Subject, Symptom

DEVICE = Device("cpu", "some", 1, 1, 1 << 30, "Linux", "3.11")


def failed(stage: Stage, symptom: Symptom, words: str = "Error: no", **more: int) -> Record:
    failure = Failure(stage, symptom, words, words, **more)
    config = Config(ConfigKind.COMPILER, "inductor", "1", {"mode": "default"})
    return Record(Subject("id", "structure", "name"), config, DEVICE, "p", failure)


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (failed(Stage.EAGER, Symptom.EXCEPTION), None),
        (failed(Stage.COMPILE, Symptom.INFRASTRUCTURE), None),
        (failed(Stage.VERIFY, Symptom.NONDETERMINISTIC), None),
        (
            failed(Stage.COMPILE, Symptom.EXCEPTION),
            Defect(Problem.CRASH, "compile exception Error: no"),
        ),
        (
            failed(Stage.FIRST_RUN, Symptom.CRASH, signal=11),
            Defect(Problem.CRASH, "first_run crash signal 11"),
        ),
        (
            failed(Stage.COMPILE, Symptom.UNSUPPORTED, "a, b"),
            Defect(Problem.CRASH, "compile unsupported"),
        ),
        (failed(Stage.VERIFY, Symptom.NUMERIC), Defect(Problem.MISMATCH, "values")),
        (failed(Stage.VERIFY, Symptom.NON_FINITE), Defect(Problem.MISMATCH, "values")),
        (failed(Stage.VERIFY, Symptom.SHAPE), Defect(Problem.MISMATCH, "shape_mismatch")),
    ],
)
def test_what_a_record_shows(record: Record, wanted: Defect | None) -> None:
    assert find_defect(record) == wanted


def test_records_are_chosen_by_problem_and_compiler() -> None:
    crash = failed(Stage.COMPILE, Symptom.EXCEPTION)
    wrong = failed(Stage.VERIFY, Symptom.NUMERIC)
    fine = failed(Stage.EAGER, Symptom.EXCEPTION)
    every = [crash, wrong, fine]
    assert select_troubled(every, None, -3.0) == [crash, wrong]
    assert select_troubled(every, Problem.MISMATCH, -3.0) == [wrong]
    assert select_troubled(every, None, -3.0, Config(ConfigKind.COMPILER, "inductor")) == [
        crash,
        wrong,
    ]
    default = Config(ConfigKind.COMPILER, "inductor", "", {"mode": "default"})
    assert select_troubled(every, None, -3.0, default) == [crash, wrong]
    other = Config(ConfigKind.COMPILER, "inductor", "", {"mode": "max-autotune"})
    assert select_troubled(every, None, -3.0, other) == []
    assert select_troubled(every, None, -3.0, Config(ConfigKind.COMPILER, "tvm")) == []
