"""Products of matrices, alone or in batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from graph_net.programs.triton.family import Buffer, Config, Launch
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.target import Target

if TYPE_CHECKING:
    import torch


class Matmul(Gemm):
    """``a @ b``, then an epilogue; a transposed ``b`` is N × K, as in linear layers."""

    kernels: ClassVar[tuple[str, ...]] = ("matmul", "batched_matmul")
    sizes = ("m", "n", "k", "b")

    def __init__(self, module: Mapping[str, Any], target: Target) -> None:
        module = module if "b" in module else {**module, "b": 1}
        self.m, self.n, self.k = (module.get(size, 0) for size in "mnk")
        self.batch = module["b"]
        super().__init__(module, target)

    @classmethod
    def options(cls) -> dict[str, tuple[Any, ...]]:
        return {**super().options(), "transposed": (False, True)}

    def out_shape(self) -> tuple[int, ...]:
        return (self.batch, self.m, self.n)

    def buffers(self) -> dict[str, Buffer]:
        b_shape = (self.n, self.k) if self.module["transposed"] else (self.k, self.n)
        return {
            "a": Buffer((self.batch, self.m, self.k), self.dtype),
            "b": Buffer((self.batch, *b_shape), self.dtype, self.k**-0.5),
            **self.outer(),
        }

    def launches(self, config: Config) -> tuple[Launch, ...]:
        sizes = {"M": self.m, "N": self.n, "K": self.k, "BATCH": self.batch}
        transposed = bool(self.module["transposed"])
        return self.product("matmul", ("a", "b"), {**sizes, "TRANSPOSED": transposed}, config)

    def reference(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        import torch

        b = tensors["b"].transpose(1, 2) if self.module["transposed"] else tensors["b"]
        return self.epilogue.of(torch.matmul(tensors["a"], b), tensors)

    def eager(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Add a linear layer's bias in the same call; other products are batched products."""
        import torch
        import torch.nn.functional as F

        a, b = tensors["a"], tensors["b"]
        if self.module["transposed"] and self.batch == 1:
            sums = F.linear(a[0], b[0], tensors.get("bias"))
            return self.epilogue.after_bias(sums[None], tensors)
        product = torch.bmm(a, b.transpose(1, 2) if self.module["transposed"] else b)
        return self.epilogue.of(product, tensors)
