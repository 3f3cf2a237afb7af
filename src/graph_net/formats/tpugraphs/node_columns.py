"""The 140 numbers that TpuGraphs has for a node: their names, and their values by instruction.

Lists are padded with zeros, so "dimension 0" and "absent" look the same; ``absent=-1`` makes them
differ in lists of dimensions, windows, slices and layouts. Sums are wrapped to 64 bits as in C++.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graph_net.formats.tpugraphs import hlo
from graph_net.formats.tpugraphs.hlo import HloInstruction

ELEMENT_TYPES = (
    hlo.INVALID, hlo.PRED, hlo.S8, hlo.S16, hlo.S32, hlo.S64, hlo.U8, hlo.U16, hlo.U32, hlo.U64,
    hlo.F16, hlo.F32, hlo.F64, hlo.BF16, hlo.C64, hlo.C128, hlo.TUPLE, hlo.OPAQUE, hlo.TOKEN,
)  # fmt: skip
_TYPE_NAMES = (
    "invalid_type pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 bf16 c64 c128 tuple opaque_type "
    "token"
).split()
_WINDOW = "size stride padding_low padding_high window_dilation base_dilation".split()


def _named(prefix: str, count: int, *more: str) -> list[str]:
    return [f"{prefix}_{n}" for n in range(count)] + [f"{prefix}_{word}" for word in more]


def _totals(prefix: str, count: int) -> list[str]:
    return _named(prefix, count, "sum", "product")


COLUMNS = (
    "is_root", "element_size_in_bits",
    *(f"shape_element_type_is_{name}" for name in _TYPE_NAMES),
    *_totals("shape_dimensions", 6), "shape_tuple_shapes_size", "parameter_number",
    *_named("dimensions", 6),
    *(name for word in _WINDOW for name in _totals(f"window_{word}", 6)),
    *_named("window_window_reversal", 6, "true_count", "false_count"),
    "convolution_input_batch_dim", "convolution_input_feature_dim",
    *_named("convolution_input_spatial_dims", 4),
    "convolution_kernel_input_feature_dim", "convolution_kernel_output_feature_dim",
    *_named("convolution_kernel_spatial_dims", 4),
    "convolution_output_batch_dim", "convolution_output_feature_dim",
    "feature_group_count", "batch_group_count",
    *_totals("slice_dims_start", 2), *_totals("slice_dims_stride", 2),
    *_totals("slice_dims_limit", 2), *_totals("dynamic_slice_sizes", 2),
    *_totals("padding_config_edge_padding_low", 2),
    *_totals("padding_config_edge_padding_high", 2),
    "is_stable", *_named("layout_minor_to_major", 6),
)  # fmt: skip
"""The names of the columns of ``node_feat``."""
DOT_COLUMNS = tuple(
    f"dot_{word}_{n}"
    for word in ("lhs_contracting", "rhs_contracting", "lhs_batch", "rhs_batch")
    for n in range(2)
)
"""Columns that npz files lack: the dimensions of a dot by their role, -1 where absent."""
SHAPE = slice(21, 27)
"""The columns of the sizes; zero where a shape has fewer."""
LAYOUT = slice(134, 140)
Row = list[float]


def node_row(instruction: HloInstruction, is_root: bool, absent: float = 0.0) -> Row:
    """Return the 140 numbers of an instruction."""
    shape, window, conv = instruction.shape, instruction.window, instruction.convolution
    row: Row = [float(is_root), 0.0]
    row += [float(shape.element_type == kind) for kind in ELEMENT_TYPES]
    row += _sums(shape.sizes, 6, 0.0)
    row += [float(shape.parts), float(instruction.parameter_number)]
    row += _padded(instruction.dimensions, 6, absent)
    for word in _WINDOW:
        row += _sums([getattr(one, word) for one in window], 6, absent)
    reversals = [int(one.reversal != 0) for one in window]
    row += _padded(reversals, 6, absent)
    row += [float(sum(reversals)), float(len(reversals) - sum(reversals))]
    row += [float(conv.input_batch), float(conv.input_feature)]
    row += _padded(conv.input_spatial, 4, absent)
    row += [float(conv.kernel_input_feature), float(conv.kernel_output_feature)]
    row += _padded(conv.kernel_spatial, 4, absent)
    row += [float(conv.output_batch), float(conv.output_feature)]
    row += [float(instruction.feature_group_count), float(instruction.batch_group_count)]
    for place in (0, 2, 1):  # start, stride, limit
        row += _sums([one[place] for one in instruction.slices], 2, absent)
    row += _sums(instruction.dynamic_slice_sizes, 2, absent)
    for place in (0, 1):
        row += _sums([one[place] for one in instruction.padding], 2, absent)
    return [*row, float(instruction.is_stable), *_padded(shape.minor_to_major, 6, absent)]


def dot_row(instruction: HloInstruction) -> Row:
    """Return the dimensions of a dot, in the order of ``DOT_COLUMNS``."""
    dot = instruction.dot
    lists = (dot.lhs_contracting, dot.rhs_contracting, dot.lhs_batch, dot.rhs_batch)
    return [value for one in lists for value in _padded(one, 2, -1.0)]


def mark_absent_layouts(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of an npz with -1 for the layout dimensions that the shape does not have."""
    marked = features.copy()
    rank = (features[:, SHAPE] > 0).sum(axis=1)
    marked[:, LAYOUT][np.arange(6) >= rank[:, None]] = -1.0
    return marked


def tile_row(bounds: Sequence[Sequence[int]]) -> Row:
    """Return the 24 numbers of a tile: kernel, output and input bounds with sum and product."""
    return [value for one in bounds for value in _sums(one, 6, 0.0, of_none=0)]


def _padded(values: Sequence[int], count: int, absent: float) -> Row:
    return [float(value) for value in values[:count]] + [absent] * (count - len(values))


def _sums(values: Sequence[int], count: int, absent: float, of_none: int = 1) -> Row:
    total, product = 0, 1 if values else of_none
    for value in values:
        total, product = total + value, _wrapped(product * value)
    return [*_padded(values, count, absent), float(_wrapped(total)), float(product)]


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
