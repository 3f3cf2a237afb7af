"""Inference of the specifications that a cut needs and a graph does not store."""

from __future__ import annotations

from graph_net.graph import Graph, Level, from_bytes, to_bytes
from graph_net.isolate import Died, Limits, Sandbox, call

SECONDS = 300


def infer_specs(graph: Graph, gigabytes: float = 8.0) -> Graph:
    """Return the graph with the specification of every result that shape propagation reaches.

    An imported sample stores none, and a value without one cannot be the input of a piece. Shapes
    are computed on fake tensors in a confined process; if that dies, the graph stays as it is.
    """
    if graph.level is Level.PADDLE or all(node.result is not None for node in graph.nodes):
        return graph

    def work() -> bytes:
        import torch

        from graph_net.rewrite.variant.propagate import with_known_results

        torch.set_num_threads(1)  # the threads of the parent are not in this process
        return to_bytes(with_known_results(graph))

    try:
        return from_bytes(call(work, Limits.of(SECONDS, gigabytes), Sandbox()))
    except Died:
        return graph
