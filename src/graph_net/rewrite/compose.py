"""Pieces of a graph run one after another, to the outputs of the whole."""

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
    """The graph's outputs, computed piece by piece: what ``execute.run`` gives, bit for bit.

    The pieces may come in any order; together they hold every node of the graph once.
    """
    values = make_inputs(graph, device, seed) if inputs is None else inputs
    with as_in_a_run(device, seed):
        return compose(graph, in_order(graph, pieces), values, device)


def compose(
    graph: Graph, pieces: Sequence[Graph], inputs: Sequence[Any], device: torch.device | str = _CPU
) -> Any:
    """What pieces give that are in order already, in whatever mode is in force.

    Each piece reads only the inputs it declares, and nobody reads what a piece does not give.
    """
    device = torch.device(device)
    values = {entry.name: value for entry, value in zip(graph.inputs, inputs, strict=True)}
    for piece in pieces:
        given = interpret(piece, [values[entry.name] for entry in piece.inputs], device)
        values.update(_named(piece.output, given))
    return to_python(graph.output, values.__getitem__, device)


def in_order(graph: Graph, pieces: Sequence[Graph]) -> list[Graph]:
    """The pieces of a partition so that each comes after those it depends on."""
    groups = [[node.name for node in piece.nodes] for piece in pieces]
    return [pieces[i] for i in group_order(Carver(graph), groups)]


def group_order(carver: Carver, groups: Sequence[Sequence[str]]) -> list[int]:
    """In which order groups of nodes can be computed; the earliest first where it is free.

    A GraphError says that they are no partition, or that two of them need one another.
    """
    owner: dict[int, int] = {}
    for number, group in enumerate(groups):
        for name in group:
            if name not in carver.position:
                raise GraphError("is no node of this graph", node=name[:80])
            if owner.setdefault(carver.position[name], number) != number:
                raise GraphError("belongs to two pieces", node=name)
    if len(owner) < len(carver.before):
        missing = next(i for i in range(len(carver.before)) if i not in owner)
        raise GraphError("belongs to no piece", node=carver.graph.nodes[missing].name)
    # Added in the order of their first nodes, which is the order the sorter keeps.
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for place, earlier in enumerate(carver.before):
        number = owner[place]
        sorter.add(number, *(owner[j] for j in earlier if owner[j] != number))
    try:
        return list(sorter.static_order())
    except CycleError as error:
        first = groups[error.args[1][0]][0]
        raise GraphError("its piece needs one that needs it", node=first) from error


def _named(output: Value, given: Any) -> Iterator[tuple[str, Any]]:
    """Values by the names a piece returns them under."""
    if isinstance(output, Ref):
        yield output.name, given
    elif isinstance(output, (tuple, ListValue)):
        items = output if isinstance(output, tuple) else output.items
        for item, value in zip(items, given, strict=True):
            yield from _named(item, value)
    elif isinstance(output, DictValue):
        for key, item in output.items:
            yield from _named(item, given[key])


@contextmanager
def as_in_a_run(device: torch.device | str = "cpu", seed: int = 0) -> Iterator[None]:
    """Inside, calls find what they find in ``graph_net.graph.execute.run``, the seed included."""
    device = torch.device(device)
    devices = [device] if device.type == "cuda" else []
    was = torch.is_grad_enabled()
    try:
        with torch.random.fork_rng(devices=devices), torch.inference_mode():
            torch.manual_seed(seed)
            yield
    finally:
        torch._C._set_grad_enabled(was)
