"""Configurations and graphs as numbers: copies, padding, tiles, and our own graphs' columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from configs.small_graphs import (
    layout_arrays,
    tile_arrays,
    write_npz,
)
from graph_net.configs import layout_features, tile_features
from graph_net.configs.config_graph import ConfigGraph, LayoutConfigs, NodeTable
from graph_net.configs.featurise import configurable_nodes, featurise
from graph_net.configs.layout_codes import distinct_tensors, tensor_numbers
from graph_net.configs.layout_features import setting_columns
from graph_net.configs.loaders import ConfigDataset, graph_batches, to_pyg
from graph_net.formats.tpugraphs.node_columns import COLUMNS, DOT_COLUMNS
from graph_net.formats.tpugraphs.opcodes import opcode_name
from graph_net.graph import Graph, Level, Node, Ref, TensorSpec
from graph_net.graph.graph import Input
from graph_net.graph.recipe import Uniform
from graph_net.graph.values import ListValue
from graph_net.store.lines import ReadError
from graph_net.testing.config_set import easy_layouts, easy_tiles


def two_convolutions(first: tuple[int, ...], second: tuple[int, ...]) -> ConfigGraph:
    """One configuration: the output order of the first, the input order of the second."""
    arrays = layout_arrays()
    settings = np.full((2, 18), -1, np.int8)
    settings[0, : len(first)] = first
    settings[1, 6 : 6 + len(second)] = second
    table = NodeTable(
        arrays["node_feat"], arrays["node_opcode"], arrays["edge_index"].astype(np.int32)
    )
    layouts = LayoutConfigs(np.array([1, 4]), settings, np.array([[0, 1]], np.uint8))
    return ConfigGraph("g", table, layouts, np.zeros(1, np.int32), np.array([5]))


def column(graph: ConfigGraph, name: str) -> float:
    rows = layout_features.layout_features(graph)
    return float(rows[0, layout_features.COLUMNS.index(name)])


def test_an_order_that_changes_on_the_way_is_a_copy() -> None:
    assert column(two_convolutions((3, 2), (3, 2)), "copies") == 0
    assert column(two_convolutions((3, 2), (2, 3)), "copies") == 1
    assert column(two_convolutions((3, 2), ()), "copies") == 0  # the second takes any order
    assert column(two_convolutions((3, 2), (2, 3)), "copied_bytes") > 0


def test_a_small_minor_dimension_wastes_space() -> None:
    """Of sizes 8 × 16 × 128 × 4, 128 fills the lanes and 8 the sublanes; 4 fills neither."""
    fits, wastes = (
        column(two_convolutions(order, ()), "convolution_output_waste")
        for order in ((2, 0), (3, 0))
    )
    assert fits == 0
    assert wastes == pytest.approx(np.log2(1 + np.log2(128 / 4)))


def test_settings_that_vary_together_are_one_column() -> None:
    graph = easy_layouts("g")
    assert isinstance(graph.configs, LayoutConfigs)
    codes = np.concatenate([graph.configs.codes, graph.configs.codes[:, :1]], axis=1)
    doubled = replace(graph.configs, nodes=np.append(graph.configs.nodes, 3), codes=codes)
    assert len(distinct_tensors(doubled)) == len(distinct_tensors(graph.configs)) == 6
    assert tensor_numbers(doubled, distinct_tensors(doubled)).shape == (48, 6)
    assert setting_columns(doubled).rows.shape == (48, 24)


def test_tiles_are_told_by_what_they_waste_and_how_many_they_are() -> None:
    graph = easy_tiles("t")
    rows = tile_features.tile_features(graph)
    whole = (graph.configs.bounds()[:, 1, :2] == 16).all(axis=1)  # type: ignore[union-attr]
    steps = rows[:, tile_features.COLUMNS.index("steps")]
    assert steps[whole] == 0
    assert (steps[~whole] > 0).all()
    assert np.isfinite(rows).all()


def spec(*sizes: int) -> TensorSpec:
    return TensorSpec(sizes, "float32")


def tensor(name: str, *sizes: int) -> Input:
    return Input(name, spec(*sizes), Uniform(0.0, 1.0))


def small_model() -> Graph:
    """A convolution of stride 2, a ReLU, a flattening."""
    inputs = (tensor("x", 2, 3, 32, 32), tensor("w", 8, 3, 3, 3))
    two, one = ListValue((2, 2)), ListValue((1, 1))
    nodes = (
        Node(
            "c", "aten.conv2d.default", (Ref("x"), Ref("w"), None, two, one), (), spec(2, 8, 16, 16)
        ),
        Node("r", "aten.relu.default", (Ref("c"),), (), spec(2, 8, 16, 16)),
        Node("f", "aten.flatten.using_ints", (Ref("r"), 1), (), spec(2, 2048)),
    )
    return Graph(inputs, nodes, (Ref("f"),), Level.ATEN)


def test_our_own_graph_has_the_columns_of_tpugraphs() -> None:
    table = featurise(small_model())
    names = [opcode_name(number) for number in table.opcodes.tolist()]
    place = names.index("convolution")
    row = dict(zip(COLUMNS, table.features[place].tolist(), strict=True))
    assert [row[f"shape_dimensions_{n}"] for n in range(5)] == [2, 8, 16, 16, 0]
    assert [row[f"window_{word}_0"] for word in ("size", "stride", "padding_low")] == [3, 2, 1]
    assert row["convolution_kernel_input_feature_dim"] == row["feature_group_count"] == 1
    assert [row[f"layout_minor_to_major_{n}"] for n in range(4)] == [3, 2, 1, 0]
    assert "maximum" in names
    assert names[configurable_nodes(table)[-1]] == "reshape"


def test_an_edge_leads_from_the_consumer_to_what_it_reads() -> None:
    inputs = (tensor("x", 3, 4), tensor("w", 2, 4), tensor("b", 2))
    call = Node("y", "aten.linear.default", (Ref("x"), Ref("w"), Ref("b")), (), spec(3, 2))
    table = featurise(Graph(inputs, (call,), (Ref("y"),), Level.ATEN))
    dot = int(configurable_nodes(table)[0])
    assert sorted(table.edges[table.edges[:, 0] == dot, 1].tolist()) == [0, 1, 2]
    assert table.dots is not None
    named = dict(zip(DOT_COLUMNS, table.dots[dot].tolist(), strict=True))
    assert (named["dot_lhs_contracting_0"], named["dot_rhs_contracting_0"]) == (1, 1)
    assert named["dot_lhs_batch_0"] == -1


def test_graphs_of_hlo_are_not_featurised_again() -> None:
    with pytest.raises(ReadError, match="level hlo"):
        featurise(Graph((), (), None, Level.HLO))


def test_batches_hold_every_configuration_once() -> None:
    graph = easy_layouts("g")
    batches = list(graph_batches(graph, 25, np.random.default_rng(0)))
    assert [len(batch.configs) for batch in batches] == [25, 23]
    assert batches[0].configs.shape == (25, 6, 18)
    seconds = torch.cat([batch.seconds for batch in batches])
    assert sorted(seconds.tolist()) == sorted(graph.costs().tolist())


def test_a_folder_is_a_dataset_of_pytorch(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", layout_arrays())
    write_npz(tmp_path / "b.npz", tile_arrays())
    names = {batch.name for batch in ConfigDataset(tmp_path, batch=8)}
    assert names == {"a", "b"}


def test_a_batch_is_data_of_torch_geometric() -> None:
    pytest.importorskip("torch_geometric", reason="needs torch-geometric")
    data = to_pyg(next(graph_batches(easy_layouts("g"), 8)))
    assert data.num_nodes == 12
    assert data.edge_index.shape == (2, 11)
    assert data.y.shape == (8,)
