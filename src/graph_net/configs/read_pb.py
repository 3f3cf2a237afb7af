"""TpuGraphs' protobuf files as ConfigGraphs: the numbers of the npz files, rebuilt exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from graph_net.configs.config_graph import (
    DIMENSIONS,
    SLOTS,
    TENSORS,
    ConfigGraph,
    Ints,
    LayoutConfigs,
    NodeTable,
    TileConfigs,
)
from graph_net.configs.layout_codes import LayoutCoder, merge_rows
from graph_net.formats.tpugraphs.hlo import HloModule
from graph_net.formats.tpugraphs.node_columns import dot_row, node_row, tile_row
from graph_net.formats.tpugraphs.opcodes import opcode_number
from graph_net.formats.tpugraphs.tuning_data import (
    Layout,
    TunedModule,
    TunedRun,
    read_tuning_data,
)
from graph_net.store.lines import ReadError

MAJOR = ("cluster", "while", "cond")
"""Words in the name of a computation that ends a part of ``node_splits``."""


def read_pb(path: Path, absent: float = 0.0) -> Iterator[ConfigGraph]:
    """Yield the graphs of a file; ``absent`` pads lists, 0 as in npz files or -1."""
    for module in read_tuning_data(path):
        try:
            yield config_graph(module, path.stem, absent)
        except ReadError as error:
            raise ReadError(f"{path}, module {module.hlo.name[:80]}: {error}") from error


def config_graph(module: TunedModule, stem: str = "", absent: float = 0.0) -> ConfigGraph:
    """Return a module with the runs that TpuGraphs includes."""
    nodes = node_table(module.hlo, absent)
    runs = [run for run in module.runs if run.counts]
    configs: LayoutConfigs | TileConfigs
    if module.config_nodes:
        configs, of_runs = _layouts(runs, np.array(module.config_nodes, np.int64), len(nodes))
        name, splits = stem or module.hlo.name, True
    else:
        configs, of_runs = _tiles(runs)
        name, splits = f"{module.hlo.name}_{_signed_hex(module.fingerprint)}", False
    default = next((number for number, run in enumerate(runs) if run.is_default), None)
    took = np.array([run.nanoseconds for run in runs], np.int64)
    normalizer = 1 if default is None else took[default]
    normalizers = np.full(0 if splits else len(runs), normalizer, np.int64)
    return ConfigGraph(
        name, nodes, configs, of_runs, took, normalizers, default,
        "layout" if splits else "tile",
    )  # fmt: skip


def node_table(module: HloModule, absent: float = 0.0) -> NodeTable:
    """Return a module as numbers."""
    rows, dots, opcodes = [], [], []
    for computation, one in module.instructions():
        rows.append(node_row(one, one.id == computation.root, absent))
        dots.append(dot_row(one))
        opcodes.append(opcode_number(one.opcode))
    return NodeTable(
        np.array(rows, np.float32).reshape(-1, 140),
        np.array(opcodes, np.uint8),
        _edges(module),
        _splits(module),
        np.array(dots, np.float32),
    )


def _edges(module: HloModule) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Return (instruction, operand) and (instruction, root of a called computation), sorted."""
    places = {one.id: place for place, (_, one) in enumerate(module.instructions())}
    roots = {computation.id: computation.root for computation in module.computations}
    found = []
    try:
        for _, one in module.instructions():
            me = places[one.id]
            found += [(me, places[operand]) for operand in set(one.operands)]
            found += [(me, places[roots[callee]]) for callee in one.called]
    except KeyError as error:
        raise ReadError(f"{error} is not an instruction or computation here") from error
    return np.array(sorted(found), np.int32).reshape(-1, 2)


def _splits(module: HloModule) -> Ints:
    ends, count = [0], 0
    for computation in module.computations:
        count += len(computation.instructions)
        if any(word in computation.name for word in MAJOR):
            ends.append(count)
    return np.array(ends if ends[-1] == count else [*ends, count], np.int64)


def _layouts(runs: list[TunedRun], ids: Ints, nodes: int) -> tuple[LayoutConfigs, Ints32]:
    if not 0 <= ids.min() <= ids.max() < nodes:
        raise ReadError(f"a configurable node is not among the {nodes} nodes")
    coder = LayoutCoder(ids)
    places = []
    for run in runs:
        if len(run.layout) != len(ids):
            raise ReadError(f"a layout of {len(run.layout)} nodes, where {len(ids)} have one")
        places.append(coder.add(np.array([[_slots(node) for node in run.layout]], np.int64)))
    return coder.finish(), np.concatenate(places) if places else np.zeros(0, np.int32)


def _slots(layout: Layout) -> list[int]:
    if len(layout) > TENSORS:
        raise ReadError(f"a layout of {len(layout)} tensors")
    row = [-1] * SLOTS
    for place, order in enumerate(layout):
        row[place * DIMENSIONS : place * DIMENSIONS + len(order)] = order
    return row


def _tiles(runs: list[TunedRun]) -> tuple[TileConfigs, Ints32]:
    rows = np.array([tile_row(run.tile or ((), (), ())) for run in runs], np.float32)
    places, first = merge_rows(row.tobytes() for row in rows)
    return TileConfigs(rows.reshape(-1, 24)[first]), places


def _signed_hex(fingerprint: int) -> str:
    """Return a fingerprint in the form of TpuGraphs' file names."""
    signed = fingerprint - (1 << 64) if fingerprint >> 63 else fingerprint
    return f"{signed:x}"


Ints32 = np.ndarray[tuple[int], np.dtype[np.int32]]
