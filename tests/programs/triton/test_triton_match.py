"""Workloads found in graphs: what is matched, with which epilogue, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, fx

from graph_net.graph.fx import from_fx
from graph_net.programs.triton.layers import Module, along, batched, conv, linear
from graph_net.programs.triton.match import Match, find_matches
from graph_net.rewrite.lower import to_aten

X, W, B = torch.randn(2, 5, 8), torch.randn(6, 8), torch.randn(6)
IMAGE, FILTERS = torch.randn(2, 4, 9, 9), torch.randn(6, 4, 3, 3)
ROW = torch.rand(6)
HEADS = torch.randn(2, 3, 5, 8)


def matches(function: Callable[..., Any], *examples: Tensor, batch: int = 1) -> list[Match]:
    graph = to_aten(from_fx(fx.symbolic_trace(function), examples))
    return list(find_matches(graph, "tf32", batch))


def _residual_gelu(x: Tensor, w: Tensor, b: Tensor, y: Tensor) -> Tensor:
    return F.gelu(F.linear(x, w, b) + y)


def _dropped(x: Tensor, w: Tensor, b: Tensor, y: Tensor) -> Tensor:
    return y + F.dropout(F.linear(x, w, b), 0.1, False)


def _normed(x: Tensor, w: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    return F.relu(F.batch_norm(F.conv2d(x, w, None, 2, 1), mean, var, mean, var), inplace=True)


def _attention(q: Tensor, k: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, k)


def _spelled_attention(q: Tensor, k: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ k


def _rms(x: Tensor, w: Tensor) -> Tensor:
    return w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


FOUND: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], list[Module]]] = {
    "linear, residual, gelu": (
        _residual_gelu,
        (X, W, B, torch.randn(2, 5, 6)),
        [linear(10, 6, 8, "tf32", "bias_add_gelu")],
    ),
    "a dropout of an inference": (
        _dropped,
        (X, W, B, torch.randn(2, 5, 6)),
        [linear(10, 6, 8, "tf32", "bias_add")],
    ),
    "a folded batch norm": (
        _normed,
        (IMAGE, FILTERS, ROW, ROW),
        [conv(2, 9, 4, 6, 3, "tf32", "bias_relu", 2)],
    ),
    "attention": (
        _attention,
        (HEADS, HEADS),
        [
            batched(6, 5, 5, 8, "tf32", True),
            along("softmax", 30, 5, "tf32"),
            batched(6, 5, 8, 5, "tf32", False),
        ],
    ),
    "a spelled RMS norm": (_rms, (X, torch.rand(8)), [along("rms_norm", 10, 8, "tf32")]),
    "an average of images": (
        lambda x: F.adaptive_avg_pool2d(x, 1),
        (IMAGE,),
        [along("row_sum", 8, 81, "tf32")],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found(name: str) -> None:
    function, examples, modules = FOUND[name]
    assert [match.module for match in matches(function, *examples)] == modules


def test_attention_is_the_same_however_it_is_written() -> None:
    fused, spelled = (matches(way, HEADS, HEADS) for way in (_attention, _spelled_attention))
    assert [match.module for match in fused] == [match.module for match in spelled]


def test_a_value_that_others_read_ends_an_epilogue() -> None:
    def shared(x: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        y = F.linear(x, w, b)
        return F.relu(y), y

    assert [m.module["epilogue"] for m in matches(shared, X, W, B)] == ["bias"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: F.conv2d(x, w[:, :2], groups=2),
        lambda x, w: F.conv2d(x, w, dilation=2),
        lambda x, w: F.conv2d(x, w, stride=(1, 2)),
        lambda x, w: torch.softmax(x, 1),
        lambda x, w: x.sum(1),
    ],
)
def test_what_the_kernels_cannot_do_is_left_alone(function: Callable[..., Any]) -> None:
    assert matches(function, IMAGE, FILTERS) == []


def test_an_approximate_gelu_and_a_broadcast_are_no_epilogue() -> None:
    def approximate(x: Tensor, w: Tensor) -> Tensor:
        return F.gelu(F.linear(x, w), approximate="tanh")

    def broadcast(x: Tensor, w: Tensor, y: Tensor) -> Tensor:
        return F.linear(x, w) + y

    assert matches(approximate, X, W)[0].module["epilogue"] == "none"
    assert matches(broadcast, X, W, torch.randn(5, 6))[0].module["epilogue"] == "none"


def test_a_larger_batch_is_more_rows() -> None:
    (product,) = matches(lambda x, w: F.linear(x, w), X, W, batch=4)
    assert product.module["m"] == 40
    scores = matches(_attention, HEADS, HEADS, batch=4)
    assert [match.module.get("b") for match in scores] == [24, None, 24]


def test_every_matched_call_is_matched_once() -> None:
    function, examples, _ = FOUND["a folded batch norm"]
    (match,) = matches(function, *examples)
    assert len(match.nodes) == len(set(match.nodes)) == 3
