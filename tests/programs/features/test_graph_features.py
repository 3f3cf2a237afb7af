"""Graphs as numbers: what is counted, what repeats, and where the edges go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from graph_net.corpus.pack import Pack, PackWriter
from graph_net.graph import Graph, Input, Level, Node, Normal, Ref, Role, TensorSpec
from graph_net.isolate import Finished, Limits, Pool
from graph_net.programs.features.failures import Lost, found_or_lost
from graph_net.programs.features.feature_kinds import GRAPH
from graph_net.programs.features.feature_store import FeatureStore, arrays_of
from graph_net.programs.features.graph_features import NODE_COLUMNS, SUMMARY_COLUMNS, graph_features
from graph_net.programs.features.graph_pipeline import _arrays, make_graphs, missing_graphs
from graph_net.programs.spaces.magnitudes import log_magnitude
from strategies import graphs

ROW = TensorSpec((8, 16), "float32")


def layers(count: int, width: int = 16) -> Graph:
    """So many layers, each a product with its own weights and a ReLU."""
    row = TensorSpec((8, width), "float32")
    inputs = [Input("x", row, Normal(0.0, 1.0))]
    nodes, last = [], "x"
    for number in range(count):
        weight = Input(
            f"w{number}",
            TensorSpec((width, width), "float32"),
            Normal(0.0, 1.0),
            Role.PARAMETER,
        )
        inputs.append(weight)
        product = Node(
            f"p{number}", "aten.linear.default", (Ref(last), Ref(weight.name)), result=row
        )
        nodes += [
            product,
            Node(f"r{number}", "aten.relu.default", (Ref(f"p{number}"),), result=row),
        ]
        last = f"r{number}"
    return Graph(tuple(inputs), tuple(nodes), (Ref(last),), Level.ATEN)


def value(row: np.ndarray, columns: list[str], name: str) -> float:
    return float(row[columns.index(name)])


def test_the_summary_counts_work_and_operators() -> None:
    found = graph_features(layers(1)).summary
    assert found.dtype == np.float32
    assert found.shape == (len(SUMMARY_COLUMNS),)
    flops, moved = 2 * 8 * 16 * 16, 4 * (8 * 16 + 16 * 16 + 8 * 16)
    for name, wanted in {
        "nodes": 2, "flops": flops, "moved_bytes": moved, "intensity": flops / moved, "linear": 1,
        "relu": 1, "depth": 2, "parameters": 256, "flops_known": 1, "dtype_float32": 1,
        "class_anchor": 1, "class_pointwise": 1, "conv2d": 0,
    }.items():  # fmt: skip
        assert value(found, SUMMARY_COLUMNS, name) == log_magnitude(wanted), name


def test_layers_that_repeat_have_one_row_and_a_carried_edge() -> None:
    found = graph_features(layers(6))
    assert found.nodes.shape[1] == len(NODE_COLUMNS)
    assert len(found.nodes) < 12
    copies = [value(row, NODE_COLUMNS, "copies") for row in found.nodes]
    assert round(sum(2.0**copy - 1 for copy in copies)) == 12
    assert found.edges[:, 2].sum() == 1
    assert found.edges[:, :2].max() < len(found.nodes)


def test_a_node_tells_its_result_and_its_weights() -> None:
    node = graph_features(layers(1, 32)).nodes[0]
    for name, wanted in {
        "linear": 1, "rank": 2, "elements": 256, "bytes": 1024, "size_-1": 32, "size_-2": 8,
        "size_-3": 0, "parameter_bytes": 4096, "input_bytes": 1024, "parameter_size_-1": 32,
        "floating": 1, "item_bytes": 4, "arguments": 2, "class_anchor": 1,
    }.items():  # fmt: skip
        assert value(node, NODE_COLUMNS, name) == log_magnitude(wanted), name


def test_columns_have_names_of_their_own() -> None:
    for columns in (NODE_COLUMNS, SUMMARY_COLUMNS):
        assert len(set(columns)) == len(columns)


@given(graphs())
@settings(max_examples=25)
def test_any_graph_has_features(graph: Graph) -> None:
    found = graph_features(graph)
    assert np.isfinite(found.summary).all()
    assert np.isfinite(found.nodes).all()
    again = graph_features(graph)
    assert np.array_equal(found.summary, again.summary)
    assert np.array_equal(found.nodes, again.nodes)
    assert np.array_equal(found.edges, again.edges)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_packs_graphs_are_made_once(tmp_path: Path, jobs: int) -> None:
    with PackWriter(tmp_path / "pack") as writer:
        for count in (1, 6):
            writer.add(f"layers-{count}", layers(count))
        writer.add("again", layers(6))
    pack, store = Pack(tmp_path / "pack"), FeatureStore(tmp_path / "features")
    missing = missing_graphs(pack, store)
    assert len(missing) == 2
    assert list(make_graphs(pack, missing, store, Pool(Limits.of(60, 16.0), jobs))) == [None, None]
    assert missing_graphs(pack, store) == {}
    (batch,) = store.batches(GRAPH)
    place = batch["graph"].to_pylist().index(layers(6).id)
    wanted = graph_features(layers(6))
    for column, array in zip(
        GRAPH.columns, (wanted.summary, wanted.nodes, wanted.edges), strict=True
    ):
        values, starts = arrays_of(column, batch[column.name])
        found = values[starts[place] : starts[place + 1]]
        assert np.array_equal(found.reshape(array.shape), array)


@pytest.mark.parametrize("answer", [None, 7, b"", b"PK\3\4 no archive", b"\x93NUMPY"])
def test_an_answer_that_holds_no_arrays_is_lost(answer: Any) -> None:
    found = found_or_lost(Finished("graph", (answer,), None, 1.0), _arrays)
    assert isinstance(found, Lost)
    assert found.reason.startswith("wrote something that is not an answer")
