"""Indices as numbers from 0 to the size, where PyTorch allows more.

PyTorch counts a negative index from the end and writes "to the end" as 2⁶³-1. Two importers do
not: for a slice that is assigned to, torch-mlir makes an index of that length until memory is
exhausted; TVM reads in front of the tensor. Both take the same calls with plain indices.
"""

from __future__ import annotations

from typing import Any

import torch

_DEFAULTS: tuple[Any, ...] = (0, None, None, 1)
"""Defaults of a slice's dim, start, end and step."""


def plain_indices(source: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Change the program in place so that no index is negative or beyond the end; return it."""
    aten = torch.ops.aten
    for node in source.graph.nodes:
        if node.target is aten.select.int:
            tensor, dim, index = node.args
            if isinstance(index, int) and index < 0:
                node.args = (tensor, dim, index + _size(tensor, dim))
        elif node.target in (aten.slice.Tensor, aten.slice_scatter.default):
            fixed = 1 if node.target is aten.slice.Tensor else 2
            bounds: tuple[Any, ...] = node.args[fixed:]
            dim, start, end, step = (*bounds, *_DEFAULTS[len(bounds) :])
            size = _size(node.args[0], dim)
            start, end = _bound(start, 0, size), _bound(end, size, size)
            node.args = (*node.args[:fixed], dim, start, end, step)
    source.graph_module.recompile()
    return source


def _size(node: Any, dim: int) -> int:
    return int(node.meta["val"].shape[dim])


def _bound(value: Any, default: int, size: int) -> Any:
    if value is None:
        return default
    if not isinstance(value, int):
        return value  # a size that is computed
    return min(max(value + size if value < 0 else value, 0), size)
