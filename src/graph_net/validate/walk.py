"""A graph run on tensors without values, and all that this tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils.flop_counter import FlopCounterMode

from graph_net.graph import Graph, TensorSpec
from graph_net.graph.execute import call_node, fake_inputs
from graph_net.graph.runtime import SymbolTable, dtype_name, spec_of, to_python
from graph_net.graph.spec import Result
from graph_net.rewrite.split import last_reads


@dataclass(frozen=True, slots=True)
class Walk:
    """The graph with every result known, its outputs without values, its operations.

    ``disagreements`` are sentences on results that are not as the graph says.
    """

    graph: Graph
    outputs: Any
    flops: int
    disagreements: tuple[str, ...]
    unknown: tuple[str, ...]


def walk(graph: Graph) -> Walk:
    """Run a graph under fake tensors, comparing each result with the stored specification."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    device = torch.device("cpu")
    values = dict(zip((e.name for e in graph.inputs), fake_inputs(graph, mode), strict=True))
    last = last_reads(graph)
    symbols = SymbolTable()
    symbols.found.update({symbol.name: symbol for symbol in graph.symbols})
    nodes, wrong, unknown = [], [], []
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), mode, counter:
        for position, node in enumerate(graph.nodes):
            try:
                value = call_node(node, values, device)
            except Exception as error:
                error.add_note(f"in node {node.name!r}, a call of {node.target}")
                raise
            if node.result is None:
                found = spec_of(value, symbols)
                if found is None and value is not None:
                    unknown.append(f"{node.name} ({node.target})")
                nodes.append(replace(node, result=found))
            else:
                nodes.append(node)
                if not agrees(graph, node.result, value):
                    wrong.append(f"{node.name} ({node.target}) gives {_told(value)}")
            values[node.name] = value
            for name in (node.name, *(ref.name for ref in node.refs)):
                if last.get(name, -1) <= position:
                    values.pop(name, None)
        outputs = to_python(graph.output, values.__getitem__, device)
    known = replace(graph, nodes=tuple(nodes), symbols=tuple(symbols.found.values()))
    return Walk(known, outputs, int(counter.get_total_flops()), tuple(wrong), tuple(unknown))


def agrees(graph: Graph, spec: Result, value: Any) -> bool:
    """Whether a value is what its specification says; a size that only a run tells agrees."""
    if isinstance(spec, TensorSpec):
        if not isinstance(value, torch.Tensor) or len(value.shape) != len(spec.shape):
            return False
        if dtype_name(value.dtype) != spec.dtype:
            return False
        sizes = spec.sizes(graph.bindings)
        return all(
            isinstance(size, torch.SymInt) or size == known
            for size, known in zip(value.shape, sizes, strict=True)
        )
    if isinstance(spec, tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(spec):
            return False
        return all(agrees(graph, s, v) for s, v in zip(spec, value, strict=True))
    return True


def _told(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{dtype_name(value.dtype)}{list(value.shape)}, not what is stored"
    return f"a {type(value).__name__}, not what is stored"
