"""Graphs validated in processes that may die of it."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

import pytest

from graph_net.graph import Graph
from graph_net.isolate import Finished, Limits
from graph_net.rewrite.lower import to_aten
from graph_net.testing.models import case_graph
from graph_net.validate.pool import ValidationItem, _verdict_of, validate_all
from graph_net.validate.report import Requirement, ValidationReport


def good() -> Graph:
    return to_aten(case_graph("experts"))


def crash() -> Graph:
    os.kill(os.getpid(), signal.SIGUSR2)
    return good()


def sleep() -> Graph:
    time.sleep(60)
    return good()


def refuse() -> Graph:
    raise ValueError("not today")


def by_name(*tasks: ValidationItem, seconds: int = 60) -> dict[str, ValidationReport]:
    return {v.name: v for v in validate_all(tasks, 2, Limits.of(seconds, 8.0))}


def test_one_that_crashes_does_not_end_the_others() -> None:
    found = by_name(
        ValidationItem("a", good),
        ValidationItem("b", crash),
        ValidationItem("c", refuse),
        ValidationItem("d", good),
    )
    assert {name: verdict.ok for name, verdict in found.items()} == {
        "a": True,
        "b": False,
        "c": False,
        "d": True,
    }
    assert {f.requirement for f in found["b"].failures} == set(Requirement)
    assert "died of SIGUSR2" in found["b"].failures[0].reason
    assert "not today" in found["c"].failures[0].reason


def test_one_that_takes_too_long_is_stopped() -> None:
    found = by_name(ValidationItem("slow", sleep), seconds=1)
    assert "took more than 1 s" in found["slow"].failures[0].reason


def test_what_was_found_before_a_crash_is_kept() -> None:
    def load(graph: Graph) -> Graph:
        # The recipe of an input is drawn only when the graph is run on values.
        import graph_net.validate.checks as checks

        checks.make_inputs = lambda graph: os.kill(os.getpid(), signal.SIGUSR2)  # type: ignore[attr-defined, misc, assignment]
        return graph

    verdict = by_name(ValidationItem("late", partial(load, good())))["late"]
    failed = {finding.requirement for finding in verdict.failures}
    assert failed == {Requirement.RUNNABLE, Requirement.SERIALISABLE, Requirement.DECOMPOSABLE}
    assert verdict.structure == good().structure


@pytest.mark.parametrize("answer", [7, {}, {"name": "other"}, [1]])
def test_what_is_no_verdict_is_not_believed(answer: object) -> None:
    verdict = _verdict_of(Finished(ValidationItem("mine", good), (answer,), None, 1.0))
    assert verdict.name == "mine"
    assert "something that is not an answer" in verdict.failures[0].reason
