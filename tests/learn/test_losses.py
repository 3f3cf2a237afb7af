"""Losses, held against their definitions written out in loops."""

import math

import pytest
import torch

from graph_net.learn.losses import LOSSES, lambda_rank, list_mle, mse, pairwise

SCORES = torch.tensor([[0.3, -1.0, 2.0, 0.5], [1.0, 0.0, 9.0, 9.0]])
LABELS = torch.tensor([[1.0, 0.2, 0.5, 0.7], [0.4, 1.0, 0.0, 0.0]])
MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])


def pairs(row: int) -> list[tuple[int, int]]:
    """Pairs of programs that are there, the faster first."""
    there = [i for i in range(4) if MASK[row, i]]
    return [(i, j) for i in there for j in there if LABELS[row, i] > LABELS[row, j]]


def softplus(value: float) -> float:
    return math.log1p(math.exp(value))


def test_mse_is_of_programs_that_are_there() -> None:
    errors = [(SCORES - LABELS)[row, i] ** 2 for row in (0, 1) for i in range(4) if MASK[row, i]]
    assert mse(SCORES, LABELS, MASK) == pytest.approx(sum(map(float, errors)) / 6)


def test_pairwise_is_the_mean_over_pairs_within_a_task() -> None:
    terms = [
        softplus(float(SCORES[row, j] - SCORES[row, i])) for row in (0, 1) for i, j in pairs(row)
    ]
    assert len(terms) == 7
    assert float(pairwise(SCORES, LABELS, MASK)) == pytest.approx(sum(terms) / 7, rel=1e-6)


def test_lambda_rank_weighs_a_pair_by_what_exchanging_it_changes() -> None:
    total = 0.0
    for row in (0, 1):
        there = [i for i in range(4) if MASK[row, i]]
        gain = {i: 2 ** (4 * float(LABELS[row, i])) - 1 for i in there}
        order = sorted(there, key=lambda i: -float(SCORES[row, i]))
        discount = {i: 1 / math.log2(rank + 2) for rank, i in enumerate(order)}
        ideal = sorted(gain.values(), reverse=True)
        best = sum(value / math.log2(rank + 2) for rank, value in enumerate(ideal))
        for i, j in pairs(row):
            weight = abs((gain[i] - gain[j]) * (discount[i] - discount[j])) / best
            total += weight * softplus(float(SCORES[row, j] - SCORES[row, i]))
    assert float(lambda_rank(SCORES, LABELS, MASK)) == pytest.approx(total / 2, rel=1e-5)


def test_list_mle_is_the_likelihood_of_drawing_the_true_order() -> None:
    total = 0.0
    for row in (0, 1):
        there = [i for i in range(4) if MASK[row, i]]
        left = sorted(there, key=lambda i: -float(LABELS[row, i]))
        while left:
            weights = [math.exp(float(SCORES[row, i])) for i in left]
            total -= math.log(weights[0] / sum(weights))
            left = left[1:]
    assert float(list_mle(SCORES, LABELS, MASK)) == pytest.approx(total / 6, rel=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_the_true_order_costs_less_than_the_reverse(name: str) -> None:
    loss = LOSSES[name]
    assert loss(LABELS, LABELS, MASK) < loss(-LABELS, LABELS, MASK)


@pytest.mark.parametrize("name", LOSSES)
def test_what_is_not_there_has_no_part_in_it(name: str) -> None:
    loss = LOSSES[name]
    other = torch.where(MASK, SCORES, torch.tensor(-77.0)).requires_grad_()
    value = loss(other, torch.where(MASK, LABELS, torch.tensor(3.0)), MASK)
    assert value.item() == pytest.approx(loss(SCORES, LABELS, MASK).item(), rel=1e-5)
    (gradient,) = torch.autograd.grad(value, other)
    assert not gradient[~MASK].any()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("name", LOSSES)
def test_one_program_of_a_task_teaches_nothing_and_breaks_nothing(name: str) -> None:
    score = torch.tensor([[0.7]], requires_grad=True)
    value = LOSSES[name](score, torch.tensor([[1.0]]), torch.tensor([[True]]))
    (gradient,) = torch.autograd.grad(value, score)
    assert name == "mse" or not gradient.any()
