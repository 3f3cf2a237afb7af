"""Find all operators of a program that a compiler cannot take, not only the first."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree


def find_unsupported(
    source: torch.export.ExportedProgram, attempt: Callable[[torch.export.ExportedProgram], object]
) -> list[str]:
    """Return the operators on which ``attempt`` fails when each stands alone in a program.

    Compilers stop at the first operator they do not know. Trying each by itself, once per
    combination of types, takes a fraction of a second per operator and happens only after the whole
    program has failed.
    """
    unsupported: list[str] = []
    tried: set[str] = set()
    for node in source.graph.nodes:
        if not isinstance(node.target, torch._ops.OpOverload) or node.meta.get("val") is None:
            continue  # bookkeeping and assertions
        leaves, _ = pytree.tree_flatten((node.args, node.kwargs))
        dtypes = [str(_value(leaf).dtype) for leaf in leaves if _is_tensor(leaf)]
        signature = f"{node.target}({', '.join(dtype.removeprefix('torch.') for dtype in dtypes)})"
        if signature not in tried:
            tried.add(signature)
            if not _is_taken(node, attempt):
                unsupported.append(signature)
    return unsupported


def _is_taken(node: fx.Node, attempt: Callable[[torch.export.ExportedProgram], object]) -> bool:
    """Return whether a call is taken alone; True for unknown sizes, which cannot be tried."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            alone = _alone(node)
        except Exception:
            return True
        try:
            attempt(alone)
        except Exception:
            return False
    return True


def _value(leaf: Any) -> Any:
    return leaf.meta.get("val") if isinstance(leaf, fx.Node) else None


def _is_tensor(leaf: Any) -> bool:
    return isinstance(_value(leaf), torch.Tensor)


def _alone(node: fx.Node) -> torch.export.ExportedProgram:
    """Return a program of this one call, on tensors like its own."""
    graph = fx.Graph()
    leaves, tree = pytree.tree_flatten((node.args, node.kwargs))
    holders: dict[fx.Node, fx.Node] = {}
    examples = []
    for leaf in leaves:
        if _is_tensor(leaf) and leaf not in holders:
            holders[leaf] = graph.placeholder(f"x{len(holders)}")
            value = _value(leaf)
            examples.append(torch.zeros(value.shape, dtype=value.dtype))
    args, kwargs = pytree.tree_unflatten(
        [holders.get(leaf, leaf) if isinstance(leaf, fx.Node) else leaf for leaf in leaves], tree
    )
    assert callable(node.target)
    result = graph.call_function(node.target, args, kwargs)
    several = isinstance(node.meta.get("val"), (list, tuple))
    graph.output(result if several else (result,))
    module = fx.GraphModule(torch.nn.Module(), graph)
    return torch.export.export(module, tuple(examples), strict=False)
