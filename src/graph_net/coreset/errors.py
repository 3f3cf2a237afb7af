"""How wrong a prediction from few graphs is, by cross-validation on what was measured.

The measured graphs are split by model family, again and again, into two halves. One tells which
features matter; in the other, which no choice has seen, few graphs are chosen and the aggregate of
all of them is predicted. The error of a choice of k out of n falls with √k and with what is left,
√(1 − k/n), so errors at several small k tell that at the k asked for out of a whole corpus. Where
more than one compiler was measured, what matters is learnt from the others: a coreset is chosen
before the compiler that it will judge exists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graph_net.coreset.choose import choose
from graph_net.coreset.features import learn
from graph_net.coreset.markov import Transitions, cover
from graph_net.score.samples import Floats, Ints

SPLITS = 40
SMALL = (4, 8, 16, 32, 64)
FEWEST = 24
"""With fewer measured graphs than this nothing can be said."""
Method = Callable[["CandidateGraphs", int, int], Ints]


@dataclass(frozen=True)
class MeasuredGraphs:
    """One compiler's values on measured graphs: rows of the features, families, values."""

    places: Ints
    families: Ints
    values: Floats


@dataclass(frozen=True)
class Expected:
    """The expected error of one method: a factor on the score, and what it rests on."""

    method: str
    factor: float
    trials: int
    constant: float

    def at(self, count: int, of_graphs: int) -> float:
        """The factor for another number of graphs."""
        left = max(1 - count / max(of_graphs, 1), 0.0)
        return float(10 ** (self.constant * np.sqrt(left / count)))


@dataclass(frozen=True)
class CandidateGraphs:
    """What is known of graphs to choose from: features, the same as records weigh them, and
    transitions, where graphs were read for them."""

    plain: Floats
    heavy: Floats
    transitions: Transitions | None = None


def by_coreset(known: CandidateGraphs, count: int, seed: int) -> Ints:
    """Graphs that are right on average, most of all in what records say matters."""
    return choose(known.heavy, count, seed)


def by_features(known: CandidateGraphs, count: int, seed: int) -> Ints:
    """The same without what records taught."""
    return choose(known.plain, count, seed)


def by_transitions(known: CandidateGraphs, count: int, seed: int) -> Ints:
    """The graphs that cover operator transitions best."""
    if known.transitions is None:
        raise ValueError("transitions are counted in graphs, and none were read")
    return cover(known.transitions, count)


def by_chance(known: CandidateGraphs, count: int, seed: int) -> Ints:
    """Graphs drawn by lot: what every method should be better than."""
    luck = np.random.default_rng(seed)
    count = min(count, len(known.plain))
    return np.asarray(luck.choice(len(known.plain), count, replace=False), np.int64)


METHODS: Mapping[str, Method] = {
    "coreset": by_coreset,
    "features": by_features,
    "markov": by_transitions,
    "random": by_chance,
}


def expected_errors(
    table: Floats,
    measured: Sequence[MeasuredGraphs],
    count: int,
    found: Transitions | None = None,
    seed: int = 0,
) -> list[Expected]:
    """The expected error of each method at ``count`` out of all rows of the table."""
    methods = {
        name: method
        for name, method in METHODS.items()
        if found is not None or method is not by_transitions
    }
    squares: dict[str, list[float]] = {name: [] for name in methods}
    for number, (known, values) in enumerate(_halves(table, measured, found, seed)):
        for name, method in methods.items():
            for k in (k for k in SMALL if k <= len(values) // 2):
                chosen = method(known, k, seed + number)
                error = float(values[chosen].mean() - values.mean())
                left = 1 - len(chosen) / len(values)
                squares[name].append(error**2 * len(chosen) / left)
    return [_expected(name, squares[name], count, len(table)) for name in methods]


def _expected(name: str, squares: Sequence[float], count: int, of_graphs: int) -> Expected:
    constant = float(np.sqrt(np.mean(squares))) if squares else float("nan")
    unscaled = Expected(name, 0.0, len(squares), constant)
    return Expected(name, unscaled.at(count, of_graphs), len(squares), constant)


def _halves(
    table: Floats, measured: Sequence[MeasuredGraphs], found: Transitions | None, seed: int
) -> Iterator[tuple[CandidateGraphs, Floats]]:
    """Halves that no choice has seen, with the features as the other halves weigh them."""
    luck = np.random.default_rng(seed)
    for _ in range(SPLITS):
        for place, one in enumerate(measured):
            if len(one.values) < FEWEST:
                continue
            families = np.unique(one.families)
            learnt = luck.choice(families, len(families) // 2, replace=False)
            unseen = ~np.isin(one.families, learnt)
            teachers = [m for other, m in enumerate(measured) if other != place] or [one]
            mine = one.places[unseen]
            rows, values = without(teachers, {int(place) for place in mine})
            if not len(rows) or not unseen.any():
                continue
            plain = table[mine]
            heavy = learn(table[rows], values).emphasised(plain)
            yield CandidateGraphs(plain, heavy, found and found.take(mine)), one.values[unseen]


def without(
    teachers: Sequence[MeasuredGraphs], hidden: Collection[int] = ()
) -> tuple[Ints, Floats]:
    """Rows and values of all that is not hidden, each compiler about its own mean."""
    rows, values = [], []
    for one in teachers:
        keep = np.array([int(place) not in hidden for place in one.places], np.bool_)
        if keep.any():
            rows.append(one.places[keep])
            values.append(one.values[keep] - one.values[keep].mean())
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0)
    return np.concatenate(rows), np.concatenate(values)
