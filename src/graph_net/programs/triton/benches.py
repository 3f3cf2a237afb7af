"""Benches: the workloads whose data is on the GPU, the few that were used last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graph_net.programs.triton.bench import Bench, NoRoom, out_of_memory
from graph_net.programs.triton.family import Family
from graph_net.programs.triton.space import TritonSpace
from graph_net.programs.triton.workloads import Collected

MOST = 12
"""More than the workloads that are on their way at a time, so that few are made twice."""


class Benches:
    """Makes the bench of a workload when it is asked for, and lets go of the one unused longest."""

    def __init__(
        self,
        works: Sequence[Collected],
        target: str,
        make: Callable[[Family], Bench] = Bench,
        most: int = MOST,
    ) -> None:
        self.works, self.target, self.make, self.most = works, target, make, most
        self._held: dict[int, tuple[TritonSpace, Bench]] = {}

    def of(self, place: int) -> tuple[TritonSpace, Bench]:
        """The space and the bench of a workload; raises NoRoom where its data does not fit."""
        found = self._held.pop(place, None) or self._made(place)
        self._held[place] = found  # the last of a dictionary: the one that was used last
        return found

    def _made(self, place: int) -> tuple[TritonSpace, Bench]:
        while len(self._held) >= self.most:
            del self._held[next(iter(self._held))]
        work = self.works[place].workload
        space = TritonSpace(work, self.target)
        try:
            return space, self.make(space.family)
        except Exception as error:
            if not out_of_memory(error):
                raise
            self._held.clear()  # so that there is room for the next
            raise NoRoom(f"no room for the data of {work.name}: {error}"[:300]) from error
