"""Compute the specification of every value of a graph by a run on fake tensors."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from graph_net.graph.errors import GraphError
from graph_net.graph.execute import call_node, fake_inputs, restore_autocast
from graph_net.graph.graph import Graph, Level, Node, Symbol
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.runtime import SymbolTable, arguments, spec_of
from graph_net.graph.spec import Result, ScalarSpec, TensorSpec
from graph_net.printable import first_line
from graph_net.rewrite.read_values import fold_scalars

CPU = torch.device("cpu")
_RECURRENT = names(Trait.RECURRENT)
_BATCH_FIRST = 8
"""The position of their argument ``batch_first``."""


@contextmanager
def fake_values(graph: Graph) -> Iterator[dict[str, Any]]:
    """Inside the context, calls compute only shapes; yields the graph's inputs by name."""
    if graph.level is Level.PADDLE:
        raise GraphError("shapes of a graph of level paddle cannot be computed", field="level")
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    mode.allow_scalar_outputs = True
    inputs = fake_inputs(graph, mode)
    log = logging.getLogger("torch._subclasses.fake_tensor")
    level = log.level
    with warnings.catch_warnings(), mode, torch.no_grad(), restore_autocast():
        warnings.simplefilter("ignore")
        log.setLevel(logging.CRITICAL)  # a failing call raises
        try:
            yield dict(zip([entry.name for entry in graph.inputs], inputs, strict=True))
        finally:
            log.setLevel(level)


def call_fake(node: Node, values: Mapping[str, Any]) -> Any:
    """Return the result of a call; raise a GraphError that names the node if it fails."""
    try:
        result = call_node(node, values, CPU)
        if base_name(node.target) in _RECURRENT:
            _check_states(node, values)
        return result
    except GraphError:
        raise
    except Exception as error:
        raise GraphError(f"{node.target}: {first_line(error)}", node=node.name) from error


def _check_states(node: Node, values: Mapping[str, Any]) -> None:
    """Raise unless the batch of a recurrent layer equals that of its states.

    Fake tensors do not check it, and real ones would read out of bounds.
    """
    args, _ = arguments(node, values.__getitem__, CPU)
    if len(args) < _BATCH_FIRST + 1 or not isinstance(args[0], torch.Tensor):
        return
    batch = args[0].shape[0 if args[_BATCH_FIRST] else 1]
    for state in args[1] if isinstance(args[1], (list, tuple)) else (args[1],):
        if state.shape[1] != batch:
            raise GraphError(
                f"{node.target}: the input has batch {batch}, its state {state.shape[1]}"
            )


def values_of(graph: Graph) -> dict[str, Any]:
    """Return a fake tensor (or a number) for every input and node of a graph.

    A number that the graph reads back from a tensor has the value that a run with seed 0 reads.
    """
    scalars = fold_scalars(graph, literal_only=False)
    with fake_values(graph) as values:
        for node in graph.nodes:
            known = node.name in scalars
            values[node.name] = scalars[node.name] if known else call_fake(node, values)
    return values


def with_known_results(graph: Graph) -> Graph:
    """Return the graph with a specification on every node whose call can be made on fake tensors.

    Other nodes, and those that read them, stay as they are.
    """
    scalars = fold_scalars(graph, literal_only=False)
    with fake_values(graph) as values:
        for node in graph.nodes:
            if node.name in scalars:
                values[node.name] = scalars[node.name]
            elif all(ref.name in values for ref in node.refs):
                with suppress(GraphError):
                    values[node.name] = call_fake(node, values)
    return with_results(graph, values)


def with_results(graph: Graph, values: Mapping[str, Any]) -> Graph:
    """Return the graph with the specifications of these values on their nodes.

    A shape with symbols whose sizes are the same stays as it was written.
    """
    table = SymbolTable()
    nodes = tuple(
        replace(node, result=_merge_specs(node.result, spec_of(values[node.name], table), graph))
        if node.name in values
        else node
        for node in graph.nodes
    )
    symbols: dict[str, Symbol] = {s.name: s for s in (*graph.symbols, *table.symbols.values())}
    return replace(graph, nodes=nodes, symbols=tuple(symbols.values()))


def _merge_specs(old: Result, new: Result, graph: Graph) -> Result:
    if isinstance(old, TensorSpec) and isinstance(new, TensorSpec):
        same = old.sizes(graph.bindings) == new.sizes(graph.bindings)
        if same and old.strides(graph.bindings) == new.stride:
            return replace(old, dtype=new.dtype)
    if isinstance(old, ScalarSpec) and isinstance(new, ScalarSpec):
        return old
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        return tuple(_merge_specs(a, b, graph) for a, b in zip(old, new, strict=True))
    return new


def propagate(graph: Graph) -> Graph:
    """Return the graph with every node's specification computed from those of its inputs."""
    return with_results(graph, values_of(graph))
