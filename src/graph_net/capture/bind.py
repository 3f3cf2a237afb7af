"""The values a model and a call give to the inputs of the model's graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from graph_net.graph import Graph, GraphError, Role
from graph_net.graph.execute import make_input


def bind(
    graph: Graph, model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return values for the inputs of the whole graph that ``capture`` made of this call.

    Parameters and buffers are the model's own; constants come from the graph.
    """
    state: dict[str, torch.Tensor] = {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }
    leaves = tree_leaves((tuple(args), dict(kwargs or {})))
    tensors = iter([leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])
    values: list[Any] = []
    for entry in graph.inputs:
        if entry.role is Role.INPUT:
            values.append(next(tensors))
        elif entry.role is Role.CONSTANT or entry.original is None:
            values.append(make_input(graph, entry))
        elif entry.original in state:
            values.append(state[entry.original].detach())
        else:
            raise GraphError(f"the model has no state {entry.original!r}", node=entry.name)
    return values
