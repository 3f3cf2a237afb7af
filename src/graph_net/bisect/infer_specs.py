"""Specifications that a cut needs, inferred where a graph does not store them."""

from __future__ import annotations

from base64 import b64decode, b64encode

from graph_net.graph import Graph, Level, from_bytes, to_bytes
from graph_net.isolate import Died, Limits, Sandbox, call

SECONDS = 300


def infer_specs(graph: Graph, gigabytes: float = 8.0) -> Graph:
    """Return the graph with the specification of every result that shape propagation reaches.

    An imported sample stores none, and a value without one cannot be the input of a piece. The
    shapes are computed on tensors without values, in a confined process; where that process dies,
    the graph stays as it is.
    """
    if graph.level is Level.PADDLE or all(node.result is not None for node in graph.nodes):
        return graph

    def work() -> str:
        import torch

        from graph_net.rewrite.variant.propagate import with_known_results

        torch.set_num_threads(1)  # the threads of the parent are not in this process
        return b64encode(to_bytes(with_known_results(graph))).decode()

    try:
        data = call(work, Limits.of(SECONDS, gigabytes), Sandbox())
    except Died:
        return graph
    return from_bytes(b64decode(data))
