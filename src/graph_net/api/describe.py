"""What a graph is written as, and what it costs."""

from __future__ import annotations

from graph_net.api.confined import run_confined
from graph_net.graph import Graph, GraphError, Level


def python_source(graph: Graph) -> str:
    """Return a graph as Python source for its framework, or as text in the manner of HLO."""
    from graph_net.formats.graphnet.paddle_source import paddle_source
    from graph_net.formats.graphnet.source import model_source
    from graph_net.formats.tpugraphs.hlo_text import hlo_text

    if graph.level is Level.HLO:
        return hlo_text(graph)
    return paddle_source(graph) if graph.level is Level.PADDLE else model_source(graph)


def count_flops_confined(graph: Graph) -> tuple[int | None, str]:
    """Count floating-point operations in a confined process; return None and the reason if not."""
    if graph.level in (Level.PADDLE, Level.HLO):
        return None, "they are counted for torch graphs only"
    try:
        total, reason = run_confined(lambda: _count(graph))
    except GraphError as error:
        return None, str(error)
    return total, reason


def _count(graph: Graph) -> tuple[int | None, str]:
    from graph_net.graph.flops import count_flops

    count = count_flops(graph)
    return count.total, count.reason
