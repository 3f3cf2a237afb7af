"""Outputs that exist when a call returns, as opposed to ones computed when they are read.

A subclass of tensor or list can run code when somebody reads it. A call that returns one takes no
time, and is right whenever it is checked.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch

_TENSORS = (torch.Tensor, torch.nn.Parameter)
_DEVICES = ("cpu", "cuda")
_ITERATED = (tuple.__iter__, list.__iter__)
_VALUED = (dict.values, OrderedDict.values)


class Deferred(TypeError):
    """An output whose elements need not have been computed when the call returned."""


def plain_outputs(outputs: Any) -> list[Any]:
    """Return tensors and numbers of a nested output, left to right; raise Deferred on others."""
    kind = type(outputs)
    if issubclass(kind, (tuple, list)):
        _refuse_unless(kind.__iter__ in _ITERATED, f"a list of class {kind.__name__}")
        return [leaf for item in outputs for leaf in plain_outputs(item)]
    if issubclass(kind, dict):
        _refuse_unless(kind.values in _VALUED, f"a dictionary of class {kind.__name__}")
        return [leaf for item in outputs.values() for leaf in plain_outputs(item)]
    if issubclass(kind, torch.Tensor):
        _refuse_unless(kind in _TENSORS, f"a tensor of class {kind.__name__}")
        _refuse_unless(outputs.device.type in _DEVICES, f"a tensor on {outputs.device.type}")
    return [outputs]


def _refuse_unless(holds: bool, output: str) -> None:
    if not holds:
        raise Deferred(f"returned {output}, which may be computed only when it is looked at")


def leaf_bytes(leaf: Any) -> int:
    """Return the bytes of a tensor's elements; 0 for anything else."""
    return leaf.numel() * leaf.element_size() if isinstance(leaf, torch.Tensor) else 0
