"""The stored graph captured once more, from its FX form."""

from __future__ import annotations

from torch._subclasses.fake_tensor import FakeTensorMode

from graph_net.capture.capture import capture
from graph_net.graph import Graph
from graph_net.graph.execute import fake_inputs
from graph_net.graph.fx import to_fx


def recapture(graph: Graph) -> Graph:
    """What ``torch.export`` makes of a stored graph, with the same inputs in the same order."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    (again,) = capture(to_fx(graph), fake_inputs(graph, mode), ways=("export",)).graphs
    return again
