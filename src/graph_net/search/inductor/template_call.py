"""TemplateCall: the operation that Inductor chooses a kernel for, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.target import Target
from graph_net.search.inductor.families import FLEX, FLOAT8, PAIR, SCALED, inductor_family

DTYPES = ("float16", "bfloat16", "float32")
PRODUCTS = {"mm": 0, "addmm": 1, "bmm": 0, "baddbmm": 1}
"""Products of matrices, and how many operands come before the two factors."""
CONVOLUTION = "convolution"


@dataclass(frozen=True)
class Operand:
    """A tensor that an operation reads."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class ConvolutionOptions:
    """The arguments of a convolution beside its tensors."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    groups: int

    @property
    def is_plain(self) -> bool:
        """Whether it is an ordinary convolution with a single stride and a single padding."""
        square = len(set(self.stride)) == len(set(self.padding)) == 1
        return square and set(self.dilation) == {1} and not self.transposed and self.groups == 1


@dataclass(frozen=True)
class TemplateCall:
    """An operation, its operands in Inductor's order, and the device it runs on."""

    op: str
    operands: tuple[Operand, ...]
    device: str
    tf32: bool = False
    """Whether float32 may be multiplied with 10 bits of mantissa."""
    convolution: ConvolutionOptions | None = None
    masked: bool = False
    """Whether attention leaves out blocks of keys."""

    @cached_property
    def module(self) -> dict[str, Any] | None:
        """The workload of our own kernels that computes the same; None outside the domain."""
        dtype = self._dtype()
        if dtype is None:
            return None
        others = {
            CONVOLUTION: self._convolution,
            PAIR: self._pair,
            SCALED: self._scaled,
            FLEX: self._attention,
        }
        module = others.get(self.op, self._product)()
        return None if module is None else {**module, "dtype": dtype}

    def family(self, target: Target) -> Gemm | None:
        """Return the kernel family whose features describe the call; None outside the domain."""
        if self.module is None:
            return None
        try:
            return inductor_family(self.module, target)
        except SpaceError:
            return None

    def _dtype(self) -> str | None:
        factors = self.operands[:2] if self.op == SCALED else self.operands
        dtypes = {operand.dtype for operand in factors}
        allowed = {FLOAT8} if self.op == SCALED else set(DTYPES)
        if len(dtypes) != 1 or not dtypes <= allowed:
            return None
        dtype = dtypes.pop()
        if dtype == "float32":
            return "tf32" if self.tf32 else None
        return dtype

    def _product(self) -> dict[str, Any] | None:
        before = PRODUCTS.get(self.op)
        if before is None or len(self.operands) != before + 2:
            return None
        left, right = self.operands[before:]
        factors = _factors(left, right)
        return None if factors is None else {**factors, "epilogue": self._epilogue()}

    def _pair(self) -> dict[str, Any] | None:
        if len(self.operands) != 4:
            return None
        first, second = _factors(*self.operands[:2]), _factors(*self.operands[2:])
        if first is None or first != second or first["kernel"] != "matmul":
            return None
        if first["transposed"]:
            return None  # none was timed
        return {**first, "kernel": PAIR, "epilogue": "none"}

    def _scaled(self) -> dict[str, Any] | None:
        if not 4 <= len(self.operands) <= 5:
            return None
        factors = _factors(*self.operands[:2])
        if factors is None or factors["kernel"] != "matmul":
            return None
        scales = [prod(operand.sizes) for operand in self.operands[2:4]]
        if scales[0] not in (1, factors["m"]) or scales[1] not in (1, factors["n"]):
            return None  # scales of blocks have other templates
        epilogue = "bias" if len(self.operands) == 5 else "none"
        return {**factors, "kernel": SCALED, "epilogue": epilogue}

    def _attention(self) -> dict[str, Any] | None:
        if any(len(one.sizes) != 4 or one.strides[-1] != 1 for one in self.operands):
            return None
        query, key, value = (one.sizes for one in self.operands)
        shared, left = divmod(query[1], key[1])
        if left or not shared or key != value or query[0] != key[0] or query[3] != key[3]:
            return None  # also where the widths of keys and values differ: none was timed
        sizes = {"b": query[0] * query[1], "shared": shared, "m": query[2], "k": key[2]}
        widths = {"n": value[3], "d": query[3], "masked": self.masked}
        return {"kernel": FLEX, "epilogue": "none", **sizes, **widths}

    def _epilogue(self) -> str:
        if not PRODUCTS[self.op]:
            return "none"
        added = self.operands[0]
        one_row = len(added.sizes) == 1 or added.strides[-2] == 0 or added.sizes[-2] == 1
        return "bias" if one_row else "add"

    def _convolution(self) -> dict[str, Any] | None:
        options = self.convolution
        if options is None or not options.is_plain or len(self.operands) != 2:
            return None
        image, weight = self.operands
        if len(image.sizes) != 4 or image.strides[1] != 1 or weight.strides[1] != 1:
            return None
        images, channels, height, width = image.sizes
        filters, _, rows, columns = weight.sizes
        sizes = {"n": images, "h": height, "w": width, "c": channels}
        sizes |= {"k": filters, "r": rows, "s": columns}
        arguments = {"stride": options.stride[0], "pad": options.padding[0], "epilogue": "none"}
        return {"kernel": CONVOLUTION, **sizes, **arguments}


def _factors(left: Operand, right: Operand) -> dict[str, Any] | None:
    """Return the kernel and the sizes of a product; None if it is outside the domain."""
    transposed = _is_transposed(right)
    if transposed is None or left.strides[-1] != 1 or len(left.sizes) != len(right.sizes):
        return None
    *batch, rows, depth = left.sizes
    sizes = {"m": rows, "n": right.sizes[-1], "k": depth}
    if len(batch) > 1:
        return None
    if batch:
        sizes = {"b": batch[0], **sizes}
    kernel = "batched_matmul" if batch else "matmul"
    return {"kernel": kernel, **sizes, "transposed": transposed}


def _is_transposed(factor: Operand) -> bool | None:
    """Return whether the second factor's summed axis is innermost; None for neither order."""
    if len(factor.sizes) < 2:
        return None
    if factor.strides[-1] == 1:
        return False
    return True if factor.strides[-2] == 1 else None


def key_of(module: Mapping[str, Any]) -> str:
    """Return a canonical text of a workload, independent of field order."""
    return ",".join(f"{name}={module[name]}" for name in sorted(module))
