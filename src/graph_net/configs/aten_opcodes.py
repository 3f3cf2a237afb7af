"""The HLO operator that corresponds to a torch operator, if there is one.

Operators that are several in HLO (softmax, norms, attention, interpolation) become a custom call;
operators without a counterpart become 0, unknown.
"""

from __future__ import annotations

_SAME = (
    "abs ceil cosine floor log maximum minimum power remainder reshape select sign sine sort sqrt "
    "subtract tan tanh multiply divide negate gather scatter transpose slice pad copy reverse map "
    "dot convolution concatenate broadcast constant clamp compare convert add atan2 rsqrt cbrt "
    "iota logistic parameter"
).split()
_BY_OPCODE = {
    "add": "add_ iadd __add__ __iadd__ addcmul addcdiv",
    "subtract": "sub sub_ isub rsub __sub__",
    "multiply": "mul mul_ imul __mul__ __imul__ square",
    "divide": "div div_ truediv itruediv true_divide __truediv__ reciprocal floor_divide floordiv",
    "negate": "neg neg_",
    "power": "pow pow_ ipow __pow__",
    "exponential": "exp exp_ exp2",
    "exponential-minus-one": "expm1",
    "log-plus-one": "log1p softplus",
    "sine": "sin",
    "cosine": "cos",
    "logistic": "sigmoid sigmoid_ hardsigmoid silu silu_ hardswish mish",
    "maximum": "relu relu_ clamp_min max_elementwise fmax amax_elementwise",
    "minimum": "clamp_max fmin",
    "clamp": "clamp_ relu6 hardtanh hardtanh_ clip",
    "tanh": "tanh_ gelu erf elu leaky_relu",
    "round-nearest-afz": "round",
    "compare": "eq ne lt le gt ge isnan isinf equal logical_not",
    "and": "and_ __and__ logical_and bitwise_and iand",
    "or": "or_ __or__ logical_or bitwise_or ior",
    "xor": "xor __xor__ logical_xor bitwise_xor",
    "not": "not_ invert bitwise_not __invert__",
    "select": "where masked_fill masked_fill_ dropout tril triu",
    "convert": "to type_as float half bfloat16 double int long bool type _to_copy",
    "convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "dot": "linear matmul mm bmm addmm baddbmm einsum __matmul__ mv",
    "reshape": (
        "view _unsafe_view flatten unflatten unsqueeze squeeze view_as reshape_as unsqueeze_"
    ),
    "transpose": "permute t movedim swapaxes moveaxis adjoint mT T",
    "broadcast": "expand expand_as repeat tile repeat_interleave broadcast_to full full_like",
    "copy": "clone contiguous detach alias lift_fresh_copy copy_ positive fill_",
    "concatenate": "cat concat hstack vstack stack",
    "slice": "narrow select_copy chunk split split_with_sizes unbind getitem index_select_slice",
    "dynamic-slice": "index select diagonal unfold",
    "dynamic-update-slice": "index_put index_put_ slice_scatter select_scatter setitem",
    "gather": "embedding index_select take",
    "scatter": "scatter_ scatter_add scatter_reduce index_add",
    "reduce": (
        "sum mean amax amin max min prod any all logsumexp argmax argmin var std norm "
        "linalg_vector_norm cumsum"
    ),
    "reduce-window": (
        "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
        "adaptive_avg_pool2d adaptive_max_pool2d"
    ),
    "pad": "constant_pad_nd reflection_pad1d reflection_pad2d replication_pad2d",
    "iota": "arange linspace",
    "constant": "zeros ones zeros_like ones_like empty empty_like scalar_tensor new_zeros new_ones",
    "reverse": "flip roll",
    "rng": "rand randn randint bernoulli normal rand_like randn_like",
    "sort": "topk argsort",
    "batch-norm-inference": "batch_norm _native_batch_norm_legit_no_training",
    "batch-norm-training": "native_batch_norm",
    "custom-call": (
        "softmax log_softmax _softmax _log_softmax layer_norm group_norm rms_norm instance_norm "
        "scaled_dot_product_attention upsample_nearest2d upsample_bilinear2d upsample_nearest3d "
        "upsample_nearest1d grid_sampler interpolate lstm gru"
    ),
    "tuple": "tuple list",
    "sqrt": "sqrt_",
}
OPCODE_OF = {name: name for name in _SAME} | {
    word: opcode for opcode, words in _BY_OPCODE.items() for word in words.split()
}
"""HLO operators by the base name of a torch operator."""


def opcode_of(base: str) -> str:
    """Return the HLO operator of a base name; an in-place operator has that of the plain one."""
    plain = base if base.endswith("__") else base.removesuffix("_")
    return OPCODE_OF.get(base) or OPCODE_OF.get(plain, "unknown")
