"""The building blocks of kernel rules: bytes, ranges, shapes.

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


def refuse_unless(holds: bool, message: str) -> None:
    """Raise RefusedCall with this message unless a condition holds."""
    if not holds:
        raise RefusedCall(message)


def check_range(name: str, index: Any, end: int, start: int = 0) -> None:
    """Raise unless every element of an index tensor lies in [start, end)."""
    if not isinstance(index, torch.Tensor) or index.numel() == 0:
        return
    refuse_unless(
        not index.is_floating_point() and not index.is_complex(),
        f"{name} of dtype {index.dtype}; indices are integers",
    )
    low, high = int(index.min()), int(index.max())
    refuse_unless(
        start <= low and high < end, f"{name} from {low} to {high}, outside {start} to {end - 1}"
    )


def same_shape_rule(*names: str) -> Rule:
    """Return a rule that the tensors under these names have one shape; absent ones are ignored."""

    def rule(bound: Bound) -> None:
        present = [name for name in names if isinstance(bound.get(name), torch.Tensor)]
        for name in present[1:]:
            first, shape = tuple(bound[present[0]].shape), tuple(bound[name].shape)
            refuse_unless(shape == first, f"{name} of shape {shape} beside {present[0]} of {first}")

    return rule


def check_elements(bound: Bound, names: tuple[str, ...], count: int) -> None:
    """Raise unless each tensor under these names has as many elements as are read."""
    for name in names:
        tensor = bound.get(name)
        if isinstance(tensor, torch.Tensor):
            refuse_unless(
                tensor.numel() == count, f"{name} of {tensor.numel()} elements; {count} are read"
            )


def check_shape(bound: Bound, names: tuple[str, ...], shape: Iterable[int]) -> None:
    """Raise unless each tensor under these names has the shape that is read."""
    expected = tuple(shape)
    for name in names:
        tensor = bound.get(name)
        if isinstance(tensor, torch.Tensor):
            actual = tuple(tensor.shape)
            refuse_unless(actual == expected, f"{name} of shape {actual}; {expected} is read")


def check_bytes(sizes: Iterable[Any], item_bytes: int) -> None:
    """Raise unless a call may create a tensor of these sizes."""
    sizes = [int(size) for size in sizes]
    total = math.prod(max(size, 0) for size in sizes) * item_bytes
    if total > DEFAULT_LIMITS.call_bytes:
        raise RefusedCall(
            f"a tensor of sizes {str(sizes)[:80]}, {total} bytes; "
            f"a call may create {DEFAULT_LIMITS.call_bytes}"
        )
