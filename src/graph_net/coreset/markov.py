"""Graphs that cover the transitions from operator to operator, as GraphNet's subset does.

A graph is a walk over operators: where the result of one is read by another there is a transition.
A selection covers a transition if one of its graphs has it; what counts is how often it occurs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from graph_net.graph import Graph, Node
from graph_net.score.samples import Floats, Ints


@dataclass(frozen=True)
class Transitions:
    """Which graph has which transitions; ``mass`` is the share of all transitions by each kind."""

    kinds: tuple[tuple[str, str], ...]
    has: tuple[Ints, ...]
    mass: Floats

    def take(self, chosen: Ints) -> Transitions:
        """Those of some of the graphs; the masses stay what they are over all."""
        return Transitions(self.kinds, tuple(self.has[place] for place in chosen), self.mass)

    def covered(self, chosen: Iterable[int]) -> float:
        """The mass that some graphs cover together."""
        found = {int(kind) for place in chosen for kind in self.has[place]}
        return float(self.mass[sorted(found)].sum())


def transitions(graphs: Iterable[tuple[str, Graph]], names: Iterable[str]) -> Transitions:
    """The transitions of graphs, one read at a time, in whatever order; positions are of names."""
    number: dict[tuple[str, str], int] = {}
    total: defaultdict[int, float] = defaultdict(float)
    has: dict[str, Ints] = {}
    for name, graph in graphs:
        mine: Counter[int] = Counter()
        for node in graph.nodes:
            for ref in node.refs:
                source = graph.index[ref.name]
                if isinstance(source, Node):
                    pair = (source.target, node.target)
                    mine[number.setdefault(pair, len(number))] += 1
        # Every graph counts the same, as in a score: a deep one is not worth many.
        size = sum(mine.values())
        for kind, count in mine.items():
            total[kind] += count / size
        has[name] = np.array(sorted(mine), np.int64)
    mass = np.array([total[kind] for kind in range(len(number))], np.float64)
    share = mass / max(float(mass.sum()), 1e-300)
    return Transitions(tuple(number), tuple(has[name] for name in names), share)


def cover(found: Transitions, count: int) -> Ints:
    """Positions of so many graphs, each the one that adds most to what those before it cover.

    The greedy choice covers at least 1 − 1/e of what the best one does. Where nothing is left to
    add, graphs come in order.
    """
    left = found.mass.copy()
    gains = np.array([float(left[kinds].sum()) for kinds in found.has])
    chosen: list[int] = []
    for _ in range(min(count, len(found.has))):
        while True:  # gains only shrink: the largest is right once it is up to date
            best = int(np.argmax(gains))
            now = float(left[found.has[best]].sum())
            if now >= gains[best] - 1e-15:
                break
            gains[best] = now
        chosen.append(best)
        gains[best] = -1.0
        left[found.has[best]] = 0.0
    return np.array(chosen, np.int64)
