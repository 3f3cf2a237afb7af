"""Losses of scores against labels, one task per row.

``scores``, ``labels`` and ``mask`` are of shape (tasks, programs): programs are compared within
their task only, as TenSet's LambdaRank intends. ``mask`` is False where a row is padded.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as nn

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
LOWEST = -1e9
"""The score of padding."""


def mse(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return the mean squared error of the scores, taken as labels."""
    return ((scores - labels)[mask] ** 2).mean()


def pairwise(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return RankNet's loss: the mean over pairs of log(1 + exp(slower's score - faster's))."""
    difference, faster = _pairs(scores, labels, mask)
    return nn.softplus(-difference)[faster].sum() / faster.sum().clamp(min=1)


def hinge(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return the pairwise hinge loss: the mean over pairs of max(0, 1 - (faster's - slower's))."""
    difference, faster = _pairs(scores, labels, mask)
    return torch.relu(1 - difference)[faster].sum() / faster.sum().clamp(min=1)


def lambda_rank(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return LambdaRank's loss: a pair's weight is the change of NDCG if the two are swapped."""
    difference, faster = _pairs(scores, labels, mask)
    gains = torch.where(mask, 2 ** (4 * labels) - 1, 0.0)
    ideal = gains.sort(dim=1, descending=True).values
    discounts = 1 / torch.log2(torch.arange(scores.shape[1], device=scores.device) + 2.0)
    best = (ideal * discounts).sum(dim=1).clamp(min=1e-9)
    ranks = scores.masked_fill(~mask, LOWEST).argsort(dim=1, descending=True).argsort(dim=1)
    at = discounts[ranks]
    change = (gains[:, :, None] - gains[:, None]) * (at[:, :, None] - at[:, None])
    weight = change.abs() / best[:, None, None]
    return (nn.softplus(-difference) * weight)[faster].sum() / len(scores)


def list_mle(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return the mean negative log likelihood, per program, of the true order (Plackett-Luce)."""
    order = labels.masked_fill(~mask, LOWEST).argsort(dim=1, descending=True)
    sorted_scores = scores.masked_fill(~mask, LOWEST).gather(1, order)
    # log of the sum over this program and all slower ones
    rest = sorted_scores.flip(1).logcumsumexp(dim=1).flip(1)
    return (rest - sorted_scores)[mask.gather(1, order)].mean()


LOSSES: dict[str, Loss] = {
    "mse": mse,
    "pairwise": pairwise,
    "hinge": hinge,
    "lambdarank": lambda_rank,
    "listmle": list_mle,
}


def _pairs(scores: Tensor, labels: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return score differences of all pairs in a row, and which pairs have the faster one first."""
    there = mask[:, :, None] & mask[:, None]
    return scores[:, :, None] - scores[:, None], there & (labels[:, :, None] > labels[:, None])
