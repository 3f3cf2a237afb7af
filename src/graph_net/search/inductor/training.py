"""Train a model of choices, and calibrate how many it keeps on unseen networks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean, median

import numpy as np

from graph_net.learn.learning_set import LearningSet
from graph_net.learn.tree_files import rewrite_lightgbm
from graph_net.learn.trees import REGRESSION, LightGbm
from graph_net.programs.triton.target import Target
from graph_net.search.inductor.choice_judge import UnseenScores, judge
from graph_net.search.inductor.choice_model import ChoiceModel, model_of
from graph_net.search.inductor.choice_rule import ChoiceRule, KernelRule, log_sizes
from graph_net.search.inductor.drawing import estimated_cycles
from graph_net.search.inductor.families import SCALED
from graph_net.search.inductor.training_data import KERNELS, TimedTiles, inductor_set, join

MEMBERS = 6
FOLDS = 5
REPEATS = 4
"""Cross-validations with different seeds; a rule of one may fail in the next."""
MOST, MOST_SCALED = 8, 12
"""Tiles of an operation that a rule may keep; scaled products have five times as many choices."""
BUDGETS = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0)
MARGINS = (0.0, *(n / 100 for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 20, 30)))
MEAN, WORST = 1.003, 1.03
"""Most loss of a rule on unseen networks, by the geometric mean of the ratios and by the worst."""
LEAST_EFFORT, MOST_EFFORT = 0.25, 4.0
FEWEST = 5
"""Least operations that tell the effort of compiling a tile."""
DOUBTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
TREES = {"rounds": 250, "leaves": 31, "rate": 0.06, "threads": 1, "weight_best": 2.0}


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
    """Return a rule with the operations' domain, which keeps the maximum.

    Products and convolutions have the same features and are learned together, so each has the
    sizes of all of them; a kernel that only Inductor has is known at its own sizes.
    """
    alike: dict[str, list[TimedTiles]] = defaultdict(list)
    for one in operations:
        alike[one.kernel].append(one)
    shared = [one for one in operations if one.kernel in KERNELS]
    rules = {
        kernel: _kernel_rule(kernel, found, shared if kernel in KERNELS else found)
        for kernel, found in sorted(alike.items())
    }
    return ChoiceRule(target.arch, rules, MEMBERS)


def _kernel_rule(
    kernel: str, operations: Sequence[TimedTiles], sized: Sequence[TimedTiles]
) -> KernelRule:
    sizes = np.array([log_sizes(one.family) for one in sized])
    return KernelRule(
        dtypes=tuple(sorted({one.family.dtype for one in operations})),
        lows=tuple(sizes.min(axis=0).tolist()),
        highs=tuple(sizes.max(axis=0).tolist()),
        margin=MARGINS[-1],
        doubt=DOUBTS[-1],
        most=MOST_SCALED if kernel == SCALED else MOST,
        effort=compiling_efforts(operations),
        budget=BUDGETS[-1],
        seconds=_mean_seconds(operations),
    )


def compiling_efforts(operations: Sequence[TimedTiles]) -> dict[str, float]:
    """Return the seconds of compiling each default tile over its operation's median, by key.

    Tiles of few operations are left out: a process that shares its core takes twice as long.
    """
    efforts: dict[str, list[float]] = defaultdict(list)
    for one in operations:
        own = {
            tile.key: seconds
            for tile, seconds, default in zip(one.tiles, one.compiling, one.default, strict=False)
            if seconds and default
        }
        middle = median(own.values()) if own else 1.0
        for key, seconds in own.items():
            efforts[key].append(seconds / middle)
    return {
        key: round(float(np.clip(median(each), LEAST_EFFORT, MOST_EFFORT)), 2)
        for key, each in sorted(efforts.items())
        if len(each) >= FEWEST
    }


def _mean_seconds(operations: Sequence[TimedTiles]) -> float:
    """Return the mean seconds of compiling a tile; 1 if none was measured."""
    measured = [seconds for one in operations for seconds in one.compiling if seconds]
    return round(fmean(measured), 2) if measured else 1.0


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


def cross_validate(
    operations: Sequence[TimedTiles],
    before: LearningSet | None,
    target: Target,
    seed: int = 0,
    repeats: int = REPEATS,
) -> list[UnseenScores]:
    """Return scores of every operation by models trained on the other folds, one per repeat."""
    scored = []
    rule = rule_of(operations, target)
    for repeat, part in product(range(repeats), list(folds(operations))):
        rest = [one for place, one in enumerate(operations) if place not in part]
        model = model_of(rule, train_texts(rest, before, seed * repeats + repeat))
        scored += [_scored(model, operations[place]) for place in part]
    return scored


def _scored(model: ChoiceModel, one: TimedTiles) -> UnseenScores:
    return UnseenScores(one, model.scores(one.family, one.tiles))


def score_unseen(model: ChoiceModel, operations: Sequence[TimedTiles]) -> list[UnseenScores]:
    """Return a model's scores of operations it has not learned from."""
    return [_scored(model, one) for one in operations]


def roofline_scores(operations: Sequence[TimedTiles]) -> list[UnseenScores]:
    """Return scores by estimated cycles alone, without training."""
    return [
        UnseenScores(one, -np.log(cycles)[None])
        for one in operations
        for cycles in [estimated_cycles(one.family, one.tiles)]
    ]


def random_scores(operations: Sequence[TimedTiles], seed: int) -> list[UnseenScores]:
    """Return random scores."""
    generator = np.random.default_rng(seed)
    return [UnseenScores(one, generator.random((1, len(one.tiles)))) for one in operations]


def calibrate(model: ChoiceModel, scored: Sequence[UnseenScores]) -> ChoiceModel:
    """Return the model with a rule for each kernel, calibrated on operations it has not seen."""
    rules = {
        kernel: _calibrated(
            model, kernel, [one for one in scored if one.operation.kernel == kernel]
        )
        for kernel in model.rule.kernels
    }
    return replace(model, rule=replace(model.rule, kernels=rules))


def _calibrated(model: ChoiceModel, kernel: str, scored: Sequence[UnseenScores]) -> KernelRule:
    """Return the rule with the least effort at MEAN and WORST; else the one with the least loss."""
    rules = [
        replace(model.rule.kernels[kernel], margin=margin, doubt=doubt, budget=budget)
        for margin, doubt, budget in product(MARGINS, DOUBTS, BUDGETS)
    ]
    judged = [(rule, judge(with_rule(model, kernel, rule), scored)) for rule in rules]
    good = [(rule, kept) for rule, kept in judged if kept.mean <= MEAN and kept.worst <= WORST]
    if good:
        return min(good, key=lambda pair: pair[1].effort)[0]
    return min(judged, key=lambda pair: (pair[1].mean, pair[1].effort))[0]


def with_rule(model: ChoiceModel, kernel: str, rule: KernelRule) -> ChoiceModel:
    """Return the model with another rule for a kernel."""
    return replace(model, rule=replace(model.rule, kernels={**model.rule.kernels, kernel: rule}))


def fixed(model: ChoiceModel, count: int) -> ChoiceModel:
    """Return the model with rules that always keep ``count`` tiles."""
    rules = {
        kernel: replace(rule, margin=1e9, doubt=0.0, most=count, budget=1e9)
        for kernel, rule in model.rule.kernels.items()
    }
    return replace(model, rule=replace(model.rule, kernels=rules))
