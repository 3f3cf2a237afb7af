"""Classify operators by weight: whether a compiler builds a kernel around one, or adds it to one.

The classes are those of TVM's partition, which TenSet's tasks come from: a kernel is built around
an *anchor* (a contraction, a reduction, or anything a loop over the result does not express);
*pointwise* operators are computed inside the loop that makes or reads their argument; *layout*
operators move or rename elements; a *source* makes a tensor from nothing.
"""

from __future__ import annotations

from enum import Enum

from graph_net.graph.effects import VIEWS, argument
from graph_net.graph.graph import Node
from graph_net.graph.operators import Trait, base_name, names
from graph_net.graph.spec import ScalarSpec


class Weight(Enum):
    """The role of an operator in its kernel."""

    ANCHOR = "anchor"
    POINTWISE = "pointwise"
    LAYOUT = "layout"
    SOURCE = "source"


_POINTWISE = names(Trait.POINTWISE)
_SOURCES = names(Trait.SOURCE)
_TRAINING = 5
"""The position of batch_norm's ``training``; without it the call is a scale and a shift."""


def weight_of(node: Node) -> Weight:
    """Return the class of a call; an unknown operator is an anchor."""
    if isinstance(node.result, ScalarSpec):
        return Weight.SOURCE
    base = base_name(node.target)
    plain = base.removesuffix("_") if not base.endswith("__") else base
    if base == "batch_norm" and argument(node, _TRAINING, "training") is True:
        return Weight.ANCHOR
    if base in _POINTWISE or plain in _POINTWISE:
        return Weight.POINTWISE
    if base in _SOURCES:
        return Weight.SOURCE
    return Weight.LAYOUT if base in VIEWS else Weight.ANCHOR


def computes(node: Node) -> bool:
    """Return whether a call does arithmetic or moves data.

    Views, calls that only rename their argument, and tensors made from nothing do not.
    """
    weight = weight_of(node)
    return weight is Weight.ANCHOR or (
        weight is Weight.POINTWISE and base_name(node.target) not in VIEWS
    )
