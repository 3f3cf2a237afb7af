"""What a call under a layout does: its kind, the bytes it moves, the operations it performs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import IntEnum
from functools import cache

from graph_net.configs.layouts.calls import LayoutCall
from graph_net.configs.layouts.copies import CopyKind
from graph_net.configs.layouts.orders import (
    channels_last_order,
    contiguous_order,
    has_order,
    order_of,
    strides_of,
)
from graph_net.graph.operators import base_name
from graph_net.graph.spec import TensorSpec


class CallKind(IntEnum):
    """The kind of a call; all that is not named is elementwise."""

    COPY = 0
    CONVOLUTION = 1
    PRODUCT = 2
    ATTENTION = 3
    BATCH_NORM = 4
    GROUP_NORM = 5
    LAYER_NORM = 6
    REDUCTION = 7
    POOL = 8
    RESIZE = 9
    ELEMENTWISE = 10
    JOIN = 11
    INDEX = 12


class OrderCode(IntEnum):
    """How a tensor is laid out."""

    FLAT = 0
    """At most one dimension is longer than 1."""
    PLAIN = 1
    LAST = 2
    """Channels last."""
    DENSE = 3
    """Another order."""
    GAPPED = 4
    """Part of a larger tensor, or expanded."""


_BASES = {
    CallKind.COPY: "clone contiguous reshape view flatten unflatten to copy_ repeat permute",
    CallKind.CONVOLUTION: """conv1d conv2d conv3d conv_transpose1d conv_transpose2d
        conv_transpose3d convolution""",
    CallKind.PRODUCT: "linear matmul mm bmm addmm baddbmm",
    CallKind.ATTENTION: "scaled_dot_product_attention",
    CallKind.BATCH_NORM: "batch_norm native_batch_norm cudnn_batch_norm",
    CallKind.GROUP_NORM: "group_norm instance_norm native_group_norm",
    CallKind.LAYER_NORM: "layer_norm native_layer_norm rms_norm",
    CallKind.REDUCTION: """softmax log_softmax mean sum amax amin max min var std norm argmax argmin
        cumsum topk sort logsumexp var_mean fft_fftn fft_rfft fft_irfft prod lstm gru
        _weight_norm""",
    CallKind.POOL: """max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d max_pool2d_with_indices
        adaptive_max_pool2d""",
    CallKind.RESIZE: """upsample_bilinear2d upsample_nearest2d upsample_nearest3d
        upsample_nearest1d upsample_trilinear3d upsample_bicubic2d max_unpool2d pixel_shuffle""",
    CallKind.JOIN: "cat stack pad constant_pad_nd roll",
    CallKind.INDEX: """embedding index index_select gather scatter_add_ scatter_ scatter_reduce_
        scatter_add scatter index_put_ masked_fill""",
}
_KIND_OF = {base: kind for kind, bases in _BASES.items() for base in bases.split()}
_INSIDE = (CopyKind.EAGER, CopyKind.KERNEL)
_ADDED_FIRST = ("addmm", "baddbmm")


def kind_of(call: LayoutCall) -> CallKind:
    """Return the kind of a call."""
    kind = _KIND_OF.get(base_name(call.node.target), CallKind.ELEMENTWISE)
    needed = 2 if kind in (CallKind.CONVOLUTION, CallKind.PRODUCT, CallKind.ATTENTION) else 0
    return kind if len(given(call)) >= needed else CallKind.ELEMENTWISE


def is_free(call: LayoutCall) -> bool:
    """Return whether a call costs nothing: a view, or a query."""
    return call.is_view or not any(True for _ in tensors(call.node.result))


def given(call: LayoutCall) -> list[TensorSpec]:
    """Return the tensors that a call reads."""
    return [spec for spec in call.arguments if spec is not None]


def moved_by(call: LayoutCall) -> int:
    """Return the bytes that a call reads and writes, copies inside it included."""
    own = sum(map(bytes_of, given(call))) + sum(map(bytes_of, tensors(call.node.result)))
    return own + sum(
        2 * c.bytes for c in call.copies if c.kind in (CopyKind.EAGER, CopyKind.KERNEL)
    )


def flops_of(call: LayoutCall) -> int:
    """Return the operations of a convolution, product or attention; 0 for others."""
    kind, read = kind_of(call), given(call)
    elements = math.prod(sizes_of(next(tensors(call.node.result))))
    if kind is CallKind.CONVOLUTION:
        per_element = math.prod(sizes_of(read[1])[1:])
        is_transposed = "transpose" in call.node.target
        return 2 * per_element * (math.prod(sizes_of(read[0])) if is_transposed else elements)
    if kind is CallKind.PRODUCT:
        return 2 * elements * matrices_of(call)[2]
    if kind is CallKind.ATTENTION:
        return 4 * elements * sizes_of(read[1])[-2]
    return 0


def operands_of(call: LayoutCall) -> tuple[TensorSpec, TensorSpec]:
    """Return the two matrices of a product."""
    read = given(call)
    first = 1 if base_name(call.node.target) in _ADDED_FIRST and len(read) > 2 else 0
    return read[first], read[first + 1]


def matrices_of(call: LayoutCall) -> tuple[int, int, int, int]:
    """Return rows, columns, depth and batch of a product.

    Those of a convolution are of the product that computes it (a batch is a group), those of
    attention are queries, keys, the length of both, and heads.
    """
    kind, read = kind_of(call), [sizes_of(spec) for spec in given(call)]
    if kind is CallKind.ATTENTION:
        return read[0][-2], read[1][-2], read[0][-1], math.prod(read[0][:-2])
    if kind is CallKind.CONVOLUTION:
        result = sizes_of(next(tensors(call.node.result)))
        groups = groups_of(call)
        is_transposed = "transpose" in call.node.target
        depth = math.prod(read[1][1:]) if not is_transposed else read[1][0] // groups
        spatial = math.prod(result[2:]) if len(result) == len(read[1]) else 1
        return result[0] * spatial, max(1, result[1] // groups), depth, groups
    first, second = (sizes_of(spec) for spec in operands_of(call))
    depth = first[-1] if first else 1
    if base_name(call.node.target) == "linear":
        return math.prod(first[:-1]), math.prod(second[:-1]), depth, 1
    if len(second) <= 2:
        return math.prod(first[:-1]), second[1] if len(second) == 2 else 1, depth, 1
    return first[-2] if len(first) > 1 else 1, second[-1], depth, math.prod(second[:-2])


def groups_of(call: LayoutCall) -> int:
    """Return the groups of a convolution; those of a transposed one are not told from 1."""
    image, weight = (sizes_of(spec) for spec in given(call)[:2])
    if "transpose" in call.node.target or len(image) < len(weight):
        return 1
    return max(1, image[1] // max(1, weight[1]))


def order_code(spec: TensorSpec) -> OrderCode:
    """Return how a tensor is laid out."""
    return _code(sizes_of(spec), strides_in(spec))


@cache
def _code(sizes: tuple[int, ...], strides: tuple[int, ...]) -> OrderCode:
    rank = len(sizes)
    if sum(size > 1 for size in sizes) < 2:
        return OrderCode.FLAT
    if has_order(contiguous_order(rank), sizes, strides):
        return OrderCode.PLAIN
    if rank > 2 and has_order(channels_last_order(rank), sizes, strides):
        return OrderCode.LAST
    is_dense = has_order(order_of(sizes, strides), sizes, strides)
    return OrderCode.DENSE if is_dense else OrderCode.GAPPED


def long_order(spec: TensorSpec) -> tuple[int, ...]:
    """Return the dimensions longer than 1, the most minor first."""
    sizes = sizes_of(spec)
    return tuple(d for d in order_of(sizes, strides_in(spec)) if sizes[d] > 1)


def tensors(result: object) -> Iterator[TensorSpec]:
    """Yield the tensors of a result."""
    if isinstance(result, TensorSpec):
        yield result
    elif isinstance(result, tuple):
        for item in result:
            yield from tensors(item)


def sizes_of(spec: TensorSpec) -> tuple[int, ...]:
    """Return the sizes of a tensor; layouts are chosen where none varies."""
    return spec.sizes({})


def strides_in(spec: TensorSpec) -> tuple[int, ...]:
    """Return the strides of a tensor."""
    sizes = sizes_of(spec)
    return spec.strides({}) or strides_of(contiguous_order(len(sizes)), sizes)


def bytes_of(spec: TensorSpec) -> int:
    """Return the size of a tensor in bytes."""
    return spec.bytes({})
