"""Shared functions."""

from typing import Any

import torch


def flat(outputs: Any) -> list[Any]:
    """Return the tensors and numbers of a nested output, left to right."""
    if isinstance(outputs, (list, tuple)):
        return [leaf for item in outputs for leaf in flat(item)]
    if isinstance(outputs, dict):
        return [leaf for item in outputs.values() for leaf in flat(item)]
    return [outputs]


def tensors(leaves: list[Any]) -> list[torch.Tensor]:
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
