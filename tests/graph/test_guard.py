"""The door between a graph and torch: what a stranger's graph must not do is refused in one line.

Each call here killed the process, never ended, or read memory that is none of its tensors'.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import torch

from graph.one_call import X, graph_of, integers
from graph_net.graph import (
    Graph,
    Input,
    Integers,
    Level,
    Node,
    Normal,
    Ref,
    TensorSpec,
    Value,
)
from graph_net.graph.errors import RefusedCall
from graph_net.graph.execute import run
from graph_net.graph.fx import to_fx
from graph_net.graph.guard import guarded_call
from graph_net.rewrite.lower import to_aten

# -- kernels: what they make ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "args"),
    [
        ("aten.zeros.default", ((2**40,),)),
        ("torch.ones", ((2**20, 2**20),)),
        ("aten.empty_strided.default", ((2, 2), (2**40, 1))),
        ("aten.expand.default", (Ref("x"), (2**40, 2, 3))),
        ("method:expand", (Ref("x"), 2**40, 2, 3)),
        ("aten.repeat.default", (Ref("x"), (2**30, 2**30))),
        ("method:repeat", (Ref("x"), 2**40, 1)),
        ("aten.as_strided.default", (Ref("x"), (2**40,), (0,))),
        ("torch.nn.functional.pad", (Ref("x"), (2**40, 0))),
        ("torch.arange", (2**50,)),
        ("aten.linspace.default", (0, 1, 2**40)),
        ("torch.eye", (2**25,)),
        ("torch.randperm", (2**40,)),
        ("torch.hann_window", (2**40,)),
        ("aten.diag_embed.default", (Ref("x"), 2**30)),
        ("aten.split.Tensor", (Ref("wide"), 1)),
        ("torch.special.multigammaln", (Ref("x"), 2**31 - 1)),
    ],
)
def test_what_a_call_would_make_is_bounded(target: str, args: tuple[Value, ...]) -> None:
    wide = Input("wide", TensorSpec((100_000,), "uint8"), Integers(0, 1))
    with pytest.raises(RefusedCall, match="node y, field args"):
        run(graph_of(target, *args, inputs=(X, wide)))


@pytest.mark.parametrize(
    "target", ["aten.linalg_matrix_power.default", "torch.matrix_power", "method:matrix_power"]
)
def test_a_loop_by_a_number_is_bounded(target: str) -> None:
    square = Input("square", TensorSpec((2, 2), "float32"), Normal(0.0, 1.0))
    with pytest.raises(RefusedCall, match="is the most"):
        run(graph_of(target, Ref("square"), -(2**63), inputs=(square,)))


def test_a_function_made_of_others_is_bounded_by_what_they_would_make() -> None:
    index = integers("i", 2**40)
    with pytest.raises(RefusedCall, match="bytes"):
        run(graph_of("torch.nn.functional.one_hot", Ref("i"), inputs=(index,)))
    image = Input("image", TensorSpec((1, 1, 2, 2), "float32"), Normal(0.0, 1.0))
    target, size = "torch.nn.functional.interpolate", (2**30, 2**30)
    with pytest.raises(RefusedCall, match="bytes"):
        run(graph_of(target, Ref("image"), size, inputs=(image,)))


# -- kernels: what they trust -----------------------------------------------------------------


def test_the_one_quotient_that_traps_the_processor_is_refused() -> None:
    least, minus = integers("a", -(2**63), 5), integers("b", -1, 2)
    graph = graph_of("torch.div", Ref("a"), Ref("b"), inputs=(least, minus), rounding_mode="trunc")
    with pytest.raises(RefusedCall, match="divided by -1 has no answer"):
        run(graph)


def test_it_is_refused_in_lowering_too_where_torch_computes_with_literals() -> None:
    nodes = (
        Node("a", "torch.tensor", (-(2**63),)),
        Node("b", "torch.tensor", (-1,)),
        Node("c", "torch.div", (Ref("a"), Ref("b")), (("rounding_mode", "trunc"),)),
    )
    with pytest.raises(RefusedCall, match=r"divided by -1 has no answer.*node c"):
        to_aten(Graph((X,), nodes, Ref("c")))


@pytest.mark.parametrize("target", ["torch.remainder", "operator.floordiv", "aten.fmod.Tensor"])
def test_whole_tensors_by_zero_are_an_error_of_torch(target: str) -> None:
    inputs = (integers("a", 1), integers("b", 0))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(graph_of(target, Ref("a"), Ref("b"), inputs=inputs))


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


LONG = torch.int64
OUT_OF_RANGE = {
    "embedding": ("aten.embedding.default", (ones(3, 2), torch.tensor([7]))),
    "gather": ("aten.gather.default", (ones(3), 0, torch.tensor([2**40]))),
    "index_select": ("aten.index_select.default", (ones(3), 0, torch.tensor([-9]))),
    "take": ("aten.take.default", (ones(3), torch.tensor([3]))),
    "index": ("aten._unsafe_index.Tensor", (ones(3), [torch.tensor([10**9])])),
    "max pool": (
        "aten.max_pool2d_with_indices_backward.default",
        (ones(1, 1, 1, 1), ones(1, 1, 2, 2), [2, 2], [2, 2], [0, 0], [1, 1], False,
         torch.tensor([[[[2**33]]]])),
    ),
    "embedding bag": (
        "aten._embedding_bag.default",
        (ones(3, 2), torch.tensor([5]), torch.tensor([0])),
    ),
    "bag offsets": (
        "aten._embedding_bag.default",
        (ones(3, 2), torch.tensor([1]), torch.tensor([0, 2**40])),
    ),
    "pivots": (
        "aten.linalg_lu_solve.default",
        (ones(2, 2), torch.tensor([1, 2**30], dtype=torch.int32), ones(2, 1)),
    ),
    "renorm": ("aten.embedding_renorm_.default", (ones(3, 2), torch.tensor([9]), 1.0, 2.0)),
}  # fmt: skip
LYING = {
    "layer norm": (
        "aten.native_layer_norm_backward.default",
        (ones(4, 8), ones(4, 8), [8], ones(1, 1), ones(1, 1), None, None, [True] * 3),
    ),
    "group norm": ("aten.native_group_norm.default", (ones(1), None, None, 8, 64, 64, 2, 1e-5)),
    "batch norm": ("aten._native_batch_norm_legit.no_stats",
                   (ones(1, 2, 6), None, None, False, 0.1, 1e-5)),
    "attention": (
        "aten._scaled_dot_product_flash_attention_for_cpu.default",
        (ones(1, 1, 8, 4), ones(1, 1, 64, 4), ones(1, 1, 2, 4)),
    ),
    "softmax": ("aten._softmax_backward_data.default",
                (ones(64), ones(2), 0, torch.float32)),
    "fourier": ("aten._fft_r2c.default", (ones(2), [10**9], 1, True)),
    "fourier scale": ("aten._fft_r2c.default", (ones(2), [0], 5, True)),
    "inverse fourier": ("aten._fft_c2r.default",
                        (ones(2, dtype=torch.complex64), [0], 1, 2**20)),
    "convolution": (
        "aten.convolution_backward.default",
        (ones(1, 1, 64, 64), ones(1, 1, 4, 4), ones(1, 1, 3, 3), None, [1, 1], [0, 0], [1, 1],
         False, [0, 0], 1, [True] * 3),
    ),
    "unfold": ("aten.unfold_backward.default", (ones(64, 64), [4], 0, 2, 1)),
    "padding": ("aten.reflection_pad2d_backward.default", (ones(2, 2), ones(1, 2, 2), [])),
    "states": (
        "aten.lstm.input",
        (ones(1, 1, 2), [ones(4, 1, 2), ones(1, 1, 2)], [ones(8, 2)] * 2, False, 1, 0.0, False,
         False, True),
    ),
    "weights": (
        "torch.gru",
        (ones(1, 1, 2), ones(3, 1, 2), [ones(6, 2)] * 2, False, 3, 0.0, False, False, True),
    ),
    "packed": ("torch.gru", (ones(1, 2), ones(1), ones(1, 1, 2), [ones(6, 2)] * 2, False, 1)),
    "distances": ("aten._pdist_backward.default", (ones(1), ones(9, 2), 2.0, ones(1))),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_an_index_out_of_range_is_refused(name: str) -> None:
    target, args = OUT_OF_RANGE[name]
    with pytest.raises((RefusedCall, IndexError, RuntimeError), match=r"range|outside|bounds"):
        guarded_call(target, args, {})


@pytest.mark.parametrize("name", LYING)
def test_a_shape_that_the_other_arguments_contradict_is_refused(name: str) -> None:
    target, args = LYING[name]
    with pytest.raises(RefusedCall):
        guarded_call(target, args, {})


@pytest.mark.parametrize("inference", [True, False])
def test_the_guard_stands_behind_functions_methods_and_operators_alike(inference: bool) -> None:
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("torch.zeros", (2**40,)),
        ("aten.zeros.default", ([2**40],)),
        ("method:new_zeros", (ones(1), 2**40)),
    ]
    for target, args in calls:
        with torch.inference_mode(inference), pytest.raises(RefusedCall):
            guarded_call(target, args, {})


@pytest.mark.parametrize("operands", ["ij,jk->ik", "i,i->"])
def test_autocast_reaches_the_parts_of_an_operator_as_without_the_guard(operands: str) -> None:
    given = [ones(2, 2)] * 2 if "j" in operands else [ones(2)] * 2
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        found = guarded_call("torch.einsum", (operands, *given), {})
        assert found.dtype == torch.einsum(operands, *given).dtype
        assert torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("cpu")


def test_a_refusal_leaves_no_mode_behind() -> None:
    with pytest.raises(RefusedCall):
        run(graph_of("torch.zeros", (2**40,)))
    assert torch.zeros(3).sum() == 0
    assert run(graph_of("torch.relu", Ref("x"))).shape == (2, 3)


@pytest.mark.parametrize("target", ["torch.relu", "torch.zeros"])
def test_a_mode_that_a_graph_keeps_is_left_with_the_graph(target: str) -> None:
    """One that was let go later broke every call that its process made afterwards."""
    args: tuple[Value, ...] = (Ref("x"),) if target == "torch.relu" else ((2**40,),)
    nodes = (
        Node("outer", "torch.autograd.grad_mode._enter_inference_mode", (True,)),
        Node("inner", "torch.autograd.grad_mode._enter_inference_mode", (False,)),
        Node("pair", "builtins.tuple", ((Ref("outer"), Ref("inner")),)),
        Node("y", target, args),
    )
    with suppress(RefusedCall):
        kept = run(Graph((X,), nodes, (Ref("y"), Ref("pair"))))
        del kept
    assert torch.zeros(3).sum() == 0
    assert not torch.is_inference_mode_enabled()


def test_a_graph_of_level_aten_runs_to_the_same_bits_with_and_without_the_guard() -> None:
    graph = to_aten(graph_of("torch.nn.functional.softmax", Ref("x"), -1))
    assert graph.level is Level.ATEN
    with torch.inference_mode():
        values = torch.randn(2, 3)
        assert torch.equal(run(graph, [values]), to_fx(graph)(values))
