"""Recipes that imitate the values inside a graph, as inputs for its pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from graph_net.graph import Graph, Input, Node, from_json, to_json
from graph_net.graph.execute import call_node, make_inputs
from graph_net.graph.fx import recipe_of
from graph_net.graph.recipe import Constant, Recipe
from graph_net.graph.spec import ScalarSpec, TensorSpec
from graph_net.isolate import Died, Limits, Sandbox, call
from graph_net.rewrite.compose import run_context
from graph_net.rewrite.split import last_reads

SECONDS = 300


def value_recipes(
    graph: Graph, device: str = "cpu", seed: int = 0, gigabytes: float = 8.0
) -> dict[str, Recipe]:
    """Return a recipe that imitates each value of an eager run, by name.

    Small tensors are stored as they are, larger ones as statistics. The run has a process of its
    own; if that dies, the dictionary is empty.
    """

    def run() -> str:
        torch.set_num_threads(1)  # the threads of the parent are not in this process
        inputs = tuple(_imitate(graph, device, seed))
        return to_json(replace(graph, inputs=inputs, nodes=(), output=(), constraints=()))

    try:
        text = call(run, Limits.of(SECONDS, gigabytes), Sandbox(device=device))
    except Died:
        return {}
    return {entry.name: entry.recipe for entry in from_json(text).inputs}


def _imitate(graph: Graph, device: str, seed: int) -> list[Input]:
    """Return the values of a run, as inputs; each is freed after its last reader."""
    last = last_reads(graph)
    inputs = make_inputs(graph, device, seed)
    values: dict[str, Any] = {e.name: v for e, v in zip(graph.inputs, inputs, strict=True)}
    del inputs
    entries = []
    with run_context(device, seed):
        for position, node in enumerate(graph.nodes):
            value = values[node.name] = call_node(node, values, torch.device(device))
            entry = _as_input(node, value)
            if entry is not None:
                entries.append(entry)
            for name in {node.name, *(ref.name for ref in node.refs)}:
                if last.get(name, -1) <= position:
                    values.pop(name, None)
    return entries


def _as_input(node: Node, value: Any) -> Input | None:
    if isinstance(node.result, TensorSpec) and isinstance(value, torch.Tensor) and value.numel():
        return Input(node.name, node.result, recipe_of(value))
    if isinstance(node.result, ScalarSpec) and isinstance(value, (bool, int, float)):
        return Input(node.name, node.result, Constant(value))
    return None


def with_recipes(piece: Graph, whole: Graph, recipes: Mapping[str, Recipe]) -> Graph:
    """Return the piece with these recipes for the inputs that the whole graph computes."""
    computed = {entry.name for entry in piece.inputs if isinstance(whole.index[entry.name], Node)}
    inputs = tuple(
        replace(entry, recipe=recipes[entry.name])
        if entry.name in computed and entry.name in recipes
        else entry
        for entry in piece.inputs
    )
    return replace(piece, inputs=inputs)
