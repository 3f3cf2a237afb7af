"""What the rules for kernels are made of: bytes, ranges, shapes.

A rule takes a call's arguments by their names in the schema and raises RefusedCall.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from graph_net.graph.errors import RefusedCall
from graph_net.graph.limits import DEFAULT_LIMITS

Bound = Mapping[str, Any]
Rule = Callable[[Bound], None]


def refuse_unless(holds: bool, words: str) -> None:
    """Raise RefusedCall with these words unless something holds."""
    if not holds:
        raise RefusedCall(words)


def check_range(name: str, index: Any, end: int, start: int = 0) -> None:
    """Raise unless every element of an index tensor lies in [start, end)."""
    if not isinstance(index, torch.Tensor) or index.numel() == 0:
        return
    refuse_unless(
        not index.is_floating_point() and not index.is_complex(),
        f"{name} of dtype {index.dtype}; indices are whole numbers",
    )
    low, high = int(index.min()), int(index.max())
    refuse_unless(
        start <= low and high < end, f"{name} from {low} to {high}, outside {start} to {end - 1}"
    )


def same_shape(*names: str) -> Rule:
    """A rule that tensors under these names have one shape; absent ones are left out."""

    def rule(bound: Bound) -> None:
        given = [(name, bound[name]) for name in names if isinstance(bound.get(name), torch.Tensor)]
        for name, tensor in given[1:]:
            first = given[0][1]
            refuse_unless(
                tensor.shape == first.shape,
                f"{name} of shape {tuple(tensor.shape)} beside {given[0][0]} of "
                f"{tuple(first.shape)}",
            )

    return rule


def check_elements(bound: Bound, names: tuple[str, ...], count: int) -> None:
    """Raise unless each tensor given under these names has as many elements as are read."""
    for name in names:
        tensor = bound.get(name)
        if isinstance(tensor, torch.Tensor):
            refuse_unless(
                tensor.numel() == count,
                f"{name} of {tensor.numel()} elements; {count} are read",
            )


def check_bytes(sizes: Iterable[Any], item_bytes: int) -> None:
    """Raise unless a tensor of these sizes is one that a call may make."""
    sizes = [int(size) for size in sizes]
    made = math.prod(max(size, 0) for size in sizes) * item_bytes
    if made > DEFAULT_LIMITS.call_bytes:
        raise RefusedCall(
            f"a tensor of sizes {str(sizes)[:80]}, {made} bytes; "
            f"a call may make {DEFAULT_LIMITS.call_bytes}"
        )
