"""The stored graph captured once more, from its FX form."""

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
    """What is written down when a stored graph of ATen operators is captured once more.

    The graph is traced, which costs half of an export. Where that does not give the same
    structure, what ``torch.export`` makes of its FX form, with the same inputs in the same order,
    has the last word.
    """
    try:
        again = trace_graph(graph)
    except Exception:
        again = None
    if again is not None and normal(again).structure == normal(graph).structure:
        return again
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    (again,) = capture(to_fx(graph), fake_inputs(graph, mode), ways=("export",)).graphs
    return again


def normal(graph: Graph) -> Graph:
    """The graph in a form that writing it down again does not change."""
    return _same_tensors(_plain_sums(graph))


def _same_tensors(graph: Graph) -> Graph:
    """The graph with a tensor that is moved to where and what it is called by its first name.

    Such a call gives back the tensor itself, and tracing calls it by either name.
    """
    specs = {entry.name: entry.spec for entry in graph.inputs}
    first: dict[str, Ref] = {}

    def known(ref: Ref) -> Ref:
        return first.get(ref.name, ref)

    nodes = []
    for node in graph.nodes:
        moved = node.args[0] if node.target.startswith(MOVE) and node.args else None
        copied = True in node.args or True in dict(node.kwargs).values()
        if isinstance(moved, Ref) and specs.get(moved.name) == node.result and not copied:
            first[node.name] = known(moved)
        specs[node.name] = node.result  # type: ignore[assignment]
        nodes.append(node.with_refs(known))
    return replace(graph, nodes=tuple(nodes), output=map_refs(graph.output, known))


def _plain_sums(graph: Graph) -> Graph:
    """The graph with sums of several sizes as sums of two: torch writes down either."""
    nodes: list[Node] = []
    for node in graph.nodes:
        terms = node.args[0] if node.target == SUM and node.args else ()
        if not isinstance(terms, tuple) or len(terms) < 2:
            nodes.append(node)
            continue
        first = terms[0]
        for place, term in enumerate(terms[1:], 2):
            last = place == len(terms)
            name = node.name if last else f"{node.name}__{place}"
            nodes.append(replace(node, name=name, target="operator.add", args=(first, term)))
            first = Ref(name)
    return replace(graph, nodes=tuple(nodes))
