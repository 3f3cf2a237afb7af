"""A wrong result stays wrong on a noisy machine, and a right one stays right."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graph_net.graph import from_bytes
from graph_net.measure.audit import Audit, AuditAnswer, Mark, follow_up
from graph_net.measure.audit_answer import batches_of
from graph_net.measure.audit_judge import judge_record
from graph_net.results import Failure, Record, Stage, Symptom, to_json
from graph_net.score import sample_of
from graph_net.score.faults import Fault
from graph_net.testing.models import graph_of
from measure.asking import QUICK, measured, mine, task

NOISY = replace(QUICK, noise_limit=-1.0)
"""Under this protocol every machine is too noisy."""


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    names = ("Faithful", "Halves", "Wrong", "WrongLater", "ZeroLater")
    found = measured(task(mine(name), protocol=NOISY) for name in names)
    return {record.config.name.rpartition(":")[2]: record for record in found}


def test_what_is_right_counts_as_right_without_a_speedup(records: dict[str, Record]) -> None:
    record = records["Faithful"]
    assert record.too_noisy
    assert record.failure is not None
    assert record.failure.message.startswith("eager differs from itself by ")
    sample = sample_of(record)
    assert sample is not None
    assert (sample.fault, sample.speedup, sample.t) == (Fault.NONE, None, -64.0)


def test_the_parent_checks_outputs_of_noisy_measurements_too(records: dict[str, Record]) -> None:
    assert records["Faithful"].environment["checked_by_parent"] == 4


def test_halved_outputs_have_the_level_they_have(records: dict[str, Record]) -> None:
    sample = sample_of(records["Halves"])
    assert sample is not None
    assert sample.t is not None
    assert sample.t > -1


@pytest.mark.parametrize("name", ["Wrong", "WrongLater", "ZeroLater"])
def test_a_mismatch_is_a_mismatch(name: str, records: dict[str, Record]) -> None:
    failure = records[name].failure
    assert failure is not None
    assert (failure.stage, failure.symptom) == (Stage.VERIFY, Symptom.NUMERIC)


def test_a_worker_that_calls_itself_noisy_is_checked_like_a_success(tmp_path: Path) -> None:
    asked = task("eager", protocol=NOISY)
    (record,) = measured([asked])
    data = to_json(record).encode()
    audit = follow_up(asked, data, AuditAnswer(), None)
    assert isinstance(audit, Audit)
    told = judge_record(audit, record, tmp_path)
    assert told.failure is not None
    assert told.failure.symptom is Symptom.IMPOSSIBLE
    assert from_bytes(asked.graph).id == record.subject.id


@pytest.mark.parametrize(
    ("eager", "symptom"), [(100.0, Symptom.TOO_NOISY), (0.0, Symptom.IMPOSSIBLE)]
)
def test_slow_batches_refute_a_time_unless_eager_was_slow_too(
    eager: float, symptom: Symptom, tmp_path: Path
) -> None:
    """On a machine that is far too busy, threads that wait for each other use CPU time."""
    asked = task("eager", graph_of(Noise(), (torch.randn(8),)))
    (record,) = measured([asked])
    assert record.failure is None
    assert record.timing is not None
    graph = from_bytes(asked.graph)
    batches = batches_of(graph, range(len(graph.inputs)), record.timing, asked.protocol)
    usual = statistics.median(record.timing.eager.wall) * batches.eager
    answer = AuditAnswer(outputs=b"")
    clock = 0.0
    for _ in range(batches.pairs):
        for arm, seconds in (("eager", usual + eager), ("candidate", 100.0)):
            answer.marks.append(Mark(f"{arm} begins", clock, clock))
            clock += seconds
            answer.marks.append(Mark(f"{arm} ends", clock, clock))
    audit = follow_up(asked, to_json(record).encode(), answer, None)
    assert isinstance(audit, Audit)
    failure = judge_record(audit, record, tmp_path).failure
    assert failure is not None
    assert failure.symptom is symptom, failure.message


class Noise(torch.nn.Module):
    """Its outputs cannot be compared: they are drawn."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x)


def test_other_failures_have_nothing_to_check() -> None:
    asked = task("eager")
    crash = asked.failed(Failure(Stage.COMPILE, Symptom.CRASH, "died", signal=11))
    assert follow_up(asked, to_json(crash).encode(), None, None) is None
