"""A GraphNet sample as a Graph, traced if parsing is not enough."""

from __future__ import annotations

from pathlib import Path

from graph_net.formats.graphnet.read import read_parts
from graph_net.graph import DEFAULT_LIMITS, Graph, GraphError, GraphLimits, from_bytes, to_bytes
from graph_net.graph.batched import Batched
from graph_net.isolate import Died, Limits, Raised, Sandbox, call

SECONDS, GIGABYTES = 300, 16.0


def open_sample(directory: Path | str, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """Return the Graph of a sample directory; raise GraphError if it cannot be read.

    Most samples are only parsed. One with regions under ``vmap`` is traced, on fake tensors in a
    confined process, and is at level ``aten``.
    """
    parts = read_parts(directory, limits)
    return parts if isinstance(parts, Graph) else _trace(parts, limits)


def open_confined(directory: Path | str, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """Return the same Graph, in a process that is confined already."""
    parts = read_parts(directory, limits)
    if isinstance(parts, Graph):
        return parts
    from graph_net.rewrite.batched import remove_vmap

    return remove_vmap(parts)


def _trace(batched: Batched, limits: GraphLimits) -> Graph:
    import torch

    from graph_net.rewrite.batched import remove_vmap

    def work() -> bytes:
        torch.set_num_threads(1)  # the threads of the parent are not in this process
        return to_bytes(remove_vmap(batched))

    try:
        return from_bytes(call(work, Limits.of(SECONDS, GIGABYTES), Sandbox()), limits)
    except Raised as error:
        raise GraphError(error.message) from error
    except Died as error:
        raise GraphError(f"tracing its vmap regions gave nothing: {error}") from error
