"""How well a rule of choices would have chosen, by replay of measured times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graph_net.learn.metrics import Floats
from graph_net.search.inductor.choice_model import ChoiceModel, agreement
from graph_net.search.inductor.tile import Tile
from graph_net.search.inductor.training_data import TimedTiles


@dataclass(frozen=True)
class Kept:
    """What a rule kept for operations that it was not trained on."""

    tiles: float
    """Tiles kept per operation, on average."""
    offered: float
    effort: float
    """Seconds of compiling what is kept, over those of all that is offered."""
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
            f"| {name} | {self.offered:.1f} | {self.tiles:.2f} | {self.effort:.3f} | "
            f"{self.mean:.4f} | {self.worst:.3f} | {near:.0%} |"
        )


@dataclass(frozen=True)
class Offer:
    """Tiles that are offered for an operation, and what a model says of those that fit."""

    tiles: list[Tile]
    times: Floats
    fitting: list[int]
    """Places of the tiles that fit."""
    mean: Floats
    spread: Floats
    """Scores of the fitting tiles alone, and how far the members disagree."""


@dataclass(frozen=True)
class UnseenScores:
    """Scores of an operation by members that did not learn from its networks."""

    operation: TimedTiles
    members: Floats
    """A row for each member, a column for each tile."""

    @cached_property
    def default(self) -> Offer:
        """What Inductor offers by default."""
        return self._offer([place for place, own in enumerate(self.operation.default) if own])

    @cached_property
    def widened(self) -> Offer:
        """All that was measured."""
        return self._offer(list(range(len(self.operation.tiles))))

    def _offer(self, places: Sequence[int]) -> Offer:
        operation = self.operation
        tiles = [operation.tiles[place] for place in places]
        fitting = [at for at, tile in enumerate(tiles) if tile.fits_in(operation.family)]
        scored = agreement(self.members[:, [places[at] for at in fitting]])
        times = np.array([operation.times[place] for place in places])
        return Offer(tiles, times, fitting, *scored)


def judge(model: ChoiceModel, scored: Sequence[UnseenScores], default: bool = True) -> Kept:
    """Return what the model keeps of Inductor's default tiles, or of all measured tiles.

    A failed tile is never the best, and keeping it costs a compilation. Outside the rule's domain
    everything is kept.
    """
    counts, offered, efforts, ratios = [], [], [], []
    for one in scored:
        operation, rule = one.operation, model.rule.of(one.operation.family)
        offer = one.default if default else one.widened
        kept = list(range(len(offer.tiles)))
        if rule.has(operation.family) and (offer.fitting or np.isfinite(operation.others)):
            tiles = [offer.tiles[place] for place in offer.fitting]
            kept = [offer.fitting[at] for at in rule.keep(tiles, offer.mean, offer.spread)]
        counts.append(len(kept))
        offered.append(len(offer.tiles))
        seconds = rule.efforts(offer.tiles) * rule.seconds
        efforts.append((seconds[kept].sum(), seconds.sum()))
        left = min(offer.times[kept].min(initial=np.inf), operation.others)
        ratios.append(float(left / min(offer.times.min(), operation.others)))
    kept_effort, whole = np.sum(efforts, axis=0)
    means = float(np.mean(counts)), float(np.mean(offered))
    return Kept(*means, float(kept_effort / whole), tuple(ratios))
