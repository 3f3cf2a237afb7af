"""Many graphs validated at once, each in a process that may die of it."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from graph_net import isolate
from graph_net.capture.worker import Budget
from graph_net.capture.zoo.zoo import Zoo
from graph_net.graph import Graph
from graph_net.isolate import Needs, Sandbox, enter
from graph_net.isolate.place import temporary_place
from graph_net.validate.checks import Limits, Validation, sentence
from graph_net.validate.report import Finding, Requirement, State, Verdict, verdict_from_json

PATIENCE = 10
"""Seconds after its own alarm that a process which ignores it is killed."""


@dataclass(frozen=True, slots=True)
class Task:
    """A graph to validate. ``load`` is called in the process that may die of it."""

    name: str
    load: Callable[[], Graph]
    reads: Path | None = None
    """What it reads from, if not from memory."""


@dataclass
class _Child:
    task: Task
    pipe: int
    began: float
    data: bytes = b""


def validate_all(
    tasks: Iterable[Task],
    jobs: int,
    budget: Budget | None = None,
    limits: Limits | None = None,
    zoos: Callable[[str], Zoo] | None = None,
) -> Iterator[Verdict]:
    """Verdicts in the order they are ready; one process a graph, ``jobs`` at a time.

    With ``zoos``, which gives the zoo of a library, each graph is compared with its model too.
    """
    budget, limits = budget or Budget(), limits or Limits()
    warm_up()
    try:
        with temporary_place() as place:
            yield from _run(tasks, jobs, budget, limits, zoos, place)
    finally:
        gc.unfreeze()


def _run(
    tasks: Iterable[Task],
    jobs: int,
    budget: Budget,
    limits: Limits,
    zoos: Callable[[str], Zoo] | None,
    place: Path,
) -> Iterator[Verdict]:
    waiting = iter(tasks)
    running: dict[int, _Child] = {}  # by process
    more = True
    while more or running:
        while more and len(running) < jobs:
            task = next(waiting, None)
            if task is None:
                more = False
                break
            process, pipe = _start(task, budget, limits, zoos, place)
            running[process] = _Child(task, pipe, time.monotonic())
        ready, _, _ = select.select([child.pipe for child in running.values()], [], [], 0.5)
        for process, child in list(running.items()):
            if child.pipe in ready:
                data = os.read(child.pipe, 1 << 16)
                child.data += data
                if not data:
                    del running[process]
                    os.close(child.pipe)
                    _, status = os.waitpid(process, 0)
                    yield _verdict(child, status, budget)
            elif time.monotonic() - child.began > budget.seconds + PATIENCE:
                os.kill(process, signal.SIGKILL)


def warm_up() -> None:
    """Load what every validation needs, and keep it out of the workers' garbage collections."""
    from graph_net.capture.capture import capture

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    try:
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(2))
        model.extend([nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout()])
        for graph in capture(model.eval(), (torch.zeros(1, 3, 4, 4),)).graphs:
            Validation("", graph, Limits()).run()
    finally:
        torch.set_num_threads(threads)
    gc.collect()
    gc.freeze()


def _start(
    task: Task, budget: Budget, limits: Limits, zoos: Callable[[str], Zoo] | None, place: Path
) -> tuple[int, int]:
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        sandbox = Sandbox(place, Needs(reads=() if task.reads is None else (task.reads,)))
        enter(isolate.Limits.of(budget.seconds, budget.gigabytes), sandbox, parent, write)
        torch.set_num_threads(1)
        _work(task, limits, zoos, write)
    finally:
        os._exit(0)


def _work(task: Task, limits: Limits, zoos: Callable[[str], Zoo] | None, pipe: int) -> None:
    def tell(verdict: Verdict) -> None:
        rest = (json.dumps(verdict.as_json()) + "\n").encode()
        while rest:
            rest = rest[os.write(pipe, rest) :]

    try:
        graph = task.load()
        validation = Validation(task.name, graph, limits)
    except Exception as error:
        tell(_all_failed(task.name, sentence(error)))
        return
    tell(validation.verdict)
    verdict = validation.run(tell)
    if zoos is not None and verdict.state(Requirement.RUNNABLE) is State.PASSED:
        del validation
        tell(_with_model(verdict, graph, zoos))


def _with_model(verdict: Verdict, graph: Graph, zoos: Callable[[str], Zoo]) -> Verdict:
    from graph_net.validate.against import against_model

    start = time.monotonic()
    try:
        part, wrong = against_model(graph, zoos(graph.provenance.library))
    except Exception as error:
        return replace(verdict, model_reason=f"cannot be compared: {sentence(error)}")
    return replace(
        verdict,
        model_difference=part,
        model_reason=wrong,
        seconds=verdict.seconds + time.monotonic() - start,
    )


def _verdict(child: _Child, status: int, budget: Budget) -> Verdict:
    lines = [line for line in child.data.split(b"\n") if line]
    tree: dict[str, Any] | None = json.loads(lines[-1]) if lines else None
    if not os.WIFSIGNALED(status) and tree is not None:
        return verdict_from_json(tree)
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    late = number in (signal.SIGALRM, signal.SIGKILL)
    why = f"no answer within {budget.seconds} s" if late else f"died of signal {number}"
    if tree is None:
        return _all_failed(child.task.name, why)
    verdict = verdict_from_json(tree)
    met = {finding.requirement for finding in verdict.findings}
    missing = [requirement for requirement in Requirement if requirement not in met]
    if not missing:  # it was at the model
        return replace(verdict, model_reason=why)
    late_findings = tuple(Finding(requirement, State.FAILED, why) for requirement in missing)
    seconds = time.monotonic() - child.began
    return replace(verdict, findings=(*verdict.findings, *late_findings), seconds=seconds)


def _all_failed(name: str, why: str) -> Verdict:
    return Verdict(name, findings=tuple(Finding(r, State.FAILED, why) for r in Requirement))
