"""An analytical model of tiles: work with padding, pipeline fill, and overhead per step.

    cost = waste · (1 + fill / steps) + overhead · steps / volume + traffic + rows

Its six constants are not fitted to seconds but drawn at random and weighted by what they pick from
the training kernels: few kernels have been measured, and the pick is what counts. The score is the
weighted mean over all draws, so no single lucky draw decides. The first picks of a kernel are
chosen together: each is the tile that lowers the expected least cost of all picks the most, since
the tiles that are next best by the mean are often wrong under the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graph_net.compilers.option import Option
from graph_net.configs.tile_features import COLUMNS
from graph_net.learn.cost_model import CostModel, Domain, load_json_part, save_json_part
from graph_net.learn.learning_set import LearnError, LearningSet
from graph_net.learn.metrics import Floats, Ints

PART = "constants.json"
NAMES = ("fill", "overhead", "kernel_overhead", "output_traffic", "kernel_traffic", "rows")
LOWS = np.log([0.1, 1.0, 10.0, 0.1, 0.1, 0.001])
HIGHS = np.log([4.0, 60.0, 4000.0, 30.0, 30.0, 0.3])
KEPT = 512
"""Number of draws kept, those of the greatest weight."""
MOST_TASKS, MOST_PROGRAMS = 256, 1024
"""Most kernels that draws are weighted by, and most programs of each."""
PICKS = 5
"""Tiles of a kernel that are chosen together."""
STEP = 1e-6
"""Distance between the scores of picks, which stay near the best score."""
DIGITS = 9
"""Decimals of a score; smaller differences are ties."""
Draws = NDArray[np.float64]


@dataclass(frozen=True)
class WeightedDraws:
    """Constants in the order of ``NAMES``, draw by draw, and the weight of each draw."""

    constants: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.constants) != len(NAMES) * len(self.weights) or not self.weights:
            raise ValueError(f"a draw has {len(NAMES)} constants")
        if min(self.constants) <= 0 or min(self.weights) < 0:
            raise ValueError("constants are positive, weights not negative")

    @property
    def draws(self) -> Draws:
        """One draw per row."""
        return np.array(self.constants).reshape(-1, len(NAMES))


class TileCost(CostModel):
    """Scores are weighted means of the negative log cost; picks come first."""

    name = "tile_cost"
    ranks_together = True
    options: ClassVar[dict[str, Option]] = {
        "draws": Option(4000, least=16, most=100_000),
        "temperature": Option(0.02, least=1e-4, most=10.0),
    }

    def fit(self, data: LearningSet, held_out: LearningSet | None = None) -> None:
        generator = np.random.default_rng(self.seed)
        count = int(self.number("draws"))
        draws = np.exp(LOWS + (HIGHS - LOWS) * generator.random((count, len(NAMES))))
        regret = _regrets(data, draws, generator)
        weights = np.exp(-(regret - regret.min()) / self.number("temperature"))
        best = np.sort(np.argsort(-weights, kind="stable")[:KEPT])
        chosen = weights[best] / weights[best].sum()
        self.fitted = WeightedDraws(tuple(draws[best].ravel().tolist()), tuple(chosen.tolist()))
        self.domain = Domain.of(data)

    def predict(self, data: LearningSet) -> Floats:
        scores, costs = self._mean_scores(data)
        for tiles in data.programs.rows():
            weights = np.array(self.fitted.weights)
            scores[tiles] = put_picks_first(scores[tiles], costs[tiles], weights)
        return scores

    def prior_scores(self, data: LearningSet) -> Floats:
        return self._mean_scores(data)[0]

    def _mean_scores(self, data: LearningSet) -> tuple[Floats, Floats]:
        """Return the scores of tiles, each for itself, and their costs under each draw."""
        self.learned().check_columns(data)
        costs = np.round(log_costs(_rows(data), self.fitted.draws), DIGITS)
        return np.round(-(costs @ np.array(self.fitted.weights)), DIGITS), costs

    def save_parts(self, folder: Path) -> None:
        self.learned()
        save_json_part(self.fitted, folder / PART)

    def load_parts(self, folder: Path) -> None:
        self.fitted = load_json_part(WeightedDraws, folder / PART)


def put_picks_first(scores: Floats, costs: Floats, weights: Floats) -> Floats:
    """Return the scores of a kernel's tiles, those of the first picks raised above all others.

    ``costs`` has the log cost of each tile under each draw. The first pick keeps its place; tiles
    with equal scores stay equal.
    """
    found = scores.copy()
    ratios = np.exp(costs - costs.min(axis=0))
    least = np.full(len(weights), np.inf)
    left = np.ones(len(scores), bool)
    for place in range(PICKS):
        if not left.any():
            break
        expected = np.round(np.minimum(ratios, least) @ weights, DIGITS) if place else -scores
        pick = np.lexsort((-scores, np.where(left, expected, np.inf)))[0]
        equal = scores == scores[pick]
        found[equal] = scores.max() + (PICKS - place) * STEP
        left &= ~equal
        least = np.minimum(least, ratios[pick])
    return found


def log_costs(rows: Floats, draws: Draws) -> Floats:
    """Return the log cost of each tile (rows of ``tile_features``) under each draw."""
    value = {name: rows[:, place][:, None] for place, name in enumerate(COLUMNS)}
    fill, overhead, kernel_overhead, output_traffic, kernel_traffic, row_cost = draws.T
    steps = np.exp2(value["steps"])
    waste = np.exp2(value["kernel_waste"] + value["output_waste"])
    per_volume = steps / np.exp2(value["kernel_extent"] + value["output_extent"])
    has_kernel = value["has_kernel"]
    each = overhead * (1 - has_kernel) + kernel_overhead * has_kernel
    loads = output_traffic * np.exp2(value["output_volume"])
    loads = has_kernel * (loads + kernel_traffic * np.exp2(value["kernel_volume"]))
    short_rows = row_cost * (np.exp2(-value["output_minor"]) - 1)
    work = waste * (1 + fill / steps)
    return np.asarray(np.log(work + per_volume * (each + loads) + short_rows), np.float64)


def _rows(data: LearningSet) -> Floats:
    try:
        places = [data.columns.index(name) for name in COLUMNS]
    except ValueError as error:
        raise LearnError("tile_cost takes the hand features of tiles") from error
    return data.rows[:, places].astype(np.float64)


def _regrets(data: LearningSet, draws: Draws, generator: np.random.Generator) -> Floats:
    """Return, for each draw, the mean over tasks of slowdown@1 + slowdown@5, each at most 1."""
    rows, tasks = _rows(data), list(data.programs.rows())
    chosen = generator.permutation(len(tasks))[:MOST_TASKS].tolist()
    total = np.zeros(len(draws))
    for task in chosen:
        programs = _some(tasks[task], generator)
        costs = data.programs.costs[programs]
        order = np.argsort(
            np.round(log_costs(rows[programs], draws), DIGITS), axis=0, kind="stable"
        )
        for k in (1, 5):
            total += np.minimum(costs[order[:k]].min(axis=0) / costs.min() - 1, 1.0)
    return total / len(chosen)


def _some(programs: Ints, generator: np.random.Generator) -> Ints:
    return np.sort(generator.permutation(programs)[:MOST_PROGRAMS])
