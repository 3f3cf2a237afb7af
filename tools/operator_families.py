"""The review behind ``graph/operators/aten.txt``: families of operators, and what stays out.

A public overload is listed if its arguments are tensors, numbers and enumerations, it writes to no
tensor given as ``out``, and no pattern of ``REFUSED`` names it. A name that begins with an
underscore is listed only if ``PRIVATE`` holds it: somebody looked at it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Operators that are reviewed together, and what a reviewer has to know of them."""

    title: str
    pattern: re.Pattern[str]


def _family(title: str, pattern: str) -> Family:
    return Family(title, re.compile(pattern))


ARGUMENTS = frozenset(
    {
        "Tensor", "Optional[Tensor]", "List[Tensor]", "List[Optional[Tensor]]",
        "number", "Optional[number]", "List[number]", "bool", "Optional[bool]", "List[bool]",
        "int", "Optional[int]", "List[int]", "Optional[List[int]]",
        "float", "Optional[float]", "List[float]", "Optional[List[float]]",
        "Device", "Optional[Device]", "str", "Optional[str]", "Optional[Generator]",
    }
)  # fmt: skip
"""Types of arguments, as torch prints a schema's; no storage, stream, class or Any.

A generator is allowed where it may be absent: a graph has no way to name one."""

FAMILIES = (
    _family("Checks: they compute nothing, and raise", r"_assert_\w+|_functional_\w+|"
            r"sym_constrain\w+|_linalg_check_errors"),
    _family("Sizes and single numbers as Python numbers", r"sym_\w+|numel|size|dim|item|"
            r"_local_scalar_dense|is_\w+|equal|allclose|_is_\w+|_shape_as_tensor|result_type"),
    _family("Backward formulas: sizes they are told are checked against the gradient",
            r".*backward(_data)?"),
    _family("Creation: guarded by the bytes of the sizes asked for",
            r"(empty|zeros|ones|full|arange|range|linspace|logspace|eye|tril_indices|triu_indices|"
            r"scalar_tensor|\w+_window|fft_r?fftfreq|vander)(_like|_strided|_permuted)?|new_\w+|"
            r"complex|polar|one_hot"),
    _family("Random numbers", r"(rand|randn|randint|randperm)(_like)?|bernoulli_?|\w*dropout_?|"
            r"(normal|uniform|exponential|geometric|cauchy|log_normal|random)(_functional)?_?|"
            r"poisson|binomial|multinomial|_standard_gamma|_sample_dirichlet|rrelu\w*"),
    _family("Indices: their ranges are checked before the call where torch does not",
            r"_?(unsafe_)?index\w*|gather|scatter\w*|take\w*|put_?|masked_\w+|embedding\w*|"
            r"_embedding_bag\w*|select_scatter|slice_scatter|diagonal_scatter|as_strided\w*|"
            r"where|nonzero\w*|argwhere|unravel_index|bincount|fill_diagonal_|_unsafe_index\w*"),
    _family("Convolution, pooling, padding, resampling",
            r"\w*conv\w*|\w*pool\w*|\w*pad\w*|_?upsample\w*|grid_sampler\w*|im2col|col2im|"
            r"affine_grid\w*|pixel_\w+|\w*channel_shuffle"),
    _family("Normalisation, attention, recurrence",
            r"\w*(batch|layer|group|instance|rms)_norm\w*|_scaled_dot\w*|scaled_dot\w*|"
            r"(lstm|gru|rnn_\w+?)(_cell)?|_native_multi\w*|_?weight_norm\w*|_\w*softmax|softmax|"
            r"log_softmax|special_(log_)?softmax|_masked_softmax"),
    _family("Losses", r"\w*_loss\w*|kl_div|binary_cross_entropy\w*|dist|_?[cp]dist\w*|"
            r"cosine_similarity|pairwise_distance|_euclidean_dist"),
    _family("Linear algebra", r"_?linalg_\w+|(add)?(b?mm|mv|r|bmm)_?|baddbmm_?|matmul|linear|"
            r"bilinear|_trilinear|dot|vdot|inner|outer|ger|kron|cross|einsum|tensordot|"
            r"chain_matmul|matrix_\w+|cholesky\w*|lu_\w+|qr|svd|geqrf|or[gm]qr|triangular_solve|"
            r"inverse|pinverse|det|logdet|slogdet|_addmm\w*|_int_mm"),
    _family("Fourier transforms", r"_?fft_\w+|i?stft"),
    _family("Sorting, counting, searching", r"sort|argsort|msort|topk|kthvalue|mode|\w*unique\w*|"
            r"searchsorted|bucketize|hist\w+|isin|\w*median|\w*quantile|cum\w+|logcumsumexp|"
            r"\w*argm(ax|in)"),
)  # fmt: skip
"""First match names the family; what none matches is sorted by its tags."""
POINTWISE = "Pointwise: each element by itself"
VIEWS = "Views: another shape of the same storage, in bounds by construction"
REST = "Reductions, joins, copies, and what is made of others"

REFUSED = (
    # Layouts whose kernels trust the index tensors inside them: any address is in reach.
    r"\w*sparse\w*|\w*coalesce\w*|(c?col|c?row|crow)_indices\w*|indices(_copy)?|values(_copy)?|"
    r"[hd]sp?mm|s(add|spadd)?mm|spmm|dense_dim|to_dense\w*|gather_backward|embedding_backward|\w*nested\w*|\w*padded_tensor",
    # Quantised tensors and packed weights: kernels trust scales, zero points and packings.
    r"\w*quanti[zs]e\w*|quantized_\w+|fbgemm_\w+|q_\w+|qscheme|int_repr|choose_qparams\w*|"
    r"_?fused_moving\w*|empty_quantized",
    # Memory itself: addresses, storages, files, sizes changed under a view, other processes.
    r"from_file|from_blob|\w*data_ptr|set_?|set_data|resize\w*|storage_offset|stride|"
    r"element_size|data|pin_memory|is_pinned|is_set_to|record_stream|"
    r"as_strided_|is_distributed|is_inference|is_leaf|output_nr|retains?_grad|requires_grad_|"
    r"backward|get_gradients|rename\w*|get_device|slice_inverse",
    # Kernels of one device's library, reached through the public operator where it is there.
    r"cudnn_\w+|miopen_\w+|mkldnn_\w+|to_mkldnn\w*|mps_\w+|lstm_mps\w*|cuda|cpu|"
    r"\w+_overrideable|slow_conv\w*|thnn_\w+|conv_depthwise3d",
    # Lengths and offsets that kernels do not check against their data.
    r"segment_reduce|native_norm|ctc_loss|fractional_max_pool\w*|histogramdd|"
    r"flatten_dense_tensors|unflatten_dense_tensors|batch_norm_(backward|elemt|gather|stats|update)"
    r"\w*|unsafe_chunk|unsafe_split_with_sizes|infinitely_differentiable\w*|value_selecting\w*|\w+_jvp|"
    r"conv_tbc_backward|multi(label)?_margin_loss_backward",
    # Loops as long as a value among their arguments says.
    r"binomial|(special_)?\w+_polynomial_\w+",
    # TorchScript's own: conversions, containers, strings.
    r"Bool|Int|Float|Complex|\w+Implicit|as_tensor|tensor|dict|len|remove|count|sorted|test_\w+",
)
"""Packets that no list holds, whatever the types of their arguments."""
OVERLOADS_REFUSED = re.compile(
    r".*hacked_twin|.*_list|.*\.list_.*|.*\.prim_.*|copy_\.(Tensor|int|float)|sort\.Tensor|"
    r"\w+\.a|(lstm|gru|rnn_\w+)\.data|split\.default|__\w+__\.(int|bool)|.*\.deprecated"
)
"""TorchScript's overloads of packets that are listed, and packed sequences."""

PRIVATE = frozenset(
    """
__and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__
_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d
_adaptive_avg_pool3d_backward _addmm_activation _aminmax _assert_async _assert_scalar
_assert_tensor_metadata _batch_norm_no_update _batch_norm_with_update
_batch_norm_with_update_functional _cdist_backward _cdist_forward _conj _conj_copy _conj_physical
_convolution _embedding_bag _embedding_bag_forward_only _euclidean_dist _fft_c2c _fft_c2r _fft_r2c
_functional_assert_async _functional_assert_scalar _functional_sym_constrain_range
_functional_sym_constrain_range_for_size _fused_rms_norm _fused_rms_norm_backward _int_mm
_is_all_true _is_any_true _linalg_check_errors _linalg_det _linalg_eigh _linalg_slogdet
_linalg_solve_ex _linalg_svd _local_scalar_dense _log_softmax _log_softmax_backward_data
_native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
_native_multi_head_attention _neg_view _neg_view_copy _pdist_backward _pdist_forward
_prelu_kernel _prelu_kernel_backward _reshape_alias _reshape_copy _safe_softmax
_scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu
_scaled_dot_product_flash_attention_for_cpu_backward _shape_as_tensor _softmax
_softmax_backward_data _standard_gamma _to_copy _trilinear _unique2 _unsafe_index
_unsafe_index_put _unsafe_view _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward
_upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward _upsample_nearest_exact1d
_upsample_nearest_exact1d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward
_upsample_nearest_exact3d _upsample_nearest_exact3d_backward _weight_norm _weight_norm_interface
_weight_norm_interface_backward
""".split()
)
"""Reviewed names with an underscore: core ATen, what lowering and training captures produce.

``_unsafe_index`` and its kin skip a check that Inductor does itself; torch's own CPU kernels
check all the same.
"""
WITHOUT_TENSORS = frozenset({"sym_constrain_range", "sym_constrain_range_for_size"})
"""Listed although neither arguments nor results are tensors, beside the names in PRIVATE."""

_REFUSED = re.compile("|".join(f"(?:{pattern})" for pattern in REFUSED))


def is_refused(packet: str) -> bool:
    """Whether a packet, function or method of this name stays off every list."""
    return _REFUSED.fullmatch(packet) is not None
