"""Runs of configurations as Programs: Config of kind layout or tile, Device TPU v3, every repeat.

Files in TpuGraphs' form that were made here name another platform, whose Device they do not have.

A layout is written as the minor-to-major orders of output, input and kernel of each configurable
node, with dimensions counted from 1: ``[[51,15,45], …]`` sets dimensions 4 and 0 of the output.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graph_net.configs.config_graph import (
    DIMENSIONS,
    TENSORS,
    ConfigGraph,
    LayoutConfigs,
    TileConfigs,
)
from graph_net.configs.hlo_graph import hlo_graph
from graph_net.configs.layout_codes import order_number
from graph_net.graph.graph import Graph
from graph_net.results import Device, Json, Program, Task, canonical

TPU_V3 = Device("tpu", "TPU v3", cores=2, threads=0, memory_bytes=32 << 30, system="", python="")
"""The device of TpuGraphs' measurements, as its paper describes it: two cores, 32 GiB."""
SOURCES = ("xla", "nlp")
"""Sources of TpuGraphs' collections."""
BOUNDS = ("kernel", "output", "input")


def platform_of(collection: str) -> str:
    """Return the name of the device that a collection was measured on."""
    source = collection.split(":")[1] if ":" in collection else SOURCES[0]
    return TPU_V3.name if source in SOURCES else source


def graph_task(graph: ConfigGraph, hlo: Graph | None = None) -> Task:
    """Return the task of a graph: what is computed, and which nodes are configured."""
    found = hlo or hlo_graph(graph)
    details: dict[str, Json] = {
        "graph": found.id,
        "structure": found.structure,
        "nodes": len(graph.nodes),
        "collection": graph.collection,
        "split": graph.split,
        "weights": {graph.name.rpartition("/")[2]: 1},
    }
    if isinstance(graph.configs, LayoutConfigs):
        details["config_nodes"] = [int(node) for node in graph.configs.nodes]
    kernel = graph.name.rpartition("/")[2]
    name = f"tpugraphs_{graph.kind}"
    target = platform_of(graph.collection).lower().replace(" ", "_")
    return Task(name, graph.name, kernel, target, canonical(details))


def graph_programs(graph: ConfigGraph) -> Iterator[Program]:
    """Yield a program for each distinct configuration, with the seconds of all its runs."""
    task = graph_task(graph)
    device = TPU_V3 if platform_of(graph.collection) == TPU_V3.name else None
    chosen = None if graph.default is None else int(graph.run_config[graph.default])
    for place, runs in enumerate(graph.seconds()):
        extra = canonical({"default": True}) if place == chosen else ""
        text = schedule_text(graph.configs, place)
        yield Program.from_log(task, text, tuple(runs.tolist()), extra=extra, device=device)


def schedule_text(configs: LayoutConfigs | TileConfigs, place: int) -> str:
    """Return a configuration as canonical JSON; equal configurations give equal texts."""
    if isinstance(configs, TileConfigs):
        bounds = configs.bounds()[place]
        return canonical({name: _set(row) for name, row in zip(BOUNDS, bounds, strict=True)})
    orders = configs.settings[configs.codes[place]].reshape(-1, TENSORS, DIMENSIONS)
    return canonical([[order_number(order) for order in node] for node in orders.tolist()])


def _set(row: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Json]:
    return [int(bound) for bound in row if bound > 0]
