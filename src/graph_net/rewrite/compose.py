"""Run the pieces of a graph one after another, to the outputs of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from typing import Any

import torch

from graph_net.graph.errors import GraphError
from graph_net.graph.execute import interpret, make_inputs
from graph_net.graph.graph import Graph
from graph_net.graph.runtime import to_python
from graph_net.graph.values import DictValue, ListValue, Ref, Value
from graph_net.rewrite.carve import Carver

_CPU = torch.device("cpu")


def run_pieces(
    graph: Graph,
    pieces: Sequence[Graph],
    inputs: Sequence[Any] | None = None,
    *,
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> Any:
    """Return the graph's outputs, computed piece by piece: bit for bit those of ``execute.run``.

    The pieces may come in any order; together they hold every node of the graph once.
    """
    values = make_inputs(graph, device, seed) if inputs is None else inputs
    with run_context(device, seed):
        return compose(graph, sort_pieces(graph, pieces), values, device)


def compose(
    graph: Graph, pieces: Sequence[Graph], inputs: Sequence[Any], device: torch.device | str = _CPU
) -> Any:
    """Return the outputs of pieces that are in order already, in the current mode.

    Each piece reads only the inputs it declares; values that a piece does not return are not read.
    """
    device = torch.device(device)
    values = {entry.name: value for entry, value in zip(graph.inputs, inputs, strict=True)}
    for piece in pieces:
        outputs = interpret(piece, [values[entry.name] for entry in piece.inputs], device)
        values.update(_named_values(piece.output, outputs))
    return to_python(graph.output, values.__getitem__, device)


def sort_pieces(graph: Graph, pieces: Sequence[Graph]) -> list[Graph]:
    """Return the pieces of a partition so that each comes after those it depends on."""
    groups = [[node.name for node in piece.nodes] for piece in pieces]
    return [pieces[i] for i in group_order(Carver(graph), groups)]


def group_order(carver: Carver, groups: Sequence[Sequence[str]]) -> list[int]:
    """Return an order in which groups of nodes can be computed, the earliest first.

    Raise GraphError if they are not a partition, or if two of them need one another.
    """
    owner: dict[int, int] = {}
    for number, group in enumerate(groups):
        for name in group:
            if name not in carver.position:
                raise GraphError("is not a node of this graph", node=name[:80])
            if owner.setdefault(carver.position[name], number) != number:
                raise GraphError("belongs to two pieces", node=name)
    if len(owner) < len(carver.before):
        missing = next(i for i in range(len(carver.before)) if i not in owner)
        raise GraphError("belongs to no piece", node=carver.graph.nodes[missing].name)
    # Added in the order of their first nodes, which is the order the sorter keeps.
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for position, earlier in enumerate(carver.before):
        number = owner[position]
        sorter.add(number, *(owner[j] for j in earlier if owner[j] != number))
    try:
        return list(sorter.static_order())
    except CycleError as error:
        first = groups[error.args[1][0]][0]
        raise GraphError("its piece and another one depend on each other", node=first) from error


def _named_values(output: Value, result: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values that a piece returns, by name."""
    if isinstance(output, Ref):
        yield output.name, result
    elif isinstance(output, (tuple, ListValue)):
        items = output if isinstance(output, tuple) else output.items
        for item, value in zip(items, result, strict=True):
            yield from _named_values(item, value)
    elif isinstance(output, DictValue):
        for key, item in output.items:
            yield from _named_values(item, result[key])


@contextmanager
def run_context(device: torch.device | str = "cpu", seed: int = 0) -> Iterator[None]:
    """Inside the context, calls see the modes and seed of ``graph_net.graph.execute.run``."""
    device = torch.device(device)
    devices = [device] if device.type == "cuda" else []
    grad_enabled = torch.is_grad_enabled()
    try:
        with torch.random.fork_rng(devices=devices), torch.inference_mode():
            torch.manual_seed(seed)
            yield
    finally:
        torch._C._set_grad_enabled(grad_enabled)
