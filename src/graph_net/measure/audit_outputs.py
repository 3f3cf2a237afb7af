"""Outputs for a seed that the worker could not know before, compared in another process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import torch

from graph_net.compilers import Job
from graph_net.compilers.eager import Eager
from graph_net.graph import Graph
from graph_net.graph.outputs import flat_outputs
from graph_net.measure.arms import Arms
from graph_net.measure.audit_answer import batches_of, count_handed_over, is_cheap
from graph_net.measure.changing_inputs import ChangingInputs
from graph_net.measure.framework import framework_of
from graph_net.measure.plain_outputs import leaf_bytes
from graph_net.measure.spotcheck import Stray, failure_of, find_stray
from graph_net.measure.task import Measurement
from graph_net.measure.tolerance import LOWEST, smallest_level
from graph_net.results import Failure, Output, Record, Stage, Symptom

CHECKS = 4
"""How many calls' outputs are compared, chosen at random."""
BEYOND = 1.0
"""How many levels an output may be worse than the record says."""
PARENT_CALL = "a call for its parent's own inputs"


@dataclass(frozen=True)
class OutputCheck:
    """The outputs that a worker handed over, against eager's in this process."""

    task: Measurement
    graph: Graph
    record: Record
    workdir: Path

    @property
    def changing(self) -> tuple[int, ...]:
        """Positions of the inputs that change, as the record has them."""
        names = self.record.environment.get("inputs_changed")
        named = set(map(str, names)) if isinstance(names, list) else set()
        return tuple(i for i, entry in enumerate(self.graph.inputs) if entry.name in named)

    @cached_property
    def _arms(self) -> Arms:
        """Eager in this process, as both arms."""
        device, seed = self.task.device, self.task.protocol.seed
        host = framework_of(self.graph, device.kind)
        host.set_threads(device.threads)
        inputs = tuple(host.make_inputs(self.graph, device.kind, seed))
        job = Job(self.graph, inputs, device.kind, self.workdir, device.threads)
        eager = Eager().compile(job)
        return Arms(job, eager, eager, host)

    def run(self, seed: int, handed: bytes) -> tuple[Record, Failure | None]:
        """Return the record with levels that hold here too, and a failure if outputs are wrong."""
        timing = self.record.timing
        assert timing is not None
        if not is_cheap(self.graph, self.task.device.kind, timing):
            return self.record, None
        arms = self._arms
        first = self._call(arms, list(arms.job.inputs))
        changing = arms.with_changing_inputs(first).changing
        if changing != self.changing:
            why = "the worker changed other inputs between calls than its parent would have"
            return self.record, Failure(Stage.MEASURE, Symptom.INFRASTRUCTURE, why)
        batches = batches_of(self.graph, changing, timing, self.task.protocol)
        held = count_handed_over(first, batches.sets)
        if len(handed) != held * sum(map(leaf_bytes, first)):
            why = f"{PARENT_CALL}: {len(handed)} bytes of outputs, not those of {held} calls"
            return self.record, Failure(Stage.VERIFY, Symptom.SHAPE, why)
        inputs = ChangingInputs(self.graph, arms.job.inputs, changing, seed, batches.sets)
        random = Random(seed)  # noqa: S311 - the seed is the secret
        for _ in range(batches.pairs):
            inputs.renew(random, batches.sets)
        last = inputs.sets[batches.sets - held :]
        outputs = _split_outputs(handed, first, held)
        return self._compare(arms, list(zip(last, outputs, strict=True)), first)

    def _call(self, arms: Arms, inputs: list[Any]) -> list[Any]:
        restore = arms.make_restore()
        with arms.host.inference_mode():
            outputs = [arms.host.to_torch(leaf) for leaf in flat_outputs(arms.eager(inputs))]
            copies = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in outputs]
        restore()
        return copies

    def _compare(
        self, arms: Arms, calls: list[tuple[list[Any], list[Any]]], first: list[Any]
    ) -> tuple[Record, Failure | None]:
        chosen = SystemRandom().sample(calls, min(CHECKS, len(calls)))
        strays: list[Stray] = []
        outputs = self.record.outputs
        for inputs, leaves in chosen:
            wanted = self._call(arms, inputs)
            again = self._call(arms, inputs)
            levels = list(_levels(leaves, wanted, again))
            if any(map(_is_worse, self.record.outputs, levels)):
                stray = find_stray(leaves, wanted, first, ())
                strays += [] if stray is None else [stray]
            outputs = tuple(_raise_levels(outputs, levels))
        failure = failure_of(strays, len(chosen), PARENT_CALL)
        environment = {**self.record.environment, "checked_by_parent": len(chosen)}
        if failure is not None:
            return replace(self.record, environment=environment), failure
        return replace(self.record, environment=environment, outputs=outputs), None


def _split_outputs(data: bytes, forms: Sequence[Any], calls: int) -> Iterator[list[Any]]:
    """Yield the outputs of each call, from the bytes of their tensors."""
    offset = 0
    for _ in range(calls):
        leaves: list[Any] = []
        for form in forms:
            size = leaf_bytes(form)
            if size:
                raw = torch.frombuffer(bytearray(data[offset : offset + size]), dtype=torch.uint8)
                leaves.append(raw.view(form.dtype).reshape(form.shape))
            else:
                leaves.append(form)
            offset += size
        yield leaves


def _levels(
    leaves: Sequence[Any], wanted: Sequence[Any], again: Sequence[Any]
) -> Iterator[float | None]:
    """Yield the level of each output; LOWEST if eager differs from itself there."""
    for leaf, want, other in zip(leaves, wanted, again, strict=True):
        if leaf is None:
            continue
        if not isinstance(want, torch.Tensor) or smallest_level(other, want) != LOWEST:
            yield LOWEST
        else:
            yield smallest_level(leaf, want)


def _is_worse(claimed: Output, level: float | None) -> bool:
    """Return whether an output is worse than the record claims."""
    return claimed.t is not None and (level is None or level > claimed.t + BEYOND)


def _raise_levels(outputs: Sequence[Output], levels: Sequence[float | None]) -> Iterator[Output]:
    """Yield the outputs with the worse of two levels; changed inputs keep theirs."""
    for output, level in zip(outputs, chain(levels, repeat(LOWEST)), strict=False):
        worse = level is not None and output.t is not None and level > output.t
        yield replace(output, t=level) if worse else output
