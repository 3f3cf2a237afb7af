"""Paddle samples in and out, read as data: Paddle is not needed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from front_paddle import samples
from graph_net.formats.graphnet import read_sample
from graph_net.formats.graphnet.write import write_sample
from graph_net.graph import (
    Dtype,
    Graph,
    Integers,
    Level,
    ListValue,
    Literal,
    Node,
    Normal,
    Ref,
    Role,
    RunDevice,
    TensorSpec,
    Uniform,
)


@pytest.fixture
def norm(tmp_path: Path) -> Graph:
    return read_sample(samples.write(tmp_path / "norm"))


def calls(graph: Graph) -> list[str]:
    return [node.target.rpartition(".")[2] for node in graph.nodes]


def test_a_sample_is_a_graph_of_level_paddle(norm: Graph) -> None:
    assert norm.level is Level.PADDLE
    assert norm.provenance.framework == "paddle"
    assert norm.provenance.model == "norm"
    assert [entry.name for entry in norm.inputs] == ["parameter_0", "parameter_1", "data_0"]
    assert [entry.role for entry in norm.inputs] == [Role.PARAMETER, Role.PARAMETER, Role.INPUT]
    assert norm.inputs[0].recipe == Normal(0.0102882, 0.0325223, -0.5, 0.75)
    assert norm.parameters == 8


def test_reading_does_not_import_paddle(norm: Graph) -> None:
    loaded = "paddle" in sys.modules
    assert norm.nodes
    assert ("paddle" in sys.modules) == loaded


def test_lists_and_second_names_are_arguments_and_not_calls(norm: Graph) -> None:
    reshape = norm.nodes[0]
    assert reshape.args == (Ref("data_0"), ListValue((-1, 4)))
    assert "assign" not in calls(norm)
    assert norm.index["concat_0"].args[0] == ListValue((Ref("split_1"), Ref("split_0")))  # type: ignore[union-attr]


def test_a_call_with_several_outputs_names_those_that_are_read(norm: Graph) -> None:
    assert calls(norm)[1:3] == ["layer_norm", "getitem"]
    assert norm.nodes[2].args == (Ref("layer_norm_0_all"), 0)
    assert norm.nodes[1].args[3] == 1e-05


def test_places_dtypes_and_types_in_comments_are_read(norm: Graph) -> None:
    host, device = norm.index["full_0"], norm.index["full_1"]
    assert host.args == (ListValue((1,)), 1.0, Dtype("int32"), "cpu")  # type: ignore[union-attr]
    assert device.args[3] == RunDevice()  # type: ignore[union-attr]
    assert host.result == TensorSpec((1,), "int32")  # type: ignore[union-attr]
    assert device.result == TensorSpec((), "int32")  # type: ignore[union-attr]
    halves = norm.index["split_with_num_0"].result  # type: ignore[union-attr]
    assert halves == (TensorSpec((6, 2), "float32"), TensorSpec((6, 2), "float32"))
    assert norm.index["sum_0"].result is None  # type: ignore[union-attr] # its size is open


@pytest.mark.parametrize("write", [samples.write, samples.write_odd])
def test_what_is_written_reads_back_the_same(tmp_path: Path, write: object) -> None:
    graph = read_sample(write(tmp_path / "first"))  # type: ignore[operator]
    write_sample(graph, tmp_path / "second")
    again = read_sample(tmp_path / "second")
    assert again == graph
    assert (again.id, again.structure) == (graph.id, graph.structure)
    write_sample(again, tmp_path / "third")
    for file in (tmp_path / "second").iterdir():
        assert file.read_bytes() == (tmp_path / "third" / file.name).read_bytes()


def test_the_files_are_those_of_graphnet(tmp_path: Path, norm: Graph) -> None:
    write_sample(norm, tmp_path / "out")
    names = "graph_hash.txt graph_net.json input_meta.py model.py weight_meta.py".split()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == names
    model = (tmp_path / "out" / "model.py").read_text()
    assert model.startswith(samples.HEAD + "    def forward(self, parameter_0, ")
    assert "# pd_op.layer_norm: (6x4xf32, 6xf32, 6xf32) <- (6x4xf32, 4xf32, 4xf32)\n" in model
    assert 'float("1e-05"), 1\n' in model
    assert "del full_0, layer_norm_0, split_with_num_0\n" in model
    assert "paddle.core.CPUPlace()" in model
    weights = (tmp_path / "out" / "weight_meta.py").read_text()
    assert weights == "\n\n".join(samples.normal(n, s) for n, s in samples.PARAMETERS.items())
    assert "class Program_weight_tensor_data_0:" in (tmp_path / "out/input_meta.py").read_text()


def test_rare_spellings_are_read(tmp_path: Path) -> None:
    graph = read_sample(samples.write_odd(tmp_path / "odd"))
    targets = [node.target for node in graph.nodes]
    assert targets[1:5] == [
        "builtins.getattr",
        "paddle.cast",
        "operator.mod",
        "paddle._C_ops.one_hot",
    ]
    assert graph.index["arange_0"].kwargs == (("dtype", "int32"),)  # type: ignore[union-attr]
    assert graph.inputs[0].recipe == Literal((0, 5, 2))
    assigned = ListValue((Ref("assign_value__0"), Ref("rnn_2")))
    assert graph.output == (Ref("one_hot_0"), assigned, None, Ref("reshape_0"))


def test_a_detached_tensor_is_read_with_its_type_and_written_as_it_was(tmp_path: Path) -> None:
    inputs = samples.normal("data_0", "[2, 3]")
    graph = read_sample(samples.write(tmp_path / "one", samples.DETACHED, "", inputs))
    node = graph.index["share_data__0"]
    assert isinstance(node, Node)
    assert (node.target, node.args) == ("paddle.Tensor.detach", (Ref("exp_0"),))
    assert node.result == TensorSpec((2, 3), "float32")
    write_sample(graph, tmp_path / "two")
    text = (tmp_path / "two" / "model.py").read_text()
    assert "# pd_op.share_data_: (2x3xf32) <- (2x3xf32)\n" in text
    assert "share_data__0 = exp_0.detach()\n" in text
    assert read_sample(tmp_path / "two") == graph


@pytest.mark.parametrize(
    ("dtype", "lines", "recipe"),
    [
        ("float32", ("low = 0", "high = 0.5", "data = None"), Uniform(0.0, 0.5)),
        ("float32", ("data = None",), Uniform(0.0, 2.0)),
        ("int64", ("data = None",), Integers(0, 2)),
        ("int32", ("min_val = 1", "max_val = 9", "data = None"), Integers(1, 9)),
    ],
)
def test_tensors_without_statistics_are_drawn_as_graphnet_draws_them(
    tmp_path: Path, dtype: str, lines: tuple[str, ...], recipe: object
) -> None:
    model = samples.HEAD + "    def forward(self, data_0):\n        return data_0\n"
    inputs = samples.meta("data_0", "[None, 100]", dtype, *lines)
    graph = read_sample(samples.write(tmp_path / "drawn", model, "", inputs))
    assert graph.inputs[0].recipe == recipe
    assert graph.inputs[0].spec == TensorSpec((1, 100), dtype)


def test_a_sample_without_a_marker_is_known_by_its_import(tmp_path: Path) -> None:
    graph = read_sample(samples.write(tmp_path / "unmarked", marker=""))
    assert graph.level is Level.PADDLE
