"""Rules for kernels that trust values of numbers and tensors other than plain indices."""

from __future__ import annotations

import math
from itertools import groupby

import torch

from graph_net.graph.kernel_checks import Bound, Rule, check_elements, refuse_unless
from graph_net.graph.operators import Trait, names

_MAX_INDEX = 2.0**31
"""A source index beyond it overflows in the kernel's conversion."""
_ZETA_MIN = -1e5
"""The zeta kernel counts up to zero from its second argument, one by one."""
_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def _check_classes(bound: Bound) -> None:
    x, target = bound["self"], bound["target"]
    axis = 0 if x.dim() == 1 else 1
    refuse_unless(x.dim() > 0, "a loss over no classes")
    used = target[target != bound["ignore_index"]]
    inside = used.numel() == 0 or (int(used.min()) >= 0 and int(used.max()) < x.shape[axis])
    refuse_unless(inside, f"target outside 0 to {x.shape[axis] - 1}")
    check_elements(bound, ("weight",), x.shape[axis])


def _check_pivot_blocks(bound: Bound) -> None:
    """Refuse an odd run of negative pivots: the kernel reads them in pairs, past the end."""
    pivots = bound["pivots"]
    for row in pivots.reshape(-1, max(pivots.shape[-1], 1)).tolist() if pivots.dim() else ():
        runs = [len(list(run)) for below, run in groupby(row, lambda p: p < 0) if below]
        refuse_unless(all(run % 2 == 0 for run in runs), "pivots with half a block")


def _heads_rule(name: str) -> Rule:
    def rule(bound: Bound) -> None:
        refuse_unless(int(bound[name]) > 0, f"{name} of {bound[name]}")

    return rule


def _check_repeats(bound: Bound) -> None:
    repeats = bound["repeats"]
    if isinstance(repeats, torch.Tensor) and repeats.numel():
        refuse_unless(int(repeats.min()) >= 0, "negative repeats")


def _sides_of(bound: Bound) -> list[tuple[int, int, float]]:
    """Return input size, output size and scale of each dimension that has a scale."""
    x = bound.get("self")
    # An overload with neither ``self`` nor ``input_size`` calls one that has them.
    shape = x.shape if isinstance(x, torch.Tensor) else bound.get("input_size", ())
    sizes = list(bound.get("output_size") or ())
    scales = [bound.get(name) for name in _SCALES.get(len(sizes), ())]
    triples = zip(shape[2:], sizes, scales, strict=False)
    return [(int(i), int(o), float(s)) for i, o, s in triples if s is not None]


def _check_scale(bound: Bound) -> None:
    for _, size, scale in _sides_of(bound):
        fits = math.isfinite(scale) and (scale <= 0 or size / scale < _MAX_INDEX)
        refuse_unless(fits, f"{size} elements at a scale of {scale}")


def _check_antialiased_scale(bound: Bound) -> None:
    """Refuse outputs beyond the input, whose last pixel the antialiased filters trust."""
    _check_scale(bound)
    for side, size, scale in _sides_of(bound):
        refuse_unless(
            scale <= 0 or size <= side * scale * (1 + 1e-6),
            f"{size} elements from {side} at a scale of {scale}",
        )


def _check_finite_grid(bound: Bound) -> None:
    refuse_unless(bool(bound["grid"].isfinite().all()), "a grid with infinities or NaNs")


def _check_lcm(bound: Bound) -> None:
    """Refuse the least integer, which has no absolute value and traps when divided by -1."""
    for name in ("self", "other"):
        tensor = bound[name]
        if tensor.numel() and tensor.dtype.is_signed and not tensor.is_floating_point():
            least = torch.iinfo(tensor.dtype).min
            refuse_unless(int(tensor.min()) > least, f"a common multiple of {least}")


def _zeta_rule(name: str) -> Rule:
    def rule(bound: Bound) -> None:
        value = torch.as_tensor(bound[name])
        if value.numel() and not value.is_complex():
            refuse_unless(
                not bool((value < _ZETA_MIN).any()), f"a zeta function below {_ZETA_MIN:.0f}"
            )

    return rule


def _check_pool_grad(bound: Bound) -> None:
    x, grad = bound["self"], bound["grad_output"]
    refuse_unless(x.numel() > 0 or grad.numel() == 0, "a gradient of an empty input")


def _check_bags(bound: Bound) -> None:
    bags = bound["offsets"].numel() - bool(bound.get("include_last_offset", False))
    refuse_unless(bags > 0 or bound["indices"].numel() == 0, "indices outside every bag")


def _check_recurrent_layer(bound: Bound) -> None:
    """Refuse weights and states whose sizes differ from those that oneDNN computes itself."""
    x, hidden = bound["input"], int(bound["hidden_size"])
    refuse_unless(x.dim() == 3 and hidden > 0, f"a layer of {hidden} for {x.dim()} sides")
    batch = x.shape[1]
    sizes: dict[str, tuple[int, ...]] = {
        "weight0": (4 * hidden, x.shape[2]),
        "weight1": (4 * hidden, hidden),
        "hx_": (batch, hidden),
        "cx_": (batch, hidden),
    }
    if bound["has_biases"]:
        sizes |= {"weight2": (4 * hidden,), "weight3": (4 * hidden,)}
    for name, size in sizes.items():
        shape = tuple(bound[name].shape)
        fits = shape == size or (name in ("hx_", "cx_") and shape == (1, *size))
        refuse_unless(fits, f"{name.strip('_')} of {shape} in a recurrent layer that reads {size}")


def _check_nonnegative_dims(bound: Bound) -> None:
    refuse_unless(all(int(dim) >= 0 for dim in bound["dim"]), f"a transform along {bound['dim']}")


VALUE_RULES: dict[str, Rule] = {
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), _check_classes),
    "linalg_ldl_solve": _check_pivot_blocks,
    "_native_multi_head_attention": _heads_rule("num_head"),
    "_transformer_encoder_layer_fwd": _heads_rule("num_heads"),
    "repeat_interleave": _check_repeats,
    **{name + end: _check_scale for name in names(Trait.RESAMPLING) for end in ("", "_backward")},
    **{
        name + end: _check_antialiased_scale
        for name in names(Trait.SMOOTH_RESAMPLING)
        for end in ("", "_backward")
    },
    **dict.fromkeys((f"grid_sampler_{axes}d_backward" for axes in (2, 3)), _check_finite_grid),
    "lcm": _check_lcm,
    "special_zeta": _zeta_rule("other"),
    "polygamma": _zeta_rule("self"),
    **dict.fromkeys((f"_adaptive_avg_pool{axes}d_backward" for axes in (2, 3)), _check_pool_grad),
    **dict.fromkeys(names(Trait.EMBEDDING_BAG), _check_bags),
    "mkldnn_rnn_layer": _check_recurrent_layer,
    **dict.fromkeys(names(Trait.FOURIER_TRANSFORM), _check_nonnegative_dims),
}
"""Rules for what a kernel trusts about values, by packet; an in-place form has the same rules."""
