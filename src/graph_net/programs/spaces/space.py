"""Space: the programs of one task, and how to get from one of them to a measured time.

A program is a *schedule*: canonical JSON, data that a file may hold and that means the same program
wherever the space is made of the same workload. A space draws schedules, changes them, says without
compiling what is wrong with one, turns one into numbers for a cost model and into code for a
reader, and builds one. Only ``build`` and what it returns touch a device.
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
"""Draws without a new program after which a space is taken to be exhausted."""


class SpaceError(ValueError):
    """A workload or a schedule that this space cannot take."""


@dataclass(frozen=True)
class Workload:
    """What is computed: enough, with a target, to make its space again anywhere."""

    space: str
    """The plug-in's name."""
    name: str
    """For people: ``fused_conv2d_add_relu``."""
    hash: str
    """The same for the same computation on the same sizes."""
    module: str
    """The computation as the plug-in writes it; never run as it is."""
    flops: float = 0.0


class Built(ABC):
    """A program that can run."""

    remarks: Mapping[str, bool] = MappingProxyType({})
    """What is unusual about the last times."""

    def start_threads(self) -> None:  # noqa: B027
        """Start the threads that a run uses, so that they can be placed; none by default."""

    @abstractmethod
    def times(self, repeats: int) -> list[float]:
        """Return the seconds of each run, from flushed caches, after one that is not counted."""


class Space(ABC):
    """The programs of one workload for one target."""

    name: ClassVar[str]
    target: str
    """As records have it."""

    @abstractmethod
    def count(self) -> float:
        """Return about how many programs there are: an upper bound where the space says no more."""

    @abstractmethod
    def draw(self, seed: int) -> str | None:
        """Return a random schedule, the same for a seed; None where the draw is no program."""

    @abstractmethod
    def mutate(self, schedule: str, seed: int) -> str | None:
        """Return a schedule one decision away; None where that is no program."""

    @abstractmethod
    def wrong(self, schedule: str) -> str | None:
        """Return why a schedule cannot work here, where that is known before compiling."""

    @abstractmethod
    def encode(self, schedule: str) -> np.ndarray:
        """Return the schedule as numbers, always of the same shape; nothing is compiled."""

    def encode_many(self, schedules: Sequence[str]) -> np.ndarray:
        """Return the numbers of each schedule; some spaces are quicker for many at once."""
        import numpy as np

        return np.stack([self.encode(schedule) for schedule in schedules])

    @abstractmethod
    def code(self, schedule: str) -> str:
        """Return the schedule as a person would write it."""

    @abstractmethod
    def build(self, schedule: str) -> Built:
        """Compile a schedule; raises SpaceError where it is none of this space."""

    def computation(self) -> str:
        """Return what is computed, as a person would write it; empty where unknown."""
        return ""

    def steps(self, schedule: str) -> str:
        """Return a schedule's decisions without the program; empty where there is no such form."""
        return ""

    def ready(self) -> None:
        """Make what every build needs: it is made once, and then the builds are forked."""
        return

    def draws(self, seed: int, begin: int = 0) -> Iterator[tuple[int, str | None]]:
        """Yield what random seeds draw, numbered, without end; the same from any number on."""
        seeds = random.Random(seed)  # noqa: S311
        for number in count_up():
            chosen = seeds.randrange(1, 1 << 31)
            if number >= begin:
                yield number, self.draw(chosen)

    def sample(self, count: int, seed: int) -> Iterator[str]:
        """Yield ``count`` distinct random schedules, fewer where the space has no more.

        The first ``k`` of a longer sample are the sample of ``k``: a collection can go on.
        """
        for _, schedule in islice(distinct(self.draws(seed), set()), count):
            yield schedule


def distinct(draws: Iterable[tuple[int, str | None]], seen: set[str]) -> Iterator[tuple[int, str]]:
    """Yield draws that are a program not ``seen`` yet, until there are none for long."""
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
    """Return how often a program of a task of this size is run, by TenSet's rule."""
    if flops >= 2.4e9:
        return 4
    if flops >= 0.83e9:
        return 6
    return 10 if flops <= 2.1e6 else 8
