"""Train a model of choices, and calibrate how many it keeps on unseen networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from graph_net.learn.learning_set import LearningSet
from graph_net.learn.metrics import Floats
from graph_net.learn.tree_files import rewrite_lightgbm
from graph_net.learn.trees import REGRESSION, LightGbm
from graph_net.programs.triton.target import Target
from graph_net.search.inductor.choice_model import SIZES, ChoiceModel, ChoiceRule, model_of
from graph_net.search.inductor.drawing import estimated_cycles
from graph_net.search.inductor.training_data import TimedTiles, inductor_set, join

MEMBERS = 3
FOLDS = 5
MOSTS = (3, 4, 5, 6, 7, 8)
MARGINS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3)
MEAN, WORST = 1.005, 1.05
"""Most loss of a rule on unseen networks, by the geometric mean of the ratios and by the worst."""
DOUBTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
TREES = {"rounds": 250, "leaves": 31, "rate": 0.06, "threads": 1, "weight_best": 2.0}


@dataclass(frozen=True)
class Kept:
    """What a rule kept for operations that it was not trained on."""

    tiles: float
    """Tiles kept per operation, on average."""
    offered: float
    ratios: tuple[float, ...]
    """For each operation, the best remaining time over the best time, both including ATen."""

    @property
    def mean(self) -> float:
        """The geometric mean of the ratios."""
        return float(np.exp(np.mean(np.log(self.ratios))))

    @property
    def worst(self) -> float:
        """The greatest ratio."""
        return max(self.ratios)

    def line(self, name: str) -> str:
        """Return a row of a table."""
        near = np.mean(np.array(self.ratios) <= 1.02)
        return (
            f"| {name} | {self.offered:.1f} | {self.tiles:.2f} | {self.mean:.4f} | "
            f"{self.worst:.3f} | {near:.0%} |"
        )


def train_texts(
    operations: Sequence[TimedTiles], before: LearningSet | None, seed: int = 0
) -> list[str]:
    """Return LightGBM texts of members, each with its own seed and a share of the operations."""
    texts = []
    for member in range(MEMBERS):
        generator = np.random.default_rng([seed, member])
        share = generator.permutation(len(operations))[: max(2, int(0.9 * len(operations)))]
        own = inductor_set([operations[place] for place in np.sort(share)])
        data = own if before is None else join([own, before])
        model = LightGbm(TREES, seed=seed * MEMBERS + member)
        model.fit(data)
        texts.append(rewrite_lightgbm(model.text(), REGRESSION))  # drop what only LightGBM reads
    return texts


def rule_of(operations: Sequence[TimedTiles], target: Target) -> ChoiceRule:
    """Return a rule with the operations' domain, which keeps the maximum."""
    families = [one.family for one in operations]
    sizes = np.log2(1 + np.array([[f.m, f.n, f.k, f.taps, f.batch] for f in families], float))
    assert sizes.shape[1] == len(SIZES)
    return ChoiceRule(
        arch=target.arch,
        kernels=tuple(sorted({str(family.module["kernel"]) for family in families})),
        dtypes=tuple(sorted({family.dtype for family in families})),
        lows=tuple(sizes.min(axis=0).tolist()),
        highs=tuple(sizes.max(axis=0).tolist()),
        margin=MARGINS[-1],
        doubt=DOUBTS[-1],
        most=MOSTS[-1],
        members=MEMBERS,
    )


def folds(operations: Sequence[TimedTiles], count: int = FOLDS) -> Iterator[list[int]]:
    """Yield the operations of each fold; operations that share a network share a fold."""
    groups: list[set[str]] = []
    places: list[list[int]] = []
    for place, one in enumerate(operations):
        names = {name.partition("@")[0] for name in one.weights}
        touching = [at for at, group in enumerate(groups) if group & names]
        merged, members = set(names), [place]
        for at in reversed(touching):
            merged |= groups.pop(at)
            members = places.pop(at) + members
        groups.append(merged)
        places.append(members)
    parts: list[list[int]] = [[] for _ in range(min(count, len(places)))]
    for group in sorted(places, key=len, reverse=True):
        min(parts, key=len).extend(group)
    yield from (sorted(part) for part in parts)


@dataclass(frozen=True)
class UnseenScores:
    """Scores of an operation by members that did not learn from its networks."""

    operation: TimedTiles
    mean: Floats
    spread: Floats


def cross_validate(
    operations: Sequence[TimedTiles], before: LearningSet | None, target: Target, seed: int = 0
) -> list[UnseenScores]:
    """Return scores of every operation, each by a model trained on the other folds."""
    found = []
    rule = rule_of(operations, target)
    for part in folds(operations):
        rest = [one for place, one in enumerate(operations) if place not in part]
        model = model_of(rule, train_texts(rest, before, seed))
        found += [_scored(model, operations[place]) for place in part]
    return found


def _scored(model: ChoiceModel, one: TimedTiles) -> UnseenScores:
    return UnseenScores(one, *model.scores(one.family, one.tiles))


def score_unseen(model: ChoiceModel, operations: Sequence[TimedTiles]) -> list[UnseenScores]:
    """Return a model's scores of operations it has not learned from."""
    return [_scored(model, one) for one in operations]


def roofline_scores(operations: Sequence[TimedTiles]) -> list[UnseenScores]:
    """Return scores by estimated cycles alone, without training."""
    return [
        UnseenScores(one, -np.log(cycles), np.zeros(len(one.tiles)))
        for one in operations
        for cycles in [estimated_cycles(one.family, one.tiles)]
    ]


def random_scores(operations: Sequence[TimedTiles], seed: int) -> list[UnseenScores]:
    """Return random scores."""
    generator = np.random.default_rng(seed)
    return [
        UnseenScores(one, generator.random(len(one.tiles)), np.zeros(len(one.tiles)))
        for one in operations
    ]


def judge(model: ChoiceModel, scored: Sequence[UnseenScores], default: bool = True) -> Kept:
    """Return what the model's rule keeps of Inductor's default tiles, or of all measured tiles.

    A failed tile is never the best, and keeping it costs a compilation.
    """
    counts, offered, ratios = [], [], []
    for one in scored:
        places = [place for place, own in enumerate(one.operation.default) if own or not default]
        times = np.array([one.operation.times[place] for place in places])
        kept = model.keep_places(one.mean[places], one.spread[places])
        counts.append(len(kept))
        offered.append(len(places))
        best = min(times.min(), one.operation.others)
        ratios.append(float(min(times[kept].min(), one.operation.others) / best))
    return Kept(float(np.mean(counts)), float(np.mean(offered)), tuple(ratios))


def calibrate(model: ChoiceModel, scored: Sequence[UnseenScores]) -> ChoiceModel:
    """Return the model with the rule that keeps fewest tiles, at MEAN and WORST on unseen networks.

    If no rule is within both, take the one with the least loss.
    """
    rules = [
        replace(model.rule, margin=margin, doubt=doubt, most=most)
        for margin, doubt, most in product(MARGINS, DOUBTS, MOSTS)
    ]
    judged = [(rule, judge(replace(model, rule=rule), scored)) for rule in rules]
    good = [(rule, kept) for rule, kept in judged if kept.mean <= MEAN and kept.worst <= WORST]
    if good:
        chosen = min(good, key=lambda pair: pair[1].tiles)[0]
    else:
        chosen = min(judged, key=lambda pair: (pair[1].mean, pair[1].tiles))[0]
    return replace(model, rule=chosen)


def fixed(model: ChoiceModel, count: int) -> ChoiceModel:
    """Return the model with a rule that always keeps ``count`` tiles."""
    return replace(model, rule=replace(model.rule, margin=1e9, doubt=0.0, most=count))
