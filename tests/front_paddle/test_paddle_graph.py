"""Level ``paddle`` of the Graph: what it may call, its bytes, its hashes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from front_paddle import samples
from graph_net.corpus.columns import row_of
from graph_net.formats.graphnet import read_sample
from graph_net.graph import (
    Dtype,
    Graph,
    GraphError,
    Input,
    Level,
    ListValue,
    Node,
    Normal,
    Ref,
    RunDevice,
    TensorSpec,
    UnknownTarget,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from graph_net.graph.effects import effect_edges
from graph_net.graph.execute import run
from graph_net.graph.paddle_targets import is_paddle_target, signature

X = Input("x", TensorSpec((2, 4), "float32"), Normal(0.0, 1.0))


def graph(*nodes: Node, output: str | None = None, level: Level = Level.PADDLE) -> Graph:
    return Graph((X,), nodes, Ref(output or nodes[-1].name), level)


def call(name: str, operator: str, *args: object) -> Node:
    return Node(name, f"paddle._C_ops.{operator}", args)  # type: ignore[arg-type]


def test_levels_do_not_share_their_calls() -> None:
    relu = call("y", "relu", Ref("x"))
    assert graph(relu).nodes
    for level in (Level.TORCH, Level.ATEN):
        with pytest.raises(UnknownTarget, match="belongs to graphs of level paddle"):
            graph(relu, level=level)
    for target in ("torch.relu", "aten.relu.default", "method:relu", "operator.setitem"):
        with pytest.raises(UnknownTarget, match="not on the allow-list of calls at level paddle"):
            graph(Node("y", target, (Ref("x"),)))


@pytest.mark.parametrize(
    "target",
    """
paddle.save paddle.load paddle.jit.load paddle.set_device paddle.create_parameter paddle.tolist
paddle.as_strided paddle.Tensor paddle.Model paddle.CPUPlace paddle._C_ops paddle._C_ops.data
paddle._C_ops.read_file paddle._C_ops.all_reduce paddle._C_ops.all_reduce_ paddle._C_ops.c_concat
paddle._C_ops.share_data paddle._C_ops.adam_ paddle._C_ops.relu_grad paddle._C_ops.run_program
paddle._C_ops.as_strided paddle._C_ops.memcpy_d2h paddle. paddle builtins.eval
""".split(),
)
def test_what_leaves_the_world_of_tensors_is_refused(target: str) -> None:
    assert not is_paddle_target(target)


def test_only_known_attributes_are_read() -> None:
    assert graph(Node("y", "builtins.getattr", (Ref("x"), "dtype")))
    with pytest.raises(GraphError, match="reads the attribute 'grad'"):
        graph(Node("y", "builtins.getattr", (Ref("x"), "grad")))


def test_the_list_says_in_which_order_arguments_come() -> None:
    assert signature("paddle._C_ops.slice")[:4] == ("input", "axes", "starts", "ends")
    assert signature("paddle._C_ops.uniform")[:2] == ("shape", "dtype")


def test_text_and_bytes_hold_it(tmp_path: Path) -> None:
    made = read_sample(samples.write_odd(tmp_path / "odd"))
    assert from_json(to_json(made)) == made
    assert from_bytes(to_bytes(made)) == made


def test_the_hashes_stay(tmp_path: Path) -> None:
    made = read_sample(samples.write(tmp_path / "norm"))
    assert made.structure == "9779e1d8804dd16b8bf5480c635eb745"
    assert made.id == "a4f55dde81cd1b14a46c0fb60266fbe6"


def test_a_pack_row_describes_it(tmp_path: Path) -> None:
    row = row_of("norm", read_sample(samples.write(tmp_path / "norm")))
    assert (row["level"], row["framework"], row["parameters"]) == ("paddle", "paddle", 8)
    assert "paddle._C_ops.layer_norm" in row["operators"]


def shaped(rows: int, stride: int = 1) -> Graph:
    axes, zero = ListValue((0,)), ListValue((0,))
    return graph(
        call("a", "reshape", Ref("x"), ListValue((rows, 4))),
        call("b", "slice", Ref("a"), axes, zero, ListValue((rows,)), ListValue((1,)), zero),
        call("c", "full", ListValue((rows,)), 1.0, Dtype("float32"), RunDevice()),
        call("d", "add", Ref("b"), Ref("c")),
        call("e", "pool2d", Ref("d"), ListValue((3, 3)), ListValue((stride, stride))),
    )


def test_sizes_change_the_id_and_not_the_structure() -> None:
    assert shaped(2).structure == shaped(3).structure
    assert shaped(2).id != shaped(3).id
    assert shaped(2).structure != shaped(2, stride=2).structure


def test_calls_in_place_keep_their_order() -> None:
    value = call("a", "full", ListValue((1,)), 0.0, Dtype("float32"), RunDevice())
    made = graph(
        value,
        call("b", "relu", Ref("a")),
        call("c", "assign_value_", Ref("a"), ListValue((1,)), Dtype("float32"), ListValue((1.0,))),
        call("d", "relu", Ref("a")),
        call("e", "add", Ref("b"), Ref("d")),
    )
    edges = effect_edges(made)
    assert 1 in edges[2]
    assert edges[3] == (2,)


def test_batch_norm_changes_its_statistics_in_training_only() -> None:
    def norm(is_test: bool) -> Graph:
        state = (Ref("m"), Ref("v"), None, None, is_test, 0.9, 1e-5, "NCHW", False, False)
        vectors = [replace(X, name=name) for name in "mv"]
        first = call("a", "relu", Ref("m"))
        nodes = (first, call("b", "batch_norm", Ref("x"), *state), call("c", "relu", Ref("m")))
        return Graph((X, *vectors), nodes, (Ref("a"), Ref("b"), Ref("c")), Level.PADDLE)

    assert effect_edges(norm(True)) == {}
    assert effect_edges(norm(False)) == {1: (0,), 2: (1,)}


@pytest.mark.parametrize(("is_test", "edges"), [(True, {}), (False, {1: (0,)})])
def test_random_calls_keep_their_order(is_test: bool, edges: object) -> None:
    rest = (None, 0.5, is_test, "upscale_in_train", 0, False)
    drop = [call(name, "dropout", Ref("x"), *rest) for name in "ab"]
    assert effect_edges(graph(*drop)) == edges
    shape = ListValue((1,))
    draws = [call(n, "uniform", shape, Dtype("float32"), 0.0, 1.0, 0, RunDevice()) for n in "ab"]
    assert effect_edges(graph(*draws)) == {1: (0,)}


def test_torch_says_who_runs_it() -> None:
    with pytest.raises(UnknownTarget, match=r"graph_net\.paddle\.run runs"):
        run(graph(call("y", "relu", Ref("x"))))
