"""Eager and a candidate, timed on inputs that change, and what the candidate gave looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graph_net.compilers import Job, Runner
from graph_net.graph import Graph, Level
from graph_net.graph.effects import changed_values
from graph_net.graph.outputs import flat_outputs
from graph_net.measure.changing_inputs import choices
from graph_net.measure.framework import Framework
from graph_net.measure.protocol import Protocol
from graph_net.measure.spotcheck import TimedInputs
from graph_net.measure.timing import CpuClock, CudaClock, compare
from graph_net.measure.verify import Reference
from graph_net.results import Failure, Output, Timing

CHECKING = 0.25
"""The part of a measurement's time that looking at results may take, beyond a few of them."""


@dataclass(frozen=True)
class Arms:
    """Eager, the candidate, and the inputs that they are called with."""

    job: Job
    eager: Runner
    candidate: Runner
    host: Framework
    places: tuple[int, ...] = ()
    """Positions of the inputs whose values change from call to call."""

    def with_places_for(self, outputs: Sequence[Any]) -> Arms:
        """The arms with the best choice of inputs to change: eager must take other values.

        ``outputs`` are what eager gives for the job's own.
        """
        for places in _choices(self.job.graph):
            if self._takes(places, outputs):
                return Arms(self.job, self.eager, self.candidate, self.host, places)
        return self

    def _takes(self, places: tuple[int, ...], outputs: Sequence[Any]) -> bool:
        """Whether eager gives outputs of the same form for other values."""
        restore = self.restorer()
        inputs = TimedInputs(self.job.graph, self.job.inputs, places, self.host)
        inputs.renew(1)
        try:
            with self.host.calling():
                found = flat_outputs(self.eager(next(inputs.turn)))
        except Exception:  # an index out of range, a length that is negative
            return False
        finally:
            restore()
        forms = [getattr(self.host.seen(leaf), "shape", None) for leaf in found]
        known = [getattr(leaf, "shape", None) for leaf in outputs[: len(found)]]
        return forms == known

    def restorer(self) -> Callable[[], None]:
        """A function that undoes what calls do to the inputs that they share."""
        shared = [i for i in changed_inputs(self.job.graph) if i not in self.places]
        kept = {place: self.host.copy(self.job.inputs[place]) for place in shared}

        def restore() -> None:
            for place, value in kept.items():
                self.host.restore(self.job.inputs[place], value)

        return restore

    def time(
        self,
        protocol: Protocol,
        compilations: Callable[[], int],
        expected: Reference,
        verified: tuple[Output, ...],
        place: Callable[[], None] = lambda: None,
    ) -> tuple[Timing, tuple[Output, ...], Failure | None]:
        """The timing, the outputs of a timed call, and a failure where timed calls are wrong."""
        graph, restore = self.job.graph, self.restorer()
        inputs = TimedInputs(graph, self.job.inputs, self.places, self.host)
        with self.host.calling():
            timing, _ = compare(
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
            found = inputs.check(
                self.eager, restore, expected, verified, CHECKING * protocol.seconds
            )
        return timing, *found


def changed_inputs(graph: Graph) -> tuple[int, ...]:
    """Positions of the inputs that a call changes."""
    changed = changed_values(graph)
    return tuple(i for i, entry in enumerate(graph.inputs) if entry.name in changed)


def _choices(graph: Graph) -> Sequence[tuple[int, ...]]:
    # Paddle's tensors do not lie in memory that several of them share.
    return [()] if graph.level is Level.PADDLE else [*choices(graph)]
