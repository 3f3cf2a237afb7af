"""Hashing graphs of growing size. Claim: cost grows linearly up to 40,000 nodes."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import torch

from benchmarks.common import seconds, show, verdict
from graph_net.graph import Graph
from graph_net.testing.models import Decoder, graph_of

MOST = 2.6
"""Doubling the nodes may cost this much: 2 and the noise of a shared machine."""


def decoder(layers: int) -> Graph:
    with torch.device("meta"):
        model = Decoder(layers, 64, 4, 100)
        words = torch.zeros(1, 8, dtype=torch.int64, device="meta")
    return graph_of(model, (words,))


def repeated(graph: Graph, times: int) -> Graph:
    """The graph with its nodes computed several times over, under new names."""
    nodes = list(graph.nodes)
    for i in range(1, times):
        nodes += [replace(n, name=f"{n.name}_c{i}") for n in graph.nodes]
    return replace(graph, nodes=tuple(nodes))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    base = decoder(24)
    graphs = {len(g.nodes): g for g in (repeated(base, times) for times in (5, 10, 20, 40))}

    def both(graph: Graph) -> None:
        fresh = replace(graph)  # hashes are kept once computed
        assert fresh.id != fresh.structure

    took = seconds(
        {str(n): (lambda g=g: both(g)) for n, g in graphs.items()},  # type: ignore[misc]
        given.repeats,
    )
    sizes = list(graphs)
    rows, growth = [], []
    for i, size in enumerate(sizes):
        per = took[str(size)] / size * 1e6
        step = took[str(size)] / took[str(sizes[i - 1])] if i else 0.0
        growth.append(step)
        rows.append([f"{size:,}", f"{per:.1f}", f"{step:.2f}" if i else ""])
    show("structure and id together", ("nodes", "µs a node", "× the half"), rows)
    return 0 if verdict(max(growth) <= MOST, f"doubling costs at most {max(growth):.2f}") else 1


if __name__ == "__main__":
    sys.exit(main())
