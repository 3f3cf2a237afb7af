"""Proposer: which programs a search measures next; at random, or by models.

``ModelProposer`` drafts with a cheap model and verifies with a good one. In a space that is drawn
it evolves a population first; a listed space is scored whole. A part of every batch is random, so
that a model that is wrong about a region does not shut it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from graph_net.learn.adapting import Adapts
from graph_net.learn.trees import pool_rows
from graph_net.search.history import SearchHistory
from graph_net.search.measurer import SearchError
from graph_net.search.search_space import Chance, DrawnSpace, ListedSpace, SearchSpace

SPREAD = 16
"""Candidates, as a multiple of a batch, among which unlike programs are sought."""


class Proposer(Protocol):
    """Chooses programs to measure."""

    def propose(
        self, space: SearchSpace, history: SearchHistory, count: int, chance: Chance
    ) -> list[str]:
        """Return up to ``count`` programs that are not in ``history``, the most promising first."""
        ...

    def rank(self, space: SearchSpace, history: SearchHistory, asked: Sequence[str]) -> list[str]:
        """Return programs in the order in which they are worth measuring."""
        ...


@dataclass(frozen=True)
class RandomProposer:
    """Random programs: the baseline of every search."""

    def propose(
        self, space: SearchSpace, history: SearchHistory, count: int, chance: Chance
    ) -> list[str]:
        """Return random programs."""
        return space.draw(count, chance, history)

    def rank(self, space: SearchSpace, history: SearchHistory, asked: Sequence[str]) -> list[str]:
        """Return the programs as they are."""
        return list(asked)


@dataclass(frozen=True)
class Evolution:
    """How a population of a drawn space is evolved before a batch is chosen."""

    population: int = 64
    generations: int = 3
    parents: int = 12
    fastest: int = 8
    """Measured programs that the first generation mutates."""
    unlike: float = 0.0
    """Part of the features in which the programs of a batch should differ."""


@dataclass(frozen=True)
class ModelProposer:
    """The best of what ``verify`` scores among the best of what ``draft`` scores."""

    verify: Adapts
    draft: Adapts | None = None
    """A cheaper model; without it ``verify`` scores all candidates."""
    drafted: int = 256
    """Candidates of the draft that are verified."""
    in_detail: bool = False
    """Whether ``verify`` takes the detailed features of a drawn space."""
    epsilon: float = 0.05
    """The part of measurements that is random."""
    first: int = 0
    """Random programs before a model is asked: for models that know nothing at the start."""
    evolution: Evolution = Evolution()

    def propose(
        self, space: SearchSpace, history: SearchHistory, count: int, chance: Chance
    ) -> list[str]:
        """Return the best candidates by the models, and a random part."""
        if history.programs < self.first:
            return space.draw(min(count, self.first - history.programs), chance, history)
        lucky = sum(chance.random() < self.epsilon for _ in range(count))
        chosen = space.draw(lucky, chance, history)
        pool = self._pool(space, history, chance)
        ranked = [text for text in pool if text not in history and text not in chosen]
        wanted = count - len(chosen)
        if (unlike := self.evolution.unlike) and not isinstance(space, ListedSpace):
            ranked = spread(space, history, ranked[: SPREAD * count], unlike, wanted)
        return [*ranked[:wanted], *chosen]

    def rank(self, space: SearchSpace, history: SearchHistory, asked: Sequence[str]) -> list[str]:
        """Return programs by the score of ``verify``, the best first."""
        if self.in_detail:
            if not isinstance(space, DrawnSpace) or space.detailed is None:
                raise SearchError("this space has no detailed features for the model that verifies")
            space = space.detailed
        return ranked_by(self.verify, space, history, asked)

    def _pool(self, space: SearchSpace, history: SearchHistory, chance: Chance) -> list[str]:
        """Return candidates, the best first."""
        draft = self.draft or self.verify
        if isinstance(space, ListedSpace):
            pool = ranked_by(draft, space, history, space.schedules)
        else:
            pool = self._evolve(draft, space, history, chance)
        if self.draft is None:
            return pool
        fresh = [text for text in pool if text not in history]
        if self.in_detail:
            fresh = spread(space, history, fresh, self.evolution.unlike, self.drafted)
        return self.rank(space, history, fresh[: self.drafted])

    def _evolve(
        self, draft: Adapts, space: SearchSpace, history: SearchHistory, chance: Chance
    ) -> list[str]:
        """Return a population after some generations of mutation, the best first."""
        size = self.evolution
        parents = history.fastest(size.fastest)
        pool = dict.fromkeys(space.draw(size.population // 2, chance, history))
        for _ in range(size.generations):
            for parent in parents:
                pool.update(dict.fromkeys(space.neighbours(parent, chance)))
            kept = ranked_by(draft, space, history, list(pool))[: size.population]
            pool = dict.fromkeys(kept)
            parents = kept[: size.parents]
        return list(pool)


def spread(
    space: SearchSpace, history: SearchHistory, ranked: Sequence[str], unlike: float, count: int
) -> list[str]:
    """Return programs with those first that are unlike the better ones before them.

    Evolution fills a pool with variants of its best program: if that is not as fast as the model
    believes, a batch of them teaches little.
    """
    if not ranked:
        return []
    data, _, texts = space.describe(history, ranked)
    rows = pool_rows(data)
    varying = rows[:, rows.std(axis=0) > 0]
    indices = {text: index for index, text in enumerate(texts)}
    first: list[str] = []
    for text in ranked:
        mine = varying[indices[text]]
        if len(first) < count and all(
            (mine != varying[indices[other]]).mean() >= unlike for other in first
        ):
            first.append(text)
    return [*first, *(text for text in ranked if text not in first)]


def ranked_by(
    model: Adapts, space: SearchSpace, history: SearchHistory, asked: Sequence[str]
) -> list[str]:
    """Return programs by a model's scores, given what was measured; equals keep their order."""
    if not asked:
        return []
    data, measured, texts = space.describe(history, asked)
    scores = dict(zip(texts, np.asarray(model.predict_given(data, measured)).tolist(), strict=True))
    return sorted(asked, key=lambda text: -scores[text])
