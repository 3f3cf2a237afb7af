"""Lane: workers that stay, given items one at a time by somebody who has other things to watch."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic

from graph_net.isolate.limits import Limits
from graph_net.isolate.sandbox import INHERITED, Sandbox
from graph_net.isolate.worker import Batch, Finished, ForkedWorker, Item, Work


@dataclass
class Lane(Generic[Item]):
    """So many workers that do what ``make`` makes, each item within its limits.

    An item that kills its worker costs itself alone: the next one gets a new worker.
    """

    make: Callable[[], Work[Item]]
    size: int
    limits: Limits
    sandbox: Sandbox = INHERITED
    starting: int = 60
    """Seconds more for a worker's preparation, and for its first item."""
    _workers: list[ForkedWorker[Item]] = field(default_factory=list)

    @property
    def busy(self) -> int:
        """How many items are being worked on."""
        return sum(bool(worker.pending) for worker in self._workers)

    @property
    def free(self) -> bool:
        """Whether another item can be given."""
        return self.busy < self.size

    def give(self, item: Item) -> None:
        """Begin an item; only where a worker is free."""
        idle = next((worker for worker in self._workers if not worker.pending), None)
        (idle or self._start()).give(item)

    def descriptors(self) -> list[int]:
        """Return what to wait for."""
        return [number for worker in self._workers for number in worker.descriptors()]

    def finished(self) -> list[Finished[Item]]:
        """Return the items finished since the last call, without waiting for any."""
        found = [done for worker in self._workers for done in worker.hear()]
        for worker in self._workers:
            if worker.is_spent and not worker.is_over:
                worker.end()
        self._workers = [worker for worker in self._workers if not worker.is_over]
        return found

    def stop(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _start(self) -> ForkedWorker[Item]:
        def prepare() -> Work[Item]:
            gc.enable()  # a worker that stays cannot keep all its garbage
            return self.make()

        worker = ForkedWorker(Batch(prepare), self.limits, self.sandbox, self.starting)
        self._workers.append(worker)
        return worker
