"""A pool of forked, confined processes, any of which may die."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing.connection import wait
from pathlib import Path
from typing import Generic, Protocol

from graph_net.isolate.limits import Limits
from graph_net.isolate.privileges import adopting_orphans
from graph_net.isolate.sandbox import Needs, Sandbox
from graph_net.isolate.workdir import remove_tree, temporary_directory
from graph_net.isolate.worker import Batch, Finished, ForkedWorker, Item, Work


def _nothing() -> None:
    """Prepare nothing."""


def _no_needs(item: object) -> Needs:
    return Needs()


class WorkPool(Protocol):
    """Works on items in processes that may die: here (``Pool``), or on a cluster."""

    @property
    def forks_here(self) -> bool:
        """Whether workers are forked from this process; if so, it must not read with threads."""
        ...

    def each(
        self, items: Iterable[Item], work: Work[Item], needs: Callable[[Item], Needs] = _no_needs
    ) -> Iterator[Finished[Item]]:
        """Work on each item in a process of its own; yield the items in the order they finish."""
        ...

    def batches(self, batches: Iterable[Batch[Item]]) -> Iterator[Finished[Item]]:
        """Work on the items of each batch in one process, as long as it lives."""
        ...


class MakePool(Protocol):
    """Makes a pool: ``Pool``, or the method ``pool`` of a cluster."""

    def __call__(
        self,
        limits: Limits,
        jobs: int = 1,
        sandbox: Sandbox = Sandbox(),  # noqa: B008 - frozen
        ready: Callable[[], object] = ...,
    ) -> WorkPool:
        """Return a pool with this many workers."""
        ...


@dataclass(frozen=True)
class Pool:
    """The number of workers, the limits of an item, and what the workers can reach.

    Each worker has its own work directory unless the sandbox names one. ``ready`` is called once
    before the first fork, in the process that forks: it loads what all workers need.
    """

    limits: Limits
    jobs: int = 1
    sandbox: Sandbox = field(default_factory=Sandbox)
    ready: Callable[[], object] = _nothing
    forks_here = True

    def each(
        self,
        items: Iterable[Item],
        work: Work[Item],
        needs: Callable[[Item], Needs] = _no_needs,
    ) -> Iterator[Finished[Item]]:
        """Work on each item in a process of its own; yield the items in the order they finish.

        Items are taken when a worker is free; answers are read when the caller asks for the next
        one. Until then a worker with an answer waits.
        """
        return self.batches(Batch(lambda: work, (item,), needs(item)) for item in items)

    def batches(self, batches: Iterable[Batch[Item]]) -> Iterator[Finished[Item]]:
        """Work on the items of each batch in one process, as long as it lives.

        The item that a worker dies on is lost, and another worker continues after it; a worker that
        dies while preparing loses its batch.
        """
        self.ready()
        with temporary_directory() as root, adopting_orphans():
            run = _Run(self, iter(batches), root)
            try:
                yield from run.finished()
            finally:
                run.end()


@dataclass
class _Run(Generic[Item]):
    pool: Pool
    waiting: Iterator[Batch[Item]]
    root: Path
    left: deque[Batch[Item]] = field(default_factory=deque)
    """The unfinished items of dead workers."""
    workers: list[tuple[ForkedWorker[Item], Path]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def finished(self) -> Iterator[Finished[Item]]:
        while self._fill():
            now = time.monotonic()
            first = min(worker.deadline() for worker, _ in self.workers)
            wait([d for w, _ in self.workers for d in w.descriptors()], max(0.0, first - now))
            for worker, folder in list(self.workers):
                for done in worker.receive():
                    yield from self._hand_over(done)
                if worker.is_over or worker.is_spent or not worker.pending:
                    self._retire(worker, folder)

    def _hand_over(self, done: Finished[Item]) -> Iterator[Finished[Item]]:
        """Yield an item; time spent in the caller counts against no worker."""
        before = time.monotonic()
        yield done
        for worker, _ in self.workers:
            worker.since += time.monotonic() - before

    def _fill(self) -> bool:
        """Start workers while there is work for them; return whether any are at work."""
        while len(self.workers) < self.pool.jobs:
            batch = self.left.popleft() if self.left else next(self.waiting, None)
            if batch is None:
                break
            if batch.items:
                self._start(batch)
        return bool(self.workers)

    def _start(self, batch: Batch[Item]) -> None:
        folder, sandbox = self.root / str(next(self.numbers)), self.pool.sandbox
        if sandbox.workdir is None and not sandbox.inherits:
            folder.mkdir()
            sandbox = replace(sandbox, workdir=folder)
        self.workers.append((ForkedWorker(batch, self.pool.limits, sandbox), folder))

    def _retire(self, worker: ForkedWorker[Item], folder: Path) -> None:
        if not worker.is_over:
            worker.end()
        self.workers.remove((worker, folder))
        remove_tree(folder)
        if worker.pending:
            self.left.append(replace(worker.batch, items=tuple(worker.pending)))

    def end(self) -> None:
        for worker, folder in list(self.workers):
            worker.pending.clear()
            self._retire(worker, folder)
