"""Measured layouts as npz files in TpuGraphs' format, readable by the same tools.

A file holds one graph: ``node_feat`` (140 columns, documented in ``featurise``), ``node_opcode``,
``edge_index``, ``node_config_ids``, ``node_config_feat`` (output, input and kernel, six slots each,
minor to major, -1 if not set), ``config_runtime`` (ns) and ``node_splits``. A row is one
measurement; a layout that was measured twice has two.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_net.configs.featurise import featurise
from graph_net.configs.layouts.layout_config import Layout, read_layout
from graph_net.configs.layouts.orders import MOST_DIMENSIONS
from graph_net.configs.layouts.sites import Site, find_sites
from graph_net.graph.graph import Graph
from graph_net.results import Program
from graph_net.store.atomic import open_atomic

SLOTS = 3 * MOST_DIMENSIONS
SEARCHES = {"random": "random", "genetic": "default"}
"""TpuGraphs' names for our searches; its default is a genetic search too."""
DATE = (1980, 1, 1, 0, 0, 0)


def layout_slots(layout: Layout) -> NDArray[np.float32]:
    """Return a layout in TpuGraphs' form: (nodes, 18), -1 if not set."""
    rows = np.full((len(layout), 3, MOST_DIMENSIONS), -1, np.float32)
    for place, setting in enumerate(layout):
        for tensor, order in enumerate(setting.orders):
            if order is not None:
                rows[place, tensor, : len(order)] = order
    return rows.reshape(len(layout), SLOTS)


def layout_arrays(graph: Graph, programs: Sequence[Program]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a graph's measured layouts; those that failed are left out."""
    sites, nodes = find_sites(graph), featurise(graph)
    measured = [program for program in programs if program.failure is None]
    first = len(graph.inputs)
    return {
        "node_feat": nodes.features,
        "node_opcode": nodes.opcodes,
        "edge_index": nodes.edges.astype(np.int64),
        "node_config_ids": np.array([first + site.node for site in sites], np.int64),
        "node_config_feat": _all_slots(measured, sites),
        "config_runtime": run_times(measured),
        "node_splits": np.array([[0, len(nodes)]], np.int64),
    }


def _all_slots(programs: Sequence[Program], sites: Sequence[Site]) -> NDArray[np.float32]:
    rows = [layout_slots(read_layout(program.schedule, sites)) for program in programs]
    return np.stack(rows) if rows else np.zeros((0, len(sites), SLOTS), np.float32)


def run_times(programs: Sequence[Program]) -> NDArray[np.int64]:
    """Return nanoseconds: the median ratio to the original in the same rounds, times its median.

    Results of distant turns are then comparable. The raw seconds are in the native columns.
    """
    controls = [json.loads(program.extra)["control"] for program in programs]
    if not controls:
        return np.zeros(0, np.int64)
    typical = median(median(control) for control in controls)
    ratios = [
        median(cost / beside for cost, beside in zip(program.costs, control, strict=True))
        for program, control in zip(programs, controls, strict=True)
    ]
    return np.array([max(1, round(ratio * typical * 1e9)) for ratio in ratios], np.int64)


def write_npz(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays as a compressed npz with reproducible bytes."""
    import io
    import zipfile

    path.parent.mkdir(parents=True, exist_ok=True)
    with open_atomic(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in sorted(arrays.items()):
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", DATE)
            archive.writestr(entry, data.getvalue(), zipfile.ZIP_DEFLATED)
