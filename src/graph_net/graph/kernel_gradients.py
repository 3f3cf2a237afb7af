"""Rules for backward formulas, which trust what they are given.

Autograd calls them with what their forward made, so they check little; a graph may call them with
anything.
"""

from __future__ import annotations

import math

import torch

from graph_net.graph.kernel_checks import (
    Bound,
    Rule,
    check_bytes,
    check_elements,
    check_range,
    refuse_unless,
    same_shape,
)
from graph_net.graph.kernel_shapes import (
    check_attention,
    check_floating,
    check_group_norm,
    check_weight_norm,
    convolved,
    padding_rule,
)
from graph_net.graph.operators import Trait, names


def _max_pool_backward(bound: Bound) -> None:
    owner, grad, indices = bound["self"], bound["grad_output"], bound["indices"]
    refuse_unless(
        grad.shape == indices.shape and grad.dim() == owner.dim(),
        f"indices of shape {tuple(indices.shape)} beside a gradient of {tuple(grad.shape)}",
    )
    spatial = 3 if owner.dim() == 5 or "3d" in bound.get("kernel", "") else 2
    lead = owner.dim() - spatial
    refuse_unless(
        lead >= 0 and grad.shape[:lead] == owner.shape[:lead],
        f"a gradient of {tuple(grad.shape)} for an input of {tuple(owner.shape)}",
    )
    check_range("indices", indices, math.prod(owner.shape[lead:]))


def _max_pool3d_backward(bound: Bound) -> None:
    _max_pool_backward({**bound, "kernel": "3d"})


def _embedding_backward(bound: Bound) -> None:
    indices, grad = bound["indices"], bound["grad_output"]
    check_range("indices", indices, int(bound["num_weights"]))
    refuse_unless(
        grad.dim() > 0 and grad.numel() == indices.numel() * grad.shape[-1],
        f"a gradient of {tuple(grad.shape)} for {indices.numel()} indices",
    )


def _layer_norm_backward(bound: Bound) -> None:
    same_shape("input", "grad_out")(bound)
    owner, shape = bound["input"], [int(size) for size in bound["normalized_shape"]]
    inner = max(math.prod(shape), 1)
    refuse_unless(
        list(owner.shape[owner.dim() - len(shape) :]) == shape,
        f"normalized_shape {shape} for an input of {tuple(owner.shape)}",
    )
    rows = owner.numel() // inner
    for name in ("mean", "rstd"):
        if isinstance(bound.get(name), torch.Tensor):
            refuse_unless(
                bound[name].numel() == rows,
                f"{name} of {bound[name].numel()} elements; {rows} are read",
            )
    check_elements(bound, ("weight", "bias"), inner)


def _batch_norm_backward(bound: Bound) -> None:
    same_shape("input", "grad_out")(bound)
    owner = bound["input"]
    refuse_unless(owner.dim() >= 2, "a batch norm of fewer than two dimensions")
    # What evaluation reads are the running statistics; the saved ones are empty then.
    names = ["weight", "running_mean", "running_var"]
    names += ["save_mean", "save_invstd"] if bound["train"] else []
    used = bound["save_mean" if bound["train"] else "running_mean"]
    refuse_unless(isinstance(used, torch.Tensor), "the gradient of a batch norm without statistics")
    for name in names:
        if isinstance(bound.get(name), torch.Tensor):
            refuse_unless(
                bound[name].numel() == owner.shape[1],
                f"{name} of {bound[name].numel()} elements for {owner.shape[1]} channels",
            )


def _attention_backward(bound: Bound) -> None:
    check_attention(bound)
    query = bound["query"]
    for name in ("grad_out", "out"):
        refuse_unless(bound[name].shape == query.shape, f"{name} of {tuple(bound[name].shape)}")
    refuse_unless(
        tuple(bound["logsumexp"].shape) == tuple(query.shape[:3]),
        f"logsumexp of {tuple(bound['logsumexp'].shape)}",
    )


def _unfold_backward(bound: Bound) -> None:
    sizes, dim = [int(size) for size in bound["input_sizes"]], int(bound["dim"])
    size, step = int(bound["size"]), int(bound["step"])
    refuse_unless(
        -len(sizes) <= dim < len(sizes) and step > 0 and 0 <= size <= sizes[dim],
        f"windows of {size} by {step} along dimension {dim} of {sizes}",
    )
    expected = [*sizes, size]
    expected[dim if dim >= 0 else dim + len(sizes)] = (sizes[dim] - size) // step + 1
    refuse_unless(
        list(bound["grad_in"].shape) == expected,
        f"a gradient of {tuple(bound['grad_in'].shape)}; {expected} is read",
    )


def _grid_backward(bound: Bound) -> None:
    owner, grid, grad = bound["input"], bound["grid"], bound["grad_output"]
    refuse_unless(
        tuple(grad.shape) == (*owner.shape[:2], *grid.shape[1:-1]),
        f"a gradient of {tuple(grad.shape)} for {tuple(owner.shape)} and {tuple(grid.shape)}",
    )


def _adaptive_backward(bound: Bound) -> None:
    owner, grad = bound["self"], bound["grad_output"]
    spatial = 3 if owner.dim() == 5 else 2
    lead = owner.dim() - spatial
    refuse_unless(
        lead >= 0 and grad.dim() == owner.dim() and grad.shape[:lead] == owner.shape[:lead],
        f"a gradient of {tuple(grad.shape)} for an input of {tuple(owner.shape)}",
    )


def _pairs_backward(bound: Bound) -> None:
    owner = bound["self"]
    refuse_unless(owner.dim() == 2 and owner.is_contiguous(), "distances of rows take a matrix")
    refuse_unless(owner.numel() > 0, "distances of no rows")
    count = owner.shape[0] * (owner.shape[0] - 1) // 2
    for name in ("grad", "pdist"):
        refuse_unless(tuple(bound[name].shape) == (count,), f"{name} of {tuple(bound[name].shape)}")


def _distances_backward(bound: Bound) -> None:
    left, right = bound["x1"], bound["x2"]
    refuse_unless(
        left.dim() >= 2 and right.dim() >= 2 and left.shape[-1] == right.shape[-1],
        "distances of rows take matrices with as many columns",
    )
    batches = (left.shape[:-2], right.shape[:-2])
    lead = torch.broadcast_shapes(*batches)  # type: ignore[no-untyped-call]
    shape = (*lead, left.shape[-2], right.shape[-2])
    for name in ("grad", "cdist"):
        refuse_unless(tuple(bound[name].shape) == shape, f"{name} of {tuple(bound[name].shape)}")


def _weight_norm_backward(bound: Bound) -> None:
    names = {"v": bound["saved_v"], "g": bound["saved_g"], "dim": bound["dim"]}
    check_weight_norm(names)
    same_shape("saved_v", "grad_w")(bound)
    refuse_unless(bound["saved_norms"].numel() == bound["saved_g"].numel(), "norms of other sizes")


def _convolution_backward(bound: Bound) -> None:
    grad, shape = bound["grad_output"], convolved(bound)
    refuse_unless(tuple(grad.shape) == shape, f"a gradient of {tuple(grad.shape)}; {shape} is read")


def _sized(bound: Bound) -> None:
    names = ("input_sizes", "self_sizes", "sizes", "input_size", "size")
    grad = next(value for value in bound.values() if isinstance(value, torch.Tensor))
    for name in names:
        if isinstance(bound.get(name), (list, tuple)):
            check_bytes(bound[name], grad.element_size())


GRADIENT_RULES: dict[str, Rule] = {
    "convolution_backward": _convolution_backward,
    "max_pool2d_with_indices_backward": _max_pool_backward,
    "adaptive_max_pool2d_backward": _max_pool_backward,
    "max_pool3d_with_indices_backward": _max_pool3d_backward,
    "adaptive_max_pool3d_backward": _max_pool3d_backward,
    "embedding_dense_backward": _embedding_backward,
    "native_layer_norm_backward": _layer_norm_backward,
    "_fused_rms_norm_backward": _layer_norm_backward,
    "native_group_norm_backward": check_group_norm,
    "native_batch_norm_backward": _batch_norm_backward,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    **dict.fromkeys(
        ("_softmax_backward_data", "_log_softmax_backward_data"),
        same_shape("grad_output", "output"),
    ),
    "gelu_backward": same_shape("grad_output", "self"),
    **dict.fromkeys(
        (f"{kind}_loss_backward" for kind in ("smooth_l1", "huber", "mse", "soft_margin")),
        check_floating,
    ),
    "unfold_backward": _unfold_backward,
    **dict.fromkeys((f"grid_sampler_{n}d_backward" for n in (2, 3)), _grid_backward),
    **dict.fromkeys((f"_adaptive_avg_pool{n}d_backward" for n in (2, 3)), _adaptive_backward),
    **{
        f"{kind}_pad{axes}d_backward": padding_rule(axes)
        for kind in ("reflection", "replication")
        for axes in (1, 2, 3)
    },
    "_pdist_backward": _pairs_backward,
    "_cdist_backward": _distances_backward,
    "_weight_norm_interface_backward": _weight_norm_backward,
    **dict.fromkeys(
        """
select_backward slice_backward diagonal_backward index_select_backward trace_backward
masked_scatter_backward affine_grid_generator_backward
""".split(),
        _sized,
    ),
    **dict.fromkeys(
        (f"{kind}_backward" for kind in names(Trait.RESAMPLING) | names(Trait.SMOOTH_RESAMPLING)),
        _sized,
    ),
}
"""Rules for what a backward kernel trusts, by packet."""
