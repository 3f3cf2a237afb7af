"""Compute numbers that a graph reads back from tensors, and repair sizes it is called with.

A run without values stops where a number decides a size or a branch. Many such numbers can be
computed beforehand, from literals that the graph stores or from values that a run would draw;
sizes that contradict the shapes of the tensors can be corrected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from typing import Any

import torch

from graph_net.graph.effects import changed_values, draws_random
from graph_net.graph.execute import call_node, make_input
from graph_net.graph.graph import Graph, Input, Node, Role
from graph_net.graph.operators import ENTER_AUTOCAST, EXIT_AUTOCAST, Trait, base_name, names
from graph_net.graph.recipe import Constant, Literal
from graph_net.graph.spec import ScalarSpec, TensorSpec

SCALAR_READS = names(Trait.SCALAR_READ)
AUTOCAST = frozenset({ENTER_AUTOCAST, EXIT_AUTOCAST})
NO_COMPUTATION = AUTOCAST | frozenset(
    [
        "torch._C._set_grad_enabled",
        "torch._C._log_api_usage_once",
        "torch.autograd.function.FunctionCtx",
        "torch.autograd.grad_mode._enter_inference_mode",
        "torch.autograd.grad_mode._exit_inference_mode",
    ]
)
FOLD_ELEMENTS = 1 << 20
"""The most elements of a tensor that is computed beforehand."""
REPAIR_TRIES = 24
"""Combinations of sizes to try before giving up on a graph."""


def fold_scalars(graph: Graph, *, literal_only: bool) -> dict[str, Any]:
    """Return, by name, results of ``.item()`` and similar calls that can be computed early."""
    wanted = [n for n in graph.nodes if base_name(n.target) in SCALAR_READS]
    if not wanted:
        return {}
    needed = _ancestors(graph, wanted)
    values: dict[str, Any] = {}
    device = torch.device("cpu")
    for entry in graph.inputs:
        if entry.name in needed and _is_usable(graph, entry, literal_only):
            values[entry.name] = make_input(graph, entry)
    written = changed_values(graph)
    with torch.inference_mode():
        for node in graph.nodes:
            if node.name not in needed or draws_random(node) or node.name in written:
                continue
            if node.target in NO_COMPUTATION:
                continue
            if any(ref.name not in values or ref.name in written for ref in node.refs):
                continue
            try:
                value = call_node(node, values, device)
            except Exception:  # noqa: S112 - not computable beforehand; lowering reports it
                continue
            if not isinstance(value, torch.Tensor) or value.numel() <= FOLD_ELEMENTS:
                values[node.name] = value
    return {node.name: values[node.name] for node in wanted if node.name in values}


def _is_usable(graph: Graph, entry: Input, literal_only: bool) -> bool:
    if isinstance(entry.recipe, (Literal, Constant)):
        return True
    spec = entry.spec
    return not literal_only and spec.elements(graph.bindings) <= FOLD_ELEMENTS  # type: ignore[union-attr]


def _ancestors(graph: Graph, wanted: list[Node]) -> set[str]:
    """Return the wanted nodes and everything that they are computed from, by name."""
    needed = {node.name for node in wanted}
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(ref.name for ref in node.refs)
    return needed


def repaired_graphs(graph: Graph) -> Iterator[Graph]:
    """Yield the graph with other example values for the numbers it is called with.

    GraphNet's extractor wrote a placeholder for every SymInt. If the placeholder contradicts the
    shapes of the tensors, the right value is one of their sizes.
    """
    used = {ref.name for node in graph.nodes for ref in node.refs}
    numbers = [e.name for e in graph.inputs if isinstance(e.spec, ScalarSpec) and e.name in used]
    if not numbers:
        return
    candidates = list(dict.fromkeys(_sizes(graph, Role.INPUT)))
    for values in islice(product(candidates, repeat=len(numbers)), REPAIR_TRIES):
        chosen = dict(zip(numbers, values, strict=True))
        yield replace(
            graph,
            inputs=tuple(
                replace(e, recipe=Constant(chosen[e.name])) if e.name in chosen else e
                for e in graph.inputs
            ),
        )


def _sizes(graph: Graph, role: Role) -> Iterator[int]:
    """Yield the sizes of the tensors of a role, 1 last."""
    sizes = [
        size
        for entry in graph.inputs
        if entry.role is role and isinstance(entry.spec, TensorSpec)
        for size in entry.spec.sizes(graph.bindings)
    ]
    yield from (size for size in sizes if size > 1)
    yield 1
