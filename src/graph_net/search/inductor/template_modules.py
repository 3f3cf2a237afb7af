"""Workloads of the kernels that only Inductor has, derived from what networks compute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph_net.graph import Graph, Node, Ref, TensorSpec
from graph_net.programs.triton.match import Match
from graph_net.search.inductor.families import FLEX, FLOAT8, PAIR, SCALED

ATTENTION = "scaled_dot_product_attention"
MULTIPLE = 16
"""What the sizes of a product of eight-bit numbers are multiples of."""
LEAST_QUERIES = 128
"""Fewer queries are decoded by another template."""
_PLAIN = {"shared": 1, "masked": False}
LEAST_WIDTH, MOST_WIDTH = 16, 256
LENGTHS = (1, 4)
"""Multiples of a sequence's length; the networks of the corpus read short ones."""


def template_modules(graph: Graph, match: Match) -> list[dict[str, Any]]:
    """Return the workloads derived from a match of a graph; none for most kernels."""
    module = match.module
    if module["kernel"] == "matmul" and module["transposed"]:
        return [_gradient_of_input(module), *_in_eight_bits(module)]
    call = graph.index[match.nodes[0]]
    is_score = module["kernel"] == "batched_matmul" and module["transposed"]
    if is_score and isinstance(call, Node) and call.target.split(".")[1:2] == [ATTENTION]:
        return _attention(graph, call, module)
    return []


def _gradient_of_input(linear: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gradient of what two equal linear layers read: a sum of two products."""
    sizes = {"m": linear["m"], "n": linear["k"], "k": linear["n"], "dtype": linear["dtype"]}
    return {"kernel": PAIR, **sizes, "epilogue": "none", "transposed": False}


def _in_eight_bits(linear: Mapping[str, Any]) -> list[dict[str, Any]]:
    if linear["n"] % MULTIPLE or linear["k"] % MULTIPLE:
        return []
    epilogue = "bias" if linear["epilogue"].startswith("bias") else "none"
    return [{**linear, "kernel": SCALED, "dtype": FLOAT8, "epilogue": epilogue}]


def _attention(graph: Graph, call: Node, scores: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return attention in one kernel at several lengths, if its widths are equal."""
    queries, keys, width = scores["m"], scores["n"], scores["k"]
    fits = LEAST_WIDTH <= width <= MOST_WIDTH and _width(graph, call) == width
    if scores["dtype"] == "tf32" or not fits:
        return []
    kind = {"kernel": FLEX, "dtype": scores["dtype"], "epilogue": "none", "b": scores["b"]}
    return [
        {**kind, "m": queries * by, "k": keys * by, "n": width, "d": width, **_PLAIN}
        for by in LENGTHS
        if queries * by >= LEAST_QUERIES
    ]


def _width(graph: Graph, call: Node) -> int:
    """Return the width of the values that a call reads; 0 if it is not known."""
    value = call.args[2]
    entry = graph.index[value.name] if isinstance(value, Ref) else None
    spec = entry.result if isinstance(entry, Node) else getattr(entry, "spec", None)
    return spec.sizes(graph.bindings)[-1] if isinstance(spec, TensorSpec) else 0
