"""Turn values of a graph into inputs of a piece of it."""

from __future__ import annotations

from graph_net.graph.errors import GraphError
from graph_net.graph.expr import Expr
from graph_net.graph.graph import Graph, Input, Node
from graph_net.graph.recipe import Bernoulli, Constant, Integers, Normal, Recipe
from graph_net.graph.spec import ScalarSpec, Spec, TensorSpec


def as_input(graph: Graph, entry: Input | Node) -> Input:
    """Return a value of the whole graph as an input of a piece.

    An input of the graph stays as it is, role and recipe included. Values that the graph computes
    are unknown, so they are drawn as noise.
    """
    if isinstance(entry, Input):
        return entry
    if not can_cross(entry):
        raise GraphError(
            "is neither a tensor nor a number, so it cannot cross a cut", node=entry.name
        )
    spec = entry.result
    assert isinstance(spec, (TensorSpec, ScalarSpec))
    return Input(entry.name, spec, _recipe(graph, spec))


def can_cross(entry: Input | Node) -> bool:
    """Return whether a value can be an input: a tensor or number of known specification."""
    return isinstance(entry, Input) or isinstance(entry.result, (TensorSpec, ScalarSpec))


def _recipe(graph: Graph, spec: Spec) -> Recipe:
    if isinstance(spec, ScalarSpec):
        value = spec.expr.value(graph.bindings) if isinstance(spec.expr, Expr) else 1
        return Constant({"int": int, "float": float, "bool": bool}[spec.kind](value))
    if spec.dtype == "bool":
        return Bernoulli()
    floating = "float" in spec.dtype or "complex" in spec.dtype
    return Normal(0.0, 1.0) if floating else Integers(0, 1)
