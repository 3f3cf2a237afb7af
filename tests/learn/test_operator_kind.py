"""The operator of a task, from the name of its kernel and from its subgraph."""

from __future__ import annotations

import pytest

from graph_net.graph import Graph, Input, Level, ListValue, Node, Normal, Ref, Role, TensorSpec
from graph_net.learn.operator_kind import convolution_kind, kind_of_name


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("fused_conv2d1_add2_relu", "conv2d"),
        ("convolution_bias_relu6_32x14x14x96x576x1x1x1_float16", "conv2d"),
        ("depthwise_conv2d_layer", "depthwise"),
        ("fused_conv2d_transpose_add", "conv_transpose"),
        ("conv3d", "conv3d"),
        ("batched_matmul_12x197x64x197_bfloat16", "batched_matmul"),
        ("fused_matmul4_add_gelu", "matmul"),
        ("dense_layer", "matmul"),
        ("softmax_1536x1000_float32", "softmax"),
        ("fused_layer_norm1", "norm"),
        ("pool_layer", "pool"),
        ("row_sum_40960x49_float16", "reduction"),
        ("reduction_layer", "reduction"),
        ("relu_layer", "elementwise"),
        ("fused_add1_multiply", "elementwise"),
        ("", "elementwise"),
    ],
)
def test_a_name_tells_the_operator(kernel: str, kind: str) -> None:
    assert kind_of_name(kernel) == kind


def convolution(channels: int, groups: int) -> Graph:
    """A convolution of eight filters."""
    given = [
        Input("x", TensorSpec((1, 8, 9, 9), "float32"), Normal(0.0, 1.0)),
        Input("w", TensorSpec((8, channels, 3, 3), "float32"), Normal(0.0, 1.0), Role.PARAMETER),
    ]
    one, zero = ListValue((1, 1)), ListValue((0, 0))
    arguments = (Ref("x"), Ref("w"), None, one, zero, one, groups)
    node = Node("y", "aten.conv2d.default", arguments)
    return Graph(tuple(given), (node,), Ref("y"), Level.ATEN)


@pytest.mark.parametrize(
    ("channels", "groups", "kind"), [(8, 1, "conv2d"), (2, 4, "grouped"), (1, 8, "depthwise")]
)
def test_a_subgraph_tells_whether_a_convolution_has_groups(
    channels: int, groups: int, kind: str
) -> None:
    assert convolution_kind(convolution(channels, groups)) == kind
