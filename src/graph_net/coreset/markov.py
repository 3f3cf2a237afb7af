"""Choose graphs that cover the transitions between operators, as GraphNet's subset does.

There is a transition where one operator reads the result of another. A selection covers a
transition if one of its graphs has it; transitions are weighted by how often they occur.
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
    """The transitions of each graph; ``mass`` is each kind's share of all transitions."""

    kinds: tuple[tuple[str, str], ...]
    has: tuple[Ints, ...]
    mass: Floats

    def take(self, chosen: Ints) -> Transitions:
        """Return those of some graphs; the masses stay those of all."""
        return Transitions(self.kinds, tuple(self.has[index] for index in chosen), self.mass)

    def covered(self, chosen: Iterable[int]) -> float:
        """Return the mass that some graphs cover together."""
        kinds = {int(kind) for index in chosen for kind in self.has[index]}
        return float(self.mass[sorted(kinds)].sum())


def count_transitions(graphs: Iterable[tuple[str, Graph]], names: Iterable[str]) -> Transitions:
    """Count the transitions of graphs, read one at a time in any order, in the order of names."""
    number: dict[tuple[str, str], int] = {}
    total: defaultdict[int, float] = defaultdict(float)
    has: dict[str, Ints] = {}
    for name, graph in graphs:
        counts: Counter[int] = Counter()
        for node in graph.nodes:
            for ref in node.refs:
                source = graph.index[ref.name]
                if isinstance(source, Node):
                    pair = (source.target, node.target)
                    counts[number.setdefault(pair, len(number))] += 1
        # Every graph has the same weight, as in a score, however deep it is.
        size = counts.total()
        for kind, count in counts.items():
            total[kind] += count / size
        has[name] = np.array(sorted(counts), np.int64)
    mass = np.array([total[kind] for kind in range(len(number))], np.float64)
    share = mass / max(float(mass.sum()), 1e-300)
    return Transitions(tuple(number), tuple(has[name] for name in names), share)


def cover(transitions: Transitions, count: int) -> Ints:
    """Return the positions of ``count`` graphs, each adding most to the coverage so far.

    The greedy choice covers at least 1 − 1/e of what the best one does. Once nothing is left to
    add, graphs come in order.
    """
    left = transitions.mass.copy()
    gains = np.array([float(left[kinds].sum()) for kinds in transitions.has])
    chosen: list[int] = []
    for _ in range(min(count, len(transitions.has))):
        while True:  # gains only shrink: the largest is right once it is current
            best = int(np.argmax(gains))
            now = float(left[transitions.has[best]].sum())
            if now >= gains[best] - 1e-15:
                break
            gains[best] = now
        chosen.append(best)
        gains[best] = -1.0
        left[transitions.has[best]] = 0.0
    return np.array(chosen, np.int64)
