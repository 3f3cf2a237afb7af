"""Modules that a process loads before it forks workers, so that none of them has to."""

from __future__ import annotations


def prepare(compilers: list[str], device: str) -> None:
    """Load what every worker for a device needs, before the first fork."""
    import gc

    import numpy.ma  # noqa: F401 - a median imports it
    import torch

    import graph_net.graph.fx
    import graph_net.measure.audit_judge
    import graph_net.measure.worker  # noqa: F401
    from graph_net.compilers import create

    torch.set_num_threads(1)  # a parent of forks runs no threads
    for name in compilers:
        create(name).prepare(device)
    gc.collect()
    gc.freeze()
