"""Bench: how the programs of turns are built and timed on one kind of device."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from graph_net.programs.collection.plan import Turn
from graph_net.programs.collection.task import CollectedTask
from graph_net.results import Device, Program


@dataclass(frozen=True)
class LostTurn:
    """Why a turn, or all that follow, ended without programs."""

    text: str
    task: str = ""
    """The hash of the workload that is to blame, and is left out from now on; empty: none is."""


Event = Program | LostTurn | None
"""What a bench reports; None while nothing is finished, so that the caller can look at clocks."""


class Bench(Protocol):
    """Builds and times programs. What runs them can die of them, and can change no journal."""

    @property
    def device(self) -> Device:
        """Return what programs are measured with: on each of them."""
        ...

    def count(self, task: CollectedTask, seed: int, most: int) -> int:
        """Return how many of the first ``most`` programs a task has, as far as is known."""
        ...

    def run(self, turns: Iterator[Turn], best: Mapping[str, float]) -> Generator[Event]:
        """Measure the programs of turns in order; ``best`` has the best seconds of a workload."""
        ...
