"""Eager and a candidate, timed on inputs that change, with the candidate's outputs checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graph_net.compilers import Job, Runner
from graph_net.graph import Graph, Level
from graph_net.graph.effects import changed_values
from graph_net.graph.outputs import flat_outputs
from graph_net.measure.changing_inputs import input_choices
from graph_net.measure.framework import Framework
from graph_net.measure.protocol import Protocol
from graph_net.measure.spotcheck import TimedInputs
from graph_net.measure.timing import CpuClock, CudaClock, time_arms
from graph_net.measure.verify import Reference
from graph_net.results import Failure, Output, Timing

CHECKING = 0.25
"""The share of a measurement's time that checking results may take, beyond the first few."""


@dataclass(frozen=True)
class Arms:
    """Eager, the candidate, and the inputs that they are called with."""

    job: Job
    eager: Runner
    candidate: Runner
    host: Framework
    changing: tuple[int, ...] = ()
    """Positions of the inputs whose values change from call to call."""

    def with_changing_inputs(self, outputs: Sequence[Any]) -> Arms:
        """Return these arms with the best choice of inputs to change that eager accepts.

        ``outputs`` are eager's for the job's own inputs.
        """
        for positions in _choices(self.job.graph):
            if self._accepts(positions, outputs):
                return replace(self, changing=positions)
        return self

    def _accepts(self, positions: tuple[int, ...], outputs: Sequence[Any]) -> bool:
        """Return whether eager gives outputs of the same shapes for other values."""
        restore = self.make_restore()
        inputs = TimedInputs(self.job.graph, self.job.inputs, positions, self.host)
        inputs.renew(1)
        try:
            with self.host.inference_mode():
                leaves = flat_outputs(self.eager(next(inputs.turn)))
        except Exception:  # an index out of range, a length that is negative
            return False
        finally:
            restore()
        shapes = [getattr(self.host.to_torch(leaf), "shape", None) for leaf in leaves]
        return shapes == [getattr(leaf, "shape", None) for leaf in outputs[: len(leaves)]]

    def make_restore(self) -> Callable[[], None]:
        """Return a function that restores the shared inputs that calls change."""
        shared = [i for i in changed_inputs(self.job.graph) if i not in self.changing]
        copies = {i: self.host.copy(self.job.inputs[i]) for i in shared}

        def restore() -> None:
            for i, value in copies.items():
                self.host.restore(self.job.inputs[i], value)

        return restore

    def time(
        self,
        protocol: Protocol,
        compilations: Callable[[], int],
        expected: Reference,
        verified: tuple[Output, ...],
        place: Callable[[], None] = lambda: None,
    ) -> tuple[Timing, tuple[Output, ...], Failure | None]:
        """Return the timing, the outputs of a timed call, and a failure if outputs are wrong."""
        graph, restore = self.job.graph, self.make_restore()
        inputs = TimedInputs(graph, self.job.inputs, self.changing, self.host)
        with self.host.inference_mode():
            timing, _ = time_arms(
                lambda: self.eager(next(inputs.turn)),
                lambda: self.candidate(next(inputs.turn)),
                protocol,
                CudaClock() if self.job.device.startswith("cuda") else CpuClock(),
                restore if changed_inputs(graph) else None,
                compilations,
                inputs,
                place,
            )
            if expected.random:
                return timing, verified, None
            seconds = CHECKING * protocol.seconds
            checked = inputs.check(self.eager, restore, expected, verified, seconds)
        return timing, *checked


def changed_inputs(graph: Graph) -> tuple[int, ...]:
    """Return the positions of the inputs that a call changes."""
    changed = changed_values(graph)
    return tuple(i for i, entry in enumerate(graph.inputs) if entry.name in changed)


def _choices(graph: Graph) -> Sequence[tuple[int, ...]]:
    # Paddle's tensors cannot share one piece of memory.
    return [()] if graph.level is Level.PADDLE else [*input_choices(graph)]
