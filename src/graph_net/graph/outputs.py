"""Nested outputs, whatever framework they come from."""

from __future__ import annotations

from typing import Any


def flat_outputs(outputs: Any) -> list[Any]:
    """Tensors and numbers of a nested output, left to right."""
    if isinstance(outputs, (list, tuple)):
        return [leaf for item in outputs for leaf in flat_outputs(item)]
    if isinstance(outputs, dict):
        return [leaf for item in outputs.values() for leaf in flat_outputs(item)]
    return [outputs]
