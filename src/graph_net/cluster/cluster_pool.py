"""A pool with workers on any node: a Ray task forks a confined process for each item."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Generic

from graph_net.cluster.connection import Cluster, ClusterError
from graph_net.cluster.dispatch import POLL, LostWork, dispatch
from graph_net.isolate import Batch, Death, Ending, Finished, Limits, Needs, Pool, Sandbox
from graph_net.isolate.worker import Item, Work

AHEAD = 2
"""Tasks in flight per core: one running, one on its way."""
Outcome = tuple[tuple[Any, ...], Death | None, float]
"""The answers of an item, its death, its seconds."""


@dataclass(frozen=True)
class ClusterPool:
    """The counterpart of ``Pool``; ``jobs`` counts for the whole cluster, 0 means its cores."""

    cluster: Cluster
    limits: Limits
    jobs: int = 0
    sandbox: Sandbox = field(default_factory=Sandbox)
    ready: Callable[[], object] = lambda: None
    forks_here = False

    def each(
        self,
        items: Iterable[Item],
        work: Work[Item],
        needs: Callable[[Item], Needs] = lambda item: Needs(),
    ) -> Iterator[Finished[Item]]:
        """Work on each item in a process of its own; yield items in order of completion."""
        return self._run((Batch(_no_work, (item,), needs(item)) for item in items), work)

    def batches(self, batches: Iterable[Batch[Item]]) -> Iterator[Finished[Item]]:
        """Work on the items of each batch in one process, as long as it lives."""
        return self._run((batch for batch in batches if batch.items), None)

    def _run(
        self, batches: Iterable[Batch[Item]], work: Work[Item] | None
    ) -> Iterator[Finished[Item]]:
        ray = self.cluster.ray
        # Put once; each node fetches it once.
        pool = Pool(self.limits, 1, self.sandbox, self.ready)
        shared = ray.put(_Shared(pool, work))
        crew = _Anywhere(self.cluster, self.jobs, shared)
        for batch, outcomes in dispatch(self.cluster, batches, crew):
            if isinstance(outcomes, LostWork):
                death = Death(Ending.KILLED, outcomes.reason)
                outcomes = [((), death, 0.0)] * len(batch.items)
            for item, outcome in zip(batch.items, outcomes, strict=True):
                yield Finished(item, *outcome)


@dataclass(frozen=True)
class _Shared(Generic[Item]):
    """What all tasks of a pool share."""

    pool: Pool
    work: Work[Item] | None
    """None if each batch prepares its own."""


def _nothing() -> None:
    """Do nothing: no preparation is needed."""


def _no_work() -> Any:
    raise AssertionError("a batch of ``each`` has the work of its pool")


@lru_cache(maxsize=1)
def _receive(reference: Any) -> _Shared[Any]:
    """Return the tasks' shared state, fetched and prepared once per Ray worker."""
    shared: _Shared[Any] = import_module("ray").get(reference)
    shared.pool.ready()
    return replace(shared, pool=replace(shared.pool, ready=_nothing))


def run_batch(box: list[Any], batch: Batch[Any]) -> list[Outcome]:
    """Work on a batch in processes forked from this one: the body of a Ray task."""
    shared = _receive(box[0])
    if shared.work is not None:
        work = shared.work
        batch = replace(batch, prepare=lambda: work)
    return [(done.answers, done.death, done.seconds) for done in shared.pool.batches([batch])]


class _Anywhere:
    """The only place of a pool: any free core of the cluster."""

    def __init__(self, cluster: Cluster, jobs: int, shared: Any) -> None:
        self.cluster, self.jobs, self.shared = cluster, jobs, shared
        # The dispatcher resends a lost task and counts its losses.
        self.task = cluster.ray.remote(num_cpus=1, max_retries=0)(run_batch)
        self.room = self._room()
        self.looked = time.monotonic()

    def _room(self) -> int:
        return self.jobs or AHEAD * self.cluster.cores()

    def places(self) -> Sequence[_Anywhere]:
        if time.monotonic() - self.looked > POLL:  # nodes come and go
            self.room, self.looked = self._room(), time.monotonic()
        return [self]

    def awaited(self) -> Sequence[Any]:
        return []

    def takes(self, item: Batch[Any]) -> bool:
        return True

    def send(self, item: Batch[Any]) -> Any:
        return self.task.remote([self.shared], item)

    def lost(self) -> None:
        self.looked = -math.inf

    def failed(self, reason: str) -> None:
        raise ClusterError(reason)

    def stop(self, out: Sequence[Any]) -> None:
        for reference in out:
            with suppress(Exception):  # it or its node may be gone
                self.cluster.ray.cancel(reference, force=True)
