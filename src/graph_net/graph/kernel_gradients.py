"""Rules for backward formulas, which trust their arguments.

Autograd calls them with the results of their forward, so they check little; a graph may call them
with anything.
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
    check_shape,
    refuse_unless,
    same_shape_rule,
)
from graph_net.graph.kernel_shapes import (
    check_attention,
    check_floating,
    check_group_norm,
    check_weight_norm,
    convolution_shape,
    padding_rule,
)
from graph_net.graph.operators import Trait, names


def _check_max_pool(bound: Bound) -> None:
    x, grad, indices = bound["self"], bound["grad_output"], bound["indices"]
    refuse_unless(
        grad.shape == indices.shape and grad.dim() == x.dim(),
        f"indices of shape {tuple(indices.shape)} beside a gradient of {tuple(grad.shape)}",
    )
    spatial = 3 if x.dim() == 5 or "3d" in bound.get("kernel", "") else 2
    lead = x.dim() - spatial
    refuse_unless(
        lead >= 0 and grad.shape[:lead] == x.shape[:lead],
        f"a gradient of {tuple(grad.shape)} for an input of {tuple(x.shape)}",
    )
    check_range("indices", indices, math.prod(x.shape[lead:]))


def _check_max_pool3d(bound: Bound) -> None:
    _check_max_pool({**bound, "kernel": "3d"})


def _check_embedding(bound: Bound) -> None:
    indices, grad = bound["indices"], bound["grad_output"]
    check_range("indices", indices, int(bound["num_weights"]))
    refuse_unless(
        grad.dim() > 0 and grad.numel() == indices.numel() * grad.shape[-1],
        f"a gradient of {tuple(grad.shape)} for {indices.numel()} indices",
    )


def _check_layer_norm(bound: Bound) -> None:
    same_shape_rule("input", "grad_out")(bound)
    x, shape = bound["input"], [int(size) for size in bound["normalized_shape"]]
    inner = max(math.prod(shape), 1)
    refuse_unless(
        list(x.shape[x.dim() - len(shape) :]) == shape,
        f"normalized_shape {shape} for an input of {tuple(x.shape)}",
    )
    check_elements(bound, ("mean", "rstd"), x.numel() // inner)
    check_elements(bound, ("weight", "bias"), inner)


def _check_batch_norm(bound: Bound) -> None:
    same_shape_rule("input", "grad_out")(bound)
    x = bound["input"]
    refuse_unless(x.dim() >= 2, "a batch norm of fewer than two dimensions")
    # Evaluation reads the running statistics; the saved ones are empty then.
    mean = bound["save_mean" if bound["train"] else "running_mean"]
    refuse_unless(isinstance(mean, torch.Tensor), "the gradient of a batch norm without statistics")
    check_elements(bound, ("weight", "running_mean", "running_var"), x.shape[1])
    if bound["train"]:
        check_elements(bound, ("save_mean", "save_invstd"), x.shape[1])


def _check_attention(bound: Bound) -> None:
    check_attention(bound)
    check_shape(bound, ("grad_out", "out"), bound["query"].shape)
    check_shape(bound, ("logsumexp",), bound["query"].shape[:3])


def _check_unfold(bound: Bound) -> None:
    sizes, dim = [int(size) for size in bound["input_sizes"]], int(bound["dim"])
    size, step = int(bound["size"]), int(bound["step"])
    refuse_unless(
        -len(sizes) <= dim < len(sizes) and step > 0 and 0 <= size <= sizes[dim],
        f"windows of {size} by {step} along dimension {dim} of {sizes}",
    )
    expected = [*sizes, size]
    expected[dim if dim >= 0 else dim + len(sizes)] = (sizes[dim] - size) // step + 1
    check_shape(bound, ("grad_in",), expected)


def _check_grid(bound: Bound) -> None:
    check_shape(bound, ("grad_output",), (*bound["input"].shape[:2], *bound["grid"].shape[1:-1]))


def _check_adaptive(bound: Bound) -> None:
    x, grad = bound["self"], bound["grad_output"]
    spatial = 3 if x.dim() == 5 else 2
    lead = x.dim() - spatial
    refuse_unless(
        lead >= 0 and grad.dim() == x.dim() and grad.shape[:lead] == x.shape[:lead],
        f"a gradient of {tuple(grad.shape)} for an input of {tuple(x.shape)}",
    )


def _check_pdist(bound: Bound) -> None:
    x = bound["self"]
    refuse_unless(x.dim() == 2 and x.is_contiguous(), "distances of rows take a dense matrix")
    refuse_unless(x.numel() > 0, "distances of rows take at least one row")
    check_shape(bound, ("grad", "pdist"), (x.shape[0] * (x.shape[0] - 1) // 2,))


def _check_cdist(bound: Bound) -> None:
    left, right = bound["x1"], bound["x2"]
    refuse_unless(
        left.dim() >= 2 and right.dim() >= 2 and left.shape[-1] == right.shape[-1],
        "distances of rows take matrices with equally many columns",
    )
    batches = (left.shape[:-2], right.shape[:-2])
    lead = torch.broadcast_shapes(*batches)  # type: ignore[no-untyped-call]
    check_shape(bound, ("grad", "cdist"), (*lead, left.shape[-2], right.shape[-2]))


def _check_weight_norm(bound: Bound) -> None:
    check_weight_norm({"v": bound["saved_v"], "g": bound["saved_g"], "dim": bound["dim"]})
    same_shape_rule("saved_v", "grad_w")(bound)
    check_elements(bound, ("saved_norms",), bound["saved_g"].numel())


def _check_convolution(bound: Bound) -> None:
    check_shape(bound, ("grad_output",), convolution_shape(bound))


def _check_sizes(bound: Bound) -> None:
    names = ("input_sizes", "self_sizes", "sizes", "input_size", "size")
    grad = next(value for value in bound.values() if isinstance(value, torch.Tensor))
    for name in names:
        if isinstance(bound.get(name), (list, tuple)):
            check_bytes(bound[name], grad.element_size())


GRADIENT_RULES: dict[str, Rule] = {
    "convolution_backward": _check_convolution,
    "max_pool2d_with_indices_backward": _check_max_pool,
    "adaptive_max_pool2d_backward": _check_max_pool,
    "max_pool3d_with_indices_backward": _check_max_pool3d,
    "adaptive_max_pool3d_backward": _check_max_pool3d,
    "embedding_dense_backward": _check_embedding,
    "native_layer_norm_backward": _check_layer_norm,
    "_fused_rms_norm_backward": _check_layer_norm,
    "native_group_norm_backward": check_group_norm,
    "native_batch_norm_backward": _check_batch_norm,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _check_attention,
    **dict.fromkeys(
        ("_softmax_backward_data", "_log_softmax_backward_data"),
        same_shape_rule("grad_output", "output"),
    ),
    "gelu_backward": same_shape_rule("grad_output", "self"),
    **dict.fromkeys(
        (f"{kind}_loss_backward" for kind in ("smooth_l1", "huber", "mse", "soft_margin")),
        check_floating,
    ),
    "unfold_backward": _check_unfold,
    **dict.fromkeys((f"grid_sampler_{n}d_backward" for n in (2, 3)), _check_grid),
    **dict.fromkeys((f"_adaptive_avg_pool{n}d_backward" for n in (2, 3)), _check_adaptive),
    **{
        f"{kind}_pad{axes}d_backward": padding_rule(axes)
        for kind in ("reflection", "replication")
        for axes in (1, 2, 3)
    },
    "_pdist_backward": _check_pdist,
    "_cdist_backward": _check_cdist,
    "_weight_norm_interface_backward": _check_weight_norm,
    **dict.fromkeys(
        """
select_backward slice_backward diagonal_backward index_select_backward trace_backward
masked_scatter_backward affine_grid_generator_backward
""".split(),
        _check_sizes,
    ),
    **dict.fromkeys(
        (f"{kind}_backward" for kind in names(Trait.RESAMPLING) | names(Trait.SMOOTH_RESAMPLING)),
        _check_sizes,
    ),
}
"""Rules for what a backward kernel trusts, by packet."""
