"""Which operators of a program a compiler cannot take: all of them, not the first it meets."""

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
    """The operators on which ``attempt`` fails when each stands alone in a program.

    Compilers stop at the first operator they do not know. Trying each by itself, once for each
    combination of types, takes a fraction of a second an operator and happens only where the
    whole program has failed.
    """
    found: dict[str, None] = {}
    tried = set()
    for node in source.graph.nodes:
        if not isinstance(node.target, torch._ops.OpOverload) or node.meta.get("val") is None:
            continue  # bookkeeping and assertions
        leaves, _ = pytree.tree_flatten((node.args, node.kwargs))
        kinds = tuple(str(_value(leaf).dtype) for leaf in leaves if _is_tensor(leaf))
        if (node.target, kinds) in tried:
            continue
        tried.add((node.target, kinds))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            taken = _is_taken(node, attempt)
        if not taken:
            found[f"{node.target}({', '.join(k.removeprefix('torch.') for k in kinds)})"] = None
    return list(found)


def _is_taken(node: fx.Node, attempt: Callable[[torch.export.ExportedProgram], object]) -> bool:
    """Whether a call is taken alone; one of unknown sizes cannot be tried, and is not blamed."""
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
    """A program of this one call, on tensors like those it has."""
    graph = fx.Graph()
    leaves, form = pytree.tree_flatten((node.args, node.kwargs))
    holders: dict[fx.Node, fx.Node] = {}
    examples = []
    for leaf in leaves:
        if _is_tensor(leaf) and leaf not in holders:
            holders[leaf] = graph.placeholder(f"x{len(holders)}")
            value = _value(leaf)
            examples.append(torch.zeros(value.shape, dtype=value.dtype))
    args, kwargs = pytree.tree_unflatten(
        [holders.get(leaf, leaf) if isinstance(leaf, fx.Node) else leaf for leaf in leaves], form
    )
    assert callable(node.target)
    made = graph.call_function(node.target, args, kwargs)
    several = isinstance(node.meta.get("val"), (list, tuple))
    graph.output(made if several else (made,))
    module = fx.GraphModule(torch.nn.Module(), graph)
    return torch.export.export(module, tuple(examples), strict=False)
