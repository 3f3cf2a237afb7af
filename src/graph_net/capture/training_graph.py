"""Training graphs of an inference Graph, as AOTAutograd derives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from graph_net.capture.training import MODES, capture_training, primal_index
from graph_net.graph.errors import GraphError
from graph_net.graph.execute import interpret, make_input
from graph_net.graph.graph import Graph, Input, Role
from graph_net.graph.runtime import torch_dtype
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.printable import error_line
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant import add_notes

PARTS = {"joint": "training", "forward": "forward", "backward": "backward"}
"""The command line's words for the modes of :mod:`graph_net.capture.training`."""


def with_training(graph: Graph, part: str) -> Graph:
    """Return forward and backward of a graph in one (``joint``), or one of the two.

    The graph's own mode stays: batch norm normalises by its stored statistics, and dropout that was
    captured as a no-op remains one. A number that the graph is called with has no gradient: its
    value goes into the calls, and the provenance names it.
    """
    mode = PARTS.get(part, part)
    if mode not in MODES or mode == "inference":
        raise GraphError(f"{part!r} is not a part of training; choose one of {', '.join(PARTS)}")
    graph = to_aten(graph)
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    model = _Model(graph, fake)
    if not list(model.parameters()):
        raise GraphError("has no floating-point parameter, so there is nothing to train")
    args = [_make_fake(graph, entry, fake) for entry in model.call_inputs]
    try:
        trained = capture_training(model, args, {}, graph.provenance, mode, fake)
    except GraphError:
        raise
    except Exception as error:
        raise GraphError(f"has no backward pass: {error_line(error)}") from error
    trained = replace(trained, inputs=tuple(_describe(entry, model) for entry in trained.inputs))
    return add_notes(trained, numbers=tuple(model.numbers)) if model.numbers else trained


class _Model(nn.Module):
    """A graph as a module that holds its parameters, its buffers and its scalar inputs."""

    def __init__(self, graph: Graph, fake: FakeTensorMode) -> None:
        super().__init__()
        self.graph = graph
        for entry in graph.inputs:
            if not isinstance(entry.spec, TensorSpec) or entry.role is Role.INPUT:
                continue
            tensor = _make_fake(graph, entry, fake)
            if entry.role is Role.PARAMETER and tensor.is_floating_point():
                self.register_parameter(entry.name, nn.Parameter(tensor))
            else:
                self.register_buffer(entry.name, tensor)
        self.state_names = {*dict(self.named_parameters()), *dict(self.named_buffers())}
        self.numbers = {
            entry.name: make_input(graph, entry)
            for entry in graph.inputs
            if isinstance(entry.spec, ScalarSpec)
        }
        bound = {*self.state_names, *self.numbers}
        self.call_inputs = [entry for entry in graph.inputs if entry.name not in bound]

    def forward(self, *inputs: Any) -> Any:
        names = [entry.name for entry in self.call_inputs]
        passed = {**dict(zip(names, inputs, strict=True)), **self.numbers}
        values = [
            getattr(self, entry.name) if entry.name in self.state_names else passed[entry.name]
            for entry in self.graph.inputs
        ]
        return interpret(self.graph, values, torch.device("cpu"))


def _make_fake(graph: Graph, entry: Input, fake: FakeTensorMode) -> Any:
    assert isinstance(entry.spec, TensorSpec)
    sizes, dtype = entry.spec.sizes(graph.bindings), torch_dtype(entry.spec.dtype)
    with fake:
        return torch.empty(sizes, dtype=dtype)


def _describe(entry: Input, model: _Model) -> Input:
    """Return the input with its recipe and name in the graph."""
    names = [
        *dict(model.named_parameters()),
        *dict(model.named_buffers()),
        *(entry.name for entry in model.call_inputs),
    ]
    index = primal_index(entry.name)
    if index is None:
        return entry
    source = model.graph.index[names[index]]
    assert isinstance(source, Input)
    return replace(entry, recipe=source.recipe, original=source.original or source.name)
