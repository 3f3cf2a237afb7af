"""Rules for kernels that trust the values of numbers and tensors beyond plain indices."""

from __future__ import annotations

import math
from itertools import groupby

import torch

from graph_net.graph.kernel_checks import Bound, Rule, check_elements, refuse_unless
from graph_net.graph.operators import Trait, names

_FARTHEST = 2.0**31
"""A source index beyond it is no index after the kernel's conversion."""
_LEAST = -1e5
"""A zeta function counts up to zero from its second argument, one by one."""
_SCALES = {
    1: ("scales",),
    2: ("scales_h", "scales_w"),
    3: ("scales_d", "scales_h", "scales_w"),
}


def _classes(bound: Bound) -> None:
    owner, target = bound["self"], bound["target"]
    axis = 0 if owner.dim() == 1 else 1
    refuse_unless(owner.dim() > 0, "a loss over no classes")
    used = target[target != bound["ignore_index"]]
    inside = used.numel() == 0 or (int(used.min()) >= 0 and int(used.max()) < owner.shape[axis])
    refuse_unless(inside, f"target outside 0 to {owner.shape[axis] - 1}")
    check_elements(bound, ("weight",), owner.shape[axis])


def _blocks(bound: Bound) -> None:
    """Negative pivots mark blocks of two rows; half a block is read past the matrix's end."""
    pivots = bound["pivots"]
    for row in pivots.reshape(-1, max(pivots.shape[-1], 1)).tolist() if pivots.dim() else ():
        runs = [len(list(run)) for below, run in groupby(row, lambda p: p < 0) if below]
        refuse_unless(all(run % 2 == 0 for run in runs), "pivots with half a block")


def _heads(name: str) -> Rule:
    def rule(bound: Bound) -> None:
        refuse_unless(int(bound[name]) > 0, f"{name} of {bound[name]}")

    return rule


def _repeats(bound: Bound) -> None:
    repeats = bound["repeats"]
    if isinstance(repeats, torch.Tensor) and repeats.numel():
        refuse_unless(int(repeats.min()) >= 0, "negative repeats")


def _sides(bound: Bound) -> list[tuple[int, int, float]]:
    """Input side, output side and scale for each side that has a scale of its own."""
    owner = bound.get("self")
    # An overload that has neither calls one that has.
    given = owner.shape if isinstance(owner, torch.Tensor) else bound.get("input_size", ())
    sizes = list(bound.get("output_size") or ())
    scales = [bound.get(name) for name in _SCALES.get(len(sizes), ())]
    triples = zip(given[2:], sizes, scales, strict=False)
    return [(int(i), int(o), float(s)) for i, o, s in triples if s is not None]


def _scaled(bound: Bound) -> None:
    for _, made, scale in _sides(bound):
        fits = math.isfinite(scale) and (scale <= 0 or made / scale < _FARTHEST)
        refuse_unless(fits, f"{made} elements at a scale of {scale}")


def _scaled_smoothly(bound: Bound) -> None:
    """The antialiased filters trust that the last output lies inside the input."""
    _scaled(bound)
    for side, made, scale in _sides(bound):
        refuse_unless(
            scale <= 0 or made <= side * scale * (1 + 1e-6),
            f"{made} elements from {side} at a scale of {scale}",
        )


def _finite_grid(bound: Bound) -> None:
    refuse_unless(
        bool(bound["grid"].isfinite().all()), "the gradient at places that are no numbers"
    )


def _no_least(bound: Bound) -> None:
    """The least whole number has no absolute value, and divided by -1 traps the processor."""
    for name in ("self", "other"):
        tensor = bound[name]
        if tensor.numel() and tensor.dtype.is_signed and not tensor.is_floating_point():
            least = torch.iinfo(tensor.dtype).min
            refuse_unless(int(tensor.min()) > least, f"a common multiple of {least}")


def _counts_up(name: str) -> Rule:
    def rule(bound: Bound) -> None:
        value = torch.as_tensor(bound[name])
        if value.numel() and not value.is_complex():
            refuse_unless(not bool((value < _LEAST).any()), f"a zeta function below {_LEAST:.0f}")

    return rule


def _nothing_pooled(bound: Bound) -> None:
    owner, grad = bound["self"], bound["grad_output"]
    refuse_unless(owner.numel() > 0 or grad.numel() == 0, "a gradient of an empty input")


def _bags(bound: Bound) -> None:
    bags = bound["offsets"].numel() - bool(bound.get("include_last_offset", False))
    refuse_unless(bags > 0 or bound["indices"].numel() == 0, "indices in no bag")


def _recurrent_layer(bound: Bound) -> None:
    """oneDNN's recurrent layer reads weights and states of the sizes that it works out itself."""
    owner, hidden = bound["input"], int(bound["hidden_size"])
    refuse_unless(owner.dim() == 3 and hidden > 0, f"a layer of {hidden} for {owner.dim()} sides")
    batch = owner.shape[1]
    sizes: dict[str, tuple[int, ...]] = {
        "weight0": (4 * hidden, owner.shape[2]),
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


def _dims_counted_from_the_front(bound: Bound) -> None:
    refuse_unless(all(int(dim) >= 0 for dim in bound["dim"]), f"a transform along {bound['dim']}")


VALUE_RULES: dict[str, Rule] = {
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), _classes),
    "linalg_ldl_solve": _blocks,
    "_native_multi_head_attention": _heads("num_head"),
    "_transformer_encoder_layer_fwd": _heads("num_heads"),
    "repeat_interleave": _repeats,
    **{name + end: _scaled for name in names(Trait.RESAMPLING) for end in ("", "_backward")},
    **{
        name + end: _scaled_smoothly
        for name in names(Trait.SMOOTH_RESAMPLING)
        for end in ("", "_backward")
    },
    **dict.fromkeys((f"grid_sampler_{axes}d_backward" for axes in (2, 3)), _finite_grid),
    "lcm": _no_least,
    "special_zeta": _counts_up("other"),
    "polygamma": _counts_up("self"),
    **dict.fromkeys((f"_adaptive_avg_pool{axes}d_backward" for axes in (2, 3)), _nothing_pooled),
    **dict.fromkeys(names(Trait.EMBEDDING_BAG), _bags),
    "mkldnn_rnn_layer": _recurrent_layer,
    **dict.fromkeys(names(Trait.FOURIER_TRANSFORM), _dims_counted_from_the_front),
}
"""Rules for what a kernel trusts about values, by packet; an in-place form shares its twin's."""
