"""Check without weights that a captured graph runs to the shapes it states."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from graph_net.graph import Graph, GraphError, ListValue, Node, Ref, from_bytes, to_bytes
from graph_net.graph.execute import fake_inputs, flat_outputs, interpret
from graph_net.graph.spec import Result, TensorSpec
from graph_net.graph.values import Value


def check_graph_runs(graph: Graph) -> None:
    """Raise unless the stored bytes decode to the same graph and it runs to the captured shapes."""
    stored = from_bytes(to_bytes(graph))
    if stored != graph:
        raise GraphError("the graph read back from its bytes differs from the captured one")
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    with torch.no_grad(), mode:
        outputs = interpret(stored, fake_inputs(stored, mode), torch.device("cpu"))
    expected = [_spec(graph, value) for value in _leaves(graph.output)]
    for position, (spec, leaf) in enumerate(zip(expected, flat_outputs(outputs), strict=True)):
        if isinstance(spec, TensorSpec) and not _has_shape(graph, spec, leaf):
            shape = tuple(getattr(leaf, "shape", ()))
            raise GraphError(f"output {position} has shape {shape}, captured as {spec}")


def _has_shape(graph: Graph, spec: TensorSpec, leaf: Any) -> bool:
    if not isinstance(leaf, torch.Tensor) or len(leaf.shape) != len(spec.shape):
        return False
    sizes = spec.sizes(graph.bindings)
    return all(
        isinstance(size, torch.SymInt) or size == expected
        for size, expected in zip(leaf.shape, sizes, strict=True)
    )


def _leaves(value: Value) -> list[Value]:
    if isinstance(value, (tuple, ListValue)):
        items = value if isinstance(value, tuple) else value.items
        return [leaf for item in items for leaf in _leaves(item)]
    return [value]


def _spec(graph: Graph, value: Value) -> Result:
    if not isinstance(value, Ref):
        return None
    entry = graph.index[value.name]
    return entry.result if isinstance(entry, Node) else entry.spec
