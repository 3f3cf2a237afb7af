"""Rules for kernels that trust an index, a length or a shape that they are given.

Backward formulas are the usual case: autograd calls them with what their forward made, so they
check little, and a graph may call them with anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from graph_net.graph.errors import RefusedCall

Bound = Mapping[str, Any]
Rule = Callable[[Bound], None]


def _refuse_unless(holds: bool, words: str) -> None:
    if not holds:
        raise RefusedCall(words)


def check_range(name: str, index: Any, end: int, start: int = 0) -> None:
    """Raise unless every element of an index tensor lies in [start, end)."""
    if not isinstance(index, torch.Tensor) or index.numel() == 0:
        return
    _refuse_unless(
        not index.is_floating_point() and not index.is_complex(),
        f"{name} of dtype {index.dtype}; indices are whole numbers",
    )
    low, high = int(index.min()), int(index.max())
    _refuse_unless(
        start <= low and high < end, f"{name} from {low} to {high}, outside {start} to {end - 1}"
    )


def _same_shape(*names: str) -> Rule:
    """A rule that tensors under these names have one shape; absent ones are left out."""

    def rule(bound: Bound) -> None:
        given = [(name, bound[name]) for name in names if isinstance(bound.get(name), torch.Tensor)]
        for name, tensor in given[1:]:
            first = given[0][1]
            _refuse_unless(
                tensor.shape == first.shape,
                f"{name} of shape {tuple(tensor.shape)} beside {given[0][0]} of "
                f"{tuple(first.shape)}",
            )

    return rule


def _elements(bound: Bound, names: tuple[str, ...], count: int) -> None:
    for name in names:
        tensor = bound.get(name)
        if isinstance(tensor, torch.Tensor):
            _refuse_unless(
                tensor.numel() in (0, count),
                f"{name} of {tensor.numel()} elements; {count} are read",
            )


def _truncated(bound: Bound) -> None:
    """The one quotient of whole numbers that is none: the processor traps on it."""
    if bound.get("rounding_mode") != "trunc":
        return
    left, right = bound["self"], bound["other"]
    if any(isinstance(v, torch.Tensor) and v.is_floating_point() for v in (left, right)):
        return
    divides = bool((right == -1).any()) if isinstance(right, torch.Tensor) else right == -1
    if divides and isinstance(left, torch.Tensor) and not left.dtype.is_complex and left.numel():
        least = -(2 ** (8 * left.element_size() - 1))
        _refuse_unless(int(left.min()) > least, f"{least} divided by -1 has no answer")


def _max_pool_backward(bound: Bound) -> None:
    owner, grad, indices = bound["self"], bound["grad_output"], bound["indices"]
    _refuse_unless(
        grad.shape == indices.shape and grad.dim() == owner.dim(),
        f"indices of shape {tuple(indices.shape)} beside a gradient of {tuple(grad.shape)}",
    )
    spatial = 3 if owner.dim() == 5 or "3d" in bound.get("kernel", "") else 2
    lead = owner.dim() - spatial
    _refuse_unless(
        lead >= 0 and grad.shape[:lead] == owner.shape[:lead],
        f"a gradient of {tuple(grad.shape)} for an input of {tuple(owner.shape)}",
    )
    check_range("indices", indices, math.prod(owner.shape[lead:]))


def _max_pool3d_backward(bound: Bound) -> None:
    _max_pool_backward({**bound, "kernel": "3d"})


def _unpooled(bound: Bound) -> None:
    owner, indices, sizes = bound["self"], bound["indices"], bound["output_size"]
    _refuse_unless(
        owner.shape == indices.shape,
        f"indices of {tuple(indices.shape)} for values of {tuple(owner.shape)}",
    )
    check_range("indices", indices, math.prod(int(size) for size in sizes))


def _bagged(bound: Bound) -> None:
    weight, indices, offsets = bound["weight"], bound["indices"], bound["offsets"]
    _refuse_unless(
        weight.dim() == 2 and indices.dim() <= 1 and offsets.dim() <= 1,
        "an embedding bag takes a matrix, indices and offsets",
    )
    check_range("indices", indices, weight.shape[0])
    check_range("offsets", offsets, indices.numel() + 1)
    _refuse_unless(
        offsets.numel() < 2 or bool((offsets.diff() >= 0).all()), "offsets that go backwards"
    )
    _elements(bound, ("per_sample_weights",), indices.numel())


def _embedding_rows(bound: Bound) -> None:
    check_range("indices", bound["indices"], bound["self"].shape[0])


def _embedding_backward(bound: Bound) -> None:
    indices, grad = bound["indices"], bound["grad_output"]
    check_range("indices", indices, int(bound["num_weights"]))
    _refuse_unless(
        grad.dim() > 0 and grad.numel() == indices.numel() * grad.shape[-1],
        f"a gradient of {tuple(grad.shape)} for {indices.numel()} indices",
    )


def _pivots(bound: Bound) -> None:
    matrix = next(bound[key] for key in ("LU", "LU_data", "LD") if key in bound)
    pivots = bound.get("pivots", bound.get("LU_pivots"))
    _refuse_unless(matrix.dim() >= 2, "a matrix of fewer than two dimensions")
    if "LD" in bound:
        pivots = pivots.abs()  # the sign tells the blocks of the factor apart
    _refuse_unless(
        pivots.dim() >= 1
        and pivots.shape[:-1] == matrix.shape[:-2]
        and pivots.shape[-1] == min(matrix.shape[-2:]),
        f"pivots of {tuple(pivots.shape)} for a factor of {tuple(matrix.shape)}",
    )
    check_range("pivots", pivots, matrix.shape[-2] + 1, 1)


def _layer_norm_backward(bound: Bound) -> None:
    _same_shape("input", "grad_out")(bound)
    owner, shape = bound["input"], [int(size) for size in bound["normalized_shape"]]
    inner = max(math.prod(shape), 1)
    _refuse_unless(
        list(owner.shape[owner.dim() - len(shape) :]) == shape,
        f"normalized_shape {shape} for an input of {tuple(owner.shape)}",
    )
    rows = owner.numel() // inner
    for name in ("mean", "rstd"):
        if isinstance(bound.get(name), torch.Tensor):
            _refuse_unless(
                bound[name].numel() == rows,
                f"{name} of {bound[name].numel()} elements; {rows} are read",
            )
    _elements(bound, ("weight", "bias"), inner)


def _group_norm(bound: Bound) -> None:
    owner = bound["input"]
    batch, channels, inner = (int(bound[key]) for key in ("N", "C", "HxW"))
    groups = int(bound["group"])
    _refuse_unless(groups > 0 and channels % groups == 0, f"{channels} channels in {groups} groups")
    _refuse_unless(
        min(batch, channels, inner) >= 0 and owner.numel() == batch * channels * inner,
        f"{batch} by {channels} by {inner} elements of {owner.numel()}",
    )
    _same_shape("input", "grad_out")(bound)
    for name in ("mean", "rstd"):
        if isinstance(bound.get(name), torch.Tensor):
            _refuse_unless(
                bound[name].numel() == batch * groups, f"{name} of {bound[name].numel()} elements"
            )
    _elements(bound, ("weight", "bias"), channels)


def _batch_norm_backward(bound: Bound) -> None:
    _same_shape("input", "grad_out")(bound)
    owner = bound["input"]
    _refuse_unless(owner.dim() >= 2, "a batch norm of fewer than two dimensions")
    names = ("weight", "running_mean", "running_var", "save_mean", "save_invstd")
    for name in names:
        if isinstance(bound.get(name), torch.Tensor):
            _refuse_unless(
                bound[name].numel() == owner.shape[1],
                f"{name} of {bound[name].numel()} elements for {owner.shape[1]} channels",
            )


def _attention(bound: Bound) -> None:
    query, key, value = bound["query"], bound["key"], bound["value"]
    _refuse_unless(
        all(t.dim() == 4 for t in (query, key, value)), "attention takes four dimensions"
    )
    _refuse_unless(
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
        _refuse_unless(fits, f"a mask of {tuple(mask.shape)} for scores of {full}")


def _attention_backward(bound: Bound) -> None:
    _attention(bound)
    query = bound["query"]
    for name in ("grad_out", "out"):
        _refuse_unless(bound[name].shape == query.shape, f"{name} of {tuple(bound[name].shape)}")
    _refuse_unless(
        tuple(bound["logsumexp"].shape) == tuple(query.shape[:3]),
        f"logsumexp of {tuple(bound['logsumexp'].shape)}",
    )


def _unfold_backward(bound: Bound) -> None:
    sizes, dim = [int(size) for size in bound["input_sizes"]], int(bound["dim"])
    size, step = int(bound["size"]), int(bound["step"])
    _refuse_unless(
        -len(sizes) <= dim < len(sizes) and step > 0 and 0 <= size <= sizes[dim],
        f"windows of {size} by {step} along dimension {dim} of {sizes}",
    )
    expected = [*sizes, size]
    expected[dim if dim >= 0 else dim + len(sizes)] = (sizes[dim] - size) // step + 1
    _refuse_unless(
        list(bound["grad_in"].shape) == expected,
        f"a gradient of {tuple(bound['grad_in'].shape)}; {expected} is read",
    )


def _grid_backward(bound: Bound) -> None:
    owner, grid, grad = bound["input"], bound["grid"], bound["grad_output"]
    _refuse_unless(
        tuple(grad.shape) == (*owner.shape[:2], *grid.shape[1:-1]),
        f"a gradient of {tuple(grad.shape)} for {tuple(owner.shape)} and {tuple(grid.shape)}",
    )


def _adaptive_backward(bound: Bound) -> None:
    owner, grad = bound["self"], bound["grad_output"]
    spatial = 3 if owner.dim() == 5 else 2
    lead = owner.dim() - spatial
    _refuse_unless(
        lead >= 0 and grad.dim() == owner.dim() and grad.shape[:lead] == owner.shape[:lead],
        f"a gradient of {tuple(grad.shape)} for an input of {tuple(owner.shape)}",
    )


def _pairs_backward(bound: Bound) -> None:
    owner = bound["self"]
    rows = owner.shape[0] if owner.dim() else 0
    count = rows * (rows - 1) // 2
    for name in ("grad", "pdist"):
        _refuse_unless(bound[name].numel() == count, f"{name} of {bound[name].numel()} elements")


def _distances_backward(bound: Bound) -> None:
    left, right = bound["x1"], bound["x2"]
    _refuse_unless(left.dim() >= 2 and right.dim() >= 2, "distances of rows take matrices")
    lead = torch.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = (*lead, left.shape[-2], right.shape[-2])
    for name in ("grad", "cdist"):
        _refuse_unless(tuple(bound[name].shape) == shape, f"{name} of {tuple(bound[name].shape)}")


def _grouped(bound: Bound) -> None:
    offsets, rows = bound.get("offs"), bound["self"].shape[-2]
    if isinstance(offsets, torch.Tensor):
        rows = max(rows, bound["self"].shape[-1], bound["mat2"].shape[-1])
        check_range("offs", offsets, rows + 1)
        _refuse_unless(bool((offsets.diff() >= 0).all()), "offs that go backwards")


def _weight_norm(bound: Bound) -> None:
    weight, scale, dim = bound["v"], bound["g"], int(bound.get("dim", 0))
    _refuse_unless(
        dim in (0, weight.dim() - 1) and weight.dim() > 0,
        f"a weight norm along dimension {dim} of {weight.dim()}",
    )
    _refuse_unless(scale.numel() == weight.shape[dim], f"g of {scale.numel()} elements")


def _weight_norm_backward(bound: Bound) -> None:
    names = {"v": bound["saved_v"], "g": bound["saved_g"], "dim": bound["dim"]}
    _weight_norm(names)
    _same_shape("saved_v", "grad_w")(bound)
    _refuse_unless(bound["saved_norms"].numel() == bound["saved_g"].numel(), "norms of other sizes")


SHAPE_RULES: dict[str, Rule] = {
    **dict.fromkeys(("div", "divide"), _truncated),
    "max_pool2d_with_indices_backward": _max_pool_backward,
    "adaptive_max_pool2d_backward": _max_pool_backward,
    "max_pool3d_with_indices_backward": _max_pool3d_backward,
    "adaptive_max_pool3d_backward": _max_pool3d_backward,
    "max_unpool2d": _unpooled,
    "max_unpool3d": _unpooled,
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), _bagged),
    "embedding_renorm": _embedding_rows,
    "embedding_dense_backward": _embedding_backward,
    **dict.fromkeys(("linalg_lu_solve", "linalg_ldl_solve", "lu_unpack"), _pivots),
    "native_layer_norm_backward": _layer_norm_backward,
    "_fused_rms_norm_backward": _layer_norm_backward,
    **dict.fromkeys(("native_group_norm", "native_group_norm_backward"), _group_norm),
    "native_batch_norm_backward": _batch_norm_backward,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    **dict.fromkeys(
        ("_softmax_backward_data", "_log_softmax_backward_data"),
        _same_shape("grad_output", "output"),
    ),
    "unfold_backward": _unfold_backward,
    **dict.fromkeys((f"grid_sampler_{n}d_backward" for n in (2, 3)), _grid_backward),
    **dict.fromkeys((f"_adaptive_avg_pool{n}d_backward" for n in (2, 3)), _adaptive_backward),
    "_pdist_backward": _pairs_backward,
    "_cdist_backward": _distances_backward,
    "_grouped_mm": _grouped,
    "_weight_norm_interface": _weight_norm,
    "_weight_norm_interface_backward": _weight_norm_backward,
}
"""Rules for what a kernel trusts, by packet; an in-place form shares its twin's."""
