"""Floating-point operations of a graph, counted without computing anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils.flop_counter import FlopCounterMode

from graph_net.graph.execute import fake_inputs, interpret
from graph_net.graph.graph import Graph
from graph_net.printable import error_line


@dataclass(frozen=True, slots=True)
class FlopCount:
    """Operations of matrix products, convolutions and attention; None if they are unknown."""

    total: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FakeRun:
    """A run on fake tensors: operations by operator, inputs and outputs."""

    operations: dict[str, int]
    inputs: list[Any]
    outputs: Any


def count_flops(graph: Graph) -> FlopCount:
    """Count the operations of one run, on tensors without data."""
    try:
        result = count_run(graph)
    except Exception as error:
        # A size or a branch that depends on values stops a run without values.
        return FlopCount(None, error_line(error, 120))
    return FlopCount(sum(result.operations.values()))


def count_run(graph: Graph) -> FakeRun:
    """Run a graph on fake tensors; raise where values decide what is computed."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    inputs = fake_inputs(graph, mode)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), mode, counter:
        outputs = interpret(graph, inputs, torch.device("cpu"))
    operations = {
        str(operator): int(number)
        for operator, number in counter.get_flop_counts().get("Global", {}).items()
    }
    return FakeRun(operations, inputs, outputs)
