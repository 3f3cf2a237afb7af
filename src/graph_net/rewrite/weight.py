"""How heavy an operator is: what a compiler builds a kernel around, and what it adds to one.

The classes are those of TVM's partition, which TenSet's tasks come from: a kernel is built around
an *anchor* (a contraction, a reduction, or anything a loop over the result does not express);
*pointwise* operators are computed inside the loop that makes or reads their argument; *layout*
operators move or rename elements; a *source* makes a tensor from nothing.
"""

from __future__ import annotations

from enum import Enum

from graph_net.graph.effects import VIEWS, argument, base_name
from graph_net.graph.graph import Node
from graph_net.graph.spec import ScalarSpec


class Weight(Enum):
    """What an operator is to the kernel it ends up in."""

    ANCHOR = "anchor"
    POINTWISE = "pointwise"
    LAYOUT = "layout"
    SOURCE = "source"


_POINTWISE = frozenset(
    """
abs acos acosh add addcdiv addcmul alias asin asinh atan atan2 atanh batch_norm bitwise_and
bitwise_not bitwise_or bitwise_xor bool ceil celu clamp clamp_max clamp_min clip clone contiguous
copy copy_ cos cosh detach detach_ div divide dropout dropout_ elu eq erf erfc exp exp2 expm1
feature_dropout feature_dropout_ fill fill_ float float_power floor floor_divide fmod frac ge gelu
greater gt half hardshrink hardsigmoid hardswish hardtanh heaviside isfinite isinf isnan le
leaky_relu lerp less lift_fresh lift_fresh_copy log log10 log1p log2 log_sigmoid logical_and
logical_not logical_or logical_xor logit lt masked_fill masked_fill_ maximum minimum mish mul
multiply nan_to_num native_dropout ne neg negative not_equal polar positive pow prelu real
reciprocal relu relu6 remainder round rrelu rsqrt rsub selu sgn sigmoid sign silu sin sinc sinh
softplus softshrink softsign sqrt square sub subtract tan tanh threshold to to_copy _to_copy
true_divide trunc type type_as where xlogy zero_ __and__ __or__ __xor__ __invert__
truediv floordiv mod and_ or_ xor invert iadd isub imul itruediv
""".split()
)
_SOURCES = frozenset(
    """
arange bartlett_window blackman_window empty empty_like empty_strided eye full full_like
hamming_window hann_window linspace logspace new_empty new_full new_ones new_zeros ones ones_like
rand randint randn randperm scalar_tensor sym_size sym_sum sym_float sym_int sym_max sym_min
tril_indices triu_indices zeros zeros_like size numel
""".split()
)
_TRAINING = 5
"""Where batch_norm is told whether it computes statistics; if not it is a scale and a shift."""


def weight_of(node: Node) -> Weight:
    """The class of a call; what is not known is an anchor."""
    if isinstance(node.result, ScalarSpec):
        return Weight.SOURCE
    base = base_name(node.target)
    plain = base.removesuffix("_") if not base.endswith("__") else base
    if base == "batch_norm" and argument(node, _TRAINING, "training") is True:
        return Weight.ANCHOR
    if base in _POINTWISE or plain in _POINTWISE:
        return Weight.POINTWISE
    if base in _SOURCES:
        return Weight.SOURCE
    return Weight.LAYOUT if base in VIEWS else Weight.ANCHOR


def computes(node: Node) -> bool:
    """Whether a call does arithmetic or moves data to where it was not.

    Views, copies of nothing but the name, and tensors made from nothing do not.
    """
    weight = weight_of(node)
    return weight is Weight.ANCHOR or (
        weight is Weight.POINTWISE and base_name(node.target) not in VIEWS
    )
