"""TemplateCall: the operation that Inductor chooses a kernel for, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graph_net.programs.spaces.space import SpaceError
from graph_net.programs.triton.gemm import Gemm
from graph_net.programs.triton.space import family_of
from graph_net.programs.triton.target import Target

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

    @cached_property
    def module(self) -> dict[str, Any] | None:
        """The workload of our own kernels that computes the same; None outside the domain."""
        dtype = self._dtype()
        if dtype is None:
            return None
        module = self._convolution() if self.op == CONVOLUTION else self._product()
        return None if module is None else {**module, "dtype": dtype}

    def family(self, target: Target) -> Gemm | None:
        """Return the kernel family whose features describe the call; None outside the domain."""
        if self.module is None:
            return None
        try:
            family = family_of(self.module, target)
        except SpaceError:
            return None
        return family if isinstance(family, Gemm) else None

    def _dtype(self) -> str | None:
        dtypes = {operand.dtype for operand in self.operands}
        if len(dtypes) != 1 or not dtypes <= set(DTYPES):
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
        transposed = _is_transposed(right)
        if transposed is None or left.strides[-1] != 1 or len(left.sizes) != len(right.sizes):
            return None
        *_, rows, depth = left.sizes
        sizes = {"m": rows, "n": right.sizes[-1], "k": depth}
        kernel = "matmul"
        if len(left.sizes) == 3:
            kernel, sizes = "batched_matmul", {"b": left.sizes[0], **sizes}
        elif len(left.sizes) != 2:
            return None
        return {"kernel": kernel, **sizes, "epilogue": self._epilogue(), "transposed": transposed}

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
