"""Training graphs of an inference Graph: what AOTAutograd makes of its calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from graph_net.capture.training import MODES, capture_training
from graph_net.graph.errors import GraphError
from graph_net.graph.execute import interpret, make_input
from graph_net.graph.graph import Graph, Input, Role
from graph_net.graph.runtime import torch_dtype
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.printable import error_line
from graph_net.rewrite.lower import to_aten
from graph_net.rewrite.variant import add_notes

PARTS = {"joint": "training", "forward": "forward", "backward": "backward"}
"""The words of the verb, and those of :mod:`graph_net.capture.training`."""


def with_training(graph: Graph, part: str) -> Graph:
    """Forward and backward of a graph in one (``joint``), or one of the two.

    What the graph says of its mode stays: batch norm normalises by its stored statistics, and
    dropout that was captured as doing nothing does nothing. A number that the graph is called with
    has no gradient: its value goes into the calls, and the provenance names it.
    """
    mode = PARTS.get(part, part)
    if mode not in MODES or mode == "inference":
        raise GraphError(f"no part {part!r} of training; there are: {', '.join(PARTS)}")
    graph = to_aten(graph)
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    model = _Model(graph, fake)
    if not list(model.parameters()):
        raise GraphError("has no floating-point parameter, so there is nothing to train")
    args = [_faked(graph, entry, fake) for entry in model.given]
    try:
        made = capture_training(model, args, {}, graph.provenance, mode, fake)
    except GraphError:
        raise
    except Exception as error:
        raise GraphError(f"has no backward pass: {error_line(error)}") from error
    made = replace(made, inputs=tuple(_described(entry, model) for entry in made.inputs))
    return add_notes(made, numbers=tuple(model.numbers)) if model.numbers else made


class _Model(nn.Module):
    """A graph as a module that holds its parameters, its buffers and the numbers it is given."""

    def __init__(self, graph: Graph, fake: FakeTensorMode) -> None:
        super().__init__()
        self.graph = graph
        for entry in graph.inputs:
            if not isinstance(entry.spec, TensorSpec) or entry.role is Role.INPUT:
                continue
            tensor = _faked(graph, entry, fake)
            if entry.role is Role.PARAMETER and tensor.is_floating_point():
                self.register_parameter(entry.name, nn.Parameter(tensor))
            else:
                self.register_buffer(entry.name, tensor)
        named = {*dict(self.named_parameters()), *dict(self.named_buffers())}
        self.numbers = {
            entry.name: make_input(graph, entry)
            for entry in graph.inputs
            if isinstance(entry.spec, ScalarSpec)
        }
        bound = {*named, *self.numbers}
        self.given = [entry for entry in graph.inputs if entry.name not in bound]
        self.kept = named

    def forward(self, *inputs: Any) -> Any:
        given = dict(zip([entry.name for entry in self.given], inputs, strict=True))
        given.update(self.numbers)
        values = [
            getattr(self, entry.name) if entry.name in self.kept else given[entry.name]
            for entry in self.graph.inputs
        ]
        return interpret(self.graph, values, torch.device("cpu"))


def _faked(graph: Graph, entry: Input, fake: FakeTensorMode) -> Any:
    assert isinstance(entry.spec, TensorSpec)
    sizes, dtype = entry.spec.sizes(graph.bindings), torch_dtype(entry.spec.dtype)
    with fake:
        return torch.empty(sizes, dtype=dtype)


def _described(entry: Input, model: _Model) -> Input:
    """The input with the recipe and the name that it has in the graph."""
    names = [
        *dict(model.named_parameters()),
        *dict(model.named_buffers()),
        *(given.name for given in model.given),
    ]
    number = entry.name.removeprefix("primals_")
    if not entry.name.startswith("primals_") or not number.isdecimal():
        return entry
    known = model.graph.index[names[int(number) - 1]]
    assert isinstance(known, Input)
    original = known.original or known.name
    return replace(entry, recipe=known.recipe, original=original)
