"""A GraphNet sample as a Graph, whatever it takes to make it one."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path

from graph_net.formats.graphnet.read import read_parts
from graph_net.graph import DEFAULT_LIMITS, Graph, GraphError, GraphLimits, from_bytes, to_bytes
from graph_net.graph.batched import Batched
from graph_net.isolate import Died, Limits, Raised, Sandbox, call

SECONDS, GIGABYTES = 300, 16.0


def open_sample(directory: Path | str, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """Return the Graph of a sample directory; GraphError says why there is none.

    Most samples are read by parsing alone. One that holds regions computed under ``vmap`` is
    traced, on tensors without values in a confined process, and is at level ``aten``.
    """
    found = read_parts(directory, limits)
    return found if isinstance(found, Graph) else _traced(found, limits)


def open_confined(directory: Path | str, limits: GraphLimits = DEFAULT_LIMITS) -> Graph:
    """Return what ``open_sample`` does, in a process that is confined already."""
    found = read_parts(directory, limits)
    if isinstance(found, Graph):
        return found
    from graph_net.rewrite.batched import remove_vmap

    return remove_vmap(found)


def _traced(batched: Batched, limits: GraphLimits) -> Graph:
    import torch

    from graph_net.rewrite.batched import remove_vmap

    def work() -> str:
        torch.set_num_threads(1)  # the threads of the parent are not in this process
        return b64encode(to_bytes(remove_vmap(batched))).decode()

    try:
        data = call(work, Limits.of(SECONDS, GIGABYTES), Sandbox())
    except Raised as error:
        raise GraphError(error.message) from error
    except Died as error:
        raise GraphError(f"tracing its vmap regions gave nothing: {error}") from error
    return from_bytes(b64decode(data), limits)
