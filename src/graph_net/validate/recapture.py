"""The re-capture of a stored graph, from its FX form."""

from __future__ import annotations

from dataclasses import replace

from torch._subclasses.fake_tensor import FakeTensorMode

from graph_net.capture.capture import capture
from graph_net.graph import Graph, Node, Ref
from graph_net.graph.execute import fake_inputs
from graph_net.graph.fx import to_fx
from graph_net.graph.values import map_refs
from graph_net.rewrite.lower import trace_graph

SUM, MOVE = "torch.sym_sum", "aten.to."


def recapture(graph: Graph) -> Graph:
    """Capture a stored graph of ATen operators again.

    The graph is traced, which costs half of an export. If that gives another structure,
    ``torch.export`` of its FX form, with the same inputs in the same order, decides.
    """
    try:
        again = trace_graph(graph)
    except Exception:
        again = None
    if again is not None and normalize(again).structure == normalize(graph).structure:
        return again
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    (again,) = capture(to_fx(graph), fake_inputs(graph, mode), ways=("export",)).graphs
    return again


def normalize(graph: Graph) -> Graph:
    """Return the graph in a form that capturing does not change."""
    return _merge_moves(_split_sums(graph))


def _merge_moves(graph: Graph) -> Graph:
    """Replace the result of a ``to`` that changes nothing by its argument.

    Such a call returns the tensor itself, and tracing uses either name.
    """
    specs = {entry.name: entry.spec for entry in graph.inputs}
    first: dict[str, Ref] = {}

    def resolve(ref: Ref) -> Ref:
        return first.get(ref.name, ref)

    nodes = []
    for node in graph.nodes:
        moved = node.args[0] if node.target.startswith(MOVE) and node.args else None
        copied = True in node.args or True in dict(node.kwargs).values()
        if isinstance(moved, Ref) and specs.get(moved.name) == node.result and not copied:
            first[node.name] = resolve(moved)
        specs[node.name] = node.result  # type: ignore[assignment]
        nodes.append(node.with_refs(resolve))
    return replace(graph, nodes=tuple(nodes), output=map_refs(graph.output, resolve))


def _split_sums(graph: Graph) -> Graph:
    """Return the graph with sums of several sizes as sums of two: torch writes both forms."""
    nodes: list[Node] = []
    for node in graph.nodes:
        terms = node.args[0] if node.target == SUM and node.args else ()
        if not isinstance(terms, tuple) or len(terms) < 2:
            nodes.append(node)
            continue
        first = terms[0]
        for number, term in enumerate(terms[1:], 2):
            last = number == len(terms)
            name = node.name if last else f"{node.name}__{number}"
            nodes.append(replace(node, name=name, target="operator.add", args=(first, term)))
            first = Ref(name)
    return replace(graph, nodes=tuple(nodes))
