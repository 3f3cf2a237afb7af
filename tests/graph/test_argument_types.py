"""A call is refused unless its operator is listed and its arguments are those of the schema."""

from __future__ import annotations

import pytest

from graph.one_call import X, graph_of, integers
from graph_net.graph import (
    Dtype,
    Graph,
    GraphError,
    ListValue,
    Node,
    Ref,
    TorchConstant,
    UnknownTarget,
    Value,
)
from graph_net.graph.errors import RefusedCall
from graph_net.graph.execute import run
from graph_net.graph.fx import to_fx
from graph_net.rewrite.lower import to_aten


@pytest.mark.parametrize(
    "target",
    [
        "aten._sparse_csr_tensor_unsafe.default",
        "aten._sparse_mm.reduce",
        "aten._sparse_coo_tensor_unsafe.default",
        "aten.const_data_ptr.default",
        "method:const_data_ptr",
        "image.write_file.default",
        "aten.ljust.str",
        "method:ljust",
    ],
)
def test_a_graph_that_calls_it_cannot_be_built(target: str) -> None:
    with pytest.raises(UnknownTarget, match=rf"{target}.*list.*node y, field target"):
        graph_of(target, Ref("x"))


def test_a_packet_reaches_the_listed_overloads_only() -> None:
    picked = graph_of("aten.index", Ref("x"), ListValue((Ref("i"),)), inputs=(X, integers("i", 1)))
    assert run(picked).shape == (1, 3)
    # torch would choose aten.index.str, which searches a text.
    with pytest.raises(UnknownTarget, match=r"aten\.index\.str is not on the list"):
        run(graph_of("aten.index", "haystack", "needle"))


@pytest.mark.parametrize(
    ("target", "args", "kwargs", "words"),
    [
        ("aten.zeros.default", ((2,),), {"dtype": 2147483647}, "ScalarType.*'dtype', not 2147"),
        ("aten.zeros.default", ((2**63,),), {}, "size"),
        ("aten.zeros.default", ((2,),), {"layout": 3}, "Layout"),
        ("aten.clone.default", (Ref("x"),), {"memory_format": 99}, "MemoryFormat"),
        ("aten.add.Tensor", (Ref("x"), "1"), {}, "Tensor as 'other', not '1'"),
        ("aten.view.default", (Ref("x"), (1.5,)), {}, "'size'"),
        ("aten.gelu.default", (Ref("x"),), {"approximate": "a" * 5000}, "'approximate'"),
    ],
)
def test_an_argument_is_what_the_schema_says(
    target: str, args: tuple[Value, ...], kwargs: dict[str, Value], words: str
) -> None:
    graph = Graph((X,), (Node("y", target, args, tuple(kwargs.items())),), Ref("y"))
    with pytest.raises(RefusedCall, match=rf"{words}.*\(node y, field args\)"):
        run(graph)
    with pytest.raises(RefusedCall, match=words):
        to_fx(graph)  # nor does a compiler see it
    with pytest.raises(GraphError):
        to_aten(graph)


@pytest.mark.parametrize("constant", [TorchConstant("sparse_csr"), TorchConstant("jagged")])
def test_no_call_asks_for_a_layout_whose_kernels_trust_its_indices(constant: Value) -> None:
    graph = graph_of("torch.zeros", (2, 2), layout=constant)
    for use in (run, to_fx):
        with pytest.raises(RefusedCall, match=r"tensors that a graph cannot hold.*node y"):
            use(graph)


def test_no_call_asks_for_a_quantised_dtype() -> None:
    with pytest.raises(RefusedCall, match="quint8"):
        run(graph_of("torch.zeros", (2,), dtype=Dtype("quint8")))


def test_a_number_where_a_tensor_is_due_is_torchs_own_way() -> None:
    assert run(graph_of("aten.mul.Tensor", Ref("x"), 2.0)).shape == (2, 3)
