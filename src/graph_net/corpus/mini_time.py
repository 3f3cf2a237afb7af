"""The eager time of a pack's graph, measured in a process of its own."""

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
"""Seconds above which two runs are enough: no later run would be quick enough."""
SECONDS = 60
GIGABYTES = 8.0


def eager_seconds(pack: Pack, name: str, most_flops: float = math.inf) -> float:
    """Return the quickest of a few runs on two threads; raise Died if the process dies.

    Disturbances only add time. A graph of more than ``most_flops`` is not run and takes infinitely
    long.
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


def describe_machine() -> str:
    """Return the machine and the software of the times."""
    version = torch.__version__.partition("+")[0]
    return f"torch {version}, {THREADS} threads, {platform.machine()}, {os.cpu_count()} cores"
