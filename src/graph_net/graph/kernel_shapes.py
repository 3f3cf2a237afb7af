"""Rules for kernels that trust an index, a length or a shape among their arguments."""

from __future__ import annotations

import math
from typing import Any

import torch

from graph_net.graph.kernel_checks import (
    Bound,
    Rule,
    check_bytes,
    check_elements,
    check_range,
    check_shape,
    refuse_unless,
    same_shape_rule,
)
from graph_net.graph.operators import Trait, names


def _check_division(bound: Bound) -> None:
    """Refuse the least integer divided by -1: the quotient overflows and the CPU traps."""
    if bound.get("rounding_mode") != "trunc":
        return
    left, right = bound["self"], bound["other"]
    if any(isinstance(v, torch.Tensor) and v.is_floating_point() for v in (left, right)):
        return
    divides = bool((right == -1).any()) if isinstance(right, torch.Tensor) else right == -1
    if divides and isinstance(left, torch.Tensor) and not left.dtype.is_complex and left.numel():
        least = -(2 ** (8 * left.element_size() - 1))
        refuse_unless(int(left.min()) > least, f"{least} divided by -1 has no answer")


def _check_unpool(bound: Bound) -> None:
    same_shape_rule("self", "indices")(bound)
    check_range("indices", bound["indices"], math.prod(int(size) for size in bound["output_size"]))


def _check_embedding_bag(bound: Bound) -> None:
    weight, indices, offsets = bound["weight"], bound["indices"], bound["offsets"]
    refuse_unless(
        weight.dim() == 2 and indices.dim() <= 1 and offsets.dim() <= 1,
        "an embedding bag takes a matrix, indices and offsets",
    )
    check_range("indices", indices, weight.shape[0])
    check_range("offsets", offsets, indices.numel() + 1)
    refuse_unless(offsets.numel() < 2 or bool((offsets.diff() >= 0).all()), "offsets that decrease")
    check_elements(bound, ("per_sample_weights",), indices.numel())


def _check_embedding_rows(bound: Bound) -> None:
    check_range("indices", bound["indices"], bound["self"].shape[0])


def _check_pivots(bound: Bound) -> None:
    matrix = next(bound[key] for key in ("LU", "LU_data", "LD") if key in bound)
    pivots = bound.get("pivots", bound.get("LU_pivots"))
    refuse_unless(matrix.dim() >= 2, "a matrix of fewer than two dimensions")
    if "LD" in bound:
        pivots = pivots.abs()  # the sign marks the blocks of the factor
    refuse_unless(
        pivots.dim() >= 1
        and pivots.shape[:-1] == matrix.shape[:-2]
        and pivots.shape[-1] == min(matrix.shape[-2:]),
        f"pivots of {tuple(pivots.shape)} for a factor of {tuple(matrix.shape)}",
    )
    check_range("pivots", pivots, matrix.shape[-2] + 1, 1)


def check_group_norm(bound: Bound) -> None:
    x = bound["input"]
    batch, channels, inner = (int(bound[key]) for key in ("N", "C", "HxW"))
    groups = int(bound["group"])
    refuse_unless(groups > 0 and channels % groups == 0, f"{channels} channels in {groups} groups")
    refuse_unless(
        min(batch, channels, inner) >= 0 and x.numel() == batch * channels * inner,
        f"{batch} by {channels} by {inner} elements of {x.numel()}",
    )
    same_shape_rule("input", "grad_out")(bound)
    check_elements(bound, ("mean", "rstd"), batch * groups)
    check_elements(bound, ("weight", "bias"), channels)


def _check_batch_norm(bound: Bound) -> None:
    x = bound["input"]
    refuse_unless(x.dim() >= 2, "a batch norm of fewer than two dimensions")
    check_elements(bound, ("weight", "bias", "running_mean", "running_var"), x.shape[1])
    incomplete = bound.get("running_mean") is None or bound.get("running_var") is None
    training = bound.get("training", "running_mean" not in bound)
    refuse_unless(bool(training) or not incomplete, "a batch norm without statistics to use")


def check_attention(bound: Bound) -> None:
    query, key, value = bound["query"], bound["key"], bound["value"]
    refuse_unless(all(t.dim() == 4 for t in (query, key, value)), "attention takes four dimensions")
    refuse_unless(
        key.shape[:3] == value.shape[:3]
        and query.shape[0] == key.shape[0]
        and query.shape[3] == key.shape[3] == value.shape[3]
        and key.shape[1] > 0
        and query.shape[1] % key.shape[1] == 0
        and query.dtype == key.dtype == value.dtype,
        f"attention of {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}",
    )
    mask = bound.get("attn_mask")
    if isinstance(mask, torch.Tensor):
        full = (*query.shape[:2], query.shape[2], key.shape[2])
        fits = mask.dim() in (2, 4) and all(
            m in (1, n) for m, n in zip(reversed(mask.shape), reversed(full), strict=False)
        )
        refuse_unless(fits, f"a mask of {tuple(mask.shape)} for scores of {full}")


def _check_grouped_mm(bound: Bound) -> None:
    offsets, rows = bound.get("offs"), bound["self"].shape[-2]
    if isinstance(offsets, torch.Tensor):
        rows = max(rows, bound["self"].shape[-1], bound["mat2"].shape[-1])
        check_range("offs", offsets, rows + 1)
        refuse_unless(bool((offsets.diff() >= 0).all()), "offs that decrease")


def check_weight_norm(bound: Bound) -> None:
    weight, scale, dim = bound["v"], bound["g"], int(bound.get("dim", 0))
    refuse_unless(
        dim in (0, weight.dim() - 1) and weight.numel() > 0,
        f"a weight norm along dimension {dim} of {weight.dim()}",
    )
    refuse_unless(scale.numel() == weight.shape[dim], f"g of {scale.numel()} elements")


def _check_fourier_transform(bound: Bound) -> None:
    x = bound["self"]
    dims = [int(dim) for dim in bound["dim"]]
    inside = [dim + x.dim() if dim < 0 else dim for dim in dims]
    refuse_unless(
        len(set(inside)) == len(inside) and all(0 <= dim < x.dim() for dim in inside),
        f"a transform along {dims} of {x.dim()} dimensions",
    )
    modes = range(3)  # none, by root, by size: any other kills the process
    refuse_unless(bound["normalization"] in modes, f"normalization {bound['normalization']}")
    if "last_dim_size" in bound:
        size = int(bound["last_dim_size"])
        refuse_unless(
            bool(inside) and size > 0 and size // 2 + 1 == x.shape[inside[-1]],
            f"a transform to {size} elements of {tuple(x.shape)}",
        )


def padding_rule(axes: int) -> Rule:
    """Return a rule for padding of this many dimensions, and for its gradient."""

    def rule(bound: Bound) -> None:
        x, pads = bound["self"], [int(pad) for pad in bound["padding"]]
        refuse_unless(
            len(pads) == 2 * axes and x.dim() in (axes + 1, axes + 2),
            f"padding {pads} of {x.dim()} dimensions; {2 * axes} numbers are read",
        )
        padded = list(x.shape)
        for axis in range(axes):
            padded[-1 - axis] += pads[2 * axis] + pads[2 * axis + 1]
        check_shape(bound, ("grad_output",), padded)

    return rule


def check_floating(bound: Bound) -> None:
    """Raise if a tensor holds integers, on which the formula divides by zero."""
    tensors = [value for value in bound.values() if isinstance(value, torch.Tensor)]
    floating = all(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors)
    refuse_unless(floating, "a loss of integers")


def convolution_shape(bound: Bound) -> tuple[int, ...]:
    """Return the output shape of a convolution."""
    x, weight = bound["input"], bound["weight"]
    axes = x.dim() - 2
    ranks = f"{x.dim()} and {weight.dim()} dimensions"
    refuse_unless(axes > 0 and weight.dim() == x.dim(), f"a convolution of {ranks}")
    stride, padding, dilation, extra = (
        _per_axis(bound[name], axes) for name in ("stride", "padding", "dilation", "output_padding")
    )
    refuse_unless(
        min(stride) > 0 and min(dilation) > 0 and min(padding) >= 0 and min(extra) >= 0,
        f"a convolution with stride {stride}, padding {padding}, dilation {dilation}",
    )
    sizes = []
    for axis, (side, reach) in enumerate(zip(x.shape[2:], weight.shape[2:], strict=True)):
        window = dilation[axis] * (reach - 1) + 1
        if bound["transposed"]:
            size = (side - 1) * stride[axis] - 2 * padding[axis] + window + extra[axis]
        else:
            size = (side + 2 * padding[axis] - window) // stride[axis] + 1
        sizes.append(size)
    channels = weight.shape[1] * int(bound["groups"]) if bound["transposed"] else weight.shape[0]
    return (x.shape[0], channels, *sizes)


def _per_axis(values: Any, axes: int) -> list[int]:
    numbers = [int(value) for value in values] if isinstance(values, (list, tuple)) else [values]
    refuse_unless(len(numbers) in (1, axes), f"{numbers} for {axes} dimensions")
    return numbers * axes if len(numbers) == 1 else numbers


def _check_convolution(bound: Bound) -> None:
    if bound["input"].dim() == bound["weight"].dim():
        check_bytes(convolution_shape(bound), bound["input"].element_size())


SHAPE_RULES: dict[str, Rule] = {
    **dict.fromkeys(("div", "divide"), _check_division),
    **dict.fromkeys(("convolution", "_convolution"), _check_convolution),
    **dict.fromkeys(("max_unpool2d", "max_unpool3d"), _check_unpool),
    **dict.fromkeys(names(Trait.EMBEDDING_BAG), _check_embedding_bag),
    "embedding_renorm": _check_embedding_rows,
    **dict.fromkeys(("linalg_lu_solve", "linalg_ldl_solve", "lu_unpack"), _check_pivots),
    "native_group_norm": check_group_norm,
    "_scaled_dot_product_flash_attention_for_cpu": check_attention,
    **{f"reflection_pad{axes}d": padding_rule(axes) for axes in (1, 2, 3)},
    **{f"replication_pad{axes}d": padding_rule(axes) for axes in (1, 2, 3)},
    **dict.fromkeys(names(Trait.FOURIER_TRANSFORM), _check_fourier_transform),
    **dict.fromkeys(
        """
native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional
_native_batch_norm_legit_no_training _batch_norm_with_update _batch_norm_no_update
_batch_norm_with_update_functional
""".split(),
        _check_batch_norm,
    ),
    **dict.fromkeys(("smooth_l1_loss", "huber_loss"), check_floating),
    "_grouped_mm": _check_grouped_mm,
    "_weight_norm_interface": check_weight_norm,
}
"""Rules for what a kernel trusts, by packet; an in-place form has the same rules."""
