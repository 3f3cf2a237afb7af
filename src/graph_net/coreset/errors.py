"""The expected error of a prediction from few graphs, by cross-validation on records.

The measured graphs are split by model family, many times, into two halves. On one half the weights
of features are learned; in the other, which no choice has seen, few graphs are chosen and the
aggregate of all of them is predicted. The error of a choice of k out of n falls with √k and with
√(1 − k/n), so errors at several small k give that at the requested k out of a whole corpus. If more
than one compiler was measured, weights are learned from the others: a coreset is chosen before the
compiler that it will judge exists.
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
"""The fewest measured graphs from which an error is estimated."""
Method = Callable[["CandidateGraphs", int, int], Ints]


@dataclass(frozen=True)
class MeasuredGraphs:
    """One compiler's values on measured graphs: rows of the features, families, values."""

    positions: Ints
    families: Ints
    values: Floats


@dataclass(frozen=True)
class ExpectedError:
    """The expected error of one method, as a factor on the score, over trials."""

    method: str
    factor: float
    trials: int
    constant: float

    def at(self, count: int, of_graphs: int) -> float:
        """Return the factor for another number of graphs."""
        left = max(1 - count / max(of_graphs, 1), 0.0)
        return float(10 ** (self.constant * np.sqrt(left / count)))


@dataclass(frozen=True)
class CandidateGraphs:
    """Graphs to choose from: features, the same weighted by records, and operator transitions."""

    plain: Floats
    weighted: Floats
    transitions: Transitions | None = None


def by_coreset(graphs: CandidateGraphs, count: int, seed: int) -> Ints:
    """Choose graphs whose mean features match, weighted by relevance in records."""
    return choose(graphs.weighted, count, seed)


def by_features(graphs: CandidateGraphs, count: int, seed: int) -> Ints:
    """Choose graphs whose mean features match, without records."""
    return choose(graphs.plain, count, seed)


def by_transitions(graphs: CandidateGraphs, count: int, seed: int) -> Ints:
    """Choose graphs that cover operator transitions."""
    if graphs.transitions is None:
        raise ValueError("the method markov needs transitions, and no graph was read for them")
    return cover(graphs.transitions, count)


def by_chance(graphs: CandidateGraphs, count: int, seed: int) -> Ints:
    """Choose random graphs, the baseline."""
    random = np.random.default_rng(seed)
    count = min(count, len(graphs.plain))
    return np.asarray(random.choice(len(graphs.plain), count, replace=False), np.int64)


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
    transitions: Transitions | None = None,
    seed: int = 0,
) -> list[ExpectedError]:
    """Return the expected error of each method at ``count`` out of all rows of the table."""
    methods = {
        name: method
        for name, method in METHODS.items()
        if transitions is not None or method is not by_transitions
    }
    squares: dict[str, list[float]] = {name: [] for name in methods}
    for number, (half, values) in enumerate(_split(table, measured, transitions, seed)):
        for name, method in methods.items():
            for k in (k for k in SMALL if k <= len(values) // 2):
                chosen = method(half, k, seed + number)
                error = float(values[chosen].mean() - values.mean())
                left = 1 - len(chosen) / len(values)
                squares[name].append(error**2 * len(chosen) / left)
    return [_expected(name, squares[name], count, len(table)) for name in methods]


def _expected(name: str, squares: Sequence[float], count: int, of_graphs: int) -> ExpectedError:
    constant = float(np.sqrt(np.mean(squares))) if squares else float("nan")
    unscaled = ExpectedError(name, 0.0, len(squares), constant)
    return ExpectedError(name, unscaled.at(count, of_graphs), len(squares), constant)


def _split(
    table: Floats, measured: Sequence[MeasuredGraphs], transitions: Transitions | None, seed: int
) -> Iterator[tuple[CandidateGraphs, Floats]]:
    """Yield halves that no choice has seen, with features weighted by the other halves."""
    random = np.random.default_rng(seed)
    for _ in range(SPLITS):
        for compiler in measured:
            if len(compiler.values) < FEWEST:
                continue
            families = np.unique(compiler.families)
            learned = random.choice(families, len(families) // 2, replace=False)
            unseen = ~np.isin(compiler.families, learned)
            teachers = [other for other in measured if other is not compiler] or [compiler]
            half = compiler.positions[unseen]
            rows, values = centred_values(teachers, {int(position) for position in half})
            if not len(rows) or not unseen.any():
                continue
            plain = table[half]
            graphs = CandidateGraphs(
                plain,
                learn(table[rows], values).emphasise(plain),
                transitions and transitions.take(half),
            )
            yield graphs, compiler.values[unseen]


def centred_values(
    measured: Sequence[MeasuredGraphs], hidden: Collection[int] = ()
) -> tuple[Ints, Floats]:
    """Return rows and values of all graphs not hidden, each compiler about its own mean."""
    rows, values = [], []
    for compiler in measured:
        visible = ~np.isin(compiler.positions, list(hidden))
        if visible.any():
            rows.append(compiler.positions[visible])
            values.append(compiler.values[visible] - compiler.values[visible].mean())
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0)
    return np.concatenate(rows), np.concatenate(values)
