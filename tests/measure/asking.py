"""Short ways to ask for a measurement."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graph_net.graph import Graph, to_bytes
from graph_net.measure import MeasureLimits, Measurement, Protocol, measure
from graph_net.measure.device import describe
from graph_net.results import Config, ConfigKind, Record, Subject
from graph_net.testing.models import graph_of

QUICK = Protocol(
    seconds=0.05, warm_seconds=0.01, min_blocks=1, max_blocks=2, noise_limit=1e9, exact=False
)
FILE = Path(__file__).with_name("some_compilers.py")


def small_graph(size: int = 4) -> Graph:
    """A linear layer and a sigmoid: no output is 0, the same each time."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(size)
        model = torch.nn.Sequential(torch.nn.Linear(size, size), torch.nn.Sigmoid())
        return graph_of(model, (torch.randn(2, size),), name=f"small{size}")


def mine(name: str) -> str:
    """A compiler of ``some_compilers.py``."""
    return f"{FILE}:{name}"


def task(compiler: str, graph: Graph | None = None, **changes: Any) -> Measurement:
    """A quick task."""
    graph = graph or small_graph()
    known: dict[str, Any] = {
        "subject": Subject(graph.id, graph.structure, graph.provenance.model),
        "config": Config(ConfigKind.COMPILER, compiler, "1"),
        "device": describe("cpu", 1),
        "graph": to_bytes(graph),
        "protocol": QUICK,
        "limits": MeasureLimits(),
    }
    return Measurement(**(known | changes))


def measured(tasks: Iterable[Measurement], jobs: int = 2) -> list[Record]:
    """The records of tasks."""
    listed = list(tasks)
    return list(measure(listed, jobs=jobs, compilers={t.config.name for t in listed}))
