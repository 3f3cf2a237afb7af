"""Outputs for a seed that a worker could not know before, compared in another process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import torch

from graph_net.compilers import Job
from graph_net.compilers.eager import Eager
from graph_net.graph import Graph
from graph_net.graph.outputs import flat_outputs
from graph_net.measure.arms import Arms
from graph_net.measure.audit_answer import batches_of, handed_over, is_cheap
from graph_net.measure.changing_inputs import ChangingInputs
from graph_net.measure.framework import framework_of
from graph_net.measure.spotcheck import Stray, failure_of, find_stray
from graph_net.measure.task import Measurement
from graph_net.measure.tolerance import LOWEST, smallest_level
from graph_net.results import Failure, Output, Record, Stage, Symptom

CHECKS = 4
"""So many of the outputs are compared; which, is drawn by lot."""
BEYOND = 1.0
"""An output may be so many levels worse than the record says."""
WHAT = "a call for its parent's own inputs"


@dataclass(frozen=True)
class OutputCheck:
    """The outputs that a worker handed over, against eager's in this process."""

    task: Measurement
    graph: Graph
    record: Record
    workdir: Path

    @property
    def places(self) -> tuple[int, ...]:
        """Positions of the inputs that change, as the worker says."""
        names = self.record.environment.get("inputs_changed")
        named = set(map(str, names)) if isinstance(names, list) else set()
        return tuple(i for i, entry in enumerate(self.graph.inputs) if entry.name in named)

    @cached_property
    def _arms(self) -> Arms:
        """Eager, in this process, and the inputs that this process would change."""
        device, seed = self.task.device, self.task.protocol.seed
        host = framework_of(self.graph, device.kind)
        host.threads(device.threads)
        inputs = tuple(host.inputs(self.graph, device.kind, seed))
        job = Job(self.graph, inputs, device.kind, self.workdir, device.threads)
        eager = Eager().compile(job)
        return Arms(job, eager, eager, host)

    def run(self, seed: int, handed: bytes) -> tuple[Record, Failure | None]:
        """The record with levels that hold here too, and a failure where outputs are wrong."""
        timing = self.record.timing
        assert timing is not None
        if not is_cheap(self.graph, self.task.device.kind, timing):
            return self.record, None
        arms = self._arms
        first = self._called(arms, list(arms.job.inputs))
        places = arms.with_places_for(first).places
        if places != self.places:
            why = "the worker changed other inputs between calls than its parent would have"
            return self.record, Failure(Stage.MEASURE, Symptom.INFRASTRUCTURE, why)
        batches = batches_of(self.graph, places, timing, self.task.protocol)
        held = handed_over(first, batches.sets)
        if len(handed) != held * sum(map(_size, first)):
            why = f"{WHAT}: {len(handed)} bytes of outputs, not those of {held} calls"
            return self.record, Failure(Stage.VERIFY, Symptom.SHAPE, why)
        inputs = ChangingInputs(self.graph, arms.job.inputs, places, seed, batches.sets)
        random = Random(seed)  # noqa: S311 - the seed is the secret
        for _ in range(batches.pairs):
            inputs.renew(random, batches.sets)
        last = inputs.sets[batches.sets - held :]
        return self._compared(
            arms, list(zip(last, _split(handed, first, held), strict=True)), first
        )

    def _called(self, arms: Arms, inputs: list[Any]) -> list[Any]:
        restore = arms.restorer()
        with arms.host.calling():
            outputs = [arms.host.seen(leaf) for leaf in flat_outputs(arms.eager(inputs))]
            kept = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in outputs]
        restore()
        return kept

    def _compared(
        self, arms: Arms, calls: list[tuple[list[Any], list[Any]]], first: list[Any]
    ) -> tuple[Record, Failure | None]:
        chosen = SystemRandom().sample(calls, min(CHECKS, len(calls)))
        said, strays = self.record.outputs, list[Stray]()
        outputs = said
        for inputs, found in chosen:
            wanted = self._called(arms, inputs)
            again = self._called(arms, inputs)
            levels = list(_levels(found, wanted, again))
            if any(_beyond(old, new) for old, new in zip(said, levels, strict=False)):
                stray = find_stray(found, wanted, first, ())
                strays += [] if stray is None else [stray]
            outputs = tuple(_raised(outputs, levels))
        failure = failure_of(strays, len(chosen), WHAT)
        environment = {**self.record.environment, "checked_by_parent": len(chosen)}
        if failure is not None:
            return replace(self.record, environment=environment), failure
        return replace(self.record, environment=environment, outputs=outputs), None


def _size(leaf: Any) -> int:
    return leaf.numel() * leaf.element_size() if isinstance(leaf, torch.Tensor) else 0


def _split(data: bytes, forms: Sequence[Any], calls: int) -> Iterator[list[Any]]:
    """The outputs of calls, out of their bytes; what is no tensor was not sent."""
    place = 0
    for _ in range(calls):
        leaves: list[Any] = []
        for form in forms:
            size = _size(form)
            if isinstance(form, torch.Tensor) and size:
                raw = torch.frombuffer(bytearray(data[place : place + size]), dtype=torch.uint8)
                leaves.append(raw.view(form.dtype).reshape(form.shape))
            else:
                leaves.append(form)
            place += size
        yield leaves


def _levels(
    found: Sequence[Any], wanted: Sequence[Any], again: Sequence[Any]
) -> Iterator[float | None]:
    """The level of each output; equal where eager itself gives two results."""
    for leaf, want, other in zip(found, wanted, again, strict=True):
        if leaf is None:
            continue
        if not isinstance(want, torch.Tensor) or smallest_level(other, want) != LOWEST:
            yield LOWEST
        else:
            yield smallest_level(leaf, want)


def _beyond(said: Output, level: float | None) -> bool:
    """Whether an output is worse than the record says."""
    return said.t is not None and (level is None or level > said.t + BEYOND)


def _raised(outputs: Sequence[Output], levels: Sequence[float | None]) -> Iterator[Output]:
    """The outputs with the worse of two levels; those of changed inputs as they are."""
    for place, output in enumerate(outputs):
        level = levels[place] if place < len(levels) else LOWEST
        worse = level is not None and output.t is not None and level > output.t
        yield replace(output, t=level) if worse else output
