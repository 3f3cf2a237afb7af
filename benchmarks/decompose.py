"""Cutting graphs of growing size. Claim: cost grows linearly beyond 10,000 nodes, kind by kind."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

import torch

from benchmarks.common import seconds, show, verdict
from graph_net.corpus.subgraph_spool import cut_pieces
from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, Role, TensorSpec
from graph_net.rewrite.carve import Carver
from graph_net.rewrite.fusible import fusible
from graph_net.rewrite.kinds import kind_of

MOST = 1.4
"""What a node of the larger graph may cost of one of the smaller: 1, and a machine's noise."""
LAYERS = (250, 1_000)
KINDS = ("sole_op", "task", "block")
ASKED = (100, 400)
"""Layers for ``fusible``, which asks Inductor's scheduler: milliseconds a node."""
WIDTH = 16


def network(layers: int) -> Graph:
    """Layers of two products, a residual, a norm and a mask that all of them read; 12 nodes each.

    Widths differ from layer to layer, so that few subgraphs are equal and each is made.
    """
    spec = TensorSpec((WIDTH, WIDTH), "float32")
    inputs = [Input("x", spec, Normal(0.0, 1.0))]
    nodes = [Node("mask", "aten.sigmoid.default", (Ref("x"),), result=spec)]
    last = "x"

    def call(name: str, target: str, *args: object, result: TensorSpec = spec) -> str:
        nodes.append(Node(name, f"aten.{target}", args, result=result))  # type: ignore[arg-type]
        return name

    for i in range(layers):
        wide = TensorSpec((WIDTH, WIDTH + i), "float32")
        inputs.append(Input(f"a{i}", wide, Normal(0.0, 0.1), Role.PARAMETER))
        inputs.append(Input(f"b{i}", TensorSpec((WIDTH + i, WIDTH), "float32"), Normal(0.0, 0.1)))
        up = call(f"up{i}", "mm.default", Ref(last), Ref(f"a{i}"), result=wide)
        up = call(f"scaled{i}", "mul.Tensor", Ref(up), 0.5, result=wide)
        up = call(f"act{i}", "gelu.default", Ref(up), result=wide)
        down = call(f"down{i}", "mm.default", Ref(up), Ref(f"b{i}"))
        down = call(f"masked{i}", "mul.Tensor", Ref(down), Ref("mask"))
        flat = call(f"turned{i}", "t.default", Ref(down))
        flat = call(f"soft{i}", "softmax.int", Ref(flat), -1)
        flat = call(f"back{i}", "t.default", Ref(flat))
        total = call(f"sum{i}", "add.Tensor", Ref(flat), Ref(last))
        total = call(f"tanh{i}", "tanh.default", Ref(total))
        total = call(f"norm{i}", "layer_norm.default", Ref(total), (WIDTH,))
        last = call(f"relu{i}", "relu.default", Ref(total))
    return Graph(tuple(inputs), tuple(nodes), (Ref(last),), Level.ATEN)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    graphs = {len(graph.nodes): graph for graph in map(network, LAYERS)}

    def cut(kind: str, graph: Graph) -> Callable[[], object]:
        return lambda: cut_pieces("", graph, kind, kind_of(kind))

    def halves(graph: Graph) -> Callable[[], object]:
        names = [node.name for node in graph.nodes]
        middle = len(names) // 2
        return lambda: [Carver(graph).carve(part) for part in (names[:middle], names[middle:])]

    work = {kind: {n: cut(kind, graph) for n, graph in graphs.items()} for kind in KINDS}
    work["two halves"] = {n: halves(graph) for n, graph in graphs.items()}
    rows, holds = [], []

    def compare(kind: str, candidates: dict[int, Callable[[], object]], repeats: int) -> None:
        took = seconds({str(n): call for n, call in candidates.items()}, repeats)
        per = [1e6 * took[str(n)] / n for n in candidates]
        growth = per[-1] / per[0]
        rows.append(
            [kind, *(f"{cost:,.0f} ({n:,})" for n, cost in zip(candidates, per, strict=True))]
        )
        rows[-1].append(f"{growth:.2f}")
        holds.append(growth <= MOST)

    for kind, candidates in work.items():
        compare(kind, candidates, given.repeats)
    torch.set_num_threads(1)
    fusible(network(3))  # loads Inductor
    asked = [network(layers) for layers in ASKED]
    compare("fusible", {len(g.nodes): partial(fusible, g) for g in asked}, 1)
    header = ("kind", "µs a node (nodes)", "µs a node (nodes)", "ratio")
    show("a graph cut into subgraphs", header, rows)
    claim = f"a node costs at most {MOST} × as much in a graph {LAYERS[-1] // LAYERS[0]} × as long"
    return 0 if verdict(all(holds), claim) else 1


if __name__ == "__main__":
    sys.exit(main())
