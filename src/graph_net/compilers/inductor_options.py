"""Inductor's options that a file may set: switches and counts, each reviewed in torch's source.

A user may type any name of ``torch._inductor.config``. A file may set only those listed here: some
others name compilers, flags, directories or hooks, and every new torch adds more.
"""

from __future__ import annotations

from collections.abc import Mapping

from graph_net.compilers.option import Option

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_SWITCHES = (
    "aggressive_fusion allow_buffer_reuse batch_fusion benchmark_combo_kernel "
    "benchmark_epilogue_fusion benchmark_fusion combo_kernels comprehensive_padding "
    "constant_and_index_propagation conv_1x1_as_mm coordinate_descent_check_all_directions "
    "coordinate_descent_tuning decompose_mem_bound_mm deterministic dynamic_scale_rblock "
    "emulate_precision_casts epilogue_fusion epilogue_fusion_first fallback_random "
    "force_layout_optimization force_pointwise_cat force_shape_pad freezing graph_partition "
    "group_fusion inplace_buffers inplace_padding joint_graph_constant_folding keep_output_stride "
    "layout_optimization loop_ordering_after_fusion max_autotune max_autotune_gemm "
    "max_autotune_pointwise memory_planning online_softmax pad_channels_last pattern_matcher "
    "permute_fusion pick_loop_orders prologue_fusion reorder_for_locality reorder_for_peak_memory "
    "shape_padding split_cat_fx_passes split_reductions triton.cudagraph_trees triton.cudagraphs "
    "triton.persistent_reductions use_fast_math use_mixed_mm"
).split()
_COUNTS = {
    "combo_kernel_max_num_args": 1 << 16,
    "coordinate_descent_search_radius": 16,
    "max_fusion_size": 1 << 16,
    "max_pointwise_cat_inputs": 1 << 16,
    "min_num_split": 1 << 16,
    "realize_opcount_threshold": 1 << 16,
    "realize_reads_threshold": 1 << 16,
    "unroll_reductions_threshold": 1 << 10,
}
"""The options that are numbers, and the largest value that a file may set."""
STORED: Mapping[str, Option] = {
    **{name: Option(False) for name in _SWITCHES},
    "triton.multi_kernel": Option(0, choices=(0, 1, 2, 3)),
    **{name: Option(0, least=0, most=most) for name, most in _COUNTS.items()},
}
