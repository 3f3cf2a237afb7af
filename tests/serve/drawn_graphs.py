"""Graphs of any length, made without torch."""

from __future__ import annotations

from collections.abc import Sequence

from graph_net.graph import Graph, Input, Node, Provenance, TensorSpec
from graph_net.graph.recipe import Normal
from graph_net.graph.values import Ref

SPEC = TensorSpec((2, 4), "float32")
LAYER = ("torch.relu", "torch.tanh", "torch.sigmoid", "torch.abs")


def chain(operators: Sequence[str], skips: Sequence[tuple[int, int]] = (), name: str = "") -> Graph:
    """Calls one after the other; a skip makes a later one add an earlier one's result."""
    added = {reader: source for source, reader in skips}
    nodes: list[Node] = []
    for number, target in enumerate(operators):
        before = Ref(f"n{number - 1}") if number else Ref("x")
        if number in added:
            nodes.append(
                Node(f"n{number}", "torch.add", (before, Ref(f"n{added[number]}")), (), SPEC)
            )
        else:
            nodes.append(Node(f"n{number}", target, (before,), (), SPEC))
    last = (Ref(nodes[-1].name),) if nodes else (Ref("x"),)
    origin = Provenance(library="tests", model=name, category="nlp")
    return Graph((Input("x", SPEC, Normal(None, None)),), tuple(nodes), last, provenance=origin)


def layers(count: int, name: str = "") -> Graph:
    """Equal layers one behind the other."""
    return chain(LAYER * count, name=name)
