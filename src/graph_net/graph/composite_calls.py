"""Checks of composite operators that loop before they reach their first kernel.

Recurrent layers take a state and a set of weights per layer; powers and combinations loop as often
as one number says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

from graph_net.graph.errors import RefusedCall
from graph_net.graph.operators import Trait, base_name, names

RECURRENT = frozenset(
    f"{prefix}.{name}{suffix}"
    for name in names(Trait.RECURRENT)
    for prefix, suffix in (("torch", ""), ("aten", ""), ("aten", ".input"))
)
_NAMES = "input hx params has_biases num_layers dropout train bidirectional batch_first".split()
_COUNTS = {"matrix_power": ("n", 1 << 20), "linalg_matrix_power": ("n", 1 << 20),
           "combinations": ("r", 32)}  # fmt: skip
"""The argument (the second) that sets how often such a call loops, and its limit."""


def check_composite(target: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise RefusedCall unless a call of a composite operator is bounded."""
    if target in RECURRENT:
        check_recurrent(target, args, kwargs)
    count = _COUNTS.get(base_name(target))
    if count is not None:
        name, most = count
        number = args[1] if len(args) > 1 else kwargs.get(name, 0)
        if isinstance(number, int) and abs(number) > most:
            raise RefusedCall(f"{target} of {name} = {number}; {most} is the most")


def check_recurrent(target: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise RefusedCall unless each layer has a state and a set of weights."""
    bound = dict(zip(_NAMES, args, strict=False)) | dict(kwargs)
    if not isinstance(bound.get("params"), (list, tuple)):
        raise RefusedCall(f"{target} of a packed sequence, whose lengths torch does not check")
    layers, both = bound.get("num_layers"), bound.get("bidirectional")
    if not isinstance(layers, int) or layers < 1 or not isinstance(both, bool):
        raise RefusedCall(f"{target} of {layers!r} layers")
    layers *= 2 if both else 1
    lstm = ".lstm" in target
    states = bound.get("hx") if lstm else [bound.get("hx")]
    if not isinstance(states, (list, tuple)) or len(states) != (2 if lstm else 1):
        raise RefusedCall(f"{target} takes {'two states' if lstm else 'one state'}")
    for state in states:
        fits = isinstance(state, torch.Tensor) and state.dim() == 3 and state.shape[0] == layers
        if not fits and not isinstance(state, fx.Node):
            raise RefusedCall(f"{target} takes a state of three dimensions for {layers} layers")
    weights = (4 if bound.get("has_biases") else 2) * layers
    # An LSTM may have one more matrix per layer, which projects its state.
    if len(bound["params"]) not in (weights, weights + layers if lstm else weights):
        raise RefusedCall(f"{target} of {layers} layers with {len(bound['params'])} weights")
