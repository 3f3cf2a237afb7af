"""SearchSpace: the programs that a search chooses from, as texts and as features.

``ListedSpace`` lists all of its programs, for data in which every program was measured.
``DrawnSpace`` draws and mutates the programs of a ``programs.spaces.Space``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from graph_net.learn.learning_set import Features, LearningSet, LearningTask
from graph_net.learn.metrics import Ints, TaskCosts
from graph_net.programs.spaces import Space
from graph_net.search.history import SearchHistory
from graph_net.search.measurer import SearchError

UNKNOWN = 1.0
"""Cost given to unmeasured programs; no model reads it."""
Chance = random.Random


class SearchSpace(Protocol):
    """Programs of one task."""

    def draw(self, count: int, chance: Chance, known: SearchHistory) -> list[str]:
        """Return up to ``count`` distinct random programs that are not ``known``."""
        ...

    def neighbours(self, schedule: str, chance: Chance) -> list[str]:
        """Return programs one decision away: all of them, or a sample if there are many."""
        ...

    def describe(
        self, history: SearchHistory, asked: Sequence[str] | None
    ) -> tuple[LearningSet, Ints, list[str]]:
        """Return a set of programs, the indices of the measured ones, and the programs' texts.

        The set has the measured programs with their costs, and those ``asked``; None asks for all
        programs that the space lists.
        """
        ...


@dataclass(frozen=True)
class ListedSpace:
    """A space that lists all of its programs."""

    schedules: tuple[str, ...]
    data: LearningSet
    """The set of one task, with one program per schedule in the same order; costs are unused."""

    def __post_init__(self) -> None:
        if len(self.schedules) != len(self.data) or len(self.data.tasks) != 1:
            raise SearchError("a listed space has one task, and a text for each of its programs")

    @cached_property
    def places(self) -> dict[str, int]:
        """Index of each program."""
        return {schedule: place for place, schedule in enumerate(self.schedules)}

    @cached_property
    def _parameters(self) -> Ints:
        """The parameters of each program, as indices of their values."""
        configs = [json.loads(schedule) for schedule in self.schedules]
        columns = [
            np.unique([str(config[name]) for config in configs], return_inverse=True)[1]
            for name in sorted(configs[0])
        ]
        return np.stack(columns, axis=1)

    def draw(self, count: int, chance: Chance, known: SearchHistory) -> list[str]:
        """Return random programs."""
        left = [schedule for schedule in self.schedules if schedule not in known]
        return chance.sample(left, min(count, len(left)))

    def neighbours(self, schedule: str, chance: Chance) -> list[str]:
        """Return the programs that differ in one parameter, in random order."""
        mine = self._parameters[self.places[schedule]]
        found = np.flatnonzero((self._parameters != mine).sum(axis=1) == 1).tolist()
        chance.shuffle(found)
        return [self.schedules[place] for place in found]

    def describe(
        self, history: SearchHistory, asked: Sequence[str] | None
    ) -> tuple[LearningSet, Ints, list[str]]:
        """Return all programs, with the costs of the measured ones."""
        costs = np.full(len(self.schedules), UNKNOWN)
        measured = np.array([self.places[schedule] for schedule in history], np.int64)
        costs[measured] = [history.seconds(schedule) for schedule in history]
        programs = TaskCosts.of(costs, np.zeros(costs.size, np.int64))
        return replace(self.data, programs=programs), measured, list(self.schedules)


class DrawnSpace:
    """A space whose programs are drawn and mutated; without a space, it only encodes programs.

    ``detailed`` has the same programs with features that cost more, for a model that verifies.
    """

    def __init__(
        self,
        space: Space | None,
        columns: Sequence[str],
        encode: Callable[[Sequence[str]], Sequence[Features]],
        task: LearningTask,
        mutations: int = 32,
        detailed: DrawnSpace | None = None,
    ) -> None:
        self.space, self.columns, self.encode, self.task = space, tuple(columns), encode, task
        self.mutations, self.detailed = mutations, detailed
        self._rows: dict[str, Features] = {}

    def draw(self, count: int, chance: Chance, known: SearchHistory) -> list[str]:
        """Return random programs; fewer if the space is exhausted."""
        if self.space is None:
            return []
        found: dict[str, None] = {}
        for schedule in self.space.sample(count + known.programs, chance.randrange(1 << 30)):
            if schedule not in known:
                found[schedule] = None
        return list(found)[:count]

    def neighbours(self, schedule: str, chance: Chance) -> list[str]:
        """Return distinct mutations."""
        if self.space is None:
            return []
        seeds = (chance.randrange(1, 1 << 30) for _ in range(self.mutations))
        found = (self.space.mutate(schedule, seed) for seed in seeds)
        return list(dict.fromkeys(text for text in found if text is not None))

    def describe(
        self, history: SearchHistory, asked: Sequence[str] | None
    ) -> tuple[LearningSet, Ints, list[str]]:
        """Return the measured programs, then the ones asked for."""
        texts = list(dict.fromkeys([*history, *(asked or ())]))
        if fresh := [text for text in texts if text not in self._rows]:
            self._rows.update(zip(fresh, self.encode(fresh), strict=True))
        rows = [self._rows[text] for text in texts]
        costs = [history.seconds(t) if t in history else UNKNOWN for t in texts]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        programs = TaskCosts.of(costs, np.zeros(len(texts), np.int64))
        data = LearningSet(self.columns, np.concatenate(rows), starts, programs, (self.task,))
        return data, np.arange(history.programs), texts
