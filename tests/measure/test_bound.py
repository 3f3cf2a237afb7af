"""The least time a machine needs: far below what anybody measures, above what nobody computes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graph_net.measure.device import describe
from graph_net.measure.least_time import least_seconds
from graph_net.testing.models import graph_of

CPU = describe("cpu", 1)


def test_more_work_takes_longer() -> None:
    small, large = (
        least_seconds(graph_of(nn.Linear(n, n), (torch.randn(n, n),)), CPU) for n in (64, 256)
    )
    assert 0 < 10 * small < large


class Folds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(256, 256))
        self.second = nn.Parameter(torch.randn(256, 256))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.first @ self.second


def test_what_weights_alone_decide_takes_no_time() -> None:
    product = 2 * 256**3 / (CPU.cores * 6e9 * 64) / 2
    assert least_seconds(graph_of(Folds(), (torch.randn(256, 256),)), CPU) < product / 4
