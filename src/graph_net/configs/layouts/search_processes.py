"""The processes of a search, kept until it ends: some rewrite, one measures and proves.

Each imports libraries and opens the device once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any, TypeVar

from graph_net.configs.layouts.layout_workers import (
    TimingWorker,
    TurnItem,
    WorkerSettings,
    free_memory,
    rewriter,
)
from graph_net.configs.layouts.rewritten import Rewritten, parse_rewritten
from graph_net.graph import from_bytes
from graph_net.isolate import Finished, Limits, Sandbox
from graph_net.isolate.lane import Lane
from graph_net.results.canonical import plain

SECONDS = 600
PIECE = 4
"""Layouts that a process rewrites at a time."""
WARM = 64
"""Size of the operands that load a GPU's libraries."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class ProveItem:
    """A layout to time against the original."""

    rewritten: bytes
    seconds: float


@dataclass(frozen=True)
class WarmItem:
    """Nothing to time: the device and its libraries get ready."""


TimedItem = TurnItem | ProveItem | WarmItem


def measurer(settings: WorkerSettings) -> Callable[[], Callable[[TimedItem], Any]]:
    """Return a maker of workers that measure a turn, or prove the gain of one layout."""

    def make() -> Callable[[TimedItem], Any]:
        worker = TimingWorker(settings)

        def work(item: TimedItem) -> Iterator[Any]:
            if isinstance(item, TurnItem):
                yield from worker.measure(item)
            elif isinstance(item, ProveItem):
                yield prove(worker, item)
                free_memory(settings.device)
            else:
                warm_up(settings.device)
                yield {}

        return work

    return make


def prove(worker: TimingWorker, item: ProveItem) -> dict[str, Any]:
    """Return the Timing of a layout against the original, with the original as the control."""
    from graph_net.configs.layouts.layout_timing import CpuRounds, CudaRounds
    from graph_net.measure.protocol import Protocol
    from graph_net.measure.timing import CpuClock, CudaClock, time_arms

    rounds = CpuRounds() if worker.on_cpu else CudaRounds()
    with worker.placed() as place:
        arms = worker.open_arms(0)
        candidate = arms.function(from_bytes(item.rewritten), "layout")
        original = arms.function(arms.graph)
        with rounds.beside():
            arms.check(candidate)
            arms.check(original)
        timing, _ = time_arms(
            rounds.ready(original),
            rounds.ready(candidate),
            Protocol(seconds=item.seconds),
            CpuClock() if worker.on_cpu else CudaClock(),
            place=place,
        )
    tree: dict[str, Any] = plain(timing)
    return tree


def warm_up(device: str) -> None:
    """Load a GPU's libraries, which takes longer than many graphs."""
    if device == "cpu":
        return
    import torch

    matrix = torch.ones(WARM, WARM, device=device)
    torch.nn.functional.conv2d(matrix[None, None], matrix[None, None, :3, :3])
    (matrix @ matrix).sum().item()


@dataclass
class SearchProcesses:
    """The processes of one search; leaving the context ends them."""

    settings: WorkerSettings
    sandbox: Sandbox
    jobs: int = 1
    alone: Callable[[], AbstractContextManager[object]] = nullcontext
    """Makes the context in which a device is timed."""
    _rewriting: Lane[TurnItem] = field(init=False)
    _timing: Lane[TimedItem] = field(init=False)

    def __post_init__(self) -> None:
        limits = Limits(SECONDS, None)
        self._rewriting = Lane(rewriter(self.settings), self.jobs, limits, self.sandbox)
        self._timing = Lane(measurer(self.settings), 1, limits, self.sandbox)

    def __enter__(self) -> SearchProcesses:
        return self

    def __exit__(self, *error: object) -> None:
        self._rewriting.stop()
        self._timing.stop()

    def rewrite(self, schedules: Sequence[str]) -> dict[str, Rewritten]:
        """Return the answer for each layout."""
        pieces = [tuple(schedules[n : n + PIECE]) for n in range(0, len(schedules), PIECE)]
        rewritten: dict[str, Rewritten] = {}
        for done in answers_of(self._rewriting, [TurnItem(0, piece) for piece in pieces]):
            answers = parse_rewritten(done.answers, len(done.item.schedules))
            rewritten |= zip(done.item.schedules, answers, strict=True)
        return rewritten

    def warm(self) -> None:
        """Start the process that times, and get its device ready: nobody needs to wait for that."""
        answers_of(self._timing, [WarmItem()])

    def time(self, item: TurnItem | ProveItem) -> Finished[TimedItem]:
        """Return what the timing process answers, the device its own."""
        with self.alone():
            (done,) = answers_of(self._timing, [item])
        return done


def answers_of(lane: Lane[Item], items: Sequence[Item]) -> list[Finished[Item]]:
    """Return the answers to all items, in order of completion."""
    waiting, finished = list(items), list[Finished[Item]]()
    while len(finished) < len(items):
        while waiting and lane.free:
            lane.give(waiting.pop(0))
        wait(lane.descriptors(), timeout=0.5)
        finished += lane.take_finished()
    return finished
