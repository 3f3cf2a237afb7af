"""The least work of a graph: what must be read, written and computed, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, TensorSpec
from graph_net.graph.work import Work, live_nodes, work_of
from graph_net.testing.models import graph_of


def work(model: nn.Module, *inputs: torch.Tensor) -> Work:
    return work_of(graph_of(model.eval(), inputs))


class Calls(nn.Module):
    """A function as a model, with a table."""

    def __init__(self, call: Any, *shape: int) -> None:
        super().__init__()
        self.call = call
        self.table = nn.Parameter(torch.randn(shape or (4, 4)))

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.call(self.table, *inputs)


def test_a_linear_layer_reads_its_weights_and_writes_its_output() -> None:
    found = work(nn.Linear(8, 16), torch.randn(4, 8))
    assert found.bytes == 4 * (8 * 16 + 16 + 4 * 8 + 4 * 16)
    assert found.flops == 2 * 4 * 8 * 16
    assert found.convolutions == 0
    assert found.dtypes == ("float32",)


def test_a_table_that_is_looked_up_in_is_not_read_whole() -> None:
    found = work(nn.Embedding(1000, 8), torch.tensor([1, 2]))
    assert found.bytes == 2 * 8 * 4  # the output alone


@pytest.mark.parametrize(
    ("call", "whole"),
    [
        (lambda t, x: x @ t, True),
        (lambda t, x: x @ t.t().contiguous(), True),
        (lambda t, x: x @ t.reshape(2, 8).view(4, 4), True),
        (lambda t, x: x + t[0], False),
        (lambda t, x: x + t.index_select(0, torch.tensor([0])), False),
        (lambda t, x: x + torch.zeros_like(t).sum(), False),
        (lambda t, x: x * t.shape[0], False),
    ],
)
def test_an_input_counts_where_all_of_it_is_surely_read(call: Any, whole: bool) -> None:
    found = work(Calls(call), torch.randn(4, 4))
    assert found.bytes == 64 * (3 if whole else 2)


def test_a_convolution_counts_its_weights_and_not_the_image_it_may_skip() -> None:
    found = work(nn.Conv2d(2, 4, 1, stride=2, bias=False), torch.randn(1, 2, 8, 8))
    assert found.bytes == 4 * (2 * 4 + 4 * 4 * 4)
    assert found.convolutions == found.flops == 2 * 4 * 2 * 16


def test_what_nothing_depends_on_does_not_count() -> None:
    import dataclasses

    def call(table: torch.Tensor, x: torch.Tensor) -> Any:
        return x @ table, x @ (table + 1)

    graph = graph_of(Calls(call).eval(), (torch.randn(4, 4),))
    assert isinstance(graph.output, tuple)
    first = dataclasses.replace(graph, output=graph.output[0])
    assert work_of(graph).flops == 2 * work_of(first).flops  # type: ignore[operator]
    assert len(list(live_nodes(first))) < len(first.nodes)


def test_outputs_that_share_memory_or_are_inputs_are_written_once_or_not_at_all() -> None:
    def call(table: torch.Tensor, x: torch.Tensor) -> Any:
        y = x + table
        return y, y.t(), y[None], x

    assert work(Calls(call), torch.randn(4, 4)).bytes == 3 * 64


def test_types_that_a_graph_converts_to_are_known() -> None:
    found = work(Calls(lambda t, x: (x.to(torch.bfloat16) @ t.to(torch.bfloat16)).float()),
                 torch.randn(4, 4))  # fmt: skip
    assert set(found.dtypes) == {"bfloat16", "float32"}


class Recurs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x)[0]


def test_operations_that_the_counter_does_not_know_are_named() -> None:
    assert work(Recurs(), torch.randn(3, 2, 8)).reason == "the operations of lstm are not counted"
    transform = Calls(lambda table: torch.fft.rfft(table).abs())
    assert work(transform).reason == "the operations of rfft are not counted"


def test_a_graph_whose_operations_are_all_counted_has_nothing_to_explain() -> None:
    found = work(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(2, 4))
    assert (found.flops, found.reason) == (2 * 2 * 4 * 4, "")


def test_sizes_that_depend_on_values_leave_the_work_unknown() -> None:
    mask = Input("x", TensorSpec((4,), "float32"), Normal(0.0, 1.0))
    where = Node("y", "aten.nonzero.default", (Ref("x"),))
    found = work_of(Graph((mask,), (where,), (Ref("y"),), Level.ATEN))
    assert found.flops is None
    assert "data-dependent" in found.reason
