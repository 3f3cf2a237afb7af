"""Space: the schedules of one task, and how to build and time one of them.

A *schedule* is canonical JSON: data that can be stored, and that means the same program wherever
the space is made from the same workload. A space draws schedules, mutates them, rejects bad ones
without compiling, encodes them for a cost model, prints them as code, and builds them. Only
``build`` and what it returns touch a device.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as count_up
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np

TRIES = 64
"""Draws without a new program after which a space counts as exhausted."""


class SpaceError(ValueError):
    """A workload or schedule that this space does not accept."""


@dataclass(frozen=True)
class Workload:
    """What is computed; with a target, enough to make its space again anywhere."""

    space: str
    """Name of the plug-in."""
    name: str
    """Readable name: ``fused_conv2d_add_relu``."""
    hash: str
    """Equal for the same computation on the same sizes."""
    module: str
    """The computation as the plug-in writes it; data, never executed as it is."""
    flops: float = 0.0


class Built(ABC):
    """A program that can be run."""

    remarks: Mapping[str, bool] = MappingProxyType({})
    """Anything unusual about the last times."""

    def start_threads(self) -> None:  # noqa: B027
        """Start the threads that a run uses, so that they can be pinned; none by default."""

    @abstractmethod
    def times(self, repeats: int) -> list[float]:
        """Return the seconds of each run, from flushed caches, after one uncounted run."""


class Space(ABC):
    """The programs of one workload for one target."""

    name: ClassVar[str]
    target: str
    """The target as stored in records."""

    @abstractmethod
    def count(self) -> float:
        """Return about how many programs there are; an upper bound unless the space knows more."""

    @abstractmethod
    def draw(self, seed: int) -> str | None:
        """Return a random schedule, determined by the seed; None if the draw is not a program."""

    @abstractmethod
    def mutate(self, schedule: str, seed: int) -> str | None:
        """Return a schedule one decision away; None if that is not a program."""

    @abstractmethod
    def wrong(self, schedule: str) -> str | None:
        """Return why a schedule cannot work here, as far as that is known before compiling."""

    @abstractmethod
    def encode(self, schedule: str) -> np.ndarray:
        """Return the features of a schedule, always of the same shape; nothing is compiled."""

    def encode_many(self, schedules: Sequence[str]) -> np.ndarray:
        """Return the features of each schedule; some spaces are faster for many at once."""
        import numpy as np

        return np.stack([self.encode(schedule) for schedule in schedules])

    @abstractmethod
    def code(self, schedule: str) -> str:
        """Return the schedule as readable code."""

    @abstractmethod
    def build(self, schedule: str) -> Built:
        """Compile a schedule; raise SpaceError if it does not belong to this space."""

    def computation(self) -> str:
        """Return the computation as readable code; empty if unknown."""
        return ""

    def steps(self, schedule: str) -> str:
        """Return a schedule's decisions as readable code; empty if there is no such form."""
        return ""

    def ready(self) -> None:
        """Prepare once what every build needs, before builds are forked."""
        return

    def draws(self, seed: int, begin: int = 0) -> Iterator[tuple[int, str | None]]:
        """Yield numbered random draws without end; ``begin`` continues an earlier sequence."""
        seeds = random.Random(seed)  # noqa: S311
        for number in count_up():
            chosen = seeds.randrange(1, 1 << 31)
            if number >= begin:
                yield number, self.draw(chosen)

    def sample(self, count: int, seed: int) -> Iterator[str]:
        """Yield ``count`` distinct random schedules, fewer if the space has no more.

        The first ``k`` of a longer sample are the sample of ``k``, so a collection can be
        continued.
        """
        for _, schedule in islice(distinct(self.draws(seed), set()), count):
            yield schedule


def distinct(draws: Iterable[tuple[int, str | None]], seen: set[str]) -> Iterator[tuple[int, str]]:
    """Yield draws that are programs not yet ``seen``, until TRIES draws give nothing new."""
    misses = 0
    for number, schedule in draws:
        if schedule is not None and schedule not in seen:
            misses = 0
            seen.add(schedule)
            yield number, schedule
        else:
            misses += 1
            if misses == TRIES:
                return


def repeats_of(flops: float) -> int:
    """Return how often to run a program of a task with this many operations, by TenSet's rule."""
    if flops >= 2.4e9:
        return 4
    if flops >= 0.83e9:
        return 6
    return 10 if flops <= 2.1e6 else 8
