"""TpuGraphs' files: what numpy reads from an npz is rebuilt exactly, from npz and from protobuf."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from configs.small_graphs import layout_arrays, write_npz
from graph_net.configs.config_graph import LayoutConfigs, TileConfigs
from graph_net.configs.files import config_file, find_files, is_tpugraphs, read_graphs
from graph_net.configs.read_npz import read_npz
from graph_net.configs.read_pb import read_pb
from graph_net.formats.tpugraphs.node_columns import COLUMNS, LAYOUT, mark_absent_layouts
from graph_net.store.lines import ReadError
from real_files import extent, find_real_files, real_files

__all__ = ["extent", "real_files"]


@pytest.fixture
def tpugraphs(real_files: Path) -> Path:
    return real_files / "tpugraphs"


def test_every_array_of_every_file_comes_back(tpugraphs: Path) -> None:
    for path in sorted(tpugraphs.rglob("*.npz")):
        graph, arrays = read_npz(path), np.load(path, allow_pickle=False)
        assert (graph.nodes.features == arrays["node_feat"]).all()
        assert (graph.nodes.opcodes == arrays["node_opcode"]).all()
        assert (graph.nodes.edges == arrays["edge_index"]).all()
        assert (graph.run_ns == arrays["config_runtime"]).all()
        if isinstance(graph.configs, LayoutConfigs):
            slots = graph.configs.slots(graph.run_config)
            assert (slots == arrays["node_config_feat"]).all()
        else:
            assert (graph.configs.features[graph.run_config] == arrays["config_feat"]).all()
            assert (graph.normalizers == arrays["config_runtime_normalizers"]).all()


def test_a_configuration_takes_a_byte_for_each_node(tpugraphs: Path, extent: str) -> None:
    configurations, runs = {"slice": (98, 153), "whole": (681, 1159)}[extent]
    graph = read_npz(tpugraphs / "npz/layout/xla/default/train/unet3d.npz")
    assert isinstance(graph.configs, LayoutConfigs)
    assert graph.configs.codes.dtype == np.uint8
    assert graph.configs.codes.shape == (configurations, 56)
    assert len(graph.run_ns) == graph.repeats.sum() == runs


def test_repeats_are_kept_with_their_configuration(tmp_path: Path) -> None:
    arrays = layout_arrays(runs=6)
    graph = read_npz(write_npz(tmp_path / "x.npz", arrays))
    assert graph.run_config[0] == graph.run_config[4]
    runs = graph.seconds()[graph.run_config[0]]
    assert {arrays["config_runtime"][0] / 1e9, arrays["config_runtime"][4] / 1e9} <= set(runs)


def test_kernels_of_a_protobuf_are_those_of_its_makers(tpugraphs: Path, extent: str) -> None:
    kernels = list(read_pb(tpugraphs / "pb/op_tuning_data.pb"))
    runs = sum(len(kernel.run_ns) for kernel in kernels)
    # Of 175 and of 754, two are of 1 ns or less.
    assert (len(kernels), runs) == {"slice": (14, 173), "whole": (15, 752)}[extent]
    copy = next(kernel for kernel in kernels if kernel.name.startswith("copy.24"))
    assert isinstance(copy.configs, TileConfigs)
    assert copy.configs.bounds()[0, 1].tolist() == [16, 5, 1, 2, 0, 0]
    assert copy.run_ns[copy.default] == 3967 == copy.normalizers[0]


def test_a_layout_protobuf_gives_the_very_columns_of_the_npz() -> None:
    whole = find_real_files("whole") / "tpugraphs"
    arrays = np.load(whole / "npz/layout/xla/default/valid/unet_3d.4x4.bf16.npz")
    (graph,) = read_pb(whole / "pb/module_tuning_data_layout.pb")
    assert len(COLUMNS) == 140
    assert (graph.nodes.features == arrays["node_feat"]).all()
    assert (graph.nodes.opcodes == arrays["node_opcode"]).all()
    assert (graph.nodes.edges == arrays["edge_index"]).all()
    assert (graph.nodes.splits == arrays["node_splits"][0]).all()
    assert isinstance(graph.configs, LayoutConfigs)
    assert (graph.configs.nodes == arrays["node_config_ids"]).all()
    known = {row.astype(np.int8).tobytes() for row in arrays["node_config_feat"]}
    slots = graph.configs.slots(graph.run_config)
    assert len(slots) == 112
    assert all(row.tobytes() in known for row in slots)
    assert np.isin(graph.run_ns, arrays["config_runtime"]).all()


def test_dot_dimensions_come_from_the_protobuf(tpugraphs: Path) -> None:
    kernels = list(read_pb(tpugraphs / "pb/op_tuning_data.pb"))
    dots = [k.nodes.dots[k.nodes.opcodes == 34] for k in kernels if k.nodes.dots is not None]
    rows = np.concatenate(dots)
    assert all(kernel.nodes.dots is not None for kernel in kernels)
    assert (rows[:, :1] >= 0).all() or not len(rows)


def test_absent_dimensions_can_be_told_from_dimension_0(tpugraphs: Path) -> None:
    path = tpugraphs / "pb/op_tuning_data.pb"
    zero, marked = (next(read_pb(path, absent)).nodes.features for absent in (0.0, -1.0))
    assert (marked[marked >= 0] == zero[marked >= 0]).all()
    assert (zero[marked < 0] == 0).all()
    scalar = zero[:, 21] == 0
    assert (marked[scalar][:, LAYOUT] == -1).all()
    assert (mark_absent_layouts(zero)[:, LAYOUT] == marked[:, LAYOUT]).all()


def test_folders_tell_collection_and_split(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "npz/layout/nlp/random/valid/bert.npz", layout_arrays())
    other = write_npz(tmp_path / "mine.npz", layout_arrays())
    file = config_file(path)
    assert (file.collection, file.split) == ("layout:nlp:random", "valid")
    assert file.name == "layout/nlp/random/valid/bert"
    assert config_file(other).name == "mine"
    assert [one.path for one in find_files([tmp_path], split="valid")] == [path]
    assert next(read_graphs(file)).split == "valid"


@pytest.mark.parametrize(
    ("folders", "collection", "split"),
    [
        ("layout/h200/default/train", "layout:h200:default", "train"),
        ("tile/xla/test", "tile:xla", "test"),
        ("layout/h200/mine/train", "", ""),
        ("layout/h200/random/all", "", ""),
    ],
)
def test_a_collection_may_be_of_any_device(
    tmp_path: Path, folders: str, collection: str, split: str
) -> None:
    file = config_file(tmp_path / folders / "net.npz")
    assert (file.collection, file.split) == (collection, split)


def test_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    assert is_tpugraphs(write_npz(tmp_path / "a.npz", layout_arrays()))
    assert not is_tpugraphs(write_npz(tmp_path / "b.npz", {"x": np.zeros(3)}))
    (tmp_path / "c.pb").write_bytes(b"{}")
    assert not is_tpugraphs(tmp_path / "c.pb")


def test_a_damaged_protobuf_is_named(tmp_path: Path, tpugraphs: Path) -> None:
    path = tmp_path / "cut.pb"
    path.write_bytes((tpugraphs / "pb/op_tuning_data.pb").read_bytes()[:5000])
    with pytest.raises(ReadError, match=r"cut\.pb is not TpuGraphs' protobuf"):
        list(read_pb(path))
