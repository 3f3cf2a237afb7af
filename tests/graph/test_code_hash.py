"""The count between structure and id: operators, wiring and every literal in the code."""

from __future__ import annotations

from dataclasses import replace

from graph_net.graph import Dtype, Graph, Input, Node, Normal, Ref, TensorSpec
from graph_net.graph.hashing import code_hash


def reshaped(rows: int, size: int, dtype: str = "float32", name: str = "x") -> Graph:
    inputs = (Input(name, TensorSpec((rows, 8), dtype), Normal(0.0, 1.0)),)
    nodes = (
        Node("y", "method:reshape", (Ref(name), size, -1)),
        Node("z", "torch.relu", (Ref("y"),)),
    )
    return Graph(inputs, nodes, (Ref("z"),))


def test_names_shapes_and_dtypes_of_inputs_do_not_count() -> None:
    graph = reshaped(4, 16)
    assert code_hash(graph) == code_hash(reshaped(6, 16)) == code_hash(reshaped(4, 16, "float16"))
    assert code_hash(graph) == code_hash(reshaped(4, 16, name="other"))
    assert graph.id != reshaped(6, 16).id


def test_a_size_that_the_code_writes_counts() -> None:
    one, other = reshaped(4, 16), reshaped(4, 8)
    assert one.structure == other.structure
    assert code_hash(one) != code_hash(other)


def test_a_dtype_that_the_code_writes_counts() -> None:
    graph = reshaped(4, 16)
    half, double = (
        replace(graph, nodes=(*graph.nodes[:1], Node("z", "method:to", (Ref("y"), Dtype(name)))))
        for name in ("float16", "float64")
    )
    assert half.structure == double.structure
    assert code_hash(half) != code_hash(double)


def test_it_is_no_other_hash() -> None:
    graph = reshaped(4, 16)
    assert len({code_hash(graph), graph.structure, graph.id}) == 3
