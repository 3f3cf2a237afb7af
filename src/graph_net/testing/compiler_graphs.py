"""The graphs of the compilers' conformance kit: one of each kind that breaks compilers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx
from torch.nn import functional as F

from graph_net.graph import Graph
from graph_net.graph.fx import from_fx
from graph_net.rewrite.lower import to_aten


def _graph(function: Callable[..., Any], *examples: Any) -> Graph:
    return from_fx(fx.symbolic_trace(function), examples)


def _matmul(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.gelu(x @ w + b)


def _conv(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.max_pool2d(F.relu(F.conv2d(x, w, b, stride=2, padding=1)), 2)


def _several(x: Tensor) -> tuple[Tensor, ...]:
    return x.sum(1), x.mean((0, 1), keepdim=True), x.argmax(-1), torch.softmax(x, -1)


def _integers(ids: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    return F.embedding(ids, table), (ids * 3 + 1) % 7


def _number(x: Tensor, k: int) -> Tensor:
    return x[:, :k] * k


def _mutation(x: Tensor, state: Tensor) -> Tensor:
    state.add_(x.sum(0))
    return x * state


def _nested(x: Tensor) -> dict[str, Any]:
    y = x + 1
    return {"first": (y, x), "rest": [y.sum(), 3, None, {"again": y}]}


def _booleans(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return torch.where(mask, x, -x), torch.logical_and(mask, x > 0)


def _halves(x: Tensor, w: Tensor) -> Tensor:
    return torch.tanh(x @ w)


def _doubles(x: Tensor) -> Tensor:
    return torch.exp(-x * x).cumsum(0)


def _views(x: Tensor) -> Tensor:
    y = x.clone()
    y[1:, -1].fill_(0.0)
    result: Tensor = y.select(1, -2) + y[-1, :4]
    return result


def _fourier(x: Tensor) -> Tensor:
    result: Tensor = torch.fft.fft(x).abs()
    return result


def _sorted(x: Tensor) -> tuple[Tensor, Tensor]:
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values, indices


GRAPHS: dict[str, Callable[[], Graph]] = {
    "matmul": lambda: _graph(_matmul, torch.randn(4, 8), torch.randn(8, 6), torch.randn(6)),
    "conv": lambda: _graph(
        _conv, torch.randn(1, 3, 12, 12), torch.randn(4, 3, 3, 3), torch.randn(4)
    ),
    "several_outputs": lambda: _graph(_several, torch.randn(3, 4, 5)),
    "integers": lambda: _graph(_integers, torch.randint(0, 9, (2, 5)), torch.randn(10, 4)),
    "number": lambda: _graph(_number, torch.randn(3, 8), 5),
    "mutation": lambda: _graph(_mutation, torch.randn(3, 4), torch.zeros(4)),
    "nested": lambda: _graph(_nested, torch.randn(2, 3)),
    "booleans": lambda: _graph(_booleans, torch.randn(3, 4), torch.randn(3, 4) > 0),
    "strided": lambda: _graph(_halves, torch.randn(8, 4).t(), torch.randn(6, 8).t()),
    "views": lambda: _graph(_views, torch.randn(4, 4)),
    "bfloat16": lambda: _graph(
        _halves, torch.randn(4, 8).to(torch.bfloat16), torch.randn(8, 6).to(torch.bfloat16)
    ),
    "float64": lambda: _graph(_doubles, torch.randn(5, 3, dtype=torch.float64)),
    "aten": lambda: to_aten(_graph(_matmul, torch.randn(4, 8), torch.randn(8, 6), torch.randn(6))),
    "sorted": lambda: _graph(_sorted, torch.randn(2, 6)),
    "fourier": lambda: _graph(_fourier, torch.randn(2, 8)),
}
BASIC = ("matmul", "conv", "several_outputs", "aten")
"""The graphs that no compiler may refuse."""
