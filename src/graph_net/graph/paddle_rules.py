"""Rules by name for Paddle calls that mutate tensors, draw random numbers or take sizes.

``effects.py`` and ``sizes.py`` use them for targets that begin with ``paddle.``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph_net.graph.operators import PADDLE, Trait, names, positions
from graph_net.graph.paddle_targets import signature
from graph_net.graph.values import Value

if TYPE_CHECKING:
    from graph_net.graph.graph import Node

PREFIX = PADDLE
VIEWS = names(Trait.VIEW, PREFIX)
_RANDOM = names(Trait.RANDOM, PREFIX)
_RANDOM_UNLESS_TEST = names(Trait.RANDOM_UNLESS_TEST, PREFIX)
_SIZES = positions(Trait.SIZES, PREFIX)


def base(target: str) -> str:
    """Return ``relu_`` for ``paddle._C_ops.relu_``."""
    return target.rpartition(".")[2]


def argument(node: Node, name: str) -> Value:
    """Return an argument of an operator by name, or None if it is absent."""
    names = signature(node.target)
    if name in names and names.index(name) < len(node.args):
        return node.args[names.index(name)]
    return dict(node.kwargs).get(name)


def mutated(node: Node) -> tuple[Value, ...]:
    """Return the arguments that a Paddle call changes in place."""
    name = base(node.target)
    if name == "batch_norm" and argument(node, "is_test") is not True:
        return argument(node, "mean"), argument(node, "variance")
    return node.args[:1] if name.endswith("_") else ()


def draws_random(node: Node) -> bool:
    """Return whether a Paddle call draws from the random generator."""
    name = base(node.target)
    if name in _RANDOM_UNLESS_TEST:
        return argument(node, "is_test") is not True
    return name in _RANDOM


def size_positions(target: str) -> tuple[int, int]:
    """Return the range of positional arguments that are sizes."""
    start, count = _SIZES.get(base(target), (0, 0))
    return start, start + count
