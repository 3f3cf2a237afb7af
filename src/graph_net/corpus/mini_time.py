"""How long a graph of a pack takes eagerly, measured in a process of its own."""

from __future__ import annotations

import math
import os
import platform
import time

import torch

from graph_net.corpus.pack import Pack
from graph_net.graph.execute import make_inputs, run
from graph_net.graph.work import work_of
from graph_net.isolate import Limits, call

THREADS = 2
RUNS = 5
HOPELESS = 0.12
"""Seconds after which two runs are enough: it will not get under a third of that."""
SECONDS = 60
GIGABYTES = 8.0


def eager_seconds(pack: Pack, name: str, most_flops: float = math.inf) -> float:
    """The quickest of a few runs on two threads; Died if there is none.

    Whatever else the machine does only adds to a time. A graph of more operations is not run, and
    takes for ever.
    """
    graph = pack.graph(name)

    def measure() -> float:
        if (work_of(graph).flops or 0) > most_flops:
            return math.inf
        torch.set_num_threads(THREADS)
        inputs = make_inputs(graph)
        times: list[float] = []
        while len(times) < RUNS and (len(times) < 2 or min(times) < HOPELESS):
            start = time.perf_counter()
            run(graph, inputs)
            times.append(time.perf_counter() - start)
        return min(times)

    return float(call(measure, Limits.of(SECONDS, GIGABYTES)))


def machine() -> str:
    """What the times belong to."""
    version = torch.__version__.partition("+")[0]
    return f"torch {version}, {THREADS} threads, {platform.machine()}, {os.cpu_count()} cores"
