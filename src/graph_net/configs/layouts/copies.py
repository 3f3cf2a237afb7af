"""Copies: what a layout moves in memory, counted from a run without data.

There are three kinds. *Explicit* copies were inserted by the rewriting. *Eager's own* copies are
made by operators that need another layout, such as a reshape of a strided tensor. Copies *inside
kernels* are not calls: a convolution converts its input and kernel to the format it computes in,
and a matrix product copies a matrix that no BLAS can read. These follow from strides by rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graph_net.configs.layouts.orders import channels_last_order, contiguous_order, has_order

COPYING = frozenset({"aten.clone.default", "aten.copy_.default", "aten._reshape_copy.default"})
PRODUCTS: Mapping[str, tuple[int, ...]] = {
    "aten.mm.default": (0, 1),
    "aten.bmm.default": (0, 1),
    "aten.addmm.default": (1, 2),
    "aten.baddbmm.default": (1, 2),
}
"""Argument positions of the matrices."""
CONVOLUTION = "aten.convolution.default"
GROUP_NORM = "aten.native_group_norm.default"
"""Its kernels keep the layout of their input; torch's meta implementation does not."""
MIXED = frozenset("aten.add.Tensor aten.mul.Tensor aten.add_.Tensor aten.mul_.Tensor".split())
"""Elementwise calls that are slow if their tensors have different layouts."""


class CopyKind(StrEnum):
    """What makes a copy."""

    EXPLICIT = "explicit"
    EAGER = "eager"
    KERNEL = "kernel"
    MIXED = "mixed"
    """Not a copy: an elementwise call over two layouts, which reads one of them out of order."""


@dataclass(frozen=True)
class LayoutCopy:
    """One copy: its kind, its node, and the bytes it writes."""

    kind: CopyKind
    node: str
    bytes: int


@dataclass(frozen=True)
class CopyCount:
    """All copies of a layout."""

    copies: tuple[LayoutCopy, ...] = ()

    def count(self, kind: CopyKind) -> int:
        """Return how many copies are of a kind."""
        return sum(copy.kind is kind for copy in self.copies)

    def bytes(self, kind: CopyKind) -> int:
        """Return the bytes of a kind's copies."""
        return sum(copy.bytes for copy in self.copies if copy.kind is kind)

    @property
    def total_bytes(self) -> int:
        """Bytes of all copies."""
        return sum(copy.bytes for copy in self.copies if copy.kind is not CopyKind.MIXED)

    @property
    def total(self) -> int:
        """Number of all copies."""
        return sum(copy.kind is not CopyKind.MIXED for copy in self.copies)


@dataclass
class CopyWatcher:
    """Collects the copies of one run; ``node`` and ``explicit`` describe the current call."""

    node: str = ""
    explicit: bool = False
    copies: list[LayoutCopy] = field(default_factory=list)

    def add(self, kind: CopyKind, tensor: torch.Tensor) -> None:
        """Record a copy of a tensor."""
        size = tensor.numel() * tensor.element_size()
        if size:
            self.copies.append(LayoutCopy(kind, self.node, size))

    def see(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """Record what a call of an operator copies."""
        if name in COPYING:
            kind = CopyKind.EXPLICIT if self.explicit else CopyKind.EAGER
            self.add(kind, result)
        elif name == CONVOLUTION:
            self._see_convolution(args, result)
        elif name in PRODUCTS:
            for position in PRODUCTS[name]:
                if not is_matrix_order(args[position]):
                    self.add(CopyKind.KERNEL, args[position])
        elif name in MIXED and len(args) > 1 and isinstance(args[1], torch.Tensor):
            first, second = args[:2]
            if first.shape == second.shape and first.dim() > 1 and differ(first, second):
                self.add(CopyKind.MIXED, second)

    def _see_convolution(self, args: tuple[Any, ...], result: torch.Tensor) -> None:
        last = is_dense(channels_last_order(result.dim()), result)
        plain = is_dense(contiguous_order(result.dim()), result)
        for tensor in args[:2]:
            order = channels_last_order if last and not plain else contiguous_order
            either = last and plain and is_dense(channels_last_order(tensor.dim()), tensor)
            if not is_dense(order(tensor.dim()), tensor) and not either:
                self.add(CopyKind.KERNEL, tensor)


class WatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that reports each operator to a watcher."""

    def __init__(self, watcher: CopyWatcher) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.watcher = watcher

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if str(func) == GROUP_NORM:
            result = (torch.empty_like(args[0]), *result[1:])
        self.watcher.see(str(func), args, result)
        return result


def is_dense(order: tuple[int, ...], tensor: torch.Tensor) -> bool:
    """Return whether a tensor is dense in an order."""
    return has_order(order, tensor.shape, tensor.stride())


def is_matrix_order(tensor: torch.Tensor) -> bool:
    """Return whether BLAS can read the last two dimensions: one is dense, the other strided."""
    rows, columns = tensor.shape[-2:]
    outer, inner = tensor.stride()[-2:]
    by_row = (inner == 1 or columns == 1) and (outer >= max(1, columns) or rows == 1)
    by_column = (outer == 1 or rows == 1) and (inner >= max(1, rows) or columns == 1)
    return by_row or by_column


def differ(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Return whether two tensors of one shape are laid out differently."""
    return any(
        size > 1 and a != b
        for size, a, b in zip(first.shape, first.stride(), second.stride(), strict=True)
    )
