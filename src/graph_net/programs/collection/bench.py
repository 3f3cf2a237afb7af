"""Bench: builds and times the programs of turns on one kind of device."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from graph_net.programs.collection.plan import Turn
from graph_net.programs.collection.task import CollectedTask
from graph_net.results import Device, Program


@dataclass(frozen=True)
class LostTurn:
    """Why a turn, or every turn after it, ended without programs."""

    text: str
    task: str = ""
    """Hash of the workload at fault, which is skipped from now on; empty if none is."""


Event = Program | LostTurn | None
"""What a bench reports; None while nothing has finished, so that the caller can check the time."""


class Bench(Protocol):
    """Builds and times programs in processes that may crash and cannot write to the journal."""

    @property
    def device(self) -> Device:
        """Return the device that programs are measured on; it is stored with each program."""
        ...

    def count(self, task: CollectedTask, seed: int, most: int) -> int:
        """Return how many of the first ``most`` programs the task is known to have."""
        ...

    def run(self, turns: Iterator[Turn], best: Mapping[str, float]) -> Generator[Event]:
        """Measure the programs of turns in order; ``best`` has the least seconds per workload."""
        ...
