"""Validation of many graphs in parallel, each in a process that it may kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from graph_net.capture.zoo.zoo import Zoo
from graph_net.graph import Graph
from graph_net.isolate import Finished, Limits, MakePool, Needs, Pool, Sandbox
from graph_net.isolate.deaths import wrote_garbage
from graph_net.validate.checks import Validation, ValidationLimits, describe_error
from graph_net.validate.report import (
    Requirement,
    RequirementResult,
    State,
    ValidationReport,
    verdict_from_json,
)


@dataclass(frozen=True, slots=True)
class ValidationItem:
    """A graph to validate; ``load`` is called in a process that it may kill."""

    name: str
    load: Callable[[], Graph]
    reads: Path | None = None
    """The file or directory it reads, if any."""


def validate_all(
    tasks: Iterable[ValidationItem],
    jobs: int,
    budget: Limits | None = None,
    limits: ValidationLimits | None = None,
    zoos: Callable[[str], Zoo] | None = None,
    make_pool: MakePool = Pool,
) -> Iterator[ValidationReport]:
    """Yield verdicts in the order they are ready; one process per graph, ``jobs`` at a time.

    With ``zoos``, which returns the zoo of a library, each graph is also compared with its model.
    """
    budget, limits = budget or Limits.of(180, 10.0), limits or ValidationLimits()
    pool = make_pool(budget, jobs, Sandbox(), warm_up)

    def needs(task: ValidationItem) -> Needs:
        return Needs(reads=() if task.reads is None else (task.reads,))

    for done in pool.each(tasks, partial(_work, limits=limits, zoos=zoos), needs):
        yield _verdict_of(done)


def warm_up() -> None:
    """Load what every validation needs, before any worker is forked."""
    from graph_net.capture.capture import capture

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    try:
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(2))
        model.extend([nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout()])
        for graph in capture(model.eval(), (torch.zeros(1, 3, 4, 4),)).graphs:
            Validation("", graph, ValidationLimits()).run()
    finally:
        torch.set_num_threads(threads)


def _work(
    task: ValidationItem, limits: ValidationLimits, zoos: Callable[[str], Zoo] | None
) -> Iterator[Any]:
    """Yield the verdict after each step."""
    torch.set_num_threads(1)
    try:
        graph = task.load()
        validation = Validation(task.name, graph, limits)
    except MemoryError:
        raise  # the pool reports the limit
    except Exception as error:
        yield _all_failed(task.name, describe_error(error)).as_json()
        return
    yield validation.verdict.as_json()
    for verdict in validation.steps():
        yield verdict.as_json()
    verdict = validation.verdict
    if zoos is not None and verdict.state(Requirement.RUNNABLE) is State.PASSED:
        del validation
        yield _with_model(verdict, graph, zoos).as_json()


def _with_model(
    verdict: ValidationReport, graph: Graph, zoos: Callable[[str], Zoo]
) -> ValidationReport:
    from graph_net.validate.against_model import compare_with_model

    start = time.monotonic()
    try:
        part, wrong = compare_with_model(graph, zoos(graph.provenance.library))
    except Exception as error:
        return replace(verdict, model_reason=f"cannot be compared: {describe_error(error)}")
    return replace(
        verdict,
        model_difference=part,
        model_reason=wrong,
        seconds=verdict.seconds + time.monotonic() - start,
    )


def _verdict_of(done: Finished[ValidationItem]) -> ValidationReport:
    """Return the last verdict; its missing requirements failed because the process died."""
    why = "" if done.death is None else done.death.reason
    if done.answer is None:
        return _all_failed(done.item.name, why)
    try:
        verdict = replace(verdict_from_json(done.answer), name=done.item.name)
    except (KeyError, TypeError, ValueError) as error:
        return _all_failed(done.item.name, wrote_garbage(error).reason)
    if done.death is None:
        return verdict
    checked = {finding.requirement for finding in verdict.findings}
    missing = tuple(
        RequirementResult(r, State.FAILED, why) for r in Requirement if r not in checked
    )
    if not missing:  # it died in the comparison with the model
        return replace(verdict, model_reason=why)
    return replace(verdict, findings=(*verdict.findings, *missing), seconds=done.seconds)


def _all_failed(name: str, why: str) -> ValidationReport:
    return ValidationReport(
        name, findings=tuple(RequirementResult(r, State.FAILED, why) for r in Requirement)
    )
