"""Graphs to fill packs with, and a program that fills one until it is killed.

python some_graphs.py PACK EVERY    adds graph-0, graph-1, … and prints how many are on disk
"""

from __future__ import annotations

import sys

from graph_net.graph import Graph, Input, Node, Normal, Provenance, Ref, Role, TensorSpec

TARGETS = ("torch.relu", "torch.sigmoid", "method:abs")


def some_graph(number: int, **words: str) -> Graph:
    """A small graph; every number gives another id, every length another structure."""
    nodes, last = [], "x"
    for position in range(number % 7 + 1):
        target = TARGETS[(number + position) % 3]
        nodes.append(Node(f"n{position}", target, (Ref(last),)))
        last = f"n{position}"
    inputs = (
        Input("x", TensorSpec((number + 1, 4), "float32"), Normal(0.0, 1.0)),
        Input("w", TensorSpec((2, 3), "float16"), Normal(0.0, 1.0), Role.PARAMETER),
    )
    category = "nlp" if number % 2 else "computer_vision"
    origin = Provenance(model=f"m{number}", **{"library": "test", "category": category} | words)  # type: ignore[arg-type]
    return Graph(inputs, tuple(nodes), (Ref(last), Ref("w")), provenance=origin)


def fill(path: str, every: int) -> None:
    """Add graphs to a pack without end, a part each ``every`` graphs."""
    from graph_net.corpus.pack import PackWriter

    writer = PackWriter(path)
    number = len(writer.names)
    while True:
        writer.add(f"graph-{number}", some_graph(number))
        number += 1
        if number % every == 0:
            writer.flush()
            print(number, flush=True)


if __name__ == "__main__":
    fill(sys.argv[1], int(sys.argv[2]))
