"""Send items to places and collect answers; resend the items of a lost place.

An item is in one place at a time, so each is answered once. Items are taken from their source when
there is room for them: the driver holds the items in flight, and a few that wait for a place.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from graph_net.cluster.connection import Cluster, ClusterError
from graph_net.printable import count_phrase, first_line

WorkItem = TypeVar("WorkItem")
Sent = TypeVar("Sent", contravariant=True)
POLL = 1.0
"""Seconds between checks of the nodes."""
PATIENCE = 300.0
"""Seconds without any place for the remaining items after which a run gives up."""
MOST_LOSSES = 5
"""Losses of an item after which it counts as the cause."""


class WorkPlace(Protocol[Sent]):
    """A place where items are worked on."""

    @property
    def room(self) -> int:
        """How many items the place may have at a time; 0 while it is not ready."""
        ...

    def takes(self, item: Sent) -> bool:
        """Return whether the place may have this item."""
        ...

    def send(self, item: Sent) -> Any:
        """Start an item; return Ray's reference to the answer."""
        ...

    def lost(self) -> None:
        """Handle the loss of an item."""
        ...

    def failed(self, reason: str) -> None:
        """Handle that the place cannot do any work."""
        ...


class Crew(Protocol[Sent]):
    """The places of a run, which come and go."""

    def places(self) -> Sequence[WorkPlace[Sent]]:
        """Return the current places."""
        ...

    def awaited(self) -> Sequence[Any]:
        """Return references whose answers change ``places``."""
        ...

    def stop(self, out: Sequence[Any]) -> None:
        """Stop the places, and the work behind these references."""
        ...


@dataclass(frozen=True)
class LostWork:
    """Replaces an answer: every place that had the item was lost."""

    reason: str


@dataclass(frozen=True)
class FailedPlace:
    """Replaces an answer: the place cannot do any work, and its items go elsewhere."""

    reason: str


def dispatch(
    cluster: Cluster, items: Iterable[WorkItem], crew: Crew[WorkItem], patience: float = PATIENCE
) -> Iterator[tuple[WorkItem, Any]]:
    """Yield each item with its answer, in order of completion; LostWork for a cursed item."""
    run = _Dispatch(cluster, iter(items), crew, patience)
    try:
        yield from run.answers()
    finally:
        crew.stop([*run.out])


class _Dispatch(Generic[WorkItem]):
    def __init__(
        self, cluster: Cluster, items: Iterator[WorkItem], crew: Crew[WorkItem], patience: float
    ) -> None:
        self.ray, self.items, self.crew, self.patience = cluster.ray, items, crew, patience
        self.more = True
        self.held: deque[WorkItem] = deque()
        """Lost items, and those that no place with room accepts at the moment."""
        self.out: dict[Any, tuple[WorkItem, WorkPlace[WorkItem]]] = {}
        self.busy: Counter[int] = Counter()
        """Items in flight, by the identity of their place."""
        self.losses: dict[int, int] = {}
        """Losses per item, by its identity while it is held or in flight."""
        self.stuck: float | None = None

    def answers(self) -> Iterator[tuple[WorkItem, Any]]:
        while self._fill():
            for reference in self._wait():
                yield from self._receive(reference)

    def _fill(self) -> bool:
        """Give every place with room an item in turn; return whether anything is left to do."""
        places, giving = self.crew.places(), True
        lookahead = sum(place.room for place in places)
        while giving:
            giving = False
            for place in places:
                if self.busy[id(place)] < place.room:
                    item = self._next(place, lookahead)
                    if item is not None:
                        self._send(item, place)
                        giving = True
        if not self.out and not self.held:
            self._hold_one()
        self._check_stuck()
        return bool(self.out or self.held)

    def _next(self, place: WorkPlace[WorkItem], lookahead: int) -> WorkItem | None:
        for number, item in enumerate(self.held):
            if place.takes(item):
                del self.held[number]
                return item
        while self.more and len(self.held) < lookahead:
            if not self._hold_one():
                return None
            if place.takes(self.held[-1]):
                return self.held.pop()
        return None

    def _hold_one(self) -> bool:
        """Take one item from the source; return whether there was one."""
        for item in self.items if self.more else ():
            self.held.append(item)
            return True
        self.more = False
        return False

    def _send(self, item: WorkItem, place: WorkPlace[WorkItem]) -> None:
        self.out[place.send(item)] = (item, place)
        self.busy[id(place)] += 1

    def _wait(self) -> list[Any]:
        """Wait for an answer or a place; return the references that are ready."""
        references = [*self.out, *self.crew.awaited()]
        if not references:
            time.sleep(POLL)
            return []
        ready, _ = self.ray.wait(references, timeout=POLL, fetch_local=False)
        if len(ready) == 1 and len(references) > 1:  # take other answers that have arrived
            ready, _ = self.ray.wait(
                references, num_returns=len(references), timeout=0, fetch_local=False
            )
        return [reference for reference in ready if reference in self.out]

    def _receive(self, reference: Any) -> Iterator[tuple[WorkItem, Any]]:
        item, place = self.out.pop(reference)
        self.busy[id(place)] -= 1
        try:
            answer = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            raise ClusterError(f"a node could not do its work: {error}") from error
        except self.ray.exceptions.RayError as error:
            place.lost()
            self.losses[id(item)] = self.losses.get(id(item), 0) + 1
            if self.losses[id(item)] < MOST_LOSSES:
                self.held.append(item)
                return
            times = f"lost with {count_phrase(MOST_LOSSES, 'node or worker', 'nodes or workers')}"
            answer = LostWork(f"{times}: {first_line(error)}")
        if isinstance(answer, FailedPlace):
            place.failed(answer.reason)
            self.held.append(item)
            return
        self.losses.pop(id(item), None)
        yield item, answer

    def _check_stuck(self) -> None:
        """Raise ClusterError if items are left but none has been in flight for long."""
        if self.out or not self.held:
            self.stuck = None
            return
        now = time.monotonic()
        self.stuck = self.stuck or now
        if now - self.stuck > self.patience:
            raise ClusterError(
                f"no node takes what is left, for {self.patience:.0f} seconds; "
                "the same command resumes"
            )
