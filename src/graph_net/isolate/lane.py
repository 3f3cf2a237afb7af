"""A lane: long-lived workers that an event loop gives items one at a time."""

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
    """Up to ``size`` workers that call what ``make`` returns on each item, within limits.

    If an item kills its worker, only that item is lost: the next one gets a new worker.
    """

    make: Callable[[], Work[Item]]
    size: int
    limits: Limits
    sandbox: Sandbox = INHERITED
    starting: int = 60
    """Extra seconds for a worker's preparation, and for its first item."""
    _workers: list[ForkedWorker[Item]] = field(default_factory=list)

    @property
    def busy(self) -> int:
        """The number of items being worked on."""
        return sum(bool(worker.pending) for worker in self._workers)

    @property
    def free(self) -> bool:
        """Whether another item can be given."""
        return self.busy < self.size

    def give(self, item: Item) -> None:
        """Give an item to a worker; call this only if ``free``."""
        idle = next((worker for worker in self._workers if not worker.pending), None)
        (idle or self._start()).give(item)

    def descriptors(self) -> list[int]:
        """Return the descriptors to wait for."""
        return [number for worker in self._workers for number in worker.descriptors()]

    def take_finished(self) -> list[Finished[Item]]:
        """Return the items finished since the last call, without waiting for any."""
        finished = [done for worker in self._workers for done in worker.receive()]
        for worker in self._workers:
            if worker.is_spent and not worker.is_over:
                worker.end()
        self._workers = [worker for worker in self._workers if not worker.is_over]
        return finished

    def stop(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _start(self) -> ForkedWorker[Item]:
        def prepare() -> Work[Item]:
            gc.enable()  # a long-lived worker must free its garbage
            return self.make()

        worker = ForkedWorker(Batch(prepare), self.limits, self.sandbox, self.starting)
        self._workers.append(worker)
        return worker
