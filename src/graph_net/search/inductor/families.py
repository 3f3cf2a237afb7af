"""Kernel families that only Inductor has templates for, beside those of our own kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.family import BYTES, Buffer, Config, Launch
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.matmul import Matmul
from graph_net.programs.triton.space import family_of
from graph_net.programs.triton.target import Target

if TYPE_CHECKING:
    import torch

FLEX, PAIR, SCALED = "flex_attention", "mm_plus_mm", "scaled_mm"
FLOAT8 = "float8_e4m3fn"
MASK_BLOCK = 128
"""Queries and keys of a block of a mask."""


class _TemplateOnly(Gemm):
    """What is described here and can only be run by Inductor."""

    def launches(self, config: Config) -> tuple[Launch, ...]:
        raise SpaceError(f"only Inductor has a kernel of {self.module['kernel']}")

    def reference(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        raise SpaceError(f"only Inductor has a kernel of {self.module['kernel']}")


class PairOfProducts(_TemplateOnly, Matmul):
    """``a @ b + c @ d``: one loop over each of two sums of equal length."""

    kernels = (PAIR,)
    sizes = ("m", "n", "k", "b")
    taps = 2

    def check(self) -> None:
        _check_plain(self)

    def buffers(self) -> dict[str, Buffer]:
        first = super().buffers()
        return {**first, "c": first["a"], "d": first["b"]}


class ScaledProduct(_TemplateOnly, Matmul):
    """A product of eight-bit numbers, scaled by tensor or by row, stored with sixteen bits."""

    kernels = (SCALED,)
    dtypes = (FLOAT8,)

    def check(self) -> None:
        if self.batch != 1 or self.epilogue.add or self.epilogue.activation:
            raise SpaceError(f"{SCALED} has no batch, and no epilogue but a bias")

    def outer(self) -> dict[str, Buffer]:
        """Return the output, and the bias if there is one, at sixteen bits."""
        wide = {name: Buffer(one.shape, "bfloat16") for name, one in super().outer().items()}
        return {"scales": Buffer((self.m + self.n,), "float32"), **wide}


class FlexAttention(_TemplateOnly):
    """Attention in one loop over the keys; the second product gives rows, columns and depth.

    ``m`` queries, ``k`` keys, ``n`` numbers in a value and ``d`` in a key, for ``b`` heads of all
    batches, ``shared`` of which read the same keys. ``masked``: blocks of keys are left out.
    """

    kernels = (FLEX,)
    sizes = ("b", "shared", "m", "n", "k", "d")
    dtypes = ("float16", "bfloat16")

    def __init__(self, module: Mapping[str, Any], target: Target) -> None:
        self.m, self.n, self.k, self.batch = (module.get(size, 0) for size in "mnkb")
        super().__init__(module, target)

    @classmethod
    def options(cls) -> dict[str, tuple[Any, ...]]:
        return {**super().options(), "masked": (False, True)}

    def check(self) -> None:
        _check_plain(self, batched=True)
        if self.batch % self.module["shared"]:
            raise SpaceError("the heads of a batch are a multiple of those that share keys")

    def out_shape(self) -> tuple[int, ...]:
        return (self.batch, self.m, self.n)

    def buffers(self) -> dict[str, Buffer]:
        width, heads = self.module["d"], self.batch // self.module["shared"]
        return {
            "query": Buffer((self.batch, self.m, width), self.dtype),
            "key": Buffer((heads, self.k, width), self.dtype),
            "value": Buffer((heads, self.k, self.n), self.dtype),
            **self.outer(),
        }

    def flops(self) -> float:
        return float(2 * self.batch * self.m * self.k * (self.n + self.module["d"]))

    def shared(self, config: Config) -> int:
        """Return the least bytes of the keys and values in flight."""
        held = max(1, config["num_stages"] - 1)
        row = (self.n + self.module["d"]) * BYTES[self.dtype]
        return int(config["block_k"] * row * held)


OWN: tuple[type[Gemm], ...] = (PairOfProducts, ScaledProduct, FlexAttention)


def inductor_family(module: Mapping[str, Any], target: Target) -> Gemm:
    """Return the family of a template's workload; raise SpaceError if there is none."""
    for family in OWN:
        if module.get("kernel") in family.kernels:
            return family(module, target)
    found = family_of(module, target)
    if not isinstance(found, Gemm):
        raise SpaceError(f"Inductor has no template of {module['kernel']}")
    return found


def _check_plain(family: Gemm, batched: bool = False) -> None:
    if family.module["epilogue"] != "none" or (family.batch != 1 and not batched):
        raise SpaceError(f"{family.module['kernel']} has no epilogue and no batch")
