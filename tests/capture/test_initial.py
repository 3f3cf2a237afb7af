"""What a model's initialisers write is heard while it is built without memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from graph_net.capture.weights import without_weights
from graph_net.graph import Constant, Literal, Normal, Recipe, Uniform
from graph_net.graph.tensors import draw

LARGE = 5000, 1000


class Holder(nn.Module):
    """One parameter, and what is done to it."""

    def __init__(self, make: Callable[[], Tensor], change: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.p = nn.Parameter(make())
        with torch.no_grad():
            change(self.p)


def heard(make: Callable[[], Tensor], change: Callable[[Tensor], object] = id) -> Recipe | None:
    with without_weights() as watch:
        model = Holder(make, change)
    assert model.p.device.type == "meta"
    return watch.recipes(model).get("p")


def spread(recipe: Recipe | None) -> tuple[float, float]:
    """Mean and deviation of what is drawn."""
    assert recipe is not None
    values = draw(recipe, (40_000,), "float32", name="p")
    return float(values.mean()), float(values.std())


@pytest.mark.parametrize("shape", [(100, 100), LARGE], ids=["small", "large"])
@pytest.mark.parametrize(
    ("change", "mean", "std"),
    [
        (lambda p: p.normal_(1, 0.02), 1, 0.02),
        (lambda p: p.normal_(std=0.5), 0, 0.5),
        (lambda p: p.uniform_(-0.3, 0.3), 0, 0.3 / math.sqrt(3)),
        (lambda p: nn.init.xavier_normal_(p, gain=0.01).mul_(0).fill_(3), 3, 0),
        (lambda p: nn.init.trunc_normal_(p, std=0.02), 0, 0.02),
        (lambda p: nn.init.normal_(p, std=0.1).mul_(-2).add_(1), 1, 0.2),
        (lambda p: p.uniform_(-1, 1).erfinv_().mul_(0.02 * math.sqrt(2)).clamp_(-1, 1), 0, 0.02),
        (lambda p: p.data.copy_(torch.full(p.shape, 0.25)), 0.25, 0),
        (lambda p: nn.init.ones_(p).div_(4).sub_(1), -0.75, 0),
    ],
    ids="normal std uniform last truncated affine erfinv copy arithmetic".split(),
)
def test_the_last_word_is_what_is_drawn(
    shape: tuple[int, int], change: Callable[[Tensor], object], mean: float, std: float
) -> None:
    assert spread(heard(lambda: torch.empty(shape), change)) == pytest.approx(
        (mean, std), rel=0.02, abs=0.01
    )


def test_kaiming_bounds_are_computed_from_the_shape() -> None:
    with without_weights() as watch:
        model = nn.Linear(400, 9)
    bound = 1 / math.sqrt(400)
    assert watch.recipes(model)["weight"] == Uniform(-bound, bound)


def test_an_orthogonal_matrix_keeps_lengths_in_the_mean() -> None:
    recipe = heard(lambda: torch.empty(64, 256), lambda p: nn.init.orthogonal_(p))
    assert spread(recipe)[1] == pytest.approx(1 / 16, rel=0.02)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: torch.zeros(1, 100), Constant(0.0)),
        (lambda: 1e-5 * torch.ones(70), Constant(1e-5)),
        (lambda: torch.zeros(LARGE) + 2, Constant(2.0)),
        (lambda: torch.tensor([1.0, 2.0]), Literal((1.0, 2.0))),
        (lambda: 0.02 * torch.randn(LARGE), Normal(0.0, 0.1)),
        (lambda: torch.rand(LARGE) * 2 - 1, Uniform(-1.0, 1.0)),
    ],
    ids="zeros scaled large few drawn spread".split(),
)
def test_values_a_parameter_is_made_with_are_its_word(
    make: Callable[[], Tensor], expected: Recipe
) -> None:
    assert heard(make) == expected


@pytest.mark.parametrize("shape", [(100, 100), LARGE], ids=["small", "large"])
def test_of_memory_that_nobody_wrote_nothing_is_known(shape: tuple[int, int]) -> None:
    assert heard(lambda: torch.empty(shape)) is None


def test_a_computation_that_is_not_followed_makes_the_values_unknown() -> None:
    assert heard(lambda: torch.ones(100), lambda p: p.normal_().cumsum_(0)) is None


def test_a_padding_row_of_zeros_does_not_silence_the_table() -> None:
    with without_weights() as watch:
        model = nn.Embedding(300, 20, padding_idx=0)
    assert spread(watch.recipes(model)["weight"])[1] == pytest.approx(1, rel=0.02)


def test_parts_that_are_drawn_one_by_one_speak_for_the_whole() -> None:
    def change(p: Tensor) -> None:
        for part in p.chunk(3):
            part.normal_(0, 0.5)
        p[:5].zero_()

    assert heard(lambda: torch.empty(90, 10), change) == Normal(0.0, 2.5)


def test_copied_modules_keep_their_words() -> None:
    from copy import deepcopy

    with without_weights() as watch:
        model = nn.Sequential(*(deepcopy(nn.Linear(64, 3)) for _ in range(2)))
    assert watch.recipes(model)["1.weight"] == Uniform(-0.125, 0.125)


def test_random_numbers_are_the_same_every_time_and_the_callers_are_not_touched() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first, second = (heard(lambda: torch.randn(5)) for _ in range(2))
    assert first == second
    assert torch.equal(torch.rand(2), expected)


def test_the_initialisers_of_torch_are_as_before_afterwards() -> None:
    before = nn.init.orthogonal_, nn.init._no_grad_trunc_normal_
    with pytest.raises(RuntimeError), without_weights():
        raise RuntimeError
    assert (nn.init.orthogonal_, nn.init._no_grad_trunc_normal_) == before
