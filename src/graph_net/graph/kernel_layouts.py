"""Rules for kernels that assume that elements do not overlap, or lie inside the storage.

A tensor made by ``expand`` or ``as_strided`` has more elements than memory. Most kernels follow its
strides; those named here treat it as dense and run past its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch._ops import OpOverload

from graph_net.graph.kernel_checks import Bound, Rule, refuse_unless
from graph_net.graph.operators import Trait, names

_OVERLAP_SAFE = names(Trait.OVERLAP_SAFE)
"""Calls that change a shape but no element, or (``index_put_``) follow strides, with a warning."""


def span(sizes: Iterable[int], strides: Iterable[int]) -> int:
    """Return the extent of a tensor in memory, in elements, first and last included."""
    pairs = list(zip(sizes, strides, strict=True))
    if any(size == 0 for size, _ in pairs):
        return 0
    return 1 + sum((size - 1) * stride for size, stride in pairs)


def overlaps(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has more elements than the memory it spans."""
    return tensor.numel() > 1 and span(tensor.shape, tensor.stride()) < tensor.numel()


def dense_rule(*names: str) -> Rule:
    """Return a rule that the tensors under these names do not overlap themselves."""

    def rule(bound: Bound) -> None:
        for name in names:
            tensor = bound.get(name)
            refuse_unless(
                not isinstance(tensor, torch.Tensor) or not overlaps(tensor),
                f"{name} with elements that share memory; the kernel takes it to be dense",
            )

    return rule


def written_rule(overload: OpOverload) -> Rule | None:
    """Return a rule that the tensors an operator writes do not overlap; None if it writes none."""
    if overload._schema.name.partition("::")[2] in _OVERLAP_SAFE:
        return None
    written = [
        argument.name
        for argument in overload._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return dense_rule(*written) if written else None


def _check_alias(bound: Bound) -> None:
    x = bound["self"]
    sizes, strides = ([int(number) for number in bound[name]] for name in ("size", "stride"))
    refuse_unless(
        len(sizes) == len(strides) and min((*sizes, *strides), default=0) >= 0,
        f"an alias of sizes {sizes} and strides {strides}",
    )
    room = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
    refuse_unless(
        math.prod(sizes) == x.numel() and span(sizes, strides) <= room,
        f"an alias of sizes {sizes} and strides {strides} for {x.numel()} elements",
    )


def _rows_rule(*names: str) -> Rule:
    """Return a rule for kernels that read each row as a dense vector, whatever its strides."""

    def rule(bound: Bound) -> None:
        for name in names:
            tensor = bound[name]
            refuse_unless(
                tensor.dim() == 0 or tensor.shape[-1] < 2 or tensor.stride(-1) > 0,
                f"{name} expanded in its last dimension; the kernel reads rows",
            )

    return rule


def _check_median(bound: Bound) -> None:
    x, dim = bound["self"], bound.get("dim")
    if isinstance(dim, int) and -x.dim() <= dim < x.dim():
        refuse_unless(x.shape[dim] < 2 or x.stride(dim) > 0, "a median along an expanded dimension")


_GROUP_NORM = ("grad_out", "input", "mean", "rstd", "weight", "bias")
_BAG = ("indices", "offsets", "per_sample_weights")
LAYOUT_RULES: dict[str, Rule] = {
    "_reshape_alias": _check_alias,
    **dict.fromkeys(("median", "nanmedian"), _check_median),
    **dict.fromkeys(("native_group_norm", "native_group_norm_backward"), dense_rule(*_GROUP_NORM)),
    "native_layer_norm_backward": dense_rule("mean", "rstd"),
    "_weight_norm_interface": dense_rule("v", "g"),
    "_weight_norm_interface_backward": dense_rule("grad_w"),
    **dict.fromkeys(names(Trait.EMBEDDING_BAG), dense_rule(*_BAG)),
    **dict.fromkeys(
        (f"{kind}_backward" for kind in ("adaptive_max_pool2d", "adaptive_max_pool3d",
         "max_pool2d_with_indices", "max_pool3d_with_indices")),
        dense_rule("indices"),
    ),
    "_scaled_dot_product_flash_attention_for_cpu": _rows_rule("query", "key", "value"),
    "_scaled_dot_product_flash_attention_for_cpu_backward": _rows_rule(
        "query", "key", "value", "out"
    ),
}  # fmt: skip
"""Rules for what a kernel assumes about memory, by packet."""
