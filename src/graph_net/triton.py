"""Learned pruning for your own ``@triton.autotune`` kernels.

@triton.autotune(configs, key=["M", "N", "K"], prune_configs_by=graph_net.triton.prune("model"))
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, ..., BLOCK_M: tl.constexpr, ...): ...
"""

from __future__ import annotations

from graph_net.search.inductor.prune import prune

__all__ = ["prune"]
